//! The arguments of `fairwave plot`.

use clap::Args;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  fairwave plot out/sweep --y goodput_mbps
  fairwave plot out/sweep --y flow.up.delay_p99_ms --x queue --file delay.png
  fairwave plot out/run --y flows.cwnd_bytes
  fairwave plot out/kernel out/simulator --y flows.cwnd_bytes --file both.svg
  fairwave plot out/kernel out/simulator --y windows.srtt_ns --file both.svg

windows has the kernel's connections at each ACK (fairwave emulate --windows). A run without it is
drawn from its flows instead, every record.sample_every.
Each combination of the other axes is a series. A name that does not exist lists those that do.";

/// Options of `fairwave plot`.
#[derive(Args, Debug)]
pub(crate) struct Plot {
    /// Directory of a sweep or of one run; several runs are drawn over each other
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// The figure on the y axis, such as goodput_mbps or flow.up.delay_p99_ms; may be repeated.
    /// Also a column of a run's tables, such as flows.cwnd_bytes
    #[arg(long, value_name = "FIGURE", required = true)]
    pub(crate) y: Vec<String>,
    /// The sweep's axis on the x axis [default: its first axis, or time]
    #[arg(long, value_name = "AXIS")]
    pub(crate) x: Option<String>,
    /// Output file, as .svg or .png [default: both, in the first DIR]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
