//! Types of the output of `fairwave store --json`.

use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave store --json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreOutput {
    /// Directory of the store.
    pub(crate) directory: String,
    /// Maximum size of the store.
    pub(crate) limit_bytes: u64,
    /// Present size of the store.
    pub(crate) bytes: u64,
    /// Results by version of the code: this program's first, then the newest.
    pub(crate) versions: Vec<StoreVersion>,
}

/// The results of one version of the simulating code.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StoreVersion {
    /// The first bytes of the hash over its sources; null if files cannot be read.
    pub(crate) version: Option<String>,
    /// Whether it is the version of this program, which reuses the results.
    pub(crate) is_this: bool,
    /// Number of results.
    pub(crate) results: u64,
    /// Size of the results.
    pub(crate) bytes: u64,
}
