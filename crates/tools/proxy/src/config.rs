//! What the proxy is asked to do.

use crate::targets::Targets;
use fairwave_units::{BitRate, Duration};
use ipnet::IpNet;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the proxy is asked to do.
#[derive(Debug)]
pub struct Config {
    /// Where clients ask for servers, by SOCKS5 or HTTP CONNECT; port 0 is one that the kernel
    /// chooses.
    pub listen: Vec<SocketAddr>,
    /// The port of the transparent sockets of IPv4 and IPv6, to which somebody else leads packets.
    pub transparent: Option<u16>,
    /// Clients that are served beside those of this host.
    pub allow: Vec<IpNet>,
    /// Targets of flows, to begin with.
    pub targets: Targets,
    /// The file that they came from. When it changes, they are read again.
    pub file: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// Congestion control of the far leg of flows; the kernel's default where `None`.
    pub congestion: Option<String>,
}

/// Bounds on what flows cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Flows at the same time, those that are being opened among them. Where `None`, as many as
    /// the process may have open files for, and at most 16,384.
    pub flows: Option<usize>,
    /// Time for which a client may take to ask, and a server to accept.
    pub opening: Duration,
    /// Time for which a flow may carry nothing before both legs are reset.
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

/// A law of congestion control with targets, which takes the place of pacing.
pub trait Aim: Send {
    /// The law's name, as `TCP_CONGESTION` takes it.
    fn law(&self) -> &str;

    /// Gives the socket with this `SO_COOKIE` a target, or takes it away.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    fn set(&mut self, cookie: u64, rate: Option<BitRate>) -> io::Result<()>;
}
