//! What can go wrong before flows are served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the proxy cannot work, or cannot follow a changed file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address cannot be listened at.
    #[error("cannot listen at TCP {at}: {why}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// What the kernel says.
        why: io::Error,
    },
    /// A file of targets cannot be read.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the kernel says.
        why: io::Error,
    },
    /// A file of targets is not valid.
    #[error("{}: {why}", file.display())]
    Targets {
        /// The file.
        file: PathBuf,
        /// Where and why.
        why: String,
    },
    /// So many flows cannot be open at once.
    #[error(
        "{flows} flows need {needed} open files, and this process may have {most}: allow more \
         (`ulimit -n`, LimitNOFILE of a systemd unit), or fewer flows"
    )]
    Files {
        /// Flows that were asked for.
        flows: usize,
        /// Files that they need.
        needed: u64,
        /// Files that the process may have.
        most: u64,
    },
    /// The loop cannot run.
    #[error("cannot wait for sockets: {0}")]
    Loop(io::Error),
}
