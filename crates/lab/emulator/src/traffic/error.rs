//! What can go wrong with flows on sockets.

use fairwave_units::Instant;
use std::io;

/// Why flows cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A socket of a flow cannot be made as it should be.
    #[error("flow {flow}: {what}: {cause}")]
    Socket {
        /// The flow's name.
        flow: String,
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        cause: io::Error,
    },
    /// The kernel does not have a congestion control.
    #[error(
        "flow {flow}: this kernel has no congestion control {law:?}; available are {available}"
    )]
    UnknownLaw {
        /// The flow's name.
        flow: String,
        /// The congestion control that it asks for.
        law: String,
        /// Those that the kernel has, with commas between them.
        available: String,
    },
    /// The kernel has a congestion control, and lets administrators alone use it.
    #[error(
        "flow {flow}: congestion control {law:?} needs CAP_NET_ADMIN; everybody may use {allowed}"
    )]
    RestrictedLaw {
        /// The flow's name.
        flow: String,
        /// The congestion control that it asks for.
        law: String,
        /// Those that everybody may use, with commas between them.
        allowed: String,
    },
    /// The thread that serves the sockets cannot be started.
    #[error("the thread that serves the flows: {0}")]
    Thread(#[from] io::Error),
}

/// Reason for which a flow ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow} failed at {at}: {what}: {cause}")]
pub struct Failure {
    /// The flow's name.
    pub flow: String,
    /// When.
    pub at: Instant,
    /// What it was doing.
    pub what: &'static str,
    /// What the kernel says of it.
    pub cause: String,
}
