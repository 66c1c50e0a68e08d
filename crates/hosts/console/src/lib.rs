//! Output of commands, for all tools: the trait [`Console`] of standard output and standard error,
//! live tables (feature `live-table`) and metrics over HTTP (feature `metrics`).
//! The feature `peer` has the options and keys that commands with two ends share.

mod console;
mod listening;
#[cfg(feature = "live-table")]
pub mod live_table;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(all(feature = "peer", target_os = "linux"))]
pub mod peer;

pub use console::{Console, Failure};
pub use listening::Listening;
