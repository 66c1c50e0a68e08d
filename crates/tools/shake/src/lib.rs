//! `fairwave shake`: connections of applications over all links of a host.
#![cfg(target_os = "linux")]

mod board;
mod client;
pub mod command;
mod live;
pub mod preset;
mod prometheus;
pub mod report;
mod server;
mod tasks;
mod tunnel;
mod via;

/// Default port of a server, which IANA has not assigned.
pub const PORT: u16 = 17_995;
