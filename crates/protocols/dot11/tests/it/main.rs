//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod allocation;
mod bianchi;
mod errors;
mod linux;
mod rates;
mod throughput;
