//! `cargo xtask vm dccp`: our DCCP and that of Debian's kernel 6.1 send to each other, over a path
//! with delay and loss. The results are written to a page.

use super::guest::Guest;
use std::fs;
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// The guest's script, and the beginning of its lines for the page.
const GUEST: &str = include_str!("dccp.sh");
const MARK: &str = "DCCP ";
/// Beginning of the page, and remarks on the figures.
const HEAD: &str = include_str!("dccp.md");
/// Marker in [`HEAD`] that the table replaces.
const TABLE: &str = "<!-- table -->\n";
/// The columns of the table.
const COLUMNS: [&str; 10] = [
    "sender",
    "receiver",
    "IP",
    "CCID",
    "Mbps received",
    "sent",
    "p at the receiver",
    "p at the sender",
    "RTT at the sender, ms",
    "RFC 5348 gives, Mbps",
];
/// Application data of a datagram in bytes, as the guest sends them.
const SIZE: f64 = 1_400.0;

const PROGRAMS: [&str; 4] = ["ip", "nft", "tc", "tcpdump"];
const MODULES: [&str; 9] = [
    "drivers/net/veth",
    "net/sched/sch_netem",
    "crypto/crc32c_generic",
    "lib/libcrc32c",
    "net/netfilter/nfnetlink",
    "net/netfilter/nf_tables",
    "net/dccp/dccp",
    "net/dccp/dccp_ipv4",
    "net/dccp/dccp_ipv6",
];

/// Boots the guest, and writes the page.
pub(super) fn dccp() -> Outcome {
    run_aside(cargo(&["build", "-p", "fairwave-dccp-tool", "--bin", "dccp-run"]))?;
    run_aside(cargo(&["build", "-p", "fairwave-cli"]))?;
    let commands = ["debug/fairwave", "debug/dccp-run"].map(|path| workspace::target().join(path));
    let guest = Guest {
        place: "dccp-vm",
        commands: commands.to_vec(),
        init: GUEST,
        files: Vec::new(),
        programs: &PROGRAMS,
        packages: &[],
        modules: MODULES.to_vec(),
    };
    let printed = guest.boot()?;
    let page = root().join("results/guests/dccp.md");
    fs::write(&page, text(&printed)?).map_err(|e| format!("{}: {e}", page.display()))?;
    note(&format!("wrote {}", page.display()));
    Ok(())
}

/// The page: a table of the lines that begin with `=`, then the other lines unchanged.
fn text(printed: &str) -> Result<String, String> {
    let (mut table, mut rest) = (String::new(), String::new());
    // The terminal is cleared before the first line, so the mark may be preceded by escape codes.
    for line in printed.lines().filter_map(|line| Some(line.split_once(MARK)?.1.trim_end())) {
        if let Some(run) = line.strip_prefix("= ") {
            wrong(run).map_or(Ok(()), |why| Err(format!("{why}: `{run}`")))?;
            table.push_str(&row(run).ok_or_else(|| format!("no figures in `{run}`"))?);
        } else if let Some(title) = line.strip_prefix("# ") {
            rest.push_str(&format!("```\n\n## {title}\n\n```\n"));
        } else {
            rest.push_str(&format!("{}\n", line.replace('\t', "    ")));
        }
    }
    let head = COLUMNS.join(" | ");
    let rule = "|---".repeat(COLUMNS.len());
    let head = format!("| {head} |\n{rule}|\n");
    let page = HEAD.replace(TABLE, &format!("{head}{table}"));
    Ok(format!("{page}\n## The runs\n\n```\n{rest}```\n"))
}

