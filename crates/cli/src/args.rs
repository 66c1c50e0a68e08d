//! The command line: commands, options and their help texts.

mod common;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
pub(crate) mod packets;
mod plot;
mod reproduce;
mod store;

use crate::printed::Described;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use common::assignment;
use fairwave_capture::trace::StreamName;
use fairwave_units::Duration;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::iter::successors;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

pub(crate) use common::Common;
#[cfg(all(target_os = "linux", feature = "kernel-laws"))]
use fairwave_cc_tool::command::options as cc;
#[cfg(target_os = "linux")]
use fairwave_dccp_tool::command as dccp;
#[cfg(target_os = "linux")]
use fairwave_fairness::command::options as fairness;
#[cfg(target_os = "linux")]
use fairwave_probe_tool::command as probe;
#[cfg(target_os = "linux")]
use fairwave_proxy::command as proxy;
#[cfg(target_os = "linux")]
use fairwave_soc_tool::command::program as soc;
#[cfg(target_os = "linux")]
pub(crate) use matrix::Matrix;
pub(crate) use plot::Plot;
pub(crate) use reproduce::{Host, Reproduce};
pub(crate) use store::{Store, StoreChoice, StoreTask};

/// Part of both the short and the long help.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  everything ran
  1  a run or a program of an emulation failed, a signal ended a command before its results, or
     a file could not be read or written
  2  bad usage, a scenario that is not valid, or a file that is no capture
  3  with --strict: a claim fails
  4  an emulation is not valid, as it did not keep real time"
    };
}

const EXIT_CODES: &str = exit_codes!();

const EXAMPLES: &str = concat!(
    "\
Examples:
  fairwave reproduce ack-loss
  fairwave run scenarios/ack-loss.toml --set tcp.congestion_control=reno --out out/one
  fairwave run scenarios/single-tcp.toml --set flow.up.delayed_ack=off --seed 7 --json
  fairwave sweep scenarios/ack-loss.toml --jobs 2
  fairwave check scenarios/ack-loss.toml studies/ack-loss/uploads.toml
  fairwave trace capture.pcapng
  fairwave list congestion-controls
  fairwave list schema run
  fairwave explain flow.congestion_control
  fairwave completions bash
",
    "\n",
    exit_codes!()
);

const RUN_EXAMPLES: &str = "\
Examples:
  fairwave run studies/ack-loss/detail.toml
  fairwave run studies/ack-loss/detail.toml --pcap --sample-every '10 ms' --out out/close
  fairwave run scenarios/ack-loss.toml --set tcp.congestion_control=ack-loss+compound
  fairwave run --replay out/emulated --pcap --set node.ap.queue.discipline=fq-codel";

#[cfg(target_os = "linux")]
const EMULATE_EXAMPLES: &str = "\
Examples:
  fairwave emulate home.toml --for 10s --exec 'server=iperf3 -s' --exec 'sta1@1s=iperf3 -c server'
  fairwave emulate home.toml --exec 'server=python3 -m http.server 80' --exec 'sta1=curl server'
  fairwave emulate home.toml --kernel-flows 'up*' --json --out out/real
  fairwave emulate home.toml --kernel-flows 'up*' --windows --out out/kernel
  fairwave emulate home.toml --uplink server=eth0 --exec 'sta1=curl https://example.org'
  fairwave emulate home.toml --between sta1=eth1,server=eth2 --for 1h

Each station and host is a network namespace with the device fw0. Names of nodes resolve to their
addresses inside. Nothing of it is left afterwards. Works without root, but for --uplink, --between,
--windows and --realtime.

Exit code 1: a program failed. Exit code 4: the run is not valid, as the emulator did not keep real
time or lost packets itself; results are written nevertheless, and summary.json says why.";

#[cfg(target_os = "linux")]
const CTL_EXAMPLES: &str = "\
Examples:
  fairwave emulate ctl out/home status
  fairwave emulate ctl out/home move node=sta1 to='[\"10 m\", \"0 m\"]'
  fairwave emulate ctl out/home link name=ap-server rate='1 Mbps' loss=0.01
  fairwave emulate ctl out/home link name=ap-server up=false
  fairwave emulate ctl out/home remove node=sta1
  fairwave emulate ctl out/home queue at=ap discipline=fq-codel target='3 ms'
  fairwave emulate ctl out/home '{\"weight\": {\"station\": \"sta1\", \"weight\": 2}}'

