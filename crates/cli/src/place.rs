//! Directories for results, locked against other processes.

use crate::args::Common;
use crate::outcome::Failure;
use fairwave_lab::results;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Directory for results of commands without `--out`.
const HOME: &str = "fairwave-out";
/// The file whose lock shows that a process writes into the directory.
const LOCK: &str = ".fairwave.lock";

/// A directory for results that no other process writes into while this value exists.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    lock: File,
}

/// Permitted contents of a directory for results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// None, unless `--force` is given.
    Nothing,
    /// Results of an interrupted command that continues.
    Results,
}

/// The directory for this command: `--out` if it is new or empty (or `--force`), otherwise a new
/// one whose name is derived from `name`.
pub(crate) fn choose(common: &Common, name: &str) -> Result<Place, Failure> {
    choose_with(common, name, Before::Nothing)
}

/// The same for an `--out` that may have the contents given by `before`.
pub(crate) fn choose_with(common: &Common, name: &str, before: Before) -> Result<Place, Failure> {
    let Some(out) = &common.out else {
        return match before {
            Before::Nothing => fresh(Path::new(HOME), name),
            Before::Results => Err(Failure::Usage(
                "--resume goes on with what is in a directory: name it by --out".to_owned(),
            )),
        };
    };
    if out.exists() && !out.is_dir() {
        return Err(Failure::Usage(format!("{}: not a directory", out.display())));
    }
    let path = out.display();
    let place = claim(out)?.ok_or_else(|| {
        Failure::Usage(format!(
            "{path}: another fairwave is writing into it; wait, or take another"
        ))
    })?;
    if before == Before::Nothing && !common.force && !is_vacant(out) {
        return Err(Failure::Usage(format!("{path}: not empty; --force writes into it anyway")));
    }
    results::remove_unfinished(out).map_err(Failure::run)?;
    Ok(place)
}

/// The first vacant one of `name`, `name-2`, `name-3`, ...
fn fresh(home: &Path, name: &str) -> Result<Place, Failure> {
    let numbered = (2..u32::MAX).map(|n| home.join(format!("{name}-{n}")));
    for path in std::iter::once(home.join(name)).chain(numbered) {
        if !is_vacant(&path) {
            continue;
        }
        // Another process may have begun to fill the directory since it was found vacant.
        match claim(&path)? {
            Some(place) if is_vacant(&path) => return Ok(place),
            _ => {}
        }
    }
    Err(Failure::Run(format!("{}: every name like {name:?} is taken", home.display())))
}

/// Makes the directory and locks it; `None` if another process has locked it. The system releases
/// the lock when the process ends, for any reason.
fn claim(path: &Path) -> Result<Option<Place>, Failure> {
    let file = path.join(LOCK);
    fs::create_dir_all(path).map_err(|e| Failure::Run(format!("{}: {e}", path.display())))?;
    loop {
        let opened = File::options().create(true).append(true).open(&file);
        let lock = opened.map_err(|e| Failure::Run(format!("{}: {e}", file.display())))?;
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(None);
        }
        // The former owner of the lock may have removed the file after it was opened here. Then the
        // lock is on a file without a name, and another process could lock its successor.
        if is_same(&lock, &file) {
            return Ok(Some(Place { path: path.to_owned(), lock }));
        }
    }
}

#[cfg(unix)]
fn is_same(opened: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let opened = opened.metadata().map(identity).ok();
    opened.is_some() && opened == fs::metadata(path).map(identity).ok()
}

#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}

impl Place {
    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // An error only leaves an empty file behind.
        // Removed before the unlock: otherwise this could remove the file that the next owner has
        // locked.
        let _ = fs::remove_file(self.path.join(LOCK));
        let _ = self.lock.unlock();
    }
}

/// Whether the path does not exist, or is a directory that contains nothing but a lock.
fn is_vacant(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().all(|entry| entry.file_name() == LOCK),
        Err(_) => !path.exists(),
    }
}
