//! The buffer probe on real networks: [`serve`] is the receiving end, [`measure`] the measuring
//! one.
#![cfg(target_os = "linux")]

mod beside;
pub mod command;
mod error;
mod finding;
mod leg;
mod log;
mod measure;
pub mod report;
mod serve;
mod session;
mod sizes;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use fairwave_probe::Way;
pub use fairwave_probe::delay::Delays;
pub use finding::{Buffer, HeldBack, Interval, Kind, Latency, Loaded, Measured};
pub use leg::Leg;
pub use measure::{Progress, Request, measure};
pub use serve::{ServeConfig, Server, ServerEvent};
pub use sizes::Percentiles;

/// Default port of `fairwave probe serve`, which IANA has not assigned.
pub const PORT: u16 = 17_980;
