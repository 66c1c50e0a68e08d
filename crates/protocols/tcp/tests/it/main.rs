//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod allocation;
mod common;
mod events;
mod pacing;
mod rack;
mod sacks;
mod split;
mod transfer;
