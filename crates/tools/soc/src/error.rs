//! Errors; their messages name the place and the remedy.

use std::io;

/// Reason for which a station or an access point cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is not valid.
    #[error("{0}")]
    Usage(String),
    /// The kernel lacks a feature, the process lacks a privilege, or an interface does not exist.
    #[error(transparent)]
    Kernel(#[from] fairwave_linux::Error),
    /// A step failed.
    #[error("{step}: {cause}")]
    Step {
        /// The failed step.
        step: String,
        /// Error from the kernel.
        #[source]
        cause: io::Error,
    },
}

impl Error {
    /// Builds an error for `map_err`; `step` describes the failed step.
    pub fn at(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |cause| Self::Step { step, cause }
    }
}
