//! State machines on real networks. A [`Driver`] runs any [`fairwave_machine::Machine`] whose
//! packets are datagrams, by the host's monotonic clock and with the kernel's timestamps of
//! arrivals. Its [`Transport`] is [`Udp`], [`Raw`] for a protocol over IP, or [`Stream`], a TCP
//! connection of the kernel.
//!
//! The loop waits by `ppoll`. For the last microseconds before a deadline it polls the clock
//! without sleeping, since the packets of a train have to be punctual. IPv4 and IPv6 are handled
//! alike.
//!
//! `cargo run -p fairwave-sockets --example probe` drives both ends of a buffer probe over two UDP
//! sockets.
#![cfg(target_os = "linux")]

mod alarm;
mod driver;
mod port;
mod raw;
mod stream;
mod transport;
mod udp;

pub use alarm::{Alarm, registered};
pub use driver::{Counts, Driver};
pub use fairwave_machine::datagram::{Datagrams, Incoming, Outgoing};
pub use raw::Raw;
pub use stream::Stream;
pub use transport::{Left, Taken, Transport};
pub use udp::{Udp, report_own_addresses};
