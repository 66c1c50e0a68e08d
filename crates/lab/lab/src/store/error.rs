//! Reason for which a store cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Reason for which a store could not be used.
#[derive(Debug, thiserror::Error)]
#[error("store of results {path}: {source}")]
pub struct Error {
    /// The store.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

impl Error {
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self { path: path.to_owned(), source }
    }
}
