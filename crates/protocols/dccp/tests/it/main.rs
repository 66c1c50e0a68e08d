//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod ccid3;
mod common;
mod contract;
mod handover;
mod handshake;
mod late;
mod linux;
mod mandatory;
mod transfer;
mod tshark;
mod validity;
