//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod common;
mod contract;
mod discovery;
mod hostile;
mod leases;
mod properties;
mod shake;
