//! Machines on real networks: a [`Driver`] runs any [`fairwave_machine::Machine`] that speaks in
//! datagrams over a [`Transport`], by the host's monotonic clock, with the kernel's timestamps of
//! arrivals: [`Udp`], [`Raw`] for a protocol of IP, or [`Stream`], a TCP connection of the kernel.
//!
//! The loop waits by `ppoll`, and looks at the clock without sleeping for the last microseconds
//! before a deadline, since a train of packets needs punctual ones. IPv4 and IPv6 are alike.
#![cfg(target_os = "linux")]

mod driver;
mod port;
mod raw;
mod stream;
mod transport;
mod udp;

pub use driver::{Counts, Driver};
pub use fairwave_machine::datagram::{Datagrams, Incoming, Outgoing};
pub use raw::Raw;
pub use stream::Stream;
pub use transport::{Left, Taken, Transport};
pub use udp::Udp;
