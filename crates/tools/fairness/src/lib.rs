//! Measurement of how hosts share a network: [`Server`] is the common end of all flows, [`measure`]
//! the end of each host. The hosts start together, by the server's clock. The receivers count bytes
//! by interval.
//!
//! Flows are sockets of the kernel, with a thread each; Fairwave's own protocols are not involved.
//! [`results`] sums up records, also those of iperf3:
//!
//! ```
//! use fairwave_fairness::results::{Summary, read};
//!
//! let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iperf3/up.json");
//! let summary = Summary::of(&read(file.as_ref())?);
//! let [station] = &summary.stations[..] else { panic!("one station alone") };
//! assert!(station.mbps.mean > 10.0 && station.mbps.half_width.is_none());
//! # Ok::<(), fairwave_fairness::results::Error>(())
//! ```
#![cfg(target_os = "linux")]

pub mod command;
mod counter;
mod error;
mod flow;
mod host;
mod link;
mod message;
mod path;
mod radio;
pub mod report;
pub mod results;
mod round;
mod serve;
#[cfg(test)]
mod tests;
mod udp;

pub use error::Error;
pub use host::{Interval, Measured, Progress, Request, measure};
pub use message::{
    Ending, Flow, Limits, Protocol, RadioSample, Refusal, Repetition, Station, Terms, Traffic,
};
pub use path::Path;
pub use round::ServerEvent;
pub use serve::{ServeConfig, Server};

use rustix::thread::CapabilitySet;

/// Default port of `fairwave fairness serve`, TCP and UDP, which IANA has not assigned.
pub const PORT: u16 = 17_981;

/// Names of the congestion control algorithms that this process may choose, or a note that they are
/// unknown. Linux gives processes without CAP_NET_ADMIN only those in
/// `tcp_allowed_congestion_control`.
fn algorithms() -> String {
    let own = rustix::thread::capabilities(None);
    let is_admin = own.is_ok_and(|own| own.effective.contains(CapabilitySet::NET_ADMIN));
    let which = if is_admin { "available" } else { "allowed" };
    let file = format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control");
    let text = std::fs::read_to_string(file).unwrap_or_else(|_| "(not known)".to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(", ")
}

/// Whether a system call only timed out or was interrupted.
fn is_transient(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
