//! Options of `fairwave fairness`.

use crate::PORT;
use clap::{Args, Subcommand};
use fairwave_console::peer::{Family, Secret};
use fairwave_units::{BitRate, Bytes, Duration};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave fairness serve                                   on a wired host
  fairwave fairness run server.lan --pairing CODE --hosts 3 on each of three stations
  fairwave fairness run 192.0.2.7 --key secret.txt -t 120 -i 5 -C reno --repetitions 10 --out reno
  fairwave fairness run 2001:db8::7 --key secret.txt -u -b 20M -R --json
  fairwave fairness show iperf3-files/ --target 5M
  fairwave fairness --compare reno cubic

Stations start together and each prints the results of all. These letters mean the same as to
iperf3: -t, -i, -P, -R, -u, -b, -C, -w, -p. -n is the number of repetitions. An ordinary user may
choose the algorithms of `sysctl net.ipv4.tcp_allowed_congestion_control`, root all. Figures are
explained in docs/fairness.md.

Exit code 1: something failed during the run; the measurements until then are printed.
Exit code 2: the options are wrong.";

/// Options of `fairwave fairness`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Fairness {
    /// The command.
    #[command(subcommand)]
    pub task: Option<FairnessTask>,
    /// Test whether two runs differ by more than chance: directories of `run --out`, or files or
    /// directories of iperf3 --json
    #[arg(long, num_args = 2, value_names = ["A", "B"], required = true)]
    pub compare: Vec<PathBuf>,
}

/// Commands of `fairwave fairness`.
#[derive(Debug, Subcommand)]
pub enum FairnessTask {
    /// Serve all stations as their common peer, until interrupted
    Serve(ServeFairness),
    /// Take part as a station
    Run(Box<RunFairness>),
    /// Show an earlier run, or the output of iperf3 --json
    Show(ShowFairness),
}

/// Options of `fairwave fairness serve`.
#[derive(Args, Debug)]
pub struct ServeFairness {
    /// Address and port to listen at, TCP and UDP [default: port 17981 of every address]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// The secret of both ends.
    #[command(flatten)]
    pub secret: Secret,
    /// Limit each station to this rate in each direction; TCP is paced for it
    /// [default: any rate]
    #[arg(long, value_name = "RATE", value_parser = BitRate::above_zero)]
    pub max_rate: Option<BitRate>,
    /// Limit the time of all repetitions of a run together
    #[arg(long, value_name = "DURATION", value_parser = seconds, default_value = "1800 s")]
    pub max_time: Duration,
    /// Limit the payload that a station may send and receive in a run
    #[arg(long, value_name = "BYTES", default_value = "100 GB")]
    pub max_bytes: Bytes,
}

/// Options of `fairwave fairness run`.
#[derive(Args, Debug)]
pub struct RunFairness {
    /// Name or address of the host that runs `fairwave fairness serve`
    #[arg(value_name = "HOST")]
    pub host: String,
    /// The server's port, TCP and UDP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The version of IP.
    #[command(flatten)]
    pub family: Family,
    /// The secret of both ends.
    #[command(flatten)]
    pub secret: Secret,
    /// Wait for this number of stations; all stations must give the same number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub hosts: u16,
    /// Name of this station in the results [default: the host's name up to the first dot]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Send for this time: seconds, or a time with its unit
    #[arg(long, short, value_name = "TIME", value_parser = seconds, default_value = "10 s")]
    pub time: Duration,
    /// Count in intervals of this length: seconds, or a time with its unit
    #[arg(long, short, value_name = "TIME", value_parser = seconds, default_value = "1 s")]
    pub interval: Duration,
    /// Number of repetitions, for confidence intervals
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1)]
    pub repetitions: u16,
    /// Flows at a time in each direction
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1)]
    pub parallel: u16,
    /// Receive from the server instead of sending to it
    #[arg(long, short = 'R', conflicts_with = "bidir")]
    pub reverse: bool,
    /// Send in both directions
    #[arg(long)]
    pub bidir: bool,
    /// Send datagrams instead of TCP
    #[arg(long, short, conflicts_with = "congestion")]
    pub udp: bool,
    /// Rate of each flow, such as 5M or '5 Mbps' [default: 1 Mbps for UDP, unlimited for TCP]
    #[arg(long, short, value_name = "RATE", value_parser = BitRate::above_zero)]
    pub bitrate: Option<BitRate>,
    /// Congestion control of the senders, as their kernels name it [default: the kernel's]
    #[arg(long, short = 'C', value_name = "ALGORITHM")]
    pub congestion: Option<String>,
    /// Size of the TCP socket buffers at both ends, of which Linux allocates twice as much, such as
    /// 64K or '64 KiB' [default: buffers that grow]
    #[arg(long, short, value_name = "BYTES", value_parser = size, conflicts_with = "udp")]
    pub window: Option<Bytes>,
    /// Reference rates and the page.
    #[command(flatten)]
    pub judged: Judged,
}

impl RunFairness {
    /// Whether one flow of this station is measured alone, for the effective bandwidth. One whose
    /// rate is given would measure that rate and not the network.
    pub(super) const fn measures_effective(&self) -> bool {
        let is_free = !self.udp && self.bitrate.is_none();
        is_free && self.judged.target.is_some() && self.judged.effective.is_none()
    }
}

/// Reference rates for the evaluation, and the output file.
#[derive(Args, Debug)]
pub struct Judged {
    /// Target rate of each station; the share of intervals that reach it is reported
    #[arg(long, value_name = "RATE", value_parser = BitRate::above_zero)]
    pub target: Option<BitRate>,
    /// Effective bandwidth: the maximum of one flow alone in the network [default of `run` for TCP
    /// without -b: measured, a flow of this station before the repetitions, which takes --time;
    /// else the sum over all stations]
    #[arg(long, value_name = "RATE", value_parser = BitRate::above_zero, requires = "target")]
    pub effective: Option<BitRate>,
    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// Options of `fairwave fairness show`.
#[derive(Args, Debug)]
pub struct ShowFairness {
    /// A directory of `run --out`, a file of iperf3 --json, a directory of such files (one for
    /// each station), or of such directories (one for each repetition)
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Reference rates and the page.
    #[command(flatten)]
    pub judged: Judged,
}

/// Parses a time with its unit, or a number of seconds as in iperf3.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && (0.0..=1e9).contains(&seconds) => {
            Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
        }
        Ok(_) => Err("from 0 to a billion seconds".to_owned()),
        Err(_) => {
            text.parse().map_err(|error: fairwave_units::ParseQuantityError| error.to_string())
        }
    }
}

/// Parses a size with its unit, or a number of bytes with K or M, which are binary as in iperf3.
fn size(text: &str) -> Result<Bytes, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    let size = match number.parse::<u32>() {
        Ok(number) => Bytes(u64::from(number) * factor),
        Err(_) => {
            text.parse().map_err(|error: fairwave_units::ParseQuantityError| error.to_string())?
        }
    };
    if size.0 > i32::MAX as u64 / 2 { Err("more than 1 GiB".to_owned()) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_taken_as_iperf3_takes_them_or_with_units() {
        assert_eq!(seconds("10"), Ok(Duration::from_secs(10)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("250 ms"), Ok(Duration::from_millis(250)));
        assert!(seconds("-1").is_err() && seconds("soon").is_err());
        assert_eq!([size("64K"), size("64 KiB"), size("65536")], [const { Ok(Bytes(65_536)) }; 3]);
        assert!(size("3 GB").is_err() && size("wide").is_err());
    }
}
