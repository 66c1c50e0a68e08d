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

/// Default port of `fairwave fairness serve`, TCP and UDP, which IANA has not assigned.
pub const PORT: u16 = 17_981;

/// Whether a system call only timed out or was interrupted.
fn is_transient(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
