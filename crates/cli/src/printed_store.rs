//! What `fairwave store --json` prints.

use schemars::JsonSchema;
use serde::Serialize;

/// What `fairwave store --json` prints.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreOutput {
    /// Where the store is.
    pub(crate) directory: String,
    /// The most that it may take.
    pub(crate) limit_bytes: u64,
    /// What it takes.
    pub(crate) bytes: u64,
    /// Its results by versions of the code: this program's first, then the newest.
    pub(crate) versions: Vec<StoreVersion>,
}

/// The results of a version of the code that simulates.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreVersion {
    /// The first bytes of the hash over its sources; null where files cannot be read.
    pub(crate) version: Option<String>,
    /// Whether it is the version of this program, which uses them.
    pub(crate) is_this: bool,
    /// How many results.
    pub(crate) results: u64,
    /// What they take.
    pub(crate) bytes: u64,
}
