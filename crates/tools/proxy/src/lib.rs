//! A proxy of TCP connections on the kernel's sockets, which gives its upstream legs target rates.
//!
//! A client's connection ends here, and another one goes on to the server: the *near* and the *far*
//! leg. Clients ask for a server by SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 section 9.3.6), or
//! they do not know of the proxy, where packets are led to a transparent socket.
//!
//! One thread runs all flows on tokio: it has readiness, timers and name resolution of the kernel's
//! sockets, and the command's metrics stand on it already. A flow owns memory for data only while
//! one of its legs does not take what the other gave, and then at most [`PIECE_BYTES`] for each
//! direction. What is not read stays in the kernel's receive buffer, which closes the window of
//! its sender.
#![cfg(target_os = "linux")]

mod account;
mod achieved;
mod carry;
pub mod command;
mod config;
mod error;
mod flow;
mod flows;
#[cfg(feature = "kernel-laws")]
mod law;
mod network;
mod options;
mod places;
mod relay;
pub mod report;
mod request;
mod targets;
mod watched;

pub use account::{FlowReport, News, Refusals, Report};
pub use achieved::Achieved;
pub use carry::PIECE_BYTES;
pub use config::{Aim, Config, Limits};
pub use error::Error;
pub use ipnet::IpNet;
pub use relay::Relay;
pub use request::{Request, Server};
pub use targets::{Beyond, Per, Rule, Targets, prefix, rate};
pub use watched::read;
