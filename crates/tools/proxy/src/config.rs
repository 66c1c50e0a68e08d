//! Configuration of the proxy.

use crate::targets::Targets;
use crate::users::Users;
use fairwave_units::{BitRate, Duration};
use ipnet::IpNet;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Configuration of the proxy.
#[derive(Debug)]
pub struct Config {
    /// Addresses at which clients ask for servers by SOCKS5 or HTTP CONNECT; for port 0 the kernel
    /// chooses a port.
    pub listen: Vec<SocketAddr>,
    /// Port of the transparent sockets of IPv4 and IPv6. Rules outside the proxy redirect packets
    /// to them.
    pub transparent: Option<u16>,
    /// Clients that are served beside those of this host.
    pub allow: Vec<IpNet>,
    /// Users that clients authenticate as; `None` to serve without authentication.
    pub users: Option<Users>,
    /// Initial targets of flows.
    pub targets: Targets,
    /// File from which the targets were read. They are read again when it changes.
    pub file: Option<PathBuf>,
    /// Limits.
    pub limits: Limits,
    /// Congestion control algorithm of the far leg of flows; the kernel's default where `None`.
    pub congestion: Option<String>,
}

/// Limits on the resources of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of simultaneous flows, including those that are being opened. `None`: as many
    /// as the process may have open files for, and at most 16,384.
    pub flows: Option<usize>,
    /// Maximum time for a client to send its request, and for a server to accept the connection.
    pub opening: Duration,
    /// Time without data after which both legs of a flow are reset.
    pub idle: Duration,
    /// Length of the intervals in which targets are judged.
    pub bin: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flows: None,
            opening: Duration::from_secs(30),
            idle: Duration::from_secs(7_200),
            bin: Duration::from_secs(5),
        }
    }
}

/// A congestion control algorithm with targets, used instead of pacing.
pub trait TargetControl: Send {
    /// Name of the algorithm, as `TCP_CONGESTION` takes it.
    fn kernel_target(&self) -> &str;

    /// Sets the target of the socket with this `SO_COOKIE`, or removes it if `rate` is `None`.
    ///
    /// # Errors
    ///
    /// Error from the kernel.
    fn set(&mut self, cookie: u64, rate: Option<BitRate>) -> io::Result<()>;
}
