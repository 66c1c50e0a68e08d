//! Options of `fairwave probe`.

use clap::{Args, Subcommand};
use fairwave_units::{BitRate, Bytes, Duration};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Examples at the end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  fairwave probe serve                              on the host behind the access point
  fairwave probe laptop.lan --pairing CODE          on a wired host: the code is what serve prints
  fairwave probe 192.0.2.7 --pairing CODE --rate '300 Mbps' --page probe.html
  fairwave probe nas.lan --pairing CODE --reverse   the access point's own buffer, from a laptop
  fairwave probe 2001:db8::7 --key secret.txt --json
  fairwave probe serve --key secret.txt --max-rate '50 Mbps' --max-time '30 s' --max-bytes '40 MB'

What is measured is the narrowest buffer on the way from this host to HOST, with --reverse that on
the way back. Nobody needs root.
`fairwave explain probe` says what each figure means, as does docs/probe.md.

Exit code 1: something failed in mid-run; what was measured until then is printed nevertheless.
Exit code 2: the options are wrong.";

/// Options of `fairwave probe`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Probe {
    #[command(subcommand)]
    pub(crate) task: Option<ProbeTask>,
    /// Name or address of the host that runs `fairwave probe serve`
    #[arg(required = true, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// The server's UDP port
    #[arg(long, short, value_name = "PORT", default_value_t = fairwave_probe_tool::PORT)]
    pub(crate) port: u16,
    /// Speak IPv4 only
    #[arg(short = '4', conflicts_with = "six")]
    pub(crate) four: bool,
    /// Speak IPv6 only
    #[arg(short = '6')]
    pub(crate) six: bool,
    #[command(flatten)]
    pub(crate) secret: Secret,
    /// Measure the buffer on the way from HOST to here instead of the way there
    #[arg(long, short = 'R')]
    pub(crate) reverse: bool,
    /// Maximum sending rate in each direction; must exceed the capacity of the narrowest link
    #[arg(long, short = 'b', value_name = "RATE", default_value = "100 Mbps")]
    pub(crate) rate: BitRate,
    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
}

/// Secret that both ends share.
#[derive(Args, Debug)]
pub(crate) struct Secret {
    /// Key file that both ends have, with at least 16 bytes
    #[arg(long, value_name = "FILE", conflicts_with = "pairing")]
    pub(crate) key: Option<PathBuf>,
    /// The code that the server prints when it starts
    #[arg(long, value_name = "CODE")]
    pub(crate) pairing: Option<String>,
}

/// Further commands of `fairwave probe`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProbeTask {
    /// Answer the probes of hosts that have the key, until interrupted
    Serve(Serve),
}

/// Options of `fairwave probe serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Address and UDP port to listen at [default: port 17980 of every address]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) secret: Secret,
    /// Maximum sending rate of a session
    #[arg(long, value_name = "RATE", default_value = "1 Gbps")]
    pub(crate) max_rate: BitRate,
    /// Maximum length of a session
    #[arg(long, value_name = "DURATION", default_value = "120 s")]
    pub(crate) max_time: Duration,
    /// Maximum number of bytes of IP packets in a session, counted as packets of 1500 bytes
    #[arg(long, value_name = "BYTES", default_value = "500 MB")]
    pub(crate) max_bytes: Bytes,
}
