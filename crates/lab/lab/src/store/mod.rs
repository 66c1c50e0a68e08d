//! A store of results by what they are of: the same scenario, seed and version give the same bytes,
//! so that nothing need be run twice.
//!
//! Results lie one behind the other in numbered files (`record` has their bytes), which only grow:
//! each is of one version of the code, and is removed as a whole. A process that is killed leaves
//! at most a record that is cut short, which the next one that writes removes. Processes may share
//! a store: each appends under the lock of a file, and sees what the others append.
//!
//! Nothing that is wrong with a store ends a run or changes a result. Each record has a checksum
//! and its key in full; what does not fit is said and counts as not there.

mod error;
mod keep;
mod key;
mod look;
mod place;
pub mod record;

pub use error::Error;
pub use keep::{Say, Store};
pub use key::{HASH_BYTES, Key, Version};
pub use look::{Content, OfVersion, Verified, clear, set_limit, stat, verify};
pub use place::DEFAULT_LIMIT;
