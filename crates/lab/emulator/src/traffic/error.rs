//! Errors of flows on sockets.

use fairwave_units::Instant;
use std::io;

/// Errors before the start of flows.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A socket of a flow cannot be created or configured.
    #[error("flow {flow}: {what}: {cause}")]
    Socket {
        /// The flow's name.
        flow: String,
        /// The failed step.
        what: &'static str,
        /// Error from the kernel.
        cause: io::Error,
    },
    /// The kernel lacks a congestion control algorithm.
    #[error(
        "flow {flow}: this kernel has no congestion control {algorithm:?}; available are \
         {available}"
    )]
    UnknownAlgorithm {
        /// The flow's name.
        flow: String,
        /// The requested algorithm.
        algorithm: String,
        /// The available algorithms, separated by commas.
        available: String,
    },
    /// The kernel has the congestion control algorithm, but only administrators may use it.
    #[error(
        "flow {flow}: congestion control {algorithm:?} needs CAP_NET_ADMIN; everybody may use \
         {allowed}"
    )]
    RestrictedAlgorithm {
        /// The flow's name.
        flow: String,
        /// The requested algorithm.
        algorithm: String,
        /// The algorithms for all users, separated by commas.
        allowed: String,
    },
    /// The thread that serves the sockets cannot be started.
    #[error("the thread that serves the flows: {0}")]
    Thread(#[from] io::Error),
}

/// Reason for which a flow ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow} failed at {at}: {what}: {cause}")]
pub struct Failure {
    /// The flow's name.
    pub flow: String,
    /// Time of its end.
    pub at: Instant,
    /// The failed step.
    pub what: &'static str,
    /// Error from the kernel.
    pub cause: String,
}
