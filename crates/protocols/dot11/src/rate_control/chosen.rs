//! The rate control of a radio: one of the list, or one from outside.

use super::{Algorithm, RateControl, Setup};
use fairwave_machine::Named;
use std::sync::Arc;

/// Makes the state of an algorithm for the frames of one radio to one receiver.
pub type Make = dyn Fn(Setup) -> Box<dyn RateControl> + Send + Sync;

/// The algorithm of a radio.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// An algorithm of the list.
    Listed(Algorithm),
    /// An algorithm from outside.
    Own(Named<Make>),
}

impl Chosen {
    /// An algorithm from outside. Its state has to follow from its inputs alone, or runs differ
    /// from each other.
    pub fn own(
        name: &str,
        make: impl Fn(Setup) -> Box<dyn RateControl> + Send + Sync + 'static,
    ) -> Self {
        Self::Own(Named::new(name, Arc::new(make)))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(algorithm) => algorithm.name,
            Self::Own(own) => own.name(),
        }
    }

    /// Its state at the start.
    pub fn build(&self, setup: Setup) -> Box<dyn RateControl> {
        match self {
            Self::Listed(algorithm) => (algorithm.build)(setup),
            Self::Own(own) => own.make()(setup),
        }
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Listed(one), Self::Listed(other)) => one.name == other.name,
            (Self::Own(one), Self::Own(other)) => one == other,
            _ => false,
        }
    }
}

impl From<Algorithm> for Chosen {
    fn from(algorithm: Algorithm) -> Self {
        Self::Listed(algorithm)
    }
}
