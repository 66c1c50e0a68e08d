//! `fairwave shake`: connections of applications over all links of a host.
#![cfg(target_os = "linux")]

mod association;
mod board;
mod client;
pub mod command;
mod diagnose;
mod diagnosis;
mod live;
mod meter;
mod monitor;
pub mod preset;
mod prometheus;
pub mod report;
mod risk;
mod server;
mod signs;
mod socks;
mod tasks;
pub mod transparent;
mod tunnel;
mod via;

/// Default port of a server, which IANA has not assigned.
pub const PORT: u16 = 17_995;
