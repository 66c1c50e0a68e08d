//! Size and contents of the store of results, as JSON and as text.

use crate::store::{Content, OfVersion, Version};
use fairwave_text::Table;
use fairwave_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Output of `fairwave store --json`.
#[derive(Serialize, JsonSchema)]
pub struct StoreOutput {
    /// Directory of the store.
    pub directory: String,
    /// Maximum size of the store.
    pub limit_bytes: u64,
    /// Present size of the store.
    pub bytes: u64,
    /// Results by version of the code: this program's first, then the newest.
    pub versions: Vec<StoreVersion>,
}

/// The results of one version of the simulating code.
#[derive(Serialize, JsonSchema)]
pub struct StoreVersion {
    /// The first bytes of the hash over its sources; null if files cannot be read.
    pub version: Option<String>,
    /// Whether it is the version of this program, which reuses the results.
    pub is_this: bool,
    /// Number of results.
    pub results: u64,
    /// Size of the results.
    pub bytes: u64,
}

impl StoreOutput {
    /// The contents of the store at `path`, seen by a program of version `own`.
    pub fn new(path: &Path, content: &Content, own: &Version) -> Self {
        let version = |of: &OfVersion| StoreVersion {
            version: of.version.map(|version| version.short()),
            is_this: of.version == Some(*own),
            results: of.results,
            bytes: of.size.0,
        };
        Self {
            directory: path.display().to_string(),
            limit_bytes: content.limit.0,
            bytes: content.size.0,
            versions: content.versions.iter().map(version).collect(),
        }
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let (size, limit) = (megabytes(Bytes(self.bytes)), megabytes(Bytes(self.limit_bytes)));
        let text = format!("{}: {size} of at most {limit}\n", self.directory);
        let mut table = Table::new("", &["version", "results", "MB"]);
        for of in &self.versions {
            let name = match (&of.version, of.is_this) {
                (Some(version), true) => format!("{version} (this program)"),
                (Some(version), false) => version.clone(),
                (None, _) => "cannot be read".to_owned(),
            };
            let size = format!("{:.1}", of.bytes as f64 / 1e6);
            table.row(vec![name, of.results.to_string(), size]);
        }
        text + &table.render()
    }
}

/// A size in megabytes, with its unit.
pub fn megabytes(size: Bytes) -> String {
    format!("{:.1} MB", size.0 as f64 / 1e6)
}
