//! Options of `fairwave proxy`.

use clap::Args;
use fairwave_proxy::{IpNet, prefix, rate};
use fairwave_units::{BitRate, Duration};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Examples at the end of the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  fairwave proxy --target 5M
  curl --proxy socks5h://127.0.0.1:1080 -T video.mp4 https://upload.example.org/
  fairwave proxy --listen 192.0.2.1:1080 --allow 192.0.2.0/24 --target 5M --capacity 20M
  sudo fairwave proxy --transparent wlan0 --targets targets.toml --prometheus 127.0.0.1:9437
  fairwave proxy --target '5 Mbps' --for 120s --json

Clients ask for servers by SOCKS5 or HTTP CONNECT, on the same port; with --transparent they know
of nothing. Where `fairwave cc load fw_tcp_av` has loaded the law, it steers the connections to
servers; elsewhere they are paced. Only --transparent and the law need root, which is given up
once they are set up. The file of targets is described in docs/proxy.md.

Exit code 1: an address cannot be listened at, or the kernel refuses a step; 2: the options, or the
file of targets at the start, are wrong.";

/// Options of `fairwave proxy`.
#[derive(Args, Debug)]
pub(crate) struct Proxy {
    /// Address for clients' SOCKS5 and HTTP CONNECT requests; may be repeated [default: port 1080
    /// of 127.0.0.1 and ::1, and none with --transparent]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// With SOCKS5 and HTTP CONNECT: also serve clients with these addresses; may be repeated
    /// [default: those of this host]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) allow: Vec<IpNet>,
    /// Redirect connections that arrive at this interface through the proxy, which keeps the
    /// client's address and port; may be repeated (needs root)
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) transparent: Vec<String>,
    /// With --transparent: only redirect connections to this server port; may be repeated
    #[arg(long, value_name = "PORT", requires = "transparent")]
    pub(crate) server_port: Vec<u16>,
    /// With --transparent: the proxy's own port
    #[arg(long, value_name = "PORT", requires = "transparent", default_value_t = 17_990)]
    pub(crate) port: u16,
    /// Target rate of every connection: payload that the server acknowledges, such as 5M
    #[arg(long, short = 'b', value_name = "RATE", value_parser = rate)]
    pub(crate) target: Option<BitRate>,
    /// A file with targets of flows and hosts, which is read again after each change
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "capacity", "refuse"])]
    pub(crate) targets: Option<PathBuf>,
    /// With --target: maximum sum of all targets
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "target")]
    pub(crate) capacity: Option<BitRate>,
    /// Refuse connections if no capacity is left for their target, instead of relaying them without
    /// a target
    #[arg(long, requires = "capacity")]
    pub(crate) refuse: bool,
    /// Pace connections, even if fw_tcp_av is loaded
    #[arg(long)]
    pub(crate) pace: bool,
    /// Directory where fw_tcp_av is pinned, if it was loaded with `fairwave cc --pin`
    #[cfg(feature = "kernel-laws")]
    #[arg(long, value_name = "DIR")]
    pub(crate) pin: Option<PathBuf>,
    /// Congestion control towards servers for paced connections [default: the kernel's]
    #[arg(long, short = 'C', value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Length of the intervals for which it is determined whether targets were reached
    #[arg(long, value_name = "DURATION", default_value = "5 s")]
    pub(crate) bin: Duration,
    /// Maximum number of simultaneous connections [default: 16384, or as many as the limit of open
    /// files allows]
    #[arg(long, value_name = "N")]
    pub(crate) max_flows: Option<usize>,
    /// Close connections that have carried no data for this time
    #[arg(long, value_name = "DURATION", default_value = "2 h")]
    pub(crate) idle: Duration,
    /// Timeout for a client's request, and for a server's answer to the connection attempt
    #[arg(long, value_name = "DURATION", default_value = "30 s")]
    pub(crate) opening: Duration,
    /// Serve metrics at this address, under /metrics
    #[cfg(feature = "metrics")]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) prometheus: Option<SocketAddr>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) lasts: Option<Duration>,
}
