//! Machines on real networks: a [`Driver`] runs any [`fairwave_machine::Machine`] that speaks in
//! datagrams over a [`Transport`], by the host's monotonic clock, with the kernel's timestamps of
//! what arrives: [`Udp`], [`Raw`] for a protocol of IP, or [`Stream`], a TCP connection of the
//! kernel. [`probe`] measures with it, [`dccp`] speaks the protocol of that name. [`radio`] tells
//! what the radios of this machine know. [`clock`] and [`arrival`] serve other hosts of real time,
//! too. [`fairness`] uses the kernel's TCP without a machine, as does `fairwave proxy`
//! (`crates/tools/proxy`).
//!
//! The loop waits by `ppoll`, and looks at the clock without sleeping for the last microseconds
//! before a deadline, since a train of packets needs punctual ones. IPv4 and IPv6 are alike.
#![cfg(target_os = "linux")]

pub mod arrival;
pub mod clock;
mod driver;
mod kernel;
mod port;
pub mod radio;
pub mod random;
mod raw;
mod stream;
mod transport;
mod udp;

pub use clock::Clock;
pub use driver::{Counts, Driver};
pub use fairwave_machine::datagram::{Datagrams, Incoming, Outgoing};
pub use kernel::{option, set_option};
pub use raw::Raw;
pub use stream::Stream;
pub use transport::{Left, Taken, Transport};
pub use udp::Udp;
