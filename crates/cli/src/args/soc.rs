//! Options of `fairwave soc`.

use clap::{Args, Subcommand};
use fairwave_soc_tool::command::options::{Ap, Join, Pair, Station, StationKey};
use std::net::SocketAddr;

/// Examples at the end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  (umask 077; head -c 32 /dev/urandom | base64 > net.key)     at the access point, once, and a key
  (umask 077; fairwave soc key --key net.key --station 02:00:00:00:00:07 > my.key)   for one station
  sudo fairwave soc pair --interface wlan0 --key net.key      or so: at the access point, and
  sudo fairwave soc join --interface wlan0 --write my.key     at the station, at the same time
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --policy pw
  sudo fairwave soc ap --interface wlan0 --plan               what it would do there, and why
  sudo fairwave soc station --interface wlan0 --key my.key    its radio tells the level
  sudo fairwave soc station --interface eth0 --key my.key --snr 25
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --policy-for voice=equal
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --udp '[::]:9437'
  fairwave soc station --interface eth0 --key my.key --snr 25 --to 192.168.1.1
  fairwave soc status --watch                      a table that follows
  fairwave soc status --interface wlan0 --json
  fairwave soc status --prometheus 127.0.0.1:9438  for packaging/grafana/fairwave-soc.json

`soc ap` and `soc station` need root, a station with --to does not. The access point leaves a qdisc
alone that somebody else has set, and restores the interface when it ends, also by SIGKILL.
docs/soc.md says how the loop works.

Exit code 1: the kernel refuses a step, or the interface goes away; 2: the options are wrong.";

/// Options of `fairwave soc`.
#[derive(Args, Debug)]
pub(crate) struct Soc {
    #[command(subcommand)]
    pub(crate) task: SocTask,
}

/// Commands of `fairwave soc`.
#[derive(Debug, Subcommand)]
pub(crate) enum SocTask {
    /// Report this station's SoC to its access point, until interrupted
    Station(Station),
    /// Share an interface by the SoC of its stations, until interrupted
    Ap(Ap),
    /// Show the state of the access points on this machine
    Status(Watching),
    /// Print the key of one station, which speaks for no other
    Key(StationKey),
    /// Give a station its key, after the user has confirmed that both show the same code
    Pair(Pair),
    /// Ask an access point for this station's key, and write it into a file
    Join(Join),
}

/// Options of `fairwave soc status`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Watching {
    /// The access point's interface; without it, all that run here
    #[arg(long, short, value_name = "IF")]
    pub(crate) interface: Option<String>,
    /// Keep showing them, until interrupted: a table on a terminal, else every second anew; with
    /// --json, a line each
    #[arg(long)]
    pub(crate) watch: bool,
    /// Serve them to Prometheus at this address, under /metrics
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["watch"])]
    pub(crate) prometheus: Option<SocketAddr>,
}
