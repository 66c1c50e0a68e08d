//! The integration tests of this crate, in one binary: what a test binary costs is its linking.

mod allocation;
mod common;
mod contract;
mod efficiency;
mod hostile;
mod multi;
mod multi_allocation;
mod multi_common;
mod multi_contract;
mod multi_hostile;
mod pacing;
mod priority;
mod redundant;
mod survival;
mod timeouts;
mod transfer;
mod undercut;
