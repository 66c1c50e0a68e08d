//! Output of commands, for all tools: the trait [`Console`] of standard output and standard error,
//! live tables (feature `live-table`), metrics over HTTP (feature `metrics`), and figures for other
//! programs of the same user (feature `live`).
//! The feature `peer` has the options and keys that commands with two ends share.

mod console;
mod listening;
#[cfg(all(feature = "live", target_os = "linux"))]
pub mod live;
#[cfg(feature = "live-table")]
pub mod live_table;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(all(feature = "peer", target_os = "linux"))]
pub mod peer;

pub use console::{Console, Failure};
pub use listening::Listening;
