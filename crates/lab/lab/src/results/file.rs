//! Files that appear under their name only when they are complete.

use super::Error;
use super::disk::{self, File};
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A file that is written under a temporary name beside its final one. It is removed if it is
/// dropped unfinished.
#[derive(Debug)]
pub(super) struct Pending {
    temporary: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl Pending {
    /// Opens the temporary file that shall become `path`.
    pub(super) fn create(path: PathBuf) -> Result<(Self, BufWriter<File>), Error> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(UNFINISHED);
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(Error::io(&temporary))?;
        Ok((Self { temporary, path, finished: false }, BufWriter::new(file)))
    }

    /// The final name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the complete file its name. The writer must have been flushed.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        disk::rename(&self.temporary, &self.path).map_err(Error::io(&self.path))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.finished {
            // The unfinished file is useless, and does no harm if it cannot be removed.
            let _ = disk::remove_file(&self.temporary);
        }
    }
}

/// Ending of temporary names.
const UNFINISHED: &str = ".partial";
/// Kinds of files that are written under temporary names.
const KINDS: [&str; 8] = ["parquet", "pcapng", "json", "toml", "html", "svg", "png", "csv"];

/// Removes the files below `directory` that a process left unfinished when it was killed.
pub fn remove_unfinished(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
        let entry = entry.map_err(Error::io(directory))?;
        let path = entry.path();
        if entry.file_type().map_err(Error::io(&path))?.is_dir() {
            remove_unfinished(&path)?;
        } else if is_unfinished(&path) {
            fs::remove_file(&path).map_err(Error::io(&path))?;
        }
    }
    Ok(())
}

fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let kind = name.strip_suffix(UNFINISHED).and_then(|name| name.rsplit_once('.'));
    kind.is_some_and(|(_, kind)| KINDS.contains(&kind))
}

/// Writes a whole file with the bytes of `from`.
pub(crate) fn write_from(path: &Path, from: &mut dyn Read) -> Result<(), Error> {
    let (pending, mut out) = Pending::create(path.to_owned())?;
    std::io::copy(from, &mut out).and_then(|_| out.flush()).map_err(Error::io(path))?;
    pending.finish()
}

/// Writes a whole file at once.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (pending, mut out) = Pending::create(path.to_owned())?;
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::io(path))?;
    pending.finish()
}
