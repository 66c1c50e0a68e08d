//! Directories for results, locked against other processes.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file whose lock shows that a process writes into the directory.
const LOCK: &str = ".fairwave.lock";

/// A directory for results that no other process writes into while this value exists.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    lock: File,
}

/// Reason why a directory could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has locked it.
    #[error("{}: another fairwave is writing into it; wait, or take another", .0.display())]
    Taken(PathBuf),
    /// The directory or its lock could not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory or the lock.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl Place {
    /// Makes the directory and locks it. The system releases the lock when the process ends, for
    /// any reason.
    ///
    /// # Errors
    /// A directory that another process has locked, or that cannot be made.
    pub fn claim(path: &Path) -> Result<Self, Error> {
        let file = path.join(LOCK);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { path, source }
        };
        fs::create_dir_all(path).map_err(io(path))?;
        loop {
            let lock = File::options().create(true).append(true).open(&file).map_err(io(&file))?;
            if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(Error::Taken(path.to_owned()));
            }
            // The former owner of the lock may have removed the file after it was opened here. Then
            // the lock is on a file without a name, and another process could lock its successor.
            if is_same(&lock, &file) {
                return Ok(Self { path: path.to_owned(), lock });
            }
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
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
pub fn is_vacant(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().all(|entry| entry.file_name() == LOCK),
        Err(_) => !path.exists(),
    }
}
