//! Datagrams, as a machine that speaks in them exchanges them with its host.

use crate::Machine;
use fairwave_wire::ipv4::Ecn;
use std::net::{IpAddr, SocketAddr};

/// A datagram that was taken from a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its sender. The port is zero where the socket knows none, as a raw one.
    pub from: SocketAddr,
    /// The address that it was sent to, where the socket reports it.
    pub to: Option<IpAddr>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its payload: the bytes behind the header of UDP, or behind that of IP.
    pub bytes: Vec<u8>,
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its destination. A raw socket ignores the port.
    pub to: SocketAddr,
    /// The address to send from; `None` lets the kernel choose.
    pub from: Option<IpAddr>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its payload.
    pub bytes: Vec<u8>,
}

impl Outgoing {
    /// A datagram of which nothing but its destination and payload matters.
    pub const fn new(to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self { to, from: None, ecn: Ecn::NotEct, bytes }
    }
}

/// A machine that speaks in datagrams.
pub trait Datagrams: Machine {
    /// The fact that this datagram arrived.
    fn arrived(datagram: Incoming) -> Self::Input;
    /// An output as a datagram.
    fn departs(output: Self::Output) -> Outgoing;
}
