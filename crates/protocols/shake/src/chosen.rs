//! The scheduler of one connection: one of the list by its name, or one from outside.

use crate::{Scheduler, scheduler};
use core::fmt;
use std::sync::Arc;

/// Makes the state of a scheduler at the start of a connection.
type Make = dyn Fn() -> Box<dyn Scheduler> + Send + Sync;

/// The scheduler of a connection. [`ChosenScheduler::from`] a name takes one of
/// [`crate::SCHEDULERS`]; [`ChosenScheduler::own`] takes one from outside this crate.
#[derive(Clone)]
pub struct ChosenScheduler {
    name: String,
    own: Option<Arc<Make>>,
}

impl ChosenScheduler {
    /// A scheduler from outside, called `name`. Its state has to follow from what the connection
    /// reports alone, or runs differ from each other.
    pub fn own(
        name: impl Into<String>,
        make: impl Fn() -> Box<dyn Scheduler> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), own: Some(Arc::new(make)) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state at the start of a connection; `None` if the list has no scheduler of this name.
    pub fn build(&self) -> Option<Box<dyn Scheduler>> {
        match &self.own {
            Some(make) => Some(make()),
            None => scheduler(&self.name),
        }
    }
}

impl<S: Into<String>> From<S> for ChosenScheduler {
    fn from(name: S) -> Self {
        Self { name: name.into(), own: None }
    }
}

impl fmt::Debug for ChosenScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.own.is_some() { "own" } else { "listed" };
        write!(f, "{:?} ({whose})", self.name)
    }
}
