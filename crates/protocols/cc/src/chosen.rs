//! The algorithm of one connection: one of the list by its name, or one from outside.

use crate::{Controller, Initial, UnknownAlgorithm, registry};
use core::fmt;
use std::sync::Arc;

/// Makes the state of an algorithm at the start of a connection.
pub type Make = dyn Fn(Initial) -> Box<dyn Controller> + Send + Sync;

/// The algorithm of a connection. [`Chosen::from`] a name takes one of [`crate::ALL`], possibly
/// with a remedy around it (`"ack-loss+compound"`); [`Chosen::own`] takes one from outside this
/// crate.
#[derive(Clone)]
pub struct Chosen {
    name: String,
    own: Option<Arc<Make>>,
}

impl Chosen {
    /// An algorithm from outside. Results call it `name`; its state has to follow from what the
    /// connection reports alone, or runs differ from each other.
    pub fn own(
        name: impl Into<String>,
        make: impl Fn(Initial) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), own: Some(Arc::new(make)) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state at the start of a connection.
    ///
    /// # Errors
    /// [`UnknownAlgorithm`] if it was chosen by a name that is not one of [`crate::names`].
    pub fn build(&self, initial: Initial) -> Result<Box<dyn Controller>, UnknownAlgorithm> {
        match &self.own {
            Some(make) => Ok(make(initial)),
            None => registry::build(&self.name, initial),
        }
    }

    /// Whether there is such an algorithm.
    ///
    /// # Errors
    /// As [`Chosen::build`].
    pub fn check(&self) -> Result<(), UnknownAlgorithm> {
        let is_known = self.own.is_some() || registry::is_known(&self.name);
        if is_known { Ok(()) } else { Err(UnknownAlgorithm { name: self.name.clone() }) }
    }
}

impl<S: Into<String>> From<S> for Chosen {
    fn from(name: S) -> Self {
        Self { name: name.into(), own: None }
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.own.is_some() { "own" } else { "listed" };
        write!(f, "{:?} ({whose})", self.name)
    }
}
