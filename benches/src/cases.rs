//! `cargo xtask cases DIRECTORY`: small inputs that once failed, and the expected output of each.
//!
//! The inputs are not part of the project. Each fault has a test of its own beside the code; this
//! driver shows that the inputs themselves come out right.

use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};
use xtask::shell::{Outcome, cargo, run};
use xtask::workspace;

/// Options of `cases`.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory with the folders `trace` and `sim`.
    directory: PathBuf,
    /// Only files whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// An input, the arguments around its file name, and conditions on the output.
struct Case {
    file: &'static str,
    command: &'static str,
    /// Arguments behind the file.
    options: &'static [&'static str],
    checks: &'static [Check],
}

/// A condition on the output of the command.
enum Check {
    /// A value in its JSON, by pointer, lies in this range; `null` is none.
    Within(&'static str, f64, f64),
    /// A value in its JSON is `null`.
    Null(&'static str),
    /// Its standard output or standard error contains this text.
    Contains(&'static str),
    /// Neither contains it.
    Lacks(&'static str),
}

use Check::{Contains, Lacks, Null, Within};

const COPIES: &str = "/capture/ip/copies";
const TCP: &str = "/capture/ip/tcp";
const STARVED: &str = "/connections/0/a_sent/starvation/total_ns";
/// The command that compares the first two points of a sweep, which is run before.
const COMPARE: &str = "compare";
/// All 23 packets of one connection are read.
const CONNECTION: &[Check] = &[Within(TCP, 23.0, 23.0), Within(COPIES, 0.0, 0.0)];

const fn trace(file: &'static str, checks: &'static [Check]) -> Case {
    Case { file, command: "trace", options: &["--json"], checks }
}

const fn words(file: &'static str, checks: &'static [Check]) -> Case {
    Case { file, command: "trace", options: &[], checks }
}

/// A simulation of one seed.
const fn simulated(
    file: &'static str,
    options: &'static [&'static str],
    checks: &'static [Check],
) -> Case {
    Case { file, command: "run", options, checks }
}

/// A sweep over every seed.
const fn swept(
    file: &'static str,
    options: &'static [&'static str],
    checks: &'static [Check],
) -> Case {
    Case { file, command: "sweep", options, checks }
}

const fn checked(file: &'static str, checks: &'static [Check]) -> Case {
    Case { file, command: "check", options: &[], checks }
}

/// Every input, by the fault that it shows.
const CASES: &[Case] = &[
    trace(
        "trace/rtp_const_ipid.pcap",
        &[
            Within("/udp/0/a_sent/packets", 500.0, 500.0),
            Within("/udp/0/a_sent/numbers/lost", 0.0, 0.0),
            Within("/udp/0/a_sent/numbers/jitter/mean_ns", 0.0, 1e5),
            Within(COPIES, 0.0, 0.0),
        ],
    ),
    trace(
        "trace/quic_gso_ipid.pcap",
        &[
            Within("/udp/0/a_sent/packets", 160.0, 160.0),
            Within("/udp/0/b_sent/packets", 40.0, 40.0),
            Within("/udp/0/a_sent/rate_bps", 1.91e6, 1.93e6),
            Within(COPIES, 0.0, 0.0),
        ],
    ),
    trace("trace/vxlan.pcap", CONNECTION),
    words("trace/vxlan.pcap", &[Contains("VXLAN")]),
    trace("trace/gre.pcap", CONNECTION),
    words("trace/gre.pcap", &[Contains("GRE")]),
    trace("trace/ipip.pcap", CONNECTION),
    words("trace/ipip.pcap", &[Contains("Tunnels")]),
    trace("trace/idle_hostwide_ipid.pcap", &[Within(STARVED, 0.0, 0.0)]),
    words("trace/idle_hostwide_ipid.pcap", &[Contains("application")]),
    trace("trace/idle_keepalive.pcap", &[Within(STARVED, 0.0, 0.0)]),
    trace("trace/syn_rst_retry.pcap", &[Within(STARVED, 0.0, 1.9e9)]),
    trace(
        "trace/acks_hostwide_ipid.pcap",
        &[
            Null("/connections/0/a_sent/acks_lost_inferred"),
            Null("/connections/0/b_sent/acks_lost_inferred"),
        ],
    ),
    trace("trace/acks_near_receiver.pcap", &[Null("/connections/0/b_sent/acks_lost_inferred")]),
    trace("trace/netbios138.pcap", &[Null("/udp/0/a_sent/numbers")]),
    trace("trace/jump64.pcap", &[Null("/udp/0/a_sent/numbers")]),
    trace(
        "trace/tcpfrag.pcap",
        &[
            Within("/connections/0/a_sent/payload_bytes", 29_200.0, 29_200.0),
            Within("/connections/0/a_sent/holes", 0.0, 0.0),
            Within("/connections/0/a_sent/missing_bytes", 0.0, 0.0),
        ],
    ),
    trace(
        "trace/late_direction.pcap",
        &[Within("/connections/0/a_sent/retransmissions", 0.0, 0.0)],
    ),
    words("trace/late_direction.pcap", &[Contains("out of step")]),
    trace(
        "trace/spb_middle.pcapng",
        &[
            Within("/connections/0/a_sent/holes", 0.0, 0.0),
            Within("/connections/0/a_sent/missing_bytes", 0.0, 0.0),
        ],
    ),
    trace("trace/mpls1.pcap", CONNECTION),
    trace("trace/mpls2.pcap", CONNECTION),
    trace("trace/rt_mesh.pcap", CONNECTION),
    trace("trace/pppoe_pfc.pcap", CONNECTION),
    trace("trace/ppi192.pcap", CONNECTION),
    trace("trace/prism119.pcap", CONNECTION),
    trace("trace/avs163.pcap", CONNECTION),
    trace("trace/ppp9.pcap", CONNECTION),
    trace("trace/chdlc104.pcap", CONNECTION),
    trace("trace/nflog239.pcap", CONNECTION),
    trace("trace/v22.pcap", CONNECTION),
    trace("trace/v23.pcap", CONNECTION),
    Case {
        file: "trace/resent_joined.pcap",
        command: "trace",
        options: &["--connection", "0"],
        checks: &[Contains("4 segments in 1 packet")],
    },
    simulated(
        "sim/amsdu_without_ampdu.toml",
        &["--json"],
        &[Within("/summary/flows/0/goodput_bps", 51e6, 53e6)],
    ),
    checked("sim/two_cbr_one_fifo.toml", &[Contains("phase effects")]),
    checked("sim/snr-trace-no-warning-home.toml", &[Contains("do not hear each other")]),
    simulated(
        "sim/json-lost-lostjson.toml",
        &["--json", "--seed", "1"],
        &[Within("/summary/flows/0/datagrams/lost", 1529.0, 1529.0)],
    ),
    simulated(
        "sim/airtime-fairness-tcp-tcp.toml",
        &["--json", "--seed", "1", "--set", "node.ap.queue={discipline=\"mac80211\"}"],
        &[
            Within("/summary/pairs/0/airtime_share", 0.40, 0.50),
            Within("/summary/pairs/1/airtime_share", 0.40, 0.50),
        ],
    ),
    simulated(
        "sim/airtime-fairness-tcp-udp.toml",
        &["--json", "--seed", "1", "--set", "node.ap.queue={discipline=\"mac80211\"}"],
        &[
            Within("/summary/pairs/0/airtime_share", 0.40, 0.50),
            Within("/summary/pairs/1/airtime_share", 0.40, 0.50),
        ],
    ),
    simulated(
        "sim/rack-stall-home.toml",
        &["--json", "--seed", "1", "--set", "cell.carrier_sense=\"-92 dBm\""],
        &[Within("/summary/flows/2/longest_silence_ns", 0.0, 1.5e9), Lacks("panicked")],
    ),
    Case {
        file: "sim/zero-variance-det.toml",
        command: COMPARE,
        options: &["--json"],
        checks: &[
            Within("/comparisons/0/first/n", 1.0, 1.0),
            Null("/comparisons/0/first/half_width"),
            Null("/comparisons/0/difference/p"),
        ],
    },
    // All six variants of the queues, with the fewest uploads. Where the download is fast, the TCP
    // flow to the weak station has less than a tenth of the mean; the calls do not count.
    swept(
        "sim/starved-calls-q.toml",
        &["--json", "--set", "sweep.seeds=1", "--set", "node.up.count=1"],
        &[
            Within("/points/0/metrics/starved_flows/mean", 0.0, 0.0),
            Within("/points/1/metrics/starved_flows/mean", 0.0, 0.0),
            Within("/points/2/metrics/starved_flows/mean", 0.0, 0.0),
            Within("/points/3/metrics/starved_flows/mean", 0.0, 1.0),
            Within("/points/4/metrics/starved_flows/mean", 0.0, 0.0),
            Within("/points/5/metrics/starved_flows/mean", 0.0, 1.0),
        ],
    ),
];

/// Runs every case and prints those that come out wrong.
///
/// # Errors
/// A command that cannot be built or started, and any case that comes out wrong.
pub(crate) fn cases(options: &Options) -> Outcome {
    run(cargo(&["build", "--quiet", "--release", "-p", "fairwave-cli"]))?;
    let program = workspace::target().join("release/fairwave");
    let is_chosen =
        |case: &&Case| options.only.as_ref().is_none_or(|text| case.file.contains(text.as_str()));
    let (mut right, mut wrong) = (0, 0);
    for case in CASES.iter().filter(is_chosen) {
        let output = start(&program, &options.directory, case)?;
        let failed: Vec<String> =
            case.checks.iter().filter_map(|check| check.failure(&output)).collect();
        let title = format!("{} {} {}", case.command, case.file, case.options.join(" "));
        match failed.is_empty() {
            true => right += 1,
            false => {
                wrong += 1;
                println!("WRONG {title}: {}", failed.join("; "));
            }
        }
    }
    println!("{right} cases right, {wrong} wrong");
    match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} of {} cases came out wrong", right + wrong)),
    }
}

