//! TCP SHAKE on real links: one session between two hosts over all their links, with a stream for
//! each connection of an application.
#![cfg(target_os = "linux")]

pub mod endpoint;
mod noise;

pub use noise::Psk;
