//! `cargo xtask vm soc`: an access point with WPA2 and three stations over the simulated radios of
//! Debian's kernel 6.1. The guest checks the results; its transcript is written as a page.

use super::guest::{Guest, WITH_RADIOS, relinked};
use crate::agent;
use std::fs;
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// The guest's script, and the beginning of its lines for the page.
const GUEST: &str = include_str!("soc.sh");
const MARK: &str = "SOC ";
/// Shell functions for radios, an access point and its stations, for scripts of guests.
pub(super) const RADIOS: &str = include_str!("radios.sh");
/// Beginning of the page.
const HEAD: &str = "# An access point and three stations in a guest

Made by `cargo xtask vm soc`, which boots Debian's kernel in QEMU without hardware's help. The
radios are those of `mac80211_hwsim`: there is no propagation, so a signal is what the sender's
power makes it, and is the same for all who hear it. Each station is in a network namespace of its
own. The command fails if a state does not come, if signal does not follow power, if Fairwave reads
other numbers than `iw` does (`fairwave_sockets::radio`), or if the loop of `fairwave soc`
([docs/soc.md](../../docs/soc.md)) does not do what stands above each part.
";
/// Programs, and the packages of those that a Debian system lacks, with their libraries.
const PROGRAMS: [&str; 8] =
    ["ip", "hostapd", "hostapd_cli", "wpa_supplicant", "wpa_cli", "iw", "tc", "bash"];
pub(super) const PACKAGES: [&str; 7] = [
    "libnl-3-200",
    "libnl-genl-3-200",
    "libnl-route-3-200",
    "libpcsclite1",
    "iw",
    "hostapd",
    "wpasupplicant",
];
const MODULES: [&str; 14] = [
    "net/sched/sch_hfsc",
    "net/sched/sch_htb",
    "net/sched/cls_u32",
    "net/sched/sch_codel",
    "net/sched/sch_fq",
    "net/sched/sch_sfq",
    "net/sched/sch_pie",
    "net/sched/sch_cake",
    "net/sched/sch_tbf",
    "net/sched/sch_prio",
    "drivers/net/veth",
    "drivers/net/tun",
    "net/sched/sch_ingress",
    "net/sched/act_mirred",
];

/// Boots the guest, and writes the page.
pub(super) fn soc() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-linux", "--bin", "radio-run"]))?;
    run_aside(cargo(&["build", "-p", "fairwave-cli"]))?;
    let agent = agent::build("x86_64-unknown-linux-musl")?;
    let [fairwave, radio] = ["debug/fairwave", "debug/radio-run"];
    let guest = Guest {
        place: "soc-vm",
        commands: vec![workspace::target().join(fairwave), workspace::target().join(radio), agent],
        init: GUEST,
        files: vec![("radios.sh", RADIOS.to_owned())],
        programs: &PROGRAMS,
        packages: &PACKAGES,
        modules: [&WITH_RADIOS[..], &MODULES].concat(),
    };
    write_page(&guest, "results/guests/soc.md", HEAD, MARK)
}

/// Boots a guest, and writes a page into a file of the repository.
pub(super) fn write_page(guest: &Guest, file: &str, head: &str, mark: &str) -> Outcome {
    let printed = guest.boot()?;
    let versions = workspace::target().join(guest.place).join("packages");
    let packages = fs::read_to_string(&versions).map_err(|e| format!("{versions:?}: {e}"))?;
    let page = root().join(file);
    fs::write(&page, text(head, mark, &printed, &packages))
        .map_err(|e| format!("{}: {e}", page.display()))?;
    note(&format!("wrote {}", page.display()));
    Ok(())
}

/// The page below `head`: sections begin with lines `# TITLE` of the transcript, whose lines for
/// the page begin with `mark`.
fn text(head: &str, mark: &str, printed: &str, packages: &str) -> String {
    let versions = packages.lines().map(|line| format!("- {line}\n")).collect::<String>();
    let mut page = format!("{}\nPackages:\n\n{versions}\n## Association\n\n```\n", relinked(head));
    // The terminal is cleared before the first line, so the mark may be preceded by escape codes.
    for line in printed.lines().filter_map(|line| Some(line.split_once(mark)?.1.trim_end())) {
        match line.strip_prefix("# ") {
            Some(title) => page.push_str(&format!("```\n\n## {title}\n\n```\n")),
            None => page.push_str(&format!("{}\n", line.replace('\t', " "))),
        }
    }
    page + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_ends_a_block_and_begins_another() {
        let page =
            text(HEAD, MARK, "\u{1b}[2JSOC one\r\nnoise\nSOC # Two\nSOC \tthree\n", "iw 5.19-1\n");
        let expected =
            "- iw 5.19-1\n\n## Association\n\n```\none\n```\n\n## Two\n\n```\n three\n```\n";
        assert!(page.ends_with(expected), "{page}");
    }
}
