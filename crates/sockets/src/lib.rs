//! Machines on real networks: a [`Driver`] runs any [`fairwave_machine::Machine`] that speaks in
//! datagrams over a UDP socket, by the host's monotonic clock, with the kernel's timestamps of
//! what arrives. [`probe`] measures with it. [`radio`] tells what the radios of this machine know.
//! [`clock`] and [`arrival`] serve other hosts of real time, too.
//!
//! The loop waits by `ppoll`, and looks at the clock without sleeping for the last microseconds
//! before a deadline, since a train of packets needs punctual ones. IPv4 and IPv6 are alike.
#![cfg(target_os = "linux")]

pub mod arrival;
pub mod clock;
mod driver;
pub mod fairness;
pub mod probe;
pub mod radio;
mod udp;

pub use clock::Clock;
pub use driver::{Counts, Datagrams, Driver};
pub use udp::Udp;
