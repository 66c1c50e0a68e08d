//! Errors before flows are served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Errors of starting the proxy, or of reading a changed file again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Listening at an address failed.
    #[error("cannot listen at TCP {at}: {why}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// Error from the kernel.
        why: io::Error,
    },
    /// A file of targets or of users cannot be read.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error from the kernel.
        why: io::Error,
    },
    /// A file of targets or of users is not valid.
    #[error("{}: {why}", file.display())]
    NotValid {
        /// The file.
        file: PathBuf,
        /// Position and description of the fault.
        why: String,
    },
    /// The process may not open enough files for the requested number of flows.
    #[error(
        "{flows} flows need {needed} open files, and this process may have {most}: allow more \
         (`ulimit -n`, LimitNOFILE of a systemd unit), or fewer flows"
    )]
    Files {
        /// Requested number of flows.
        flows: usize,
        /// Number of files that they need.
        needed: u64,
        /// Number of files that the process may have open.
        most: u64,
    },
    /// The event loop cannot run.
    #[error("cannot wait for sockets: {0}")]
    Loop(io::Error),
}
