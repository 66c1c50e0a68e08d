//! The algorithm of one connection: one of the list by its name, or one from outside.

use crate::{Controller, Initial, UnknownAlgorithm, registry};
use fairwave_machine::Named;
use std::sync::Arc;

/// Makes the state of an algorithm at the start of a connection.
pub type Make = dyn Fn(Initial) -> Box<dyn Controller> + Send + Sync;

/// The algorithm of a connection. [`Chosen::from`] a name takes one of [`crate::ALL`], possibly
/// with a remedy around it (`"ack-loss+compound"`); [`Chosen::own`] takes one from outside this
/// crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// An algorithm of the list, by its name.
    Listed(String),
    /// An algorithm from outside.
    Own(Named<Make>),
}

impl Chosen {
    /// An algorithm from outside. Results call it `name`; its state has to follow from what the
    /// connection reports alone, or runs differ from each other.
    pub fn own(
        name: &str,
        make: impl Fn(Initial) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self::Own(Named::new(name, Arc::new(make)))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(name) => name,
            Self::Own(own) => own.name(),
        }
    }

    /// Its state at the start of a connection.
    ///
    /// # Errors
    /// [`UnknownAlgorithm`] if it was chosen by a name that is not one of [`crate::names`].
    pub fn build(&self, initial: Initial) -> Result<Box<dyn Controller>, UnknownAlgorithm> {
        match self {
            Self::Own(own) => Ok(own.make()(initial)),
            Self::Listed(name) => registry::build(name, initial),
        }
    }

    /// Whether there is such an algorithm.
    ///
    /// # Errors
    /// As [`Chosen::build`].
    pub fn check(&self) -> Result<(), UnknownAlgorithm> {
        match self {
            Self::Listed(name) if !registry::is_known(name) => {
                Err(UnknownAlgorithm { name: name.clone() })
            }
            _ => Ok(()),
        }
    }
}

impl<S: Into<String>> From<S> for Chosen {
    fn from(name: S) -> Self {
        Self::Listed(name.into())
    }
}
