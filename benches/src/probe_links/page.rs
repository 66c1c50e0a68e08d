//! The page with the accuracy of `fairwave probe`.

use super::link::{Link, Site};

/// Kinds in the order of the table.
const KINDS: [&str; 6] = ["packets", "bytes", "aqm", "per-station", "none-found", "cannot tell"];
/// Maximum relative error of a correct count; an error of one packet is also allowed.
const SHARE: f64 = 0.02;

/// Text before the tables.
const HEAD: &str = "# How `fairwave probe` judges links whose queues are known

Made by `cargo xtask probe-links`. The thresholds of the diagnosis
([docs/models/probe.md](../docs/models/probe.md)) were set in the simulator. Three rules of
2026-11-25 are newer than the first run over these links:

- A queue that drops only packets that find it full is `drop-tail`. The rule was added after the
  FIFO of 60 packets in the guest had been judged wrongly, so that link is no test of it. The FIFOs
  of 40 and 110 packets joined the list afterwards.
- Whether packets of another flow wait is judged by packets of the train at the same moments.
- The upper end of a count's interval is one packet higher, as it had excluded the true number over
  every shaper of these tables. That it holds the number there now is no evidence for it.

";

impl Site {
    const fn about(self) -> &'static str {
        match self {
            Self::Host => "They stand on a router between namespaces, probed at 100 Mbps.",
            Self::Guest => {
                "The same router in a machine whose processor is emulated, probed at 12 Mbps."
            }
            Self::Emulator => {
                "In real time. 802.11g has the buffers of the paper and is probed at 60 Mbps. \
                 The others send A-MPDUs at MCS 7 of 20 MHz and are probed at 200 Mbps. Beside an \
                 upload its ACKs wait in the buffer, too, and are not counted."
            }
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Host => "Queues of this machine's kernel",
            Self::Guest => "Queues of Debian's kernel 6.1",
            Self::Emulator => "Access points of the emulator",
        }
    }
}

/// The whole page.
pub(super) fn page(all: &[(Site, Vec<Link>)]) -> String {
    let links: Vec<&Link> = all.iter().flat_map(|(_, links)| links).collect();
    let each = all.iter().map(|(site, links)| each(*site, links));
    [HEAD.to_owned(), confusion(&links), counts(&links)].into_iter().chain(each).collect()
}

fn confusion(links: &[&Link]) -> String {
    let mut text = format!(
        "## Kinds\n\nLinks by the kind of their queue (rows) and the kind that was found \
         (columns).\n\n| is | {} |\n|---|{}\n",
        KINDS.join(" | "),
        "---|".repeat(KINDS.len())
    );
    for kind in KINDS {
        let own: Vec<_> = links.iter().filter(|link| link.kind == kind).collect();
        let count = |reported: &str| own.iter().filter(|link| link.reported() == reported).count();
        let cells = KINDS.map(|reported| count(reported).to_string());
        if !own.is_empty() {
            text.push_str(&format!("| {kind} | {} |\n", cells.join(" | ")));
        }
    }
    let right = links.iter().filter(|link| link.reported() == link.kind).count();
    text + &format!("\n{right} of {} are right.\n", links.len())
}

fn counts(links: &[&Link]) -> String {
    let offs = links.iter().filter_map(|link| Some((link.off()?, link.packets?)));
    let within = |(off, packets): &(f64, f64)| off.abs() <= (SHARE * packets).max(1.0);
    let offs: Vec<(f64, f64)> = offs.collect();
    let right = offs.iter().filter(|off| within(off)).count();
    let held = links.iter().filter(|link| link.is_in_interval() == Some(true)).count();
    format!(
        "\nOf {} counts of packets {right} are within one packet or {:.0} %, whichever is more. \
         The interval holds the true number in {held} of them.\n",
        offs.len(),
        100.0 * SHARE
    )
}

fn each(site: Site, links: &[Link]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| link | kind | found | holds (packets) | found | drain (Mbps) \
         | round trip idle | up | down | both (ms, p50) |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        site.title(),
        site.about()
    );
    let shown = |number: Option<f64>| number.map_or("-".to_owned(), |n| format!("{n:.1}"));
    for link in links {
        let trips = ["idle", "up", "down", "both"]
            .map(|load| shown(link.number(&format!("/latency_ms/{load}/p50"))));
        let [value, low, high] = ["value", "low", "high"]
            .map(|end| shown(link.number(&format!("/buffer/packets/{end}"))));
        let found = if value == "-" { value } else { format!("{value} ({low} to {high})") };
        text.push_str(&format!(
            "| {} | {} | {} | {} | {found} | {} | {} |\n",
            link.name,
            link.kind,
            link.reported(),
            link.packets.map_or("-".to_owned(), |packets| packets.to_string()),
            shown(link.number("/drain_mbps")),
            trips.join(" | ")
        ));
    }
    text
}
