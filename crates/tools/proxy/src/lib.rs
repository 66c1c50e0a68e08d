//! A proxy of TCP connections on the kernel's sockets that gives its upstream legs target rates.
//!
//! A client's connection ends at the proxy, which opens another one to the server: the *near* and
//! the *far* leg. Clients ask for a server by SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 section
//! 9.3.6). Where packets are redirected to a transparent socket, clients need not know of the
//! proxy.
//!
//! One thread runs all flows on tokio, which provides readiness, timers and name resolution of the
//! kernel's sockets; the command's metrics already use it. A flow owns a data buffer only while one
//! of its legs does not accept the data of the other, and then at most [`PIECE_BYTES`] for each
//! direction. Data that is not read stays in the kernel's receive buffer, which closes the window
//! of its sender.
//!
//! The crate has no congestion control of its own: targets are kept by pacing, or by `fw_tcp_av` in
//! the kernel. [`Relay`] runs the proxy; [`Targets`] are its rules:
//!
//! ```
//! use fairwave_proxy::{Beyond, Targets};
//! use fairwave_units::BitRate;
//!
//! let targets = Targets::parse("
//!     capacity = '20 Mbps'
//!     [[target]]
//!     rate = '5 Mbps'
//!     port = 443
//! ")?;
//! assert_eq!((targets.capacity, targets.beyond), (Some(BitRate::mbps(20)), Beyond::BestEffort));
//! assert_eq!(targets.rules[0].rate, BitRate::mbps(5));
//! let refused = Targets::parse("[[target]]\nrate = 'fast'").expect_err("no rate");
//! assert!(refused.contains("line 2"));
//! # Ok::<(), String>(())
//! ```
#![cfg(target_os = "linux")]

mod account;
mod achieved;
mod capacity;
mod carry;
pub mod command;
mod config;
mod error;
mod eyeballs;
mod flow;
mod flows;
#[cfg(feature = "kernel-cc")]
mod kernel_target;
mod network;
mod opening;
mod options;
mod places;
mod relay;
pub mod report;
mod request;
mod shared;
mod targets;
mod users;
mod watched;

pub use account::{Event, FlowReport, Refusals, Report};
pub use achieved::Achieved;
pub use carry::PIECE_BYTES;
pub use config::{Config, Limits, TargetControl};
pub use error::Error;
pub use ipnet::IpNet;
pub use relay::Relay;
pub use request::{Rejected, Request, Server};
pub use targets::{Beyond, Direction, Per, Rule, Targets};
pub use users::Users;
pub use watched::read;