fn start(program: &Path, directory: &Path, case: &Case) -> Result<Output, String> {
    let place = workspace::target().join("cases");
    let output = |command: &mut Command| {
        command.output().map_err(|error| format!("{}: {error}", program.display()))
    };
    let made = |command: &str| {
        let mut made = Command::new(program);
        made.arg(command).arg(directory.join(case.file)).args(case.options);
        made.args(["--quiet", "--force", "--out"]).arg(&place);
        made
    };
    match case.command {
        "run" | "sweep" => output(&mut made(case.command)),
        COMPARE => {
            output(&mut made("sweep"))?;
            let points = points(&place).map_err(|error| format!("{}: {error}", place.display()))?;
            output(Command::new(program).arg(COMPARE).args(points.iter().take(2)).arg("--json"))
        }
        _ => output(
            Command::new(program)
                .arg(case.command)
                .arg(directory.join(case.file))
                .args(case.options),
        ),
    }
}

/// The directories of a sweep's points, by name.
fn points(sweep: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(sweep)?.collect::<io::Result<Vec<_>>>()?;
    let mut points: Vec<PathBuf> =
        entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    points.sort();
    Ok(points)
}

impl Check {
    /// A sentence about a failed condition; `None` if it holds.
    fn failure(&self, output: &Output) -> Option<String> {
        let json = || serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
        let contains = |text: &str| {
            [&output.stdout, &output.stderr]
                .iter()
                .any(|stream| String::from_utf8_lossy(stream).contains(text))
        };
        let failure = match *self {
            Within(at, low, high) => {
                let found = json().pointer(at).and_then(Value::as_f64);
                let is_right = found.is_some_and(|value| (low..=high).contains(&value));
                (!is_right).then(|| format!("{at} is {found:?}, not within {low} to {high}"))
            }
            Null(at) => {
                let found = json().pointer(at).cloned();
                (found != Some(Value::Null)).then(|| format!("{at} is {found:?}, not null"))
            }
            Contains(text) => (!contains(text)).then(|| format!("lacks {text:?}")),
            Lacks(text) => contains(text).then(|| format!("contains {text:?}")),
        };
        failure.map(|what| match output.status.success() {
            true => what,
            false => format!("{what} ({})", output.status),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn a_value_of_another_size_or_kind_is_wrong() {
        let output = Output {
            status: ExitStatus::from_raw(0),
            stdout: br#"{"a": {"b": 3, "c": null}}"#.to_vec(),
            stderr: b"warning: x".to_vec(),
        };
        let right = [Within("/a/b", 3.0, 3.0), Null("/a/c"), Contains("warning"), Lacks("error")];
        assert!(right.iter().all(|check| check.failure(&output).is_none()));
        let wrong = [
            Within("/a/b", 4.0, 5.0),
            Within("/a/c", 0.0, 1.0),
            Null("/a/b"),
            Null("/a/d"),
            Contains("error"),
            Lacks("warning"),
        ];
        assert!(wrong.iter().all(|check| check.failure(&output).is_some()));
    }
}