/// The error of a run: it did not end well, the two ends of TFRC know different loss event rates,
/// or the received rate is far from the throughput equation's.
fn wrong(run: &str) -> Option<String> {
    let words: Vec<&str> = run.split_whitespace().collect();
    let [_, _, _, ccid, status, got, p_there, _, _, p, rtt] = words[..] else {
        return Some("figures are missing".to_owned());
    };
    if status != "0" {
        return Some(format!("exit code {status}"));
    }
    let number = |word: &str| word.parse::<f64>().ok().filter(|number| *number > 0.0);
    if ccid != "3" {
        return number(got).is_none().then(|| "nothing arrived".to_owned());
    }
    let [got, p_there, p, rtt] = [got, p_there, p, rtt].map(number);
    let (Some(got), Some(there), Some(p), Some(rtt)) = (got, p_there, p, rtt) else {
        return Some("p, the round-trip time or the rate is not known".to_owned());
    };
    let given = equation(p, rtt / 1e3);
    if !(0.9..=1.1).contains(&(there / p)) {
        return Some(format!("p is {p} at the sender and {there} at the receiver"));
    }
    // p and the round-trip time change during a run, and only their last values are known here, so
    // the tolerance is wide.
    (!(0.4..=2.5).contains(&(got / given))).then(|| format!("{got} Mbps, but {given} by RFC 5348"))
}

/// A table row for a run. Its words are sender, receiver, version of IP, CCID and exit status, then
/// Mbps, p and round-trip time of the receiver and of the sender, with `-` for unknown values.
fn row(run: &str) -> Option<String> {
    let words: Vec<&str> = run.split_whitespace().collect();
    let [sender, receiver, ip, ccid, status, got, p_there, _, sent, p, rtt] = words[..] else {
        return None;
    };
    let name = |who| if who == "kernel" { "Linux" } else { "Fairwave" };
    let given = match (p.parse::<f64>(), rtt.parse::<f64>()) {
        (Ok(p), Ok(rtt)) if p > 0.0 && rtt > 0.0 => format!("{:.2}", equation(p, rtt / 1e3)),
        _ => "-".to_owned(),
    };
    let ended = if status == "0" { String::new() } else { format!(" (exit code {status})") };
    Some(format!(
        "| {} | {} | {ip} | {ccid} | {got}{ended} | {sent} | {p_there} | {p} | {rtt} | {given} |\n",
        name(sender),
        name(receiver)
    ))
}

/// The throughput equation in Mbps (RFC 5348 section 3.1, b = 1, t_RTO = 4 R).
fn equation(p: f64, rtt: f64) -> f64 {
    let timeouts = 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    SIZE * 8.0 / 1e6 / (rtt * ((2.0 * p / 3.0).sqrt() + timeouts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_rows_and_the_rest_is_kept() {
        let printed = "\u{1b}[2JDCCP kernel 6.1\r\nnoise\nDCCP # One\nDCCP   a\tb\n\
                    DCCP = fairwave kernel 4 3 0 \
                    2.9 0.01 - 3.0 0.01 40.0\n";
        let page = text(printed).unwrap();
        let row = "| Fairwave | Linux | 4 | 3 | 2.9 | 3.0 | 0.01 | 0.01 | 40.0 | 3.15 |\n";
        assert!(page.contains(row), "{page}");
        assert!(page.ends_with("```\nkernel 6.1\n```\n\n## One\n\n```\n  a    b\n```\n"), "{page}");
        assert!(text("DCCP = too few\n").is_err());
    }

    #[test]
    fn a_run_that_is_not_as_it_should_be_is_told() {
        let good = "fairwave kernel 4 3 0 2.9 0.0101 - 3.0 0.01 40.0";
        assert_eq!(wrong(good), None);
        assert_eq!(wrong("kernel fairwave 4 2 0 2.9 - - 3.0 - -"), None);
        for bad in [
            "fairwave kernel 4 3 1 2.9 0.0101 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 0 2.9 0.02 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 0 0.9 0.01 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 0 2.9 - - 3.0 0.01 40.0",
            "kernel fairwave 4 2 0 - - - 3.0 - -",
        ] {
            assert!(wrong(bad).is_some(), "{bad}");
        }
    }

    /// Computed independently for p = 0.01: sqrt(0.0066667) = 0.081650, 12 sqrt(0.00375) 0.01
    /// 1.0032 = 0.0073719; their sum times 0.04 s is 3.5609 ms for 11200 bits.
    #[test]
    fn the_equation_by_hand() {
        assert!((equation(0.01, 0.04) - 3.1453).abs() < 0.001, "{}", equation(0.01, 0.04));
    }
}
