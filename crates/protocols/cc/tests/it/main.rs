//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod any_history;
mod golden;
