//! Options of `fairwave proxy`.

use clap::Args;
use fairwave_proxy::{IpNet, prefix, rate};
use fairwave_units::{BitRate, Duration};
use std::net::SocketAddr;
use std::path::PathBuf;

/// At the end of its help.
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
    /// Where clients ask for servers; may be repeated [default: port 1080 of 127.0.0.1 and ::1, and
    /// nowhere with --transparent]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// With SOCKS5 and HTTP CONNECT: serve clients with such addresses, too; may be repeated
    /// [default: those of this host]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) allow: Vec<IpNet>,
    /// Lead connections that arrive at this interface through the proxy, under the client's address
    /// and port; may be repeated (needs root)
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) transparent: Vec<String>,
    /// With --transparent: only connections to this port of servers; may be repeated
    #[arg(long, value_name = "PORT", requires = "transparent")]
    pub(crate) server_port: Vec<u16>,
    /// With --transparent: the proxy's own port
    #[arg(long, value_name = "PORT", requires = "transparent", default_value_t = 17_990)]
    pub(crate) port: u16,
    /// Target of every connection: payload that the server acknowledges, such as 5M
    #[arg(long, short = 'b', value_name = "RATE", value_parser = rate)]
    pub(crate) target: Option<BitRate>,
    /// A file with targets of flows and hosts; it is read again when it changes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "capacity", "refuse"])]
    pub(crate) targets: Option<PathBuf>,
    /// With --target: the most that all targets together may come to
    #[arg(long, value_name = "RATE", value_parser = rate, requires = "target")]
    pub(crate) capacity: Option<BitRate>,
    /// Refuse connections for whose target no capacity is left, rather than relay them without
    #[arg(long, requires = "capacity")]
    pub(crate) refuse: bool,
    /// Pace connections, whether fw_tcp_av is loaded or not
    #[arg(long)]
    pub(crate) pace: bool,
    /// Where fw_tcp_av is pinned, if `fairwave cc --pin` has put it elsewhere
    #[cfg(feature = "kernel-laws")]
    #[arg(long, value_name = "DIR")]
    pub(crate) pin: Option<PathBuf>,
    /// Congestion control towards servers where connections are paced [default: the kernel's]
    #[arg(long, short = 'C', value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// Length of the intervals in which it is judged whether targets were reached
    #[arg(long, value_name = "DURATION", default_value = "5 s")]
    pub(crate) bin: Duration,
    /// Relay at most so many connections at once [default: 16384, or what the limit of open files
    /// allows]
    #[arg(long, value_name = "N")]
    pub(crate) max_flows: Option<usize>,
    /// End connections that have carried nothing for this time
    #[arg(long, value_name = "DURATION", default_value = "2 h")]
    pub(crate) idle: Duration,
    /// How long a client may take to ask, and a server to accept
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
