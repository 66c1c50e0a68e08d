//! Programs in namespaces.

use crate::Error;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// A program and its arguments.
    Arguments(Vec<OsString>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

/// How a program is started.
#[derive(Debug)]
pub struct ProgramPlan {
    /// What is started.
    pub invocation: Invocation,
    /// Where its output and its errors go.
    pub output: File,
    /// Variables beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory; `None` is that of this process.
    pub directory: Option<PathBuf>,
}

/// A running program. It is ended when this is dropped.
#[derive(Debug)]
pub struct Program {
    pid: u32,
    pidfd: OwnedFd,
}

impl Program {
    /// Process id, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    ///
    /// Where the kernel does not say.
    pub fn try_wait(&self) -> Result<Option<ExitStatus>, Error> {
        Ok(None)
    }

    /// Asks the program and its process group to end (SIGTERM). Returns at once.
    pub fn ask_to_end(&self) {}

    /// Ends the program and its process group at once (SIGKILL).
    pub fn kill(&self) {}

    /// Asks, waits for at most `grace`, then kills. Says how it ended.
    ///
    /// # Errors
    ///
    /// Where the kernel does not say.
    pub fn terminate(&self, _grace: Duration) -> Result<ExitStatus, Error> {
        Ok(ExitStatus::default())
    }
}

impl AsFd for Program {
    /// The pidfd: readable when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
