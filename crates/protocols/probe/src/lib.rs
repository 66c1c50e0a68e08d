//! The buffer probe: how many packets an access point holds, measured from outside.
//!
//! A [`Sender`] greets a [`Receiver`], shows that packets reach its address, asks for limits, and
//! sends [`Trial`]s: a few packets far apart, then a train faster than the radio. The receiver
//! notes arrivals and accounts for them when asked. A session may also go the other [`Way`]: then
//! the sender asks for the packets, and the receiver sends them. [`estimate`] and [`diagnosis`]
//! read the accounts of both.
//!
//! Protection against abuse: the sender sends nothing but greetings to a host that has not agreed,
//! with the session's key, within this session; and never more than the stricter of its own limits
//! and the receiver's, whatever the receiver says. The receiver answers only messages with a seal,
//! keeps nothing before a cookie came back, and no answer is longer than its question. Packets that
//! it was asked for go to the address that the cookie came back from, within its grant, and only
//! while that address continues to ask.
//!
//! A train of four packets at a buffer for two: the third is the first that is missing.
//!
//! ```
//! use fairwave_probe::{Account, Trial, estimate};
//! use fairwave_units::{Duration, Instant};
//! use fairwave_wire::probe::Record;
//!
//! let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
//! let trial =
//!     Trial { payload_bytes: 1400, spaced: 2, interval: Duration::from_millis(100), train: 4 };
//! let sent = [0, 100, 200, 200, 200, 200].map(at).to_vec();
//! let arrivals = [(0, 5), (1, 105), (2, 205), (3, 210), (5, 215)];
//! let arrived = arrivals.map(|(number, ms)| Record { number, arrived: at(ms) }).to_vec();
//! let account = Account { trial, sent, arrived };
//! assert_eq!(estimate::naive(&account), Some(2));
//! ```
//!
//! `cargo run -p fairwave-sockets --example probe` runs both ends over UDP sockets.

mod datagrams;
pub mod delay;
pub mod diagnosis;
pub mod estimate;
mod pace;
mod ping;
mod plan;
mod receiver;
mod sender;
#[cfg(test)]
mod testing;
mod timeline;

pub use ping::{Answered, Ping, Pinger, PingerConfig, PingerInput};
pub use plan::{Account, Plan, Trial, Way};
pub use receiver::{Receiver, ReceiverConfig, ReceiverEvent};
pub use sender::{Failure, Sender, SenderConfig, SenderEvent, SenderInput};

use std::net::{IpAddr, SocketAddr};

/// Bytes of IPv4 and UDP headers, which count against a rate.
pub const HEADER_BYTES: u64 = 28;
/// The same for IPv6.
pub const HEADER_BYTES_V6: u64 = 48;

/// Bytes of IP and UDP headers on the way between this host and `peer`.
fn header_bytes(peer: SocketAddr) -> u64 {
    // An address of IPv4 as a socket of IPv6 has it is IPv4 on the wire.
    if peer.ip().to_canonical().is_ipv4() { HEADER_BYTES } else { HEADER_BYTES_V6 }
}

/// A datagram to transmit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// Address of this host to send from; `None` lets the kernel choose.
    pub own: Option<IpAddr>,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// A datagram that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Where from.
    pub from: SocketAddr,
    /// Address of this host that it was sent to, where the socket reports it.
    pub own: Option<IpAddr>,
    /// Its payload.
    pub bytes: Vec<u8>,
}
