//! `cargo xtask vm dccp`: our DCCP and that of Debian's kernel 6.1 send to each other, over a path
//! with delay and loss. The results are written to a page.

use super::guest::{Guest, relinked};
use std::fs;
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// The guest's script, and the beginning of its lines for the page.
const GUEST: &str = include_str!("dccp.sh");
const MARK: &str = "DCCP ";
/// Beginning of the page, and remarks on the figures.
const HEAD: &str = include_str!("dccp.md");
/// Markers in [`HEAD`] that the table of the runs and that of the options replace.
const TABLE: &str = "<!-- table -->\n";
const OPTIONS: &str = "<!-- options -->\n";
/// The columns of the table of options.
const OPTION_COLUMNS: [&str; 3] = ["Fairwave sends", "RFC 4340", "Linux"];
/// The columns of the table of the runs.
const COLUMNS: [&str; 13] = [
    "sender",
    "receiver",
    "IP",
    "CCID",
    "loss, %",
    "Mbps received",
    "of Linux to Linux",
    "at equal RTT",
    "sent",
    "p at the receiver",
    "p at the sender",
    "RTT at the sender, ms",
    "RFC 5348 gives, Mbps",
];
/// Application data of a datagram in bytes, as the guest sends them.
const SIZE: f64 = 1_400.0;

const PROGRAMS: [&str; 4] = ["ip", "nft", "tc", "tcpdump"];
const MODULES: [&str; 10] = [
    "drivers/net/veth",
    "net/sched/sch_netem",
    "crypto/crc32c_generic",
    "lib/libcrc32c",
    "net/netfilter/nfnetlink",
    "net/netfilter/nf_tables",
    "net/netfilter/nft_numgen",
    "net/dccp/dccp",
    "net/dccp/dccp_ipv4",
    "net/dccp/dccp_ipv6",
];

/// Boots the guest, and writes the page.
pub(super) fn dccp() -> Outcome {
    // An unoptimised program in an emulated processor answers some milliseconds later than the
    // kernel, and the rates are inverse to the round-trip time.
    let release = |rest: &[&str]| cargo(&[&["build", "--release", "-p"], rest].concat());
    run_aside(release(&["fairwave-dccp-tool", "--bin", "dccp-run", "--bin", "dccp-options"]))?;
    run_aside(release(&["fairwave-cli"]))?;
    let commands = ["release/fairwave", "release/dccp-run", "release/dccp-options"]
        .map(|path| workspace::target().join(path));
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

/// The page: a table of the lines that begin with `=` and one of those that begin with `?`, then
/// the other lines unchanged.
fn text(printed: &str) -> Result<String, String> {
    let (mut runs, mut answers, mut rest) = (Vec::new(), String::new(), String::new());
    // The terminal is cleared before the first line, so the mark may be preceded by escape codes.
    for line in printed.lines().filter_map(|line| Some(line.split_once(MARK)?.1.trim_end())) {
        if let Some(run) = line.strip_prefix("= ") {
            runs.push(Run::read(run).ok_or_else(|| format!("figures are missing: `{run}`"))?);
        } else if let Some(answer) = line.strip_prefix("? ") {
            let cells = answer.split(" | ").count();
            if cells != OPTION_COLUMNS.len() {
                return Err(format!("not {} cells: `{answer}`", OPTION_COLUMNS.len()));
            }
            answers.push_str(&format!("| {answer} |\n"));
        } else if let Some(title) = line.strip_prefix("# ") {
            rest.push_str(&format!("```\n\n## {title}\n\n```\n"));
        } else {
            rest.push_str(&format!("{}\n", line.replace('\t', "    ")));
        }
    }
    for run in &runs {
        run.wrong().map_or(Ok(()), |why| Err(format!("{why}: {run:?}")))?;
    }
    let table: String = runs.iter().map(|run| run.row(&runs)).collect();
    let page = HEAD.replace(TABLE, &format!("{}{table}", head(&COLUMNS)));
    let page = page.replace(OPTIONS, &format!("{}{answers}", head(&OPTION_COLUMNS)));
    let page = relinked(&page);
    Ok(format!("{page}\n## The runs\n\n```\n{rest}```\n"))
}

/// The first lines of a table.
fn head(columns: &[&str]) -> String {
    format!("| {} |\n{}|\n", columns.join(" | "), "|---".repeat(columns.len()))
}

/// Results of an end of a run; `None` for unknown values. Rate and round-trip time are means over
/// the same seconds, without those of the start.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    mbps: Option<f64>,
    /// Loss event rate at the end of the run.
    p: Option<f64>,
    rtt_ms: Option<f64>,
}

