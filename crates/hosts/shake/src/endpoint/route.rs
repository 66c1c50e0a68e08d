//! Ways between two hosts, and datagrams on them.

use fairwave_machine::datagram::Outgoing;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of paths of a session.
pub const MAX_PATHS: usize = 16;

/// The way to a peer: a socket of this host, and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The socket's number among those of the host.
    pub socket: u8,
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Address of this host, if the kernel is not to choose.
    pub local: Option<IpAddr>,
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The socket's number.
    pub socket: u8,
    /// The datagram.
    pub datagram: Outgoing,
}

impl Transmit {
    pub(super) fn new(route: Route, bytes: Vec<u8>) -> Self {
        let datagram = Outgoing { from: route.local, ..Outgoing::new(route.remote, bytes) };
        Self { socket: route.socket, datagram }
    }
}
