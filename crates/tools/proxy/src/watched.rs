//! A targets file that may change.

use crate::error::Error;
use crate::targets::Targets;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file, and its state at the last read.
#[derive(Debug)]
pub(crate) struct Watched {
    file: PathBuf,
    /// Its state; `None` if it could not be seen at the start, so that it is yet to be read.
    seen: Option<Option<Mark>>,
}

/// Time of modification and length, which identify a version of the file.
type Mark = (SystemTime, u64);

impl Watched {
    /// Watches the file from now on. A file that cannot be seen counts as changed, so that its
    /// error is reported: it was read before privileges were given up.
    pub(crate) fn new(file: PathBuf) -> Self {
        let seen = mark(&file).map(Some);
        Self { file, seen }
    }

    /// The targets, if the file has changed since the last read.
    pub(crate) fn changed(&mut self) -> Option<Result<Targets, Error>> {
        let now = mark(&self.file);
        if self.seen == Some(now) {
            return None;
        }
        self.seen = Some(now);
        Some(read(&self.file))
    }
}

fn mark(file: &Path) -> Option<Mark> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Reads a targets file.
///
/// # Errors
///
/// If the file cannot be read or is not valid.
pub fn read(file: &Path) -> Result<Targets, Error> {
    let text = fs::read_to_string(file).map_err(|why| Error::File { file: file.into(), why })?;
    Targets::parse(&text).map_err(|why| Error::NotValid { file: file.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_seen_is_an_error_once() {
        let place = tempfile::tempdir().expect("a directory");
        let mut watched = Watched::new(place.path().join("targets.toml"));
        assert!(watched.changed().expect("due").is_err());
        assert!(watched.changed().is_none());
    }

    #[test]
    fn a_change_is_noticed_once() {
        let place = std::env::temp_dir().join(format!("fairwave-watched-{}", std::process::id()));
        fs::write(&place, "").expect("a file");
        let mut watched = Watched::new(place.clone());
        assert!(watched.changed().is_none());
        fs::write(&place, "capacity = '5M'\n").expect("a file");
        assert!(watched.changed().expect("a change").expect("valid").capacity.is_some());
        assert!(watched.changed().is_none());
        fs::remove_file(&place).expect("it was there");
        assert!(watched.changed().expect("a change").is_err());
        assert!(watched.changed().is_none());
    }
}
