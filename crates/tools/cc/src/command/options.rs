//! Options of `fairwave cc`.

use clap::{Args, Subcommand};
use fairwave_units::{BitRate, Duration};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  sudo fairwave cc load fw_ackloss_reno fw_compound
  iperf3 -c server -C fw_ackloss_reno
  sudo fairwave cc load fw_tcp_av --for 10m
  sudo fairwave cc target 192.0.2.0/24 --rate '5 Mbps'
  sudo fairwave cc status --watch
  sudo fairwave cc status --prometheus 127.0.0.1:9436
  fairwave cc list --json
  sudo fairwave cc bench fw_ackloss_reno
  sudo fairwave cc trace --file windows.parquet --port 5201 --for 30s
  sudo fairwave cc unload --all

A program chooses an algorithm by the socket option TCP_CONGESTION, an administrator by the option
congctl of `ip route`. Only loading needs root. The algorithms need Linux 6.1 or later with BTF.

Exit code 1: the kernel refused something. Exit code 2: no such algorithm.";

/// Options of `fairwave cc`.
#[derive(Args, Debug)]
pub struct Cc {
    /// The command.
    #[command(subcommand)]
    pub task: CcTask,
    /// Directory in a BPF file system where algorithms are pinned [default: /sys/fs/bpf/fairwave]
    #[arg(long, global = true, value_name = "DIR")]
    pub pin: Option<PathBuf>,
}

/// Commands of `fairwave cc`.
#[derive(Debug, Subcommand)]
pub enum CcTask {
    /// Load algorithms into the kernel, until they are unloaded or for a time
    Load {
        /// The algorithms: see `fairwave cc list`
        #[arg(required_unless_present = "all", value_name = "NAME")]
        names: Vec<String>,
        /// Every algorithm of Fairwave
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Unload them after this time, such as "10m" or "90 s"
        #[arg(long = "for", value_name = "DURATION", value_parser = lasting)]
        lasts: Option<Duration>,
    },
    /// Unload algorithms; connections that use them continue to do so
    Unload {
        /// The algorithms
        #[arg(required_unless_present = "all", value_name = "NAME")]
        names: Vec<String>,
        /// Every algorithm of Fairwave, and all its files in the BPF file system
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// List the algorithms, whether they are loaded, and how many connections use them
    List,
    /// Show the connections of the loaded algorithms
    Status {
        /// Show them again every second, until interrupted, and the connections that began, reacted
        /// to lost ACKs or ended meanwhile; with --json, an array a line, and an object for each
        /// such event
        #[arg(long)]
        watch: bool,
        /// Serve them to Prometheus at this address, under /metrics
        #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["watch"])]
        prometheus: Option<SocketAddr>,
    },
    /// Set, remove or list the target rates of connections with fw_tcp_av
    Target {
        /// A destination (192.0.2.7, 2001:db8::/32), a cgroup's directory, or socket:COOKIE;
        /// without one, all targets are listed
        #[arg(value_name = "WHOSE")]
        whose: Option<String>,
        /// The rate of acknowledged payload to reach, such as "5 Mbps"
        #[arg(long, value_name = "RATE", requires = "whose")]
        rate: Option<BitRate>,
        /// Do not use free capacity beyond the target: the window stops growing at the size that
        /// the target needs, and the kernel paces at 1.05 times the target, or up to twice that
        /// while the connection is behind. This replaces the socket's SO_MAX_PACING_RATE
        #[arg(long, requires = "rate")]
        cap: bool,
        /// After a loss, never set the window below Reno's
        #[arg(long, requires = "rate")]
        floor_at_reno: bool,
        /// Remove the target
        #[arg(long, requires = "whose", conflicts_with = "rate")]
        remove: bool,
    },
    /// Measure the cost of algorithms for each ACK, beside the kernel's own, over a veth pair
    Bench {
        /// The algorithms [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Length of each connection
        #[arg(long, value_name = "DURATION", default_value = "1 s")]
        seconds_each: Duration,
        /// Number of rounds; each algorithm runs once in a round
        #[arg(long, value_name = "N", default_value_t = 5)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
        /// Let the kernel pass many segments as one packet, as fast wired cards do
        #[arg(long)]
        offload: bool,
    },
    /// Write the windows of the kernel's connections, with any algorithm, for each segment that
    /// reaches them
    Trace(CcTrace),
    /// Keep an algorithm loaded for a time; `load --for` starts this command for each
    #[command(hide = true)]
    Keep {
        /// The algorithm
        name: String,
        /// Length of the time
        #[arg(long = "for", value_parser = lasting)]
        lasts: Duration,
    },
}

/// Options of `fairwave cc trace`.
#[derive(Args, Debug)]
pub struct CcTrace {
    /// The table to write: a name that ends in .parquet or .csv. It appears when it is complete
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// Only connections of which either end has this port; may be repeated, up to 16 times
    #[arg(long, value_name = "PORT")]
    pub port: Vec<u16>,
    /// Only connections of this network namespace: a name of `ip netns`, or a path such as
    /// /proc/PID/ns/net [default: all]
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<PathBuf>,
    /// End after this time, such as "30s" or "10m" [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION", value_parser = lasting)]
    pub lasts: Option<Duration>,
}

/// Parses a duration, in which "m" also stands for minutes.
fn lasting(text: &str) -> Result<Duration, String> {
    let minutes = text.strip_suffix('m').filter(|number| number.trim().parse::<u64>().is_ok());
    let text = minutes.map_or_else(|| text.to_owned(), |number| format!("{number}min"));
    text.parse().map_err(|error| format!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_m_is_minutes() {
        assert_eq!(lasting("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(lasting("10 ms"), Ok(Duration::from_millis(10)));
        assert_eq!(lasting("2 min"), Ok(Duration::from_secs(120)));
        assert!(lasting("m").is_err());
    }
}
