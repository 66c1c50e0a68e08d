//! The arguments of `fairwave matrix`.

use super::assignment;
use clap::Args;
use fairwave_emulator::emulation::matrix::Company;
use fairwave_units::Duration;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  fairwave matrix
  fairwave matrix --laws reno,cubic,bbr --beside cubic --repeat 5 --out out/matrix
  fairwave matrix --out out/matrix --resume
  fairwave matrix --over 'link.wire.rate=5 Mbps,50 Mbps' --set link.wire.loss=0 --for 10s
  fairwave matrix scenarios/repairs.toml --flow transfer --laws cubic,bbr --simulate
  fairwave matrix --laws cubic,fw_ackloss_cubi --beside alone,4 --json

Each law runs in each company at each point of the scenario's sweep, run by run, in real time; the
time that this takes is told first. Laws are this machine's kernel's, by its names; those that
begin with fw_ are loaded by `fairwave cc load`. A run that is late is made a second time.

Exit code 1: a run failed. Exit code 4: a run was late twice; it does not count, others do.";

/// Options of `fairwave matrix`.
#[derive(Args, Debug)]
pub(crate) struct Matrix {
    /// The scenario file [default: a wire of 20 Mbps between two hosts, scenarios/kernel-link.toml]
    pub(crate) scenario: Option<PathBuf>,
    /// Congestion control algorithms, by the kernel's names [default: all that it has]
    #[arg(long, value_name = "LAW", value_delimiter = ',')]
    pub(crate) laws: Vec<String>,
    /// Flows on the same link: alone (no other flow), the name of the algorithm of one more flow,
    /// or the total number of flows, all with the algorithm under test
    #[arg(long, value_name = "COMPANY", value_delimiter = ',', default_value = "alone,cubic,4")]
    pub(crate) beside: Vec<Company>,
    /// Sweep a key of the scenario over these values, beside its own axes; may be repeated
    #[arg(long, value_name = "KEY=VALUE,VALUE", value_parser = assignment)]
    pub(crate) over: Vec<String>,
    /// The flow under test [default: the scenario's first one of TCP]
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
    /// Runs of each combination [default: the scenario's seeds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) repeat: Option<u64>,
    /// Length of each run, such as "10 s" [default: the scenario's duration]
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) lasts: Option<Duration>,
    /// Afterwards simulate the same with the algorithms that the simulator has, and show both
    #[arg(long)]
    pub(crate) simulate: bool,
    /// Continue the matrix that was interrupted in --out: only make the runs that are missing or
    /// were late there
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print the means as CSV, with 95 % confidence intervals
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Give the emulator's loop a real-time priority, which makes it more punctual (needs root)
    #[arg(long)]
    pub(crate) realtime: bool,
}
