//! Sessions of one host as a sans-IO machine: datagrams in, datagrams out, streams between.
//!
//! A session is a handshake ([`crate::noise`]) and the paths over which its two hosts exchange
//! sealed records. Each stream of an application is a SHAKE connection of its own
//! ([`fairwave_shake::Connection`]), which every path joins that has answered.

mod budget;
mod carrier;
mod config;
mod datagrams;
mod event;
mod exchange;
mod joining;
mod keys;
mod lingering;
mod machine;
mod opening;
mod path;
mod priority;
mod queue;
mod route;
mod sent;
mod session;
mod settings;
mod steady;
#[cfg(test)]
mod tests;

pub use carrier::{CarrierReport, SetConfig};
pub use config::{Config, max_mss};
pub use datagrams::{DatagramError, DatagramStats};
pub use event::{Event, Refused, StreamState};
pub use fairwave_wire::shake::record::Priority;
pub use machine::{Endpoint, Input};
pub use path::PathStats;
pub use route::{MAX_PATHS, Route, Transmit};
pub use sent::{Sent, SentOnPath};
pub use settings::Mode;
