//! A store of results by their keys: the same scenario, seed and version give the same bytes, so
//! that nothing need be run twice.
//!
//! Results are appended to numbered files (`record` has their bytes), which only grow:
//! each is of one version of the code, and is removed as a whole. A process that is killed leaves
//! at most one record that is cut short, which the next writer removes. Processes may share a
//! store: each appends under the lock of a file, and sees the records that the others append.
//!
//! No fault of a store ends a run or changes a result. Each record has a checksum and its key in
//! full. A record that does not fit is reported and counts as missing.

mod error;
mod keep;
mod key;
mod look;
mod place;
pub mod record;

pub use error::Error;
pub use keep::{Part, Say, Source, Sourced, Store};
pub use key::{HASH_BYTES, Key, Version};
pub use look::{Content, OfVersion, Verified, clear, set_limit, stat, verify};
pub use place::DEFAULT_LIMIT;
