//! Errors, in words that name the node and the step.

use std::fmt;
use std::io;

/// Reason for which namespaces could not be built or used.
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
        /// The failed step, with the node's name.
        step: String,
        /// The kernel's error.
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
    pub fn at<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> Self {
        let step = step.into();
        move |cause| Self::Kernel { step, cause: cause.into() }
    }
}

/// A missing part, and the way to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The missing part.
    pub what: String,
    /// Advice to get it.
    pub remedy: String,
}

/// All that is missing on this machine, or to this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing(pub Vec<Lack>);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "something is missing for emulation:")?;
        self.0.iter().try_for_each(|lack| write!(f, "\n  {}\n    {}", lack.what, lack.remedy))
    }
}

impl std::error::Error for Missing {}
