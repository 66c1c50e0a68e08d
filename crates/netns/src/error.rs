//! What can go wrong, in words that name the node and the step.

use crate::support::Missing;
use std::io;

/// Why namespaces could not be built or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user lacks something.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The plan contradicts itself.
    #[error("{0}")]
    Plan(String),
    /// The kernel refused a step.
    #[error("{step}: {cause}")]
    Kernel {
        /// What was tried, with the node's name.
        step: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
    /// An interface that was there has been deleted.
    #[error("{0}")]
    Vanished(String),
    /// The keeper process ended, or did not answer.
    #[error("the keeper process {0}")]
    Keeper(String),
}

impl Error {
    /// A refused step; for `map_err`.
    pub(crate) fn at(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |cause| Self::Kernel { step, cause }
    }
}
