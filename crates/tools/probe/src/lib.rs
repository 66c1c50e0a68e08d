//! The buffer probe on real networks: [`Server`] is the receiving end, [`measure`] the measuring
//! one.
//!
//! A measurement finds size and kind of the buffer at the narrowest link of a path, and latency and
//! loss on the idle and the loaded path. It needs a server at the far end and sends trains of UDP
//! packets: it is no passive monitor, and no test of an application's throughput. Trains and their
//! evaluation are machines of `fairwave_probe`; this crate runs them over sockets and evaluates
//! what they report.
//!
//! # The driver's contract
//!
//! Both ends have the same key and run in threads of their caller. [`Server::run`] asks its first
//! closure several times a second whether to stop, and reports sessions to the second. [`measure`]
//! reports each step before it begins and ends soon after its flag is set; results before that are
//! kept, beside the error. Neither needs privileges. [`command`] is `fairwave probe`.
//!
//! This measurement over loopback ends after the pings of the idle path:
//!
//! ```
//! use fairwave_probe_tool::{Progress, Request, ServeConfig, Server, Way, measure};
//! use fairwave_units::{BitRate, Duration};
//! use fairwave_wire::probe::Limits;
//! use fairwave_wire::seal::Key;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use std::thread;
//!
//! let key = Key::new(b"a secret of both ends")?;
//! let rate = BitRate::mbps(20);
//! let limits = Limits { rate, packets: 500, duration: Duration::from_secs(20) };
//! let config = ServeConfig { listen: "127.0.0.1:0".parse()?, key: key.clone(), limits };
//! let mut server = Server::open(config)?;
//! let address = server.address()?;
//! let stop = AtomicBool::new(false);
//! let (found, error) = thread::scope(|scope| {
//!     scope.spawn(|| server.run(|| stop.load(Ordering::Relaxed), |_| {}));
//!     let request =
//!         Request { server: address, key, rate, way: Way::There, packet: None, is_paper: false };
//!     measure(&request, &stop, |step| {
//!         stop.store(step != Progress::Idle, Ordering::Relaxed);
//!     })
//! });
//! assert!(found.idle.ms.is_some(), "round-trip times of the pings");
//! assert!(found.buffer.is_none() && error.is_some(), "it was stopped before the trains");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