The answer is a line of JSON. Exit code 1: it says that the command was refused.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  fairwave sweep scenarios/ack-loss.toml
  fairwave sweep scenarios/ack-loss.toml --jobs 2 --out out/sweep --json
  fairwave sweep scenarios/ack-loss.toml --out out/sweep --resume
  fairwave sweep scenarios/ack-loss.toml --csv

Means and intervals are over the seeds of a point: Student's t, 95 %. An interval needs two seeds.
SIGINT (Ctrl-C) or SIGTERM ends the sweep after the runs under way, which --resume keeps; a second
signal ends it at once.";

const CHECK_EXAMPLES: &str = "\
Examples:
  fairwave check scenarios/ack-loss.toml
  fairwave check scenarios/ack-loss.toml --json

Exit code 2: at least one file is not valid.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  fairwave compare out/before out/after
  fairwave compare out/sweep/law=reno out/sweep/law=cubic --metric goodput_mbps

Points of the same axes are compared, or the only points of both. Where both have the same seeds,
runs of one seed make a pair (Student's paired test); otherwise it is Welch's test. p (Holm) is
corrected for the number of comparisons; what is below 0.05 there differs.";

const TRACE_EXAMPLES: &str = "\
Examples:
  fairwave trace capture.pcapng
  fairwave trace capture.pcap.gz --host 192.168.1.20 --port 443
  fairwave trace capture.pcapng --connection 3
  fairwave trace capture.pcapng --out out/trace --interval '100 ms'
  fairwave trace sent.pcap received.pcap --same-clock
  tcpdump -i wlan0 -s 128 -w - | fairwave trace - --json

A capture that is cut or damaged gives what comes before the damage and a warning that says where
it is; the exit code is 0. Exit code 2: the file is no capture at all.";

/// A laboratory for transport protocols over wireless LANs.
///
/// Scenarios are simulated in virtual time; the same scenario, seed and version give the same
/// bytes on any machine, with any number of jobs.
#[derive(Debug, Parser)]
#[command(name = "fairwave", version, after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The definition of the command line. The help of a command leaves out common options that have no
/// effect on it.
pub(crate) fn definition() -> clap::Command {
    let whole = Cli::command();
    let all: Vec<Arg> = whole.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    common::on_commands(whole, "", &all)
}

/// Parses a command line. Also returns the name of its command, such as `probe serve`.
pub(crate) fn read<T: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = T>,
) -> Result<(Cli, String), clap::Error> {
    let mut definition = definition();
    let matches = definition.try_get_matches_from_mut(words)?;
    let names = successors(matches.subcommand(), |(_, inner)| inner.subcommand());
    let command = names.map(|(name, _)| name).collect::<Vec<_>>().join(" ");
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
    Ok((cli, command))
}

/// Options of `fairwave run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The scenario file
    #[cfg_attr(target_os = "linux", arg(required_unless_present = "replay"))]
    #[cfg_attr(not(target_os = "linux"), arg(required = true))]
    pub(crate) scenario: Option<PathBuf>,
    /// Instead of a scenario: repeat the emulated run of this directory in virtual time, with the
    /// packets that it recorded (`fairwave emulate --record`)
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "DIR", conflicts_with = "scenario")]
    pub(crate) replay: Option<PathBuf>,
    /// Also write every frame on the air, for Wireshark
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Also write every packet at this node, as tcpdump there would; may be repeated, and
    /// be a pattern such as "pc*" [default: the scenario's record.taps]
    #[arg(long, value_name = "NODE")]
    pub(crate) tap: Vec<String>,
    /// Interval of the recorded series, such as "10 ms" [default: the scenario's]
    #[arg(long, value_name = "DURATION")]
    pub(crate) sample_every: Option<Duration>,
}

