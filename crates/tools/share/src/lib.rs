//! `fairwave share`: this host's uplink for hosts near by.
#![cfg(target_os = "linux")]

pub mod command;
mod hours;
mod lend;
pub mod report;
