//! `fairwave dccp`: datagrams with congestion control between real hosts, and a relay for streams.
#![cfg(target_os = "linux")]

pub mod command;
pub mod linux;
mod open;
pub mod options;
pub mod place;
mod rates;
mod relay;
pub mod report;
mod session;
mod source;
mod tasks;
mod udp;
mod watch;

/// Default port of a server. Nobody has it from IANA.
pub const PORT: u16 = 17_983;
pub use fairwave_dccp_host::SERVICE;