/// A run of the guest.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    sender: String,
    receiver: String,
    ip: String,
    ccid: String,
    /// Packets of data lost on the way, in per cent.
    loss: String,
    exit_code: i32,
    at_receiver: End,
    at_sender: End,
}

impl Run {
    /// Reads the words of a line: sender, receiver, version of IP, CCID, loss and exit code, then
    /// Mbps, p and round-trip time of the receiver and of the sender, with `-` for unknown values.
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [sender, receiver, ip, ccid, loss, exit_code, figures @ ..] = &words[..] else {
            return None;
        };
        let end = |figures: &[&str]| {
            let number = |place: usize| figures[place].parse().ok().filter(|number| *number > 0.0);
            End { mbps: number(0), p: number(1), rtt_ms: number(2) }
        };
        let word = |word: &str| word.to_owned();
        (figures.len() == 6).then_some(())?;
        Some(Self {
            sender: word(sender),
            receiver: word(receiver),
            ip: word(ip),
            ccid: word(ccid),
            loss: word(loss),
            exit_code: exit_code.parse().ok()?,
            at_receiver: end(&figures[..3]),
            at_sender: end(&figures[3..]),
        })
    }

    /// The error of a run: it did not end well, the two ends of TFRC know different loss event
    /// rates, or the received rate is far from the throughput equation's. Without losses the queue
    /// is the limit.
    fn wrong(&self) -> Option<String> {
        if self.exit_code != 0 {
            return Some(format!("exit code {}", self.exit_code));
        }
        let Some(got) = self.at_receiver.mbps else {
            return Some("nothing arrived".to_owned());
        };
        if self.ccid != "3" || self.loss == "0" {
            return None;
        }
        let (Some(there), Some(p), Some(given)) =
            (self.at_receiver.p, self.at_sender.p, self.given())
        else {
            return Some("p or the round-trip time is not known".to_owned());
        };
        if !(0.9..=1.1).contains(&(there / p)) {
            return Some(format!("p is {p} at the sender and {there} at the receiver"));
        }
        // p changes during a run, and only its last value is known here, so the tolerance is wide.
        let is_near = (0.4..=2.5).contains(&(got / given));
        (!is_near).then(|| format!("{got} Mbps, but {given} by RFC 5348"))
    }

    /// The throughput equation's rate in Mbps for the last p and the mean round-trip time at the
    /// sender.
    fn given(&self) -> Option<f64> {
        Some(equation(self.at_sender.p?, self.at_sender.rtt_ms? / 1e3))
    }

    /// The run between two kernels under the same conditions.
    fn between_kernels<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        let conditions = |run: &Self| [&run.ip, &run.ccid, &run.loss].map(Clone::clone);
        let mut kernels =
            all.iter().filter(|run| run.sender == "kernel" && run.receiver == "kernel");
        kernels.find(|run| conditions(run) == conditions(self))
    }

    /// The received rate over that between two kernels, and the same of the products of rate and
    /// round-trip time: the rate of either CCID is inverse to that time.
    fn ratios(&self, all: &[Self]) -> [Option<f64>; 2] {
        let of = |run: &Self| Some((run.at_receiver.mbps?, run.at_sender.rtt_ms));
        let Some((here, kernels)) = of(self).zip(self.between_kernels(all).and_then(of)) else {
            return [None; 2];
        };
        let ratio = here.0 / kernels.0;
        [Some(ratio), here.1.zip(kernels.1).map(|(here, there)| ratio * here / there)]
    }

    /// Its row in the table of all runs.
    fn row(&self, all: &[Self]) -> String {
        let name = |who: &str| if who == "kernel" { "Linux" } else { "Fairwave" }.to_owned();
        let figure = |value: Option<f64>, decimals: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let (there, here) = (self.at_receiver, self.at_sender);
        let [ratio, at_equal_rtt] = self.ratios(all);
        let known = [
            name(&self.sender),
            name(&self.receiver),
            self.ip.clone(),
            self.ccid.clone(),
            self.loss.clone(),
            figure(there.mbps, 3),
            figure(ratio, 2),
            figure(at_equal_rtt, 2),
            figure(here.mbps, 3),
            figure(there.p, 5),
            figure(here.p, 5),
            figure(here.rtt_ms, 2),
            figure(self.given(), 2),
        ];
        format!("| {} |\n", known.join(" | "))
    }
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
                    DCCP = fairwave kernel 4 3 1 0 2.9 0.01 - 3.0 0.01 40.0\n\
                    DCCP = kernel kernel 4 3 3 0 1.0 0.03 - 1.1 0.03 40.0\n\
                    DCCP = kernel kernel 4 3 1 0 2.5 0.01 - 2.6 0.01 50.0\n\
                    DCCP ? option 60 | Response | Response\r\n";
        let page = text(printed).unwrap();
        let row = "| Fairwave | Linux | 4 | 3 | 1 | 2.900 | 1.16 | 0.93 | 3.000 | 0.01000 | \
                   0.01000 | 40.00 | 3.15 |\n";
        assert!(page.contains(row), "{page}");
        let end = "```\nkernel 6.1\n```\n\n## One\n\n```\n  a    b\n```\n";
        assert!(page.ends_with(end), "{page}");
        assert!(page.contains("|---|---|---|\n| option 60 | Response | Response |\n"), "{page}");
        for cut in ["DCCP = too few\n", "DCCP ? option 60 | Response\n"] {
            assert!(text(cut).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_run_that_is_not_as_it_should_be_is_reported() {
        let wrong = |run: &str| Run::read(run).expect("all words").wrong();
        let good = "fairwave kernel 4 3 1 0 2.9 0.0101 - 3.0 0.01 40.0";
        assert_eq!(wrong(good), None);
        assert_eq!(wrong("kernel fairwave 4 2 1 0 2.9 - - 3.0 - -"), None);
        assert_eq!(wrong("kernel fairwave 4 3 0 0 4.7 - - 4.8 - 60.0"), None);
        for bad in [
            "fairwave kernel 4 3 1 1 2.9 0.0101 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 1 0 2.9 0.02 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 1 0 0.9 0.01 - 3.0 0.01 40.0",
            "fairwave kernel 4 3 1 0 2.9 - - 3.0 0.01 40.0",
            "kernel fairwave 4 2 1 0 - - - 3.0 - -",
        ] {
            assert!(wrong(bad).is_some(), "{bad}");
        }
    }

    /// The functions of the guest's script, with outputs of a kernel as the receiver and of ours as
    /// the sender.
    #[test]
    fn figures_are_means_without_the_start() {
        let from = GUEST.find("FROM_SECOND=").expect("it is there");
        let end = GUEST[from..].find("figures() {").expect("it is there") + from;
        let end = GUEST[end..].find("\n}\n").expect("it ends") + end + 3;
        let mut receiver = "established, sends by CCID 2\n".to_owned();
        let mut sender = "Connecting to [fd79::2]:5001, protocol 33 of IP\n".to_owned();
        for second in 1..=6 {
            receiver += &format!("{second} s: {second}.500 Mbps\n");
            sender += &format!(
                "[fd79::2]:5001 {second}.1 s: 1.0 Mbps, X 1.262 Mbps, X_recv 9.0 Mbps, equation \
                 1.257 Mbps, rtt 4{second}.00 ms, p 0.02\n"
            );
        }
        receiver += "received 900 datagrams, 900 bytes in 15.04 s: 9.999 Mbps\nat the end\n";
        sender += "[fd79::2]:5001: sent 1 datagrams, 1400 bytes in 15.2 s by CCID 3: 9.9 Mbps\n\
                   [fd79::2]:5001: at the end, X 1.2 Mbps, rtt 99.00 ms, p 0.03030\n";
        let script = format!(
            "place=$(mktemp -d); cd $place
             echo \"$RECEIVER\" > receiver; echo \"$SENDER\" > sender
             {}figures; values sender X | tail -1; rm -r $place",
            &GUEST[from..end]
        );
        let mut shell = std::process::Command::new("bash");
        let output = shell.args(["-c", &script]).env("RECEIVER", receiver).env("SENDER", sender);
        let output = output.output().expect("there is a shell");
        let printed = String::from_utf8(output.stdout).expect("text");
        assert_eq!(printed, "6.0000 - - 1.0000 0.03030 45.5000 6.1 1.262\n");
    }

    /// Computed independently for p = 0.01: sqrt(0.0066667) = 0.081650, 12 sqrt(0.00375) 0.01
    /// 1.0032 = 0.0073719; their sum times 0.04 s is 3.5609 ms for 11200 bits.
    #[test]
    fn the_equation_by_hand() {
        assert!((equation(0.01, 0.04) - 3.1453).abs() < 0.001, "{}", equation(0.01, 0.04));
    }
}
