//! What can go wrong, in words that name the place and the remedy.

use std::io;

/// Reason for which a station or an access point cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The kernel or the user lacks something, or an interface is not there.
    #[error(transparent)]
    Kernel(#[from] fairwave_linux::Error),
    /// A step failed.
    #[error("{step}: {cause}")]
    Step {
        /// What was tried.
        step: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
}

impl Error {
    /// For `map_err`: what was tried.
    pub fn at(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |cause| Self::Step { step, cause }
    }
}
