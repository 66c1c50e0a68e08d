//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod captured;
mod messages;
mod own_algorithms;
mod results_runs;
mod store;
mod tables;
mod taps;
mod tgax;
mod why;
mod wiring;