/// Options of `fairwave emulate`.
#[cfg(target_os = "linux")]
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Emulate {
    #[command(subcommand)]
    pub(crate) task: Option<EmulateTask>,
    /// The scenario file
    #[arg(required = true)]
    pub(crate) scenario: Option<PathBuf>,
    /// Length of the run, such as "10 s" [default: the scenario's duration]
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) lasts: Option<Duration>,
    /// Start a program in a node, at a time if wanted; may be repeated, and the node may be a
    /// pattern such as "sta*"
    #[arg(long, value_name = "NODE[@TIME]=COMMAND")]
    pub(crate) exec: Vec<fairwave_emulator::emulation::Order>,
    /// Let sockets of the kernel carry these flows of the scenario; may be repeated, and be a
    /// pattern such as "up*" [default: the scenario's emulate.kernel_flows]
    #[arg(long, value_name = "FLOW")]
    pub(crate) kernel_flows: Vec<String>,
    /// Give a node a way out by an interface of this machine (NAT; needs root)
    #[arg(long, value_name = "NODE=INTERFACE")]
    pub(crate) uplink: Vec<fairwave_emulator::emulation::Uplink>,
    /// Put the cell between two interfaces of this machine, as a transparent link: frames of each
    /// come out of the other. The nodes are the scenario's two real ones, or those named (needs
    /// root)
    #[arg(long, value_name = "[NODE=]IF,[NODE=]IF", conflicts_with = "shell")]
    pub(crate) between: Option<fairwave_emulator::emulation::Between>,
    /// Also write every frame on the air, for Wireshark
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Also write every packet at this node, as tcpdump there would; may be repeated, and be a
    /// pattern [default: the scenario's record.taps]
    #[arg(long, value_name = "NODE")]
    pub(crate) tap: Vec<String>,
    /// Record all packets that enter the emulated network, for `fairwave run --replay`
    #[arg(long)]
    pub(crate) record: bool,
    /// Also write the windows of the kernel's TCP flows at each ACK, for `fairwave plot --y
    /// windows.cwnd_bytes` (needs root)
    #[arg(long)]
    pub(crate) windows: bool,
    /// Afterwards simulate the same scenario, its flows on the simulator's own stack, and show
    /// both side by side
    #[arg(long)]
    pub(crate) beside_simulation: bool,
    /// Open a shell in this node; the run ends when the shell does, or with --for
    #[arg(long, value_name = "NODE", conflicts_with = "json")]
    pub(crate) shell: Option<String>,
    /// Show live figures on the terminal: Mbps, queues, retries, airtime, lateness; q ends the run
    #[arg(long, conflicts_with_all = ["json", "shell"])]
    pub(crate) live: bool,
    /// Give the emulator's loop a real-time priority, which makes it more punctual (needs root)
    #[arg(long)]
    pub(crate) realtime: bool,
}

/// Further commands of `fairwave emulate`.
#[cfg(target_os = "linux")]
#[derive(Debug, Subcommand)]
pub(crate) enum EmulateTask {
    /// Control a run while it lasts: move stations, change links and queues, look, stop
    #[command(after_help = CTL_EXAMPLES)]
    Ctl {
        /// The run's directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// move, remove, restore, link, queue, weight, status, stop, or a whole line of JSON
        command: String,
        /// Arguments of the command
        #[arg(value_name = "KEY=VALUE", value_parser = assignment)]
        settings: Vec<String>,
    },
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate one scenario and show the results; --set and --seed select a run of a sweep
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Run a scenario in real time: its nodes are network namespaces with real programs in them
    #[cfg(target_os = "linux")]
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(Emulate),
    /// Congestion controls in this machine's kernel: load, watch, measure, unload
    #[cfg(all(target_os = "linux", feature = "kernel-laws"))]
    #[command(after_help = cc::EXAMPLES)]
    Cc(cc::Cc),
    /// Init process of an emulation's namespaces, which starts the emulation
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    KeepNamespaces {
        /// Further tasks, and the command for each
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        task: Vec<OsString>,
    },
    /// Run the kernel's congestion controls over a grid of emulated links, in real time
    #[cfg(target_os = "linux")]
    #[command(after_help = matrix::EXAMPLES)]
    Matrix(Matrix),
    /// Simulate every point of a scenario's sweep, for every seed
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep {
        /// The scenario file
        scenario: PathBuf,
        /// Print the means of each point as CSV, with 95 % confidence intervals
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// Continue the sweep that was interrupted in --out: only make the runs that are missing
        /// there
        #[arg(long)]
        resume: bool,
    },
    /// Rerun a paper's experiment and report the measurements claim by claim
    #[command(after_help = reproduce::EXAMPLES)]
    Reproduce(Reproduce),
    /// Show, limit or remove the stored results of simulation runs
    #[command(after_help = store::EXAMPLES)]
    Store(Store),
    /// Plot results: a sweep's means over one of its axes, or a series of a run over time
    #[command(after_help = plot::EXAMPLES)]
    Plot(Plot),
    /// Test whether two sets of runs differ by more than chance
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Check scenario files, and report their errors
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// The scenario files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Play packet scripts against our TCP, in virtual time and on a TUN device, and the kernel's
    #[cfg(target_os = "linux")]
    #[command(after_help = packets::EXAMPLES)]
    Packets(packets::Packets),
    /// Measure the buffer on the way to a host, and the latency of a path under load
    #[cfg(target_os = "linux")]
    #[command(after_help = probe::EXAMPLES)]
    Probe(probe::Probe),
    /// Send and receive datagrams with congestion control: DCCP over IP or inside UDP
    #[cfg(target_os = "linux")]
    #[command(after_help = dccp::EXAMPLES)]
    Dccp(dccp::Dccp),
    /// Measure how stations share a network, with TCP or UDP of their kernels
    #[cfg(target_os = "linux")]
    #[command(after_help = fairness::EXAMPLES)]
    Fairness(fairness::Fairness),
    /// Relay TCP connections, with a target rate towards the server
    #[cfg(target_os = "linux")]
    #[command(after_help = proxy::EXAMPLES)]
    Proxy(proxy::Proxy),
    /// Report how good a station's channel is, and share an access point's interface by it
    #[cfg(target_os = "linux")]
    #[command(after_help = soc::EXAMPLES)]
    Soc(soc::Soc),
    /// Analyse a capture of tcpdump, Wireshark or Fairwave: which flow was slow, and for which
    /// reason
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(Trace),
    /// List studies, algorithms, traffic sources, schemas and more
    List {
        /// The kind of things to list
        what: Listing,
        /// With `schema`: the file or output that the schema describes [default: scenario]
        of: Option<Described>,
    },
    /// Explain a key of scenario files: meaning, unit, range, default, where it is allowed
    Explain {
        /// The key, as messages name it or without names: flow.up.mss, flow.mss; without one, all
        /// tables are listed. probe.latency_ms is a figure of `fairwave probe`, probe all of them;
        /// so are fairness, proxy and soc
        #[arg(value_name = "KEY", value_parser = Keys, hide_possible_values = true)]
        key: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual: to standard output, or one page for each command into --out
    Man,
}

/// Options of `fairwave compare`.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Directory of the first runs: of a sweep, of one of its points, or of one run
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// Directory of the second runs
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    /// Only compare this figure, such as flow.up.goodput_mbps; may be repeated [default: goodput,
    /// fairness, delay, loss and completion]
    #[arg(long, value_name = "FIGURE")]
    pub(crate) metric: Vec<String>,
}

