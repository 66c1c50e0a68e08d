//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod allocation;
mod common;
mod compare;
mod connection;
mod conservation;
mod fragments;
mod scripted;
mod tshark;