/// Options of `fairwave trace`.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    /// The capture: pcap or pcapng, also compressed with gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A second capture of the same traffic, made elsewhere: shows the packets lost, delayed or
    /// reordered between the two
    #[arg(value_name = "FILE2")]
    pub(crate) second: Option<PathBuf>,
    /// With FILE2: the same clock timed both captures, so that delays can be computed
    #[arg(long, requires = "second")]
    pub(crate) same_clock: bool,
    /// Show this connection in detail: its number in the table, udp:N or dccp:N; may be repeated
    #[arg(long, short, value_name = "N", conflicts_with = "second")]
    pub(crate) connection: Vec<StreamName>,
    /// Only streams of this address; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Vec<IpAddr>,
    /// Only streams of this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,
    /// With --out: length of the intervals in which packets are counted [default: 1 s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) interval: Option<Duration>,
}

/// Kinds of things that `list` can list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Studies that `reproduce` knows
    Studies,
    /// Scenario files in the directory `scenarios`, with their questions
    Scenarios,
    /// Congestion controls, with their sources
    CongestionControls,
    /// Queue disciplines of radios and links, with their sources
    Queues,
    /// Sources of traffic, with their keys
    Sources,
    /// Filters of SNR samples (`cell.soc`)
    SocFilters,
    /// Policies from the Strength of Connection to weights (`cell.soc`)
    SocPolicies,
    /// TCP stacks, which set the defaults of a flow's keys
    Stacks,
    /// Schedulers of SHAKE flows, which choose the path for new data
    ShakeSchedulers,
    /// Algorithms by which the windows of a SHAKE flow's paths grow
    ShakeGrowths,
    /// Retransmission policies of SHAKE flows, which choose the path for lost data
    ShakeRetransmissions,
    /// 802.11 standards of a cell
    Standards,
    /// The JSON schema of scenario files, or of a command's output with --json
    Schema,
    /// The reference page of scenario files, in Markdown
    Reference,
}

/// The dotted keys of scenario files, and the names of their tables.
pub(crate) fn keys() -> Vec<String> {
    let known = fairwave_scenario::tables();
    let keys = known
        .into_iter()
        .flat_map(|table| [table.key].into_iter().chain(table.keys.into_iter().map(|key| key.key)));
    keys.filter(|key| !key.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Parser for keys of scenario files. Shells complete the known keys; any other text is accepted
/// too, since keys may contain the names of tables.
#[derive(Clone, Debug)]
struct Keys;

impl TypedValueParser for Keys {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let names = NAMES.get_or_init(keys);
        Some(Box::new(names.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

#[cfg(test)]
mod tests;
