//! Which discipline, with which parameters.

use crate::{Discipline, DropTail, Item};
use core::fmt::Debug;
use fairwave_units::Bytes;

/// The bound of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets wait.
    Packets(u32),
    /// At most so many bytes wait, counted from the IP header on.
    Bytes(Bytes),
}

impl Limit {
    /// Whether an item of `more` bytes may join `len` items of `bytes` together.
    pub const fn admits(self, len: u32, bytes: Bytes, more: u32) -> bool {
        match self {
            Self::Packets(most) => len < most,
            Self::Bytes(most) => bytes.0 + more as u64 <= most.0,
        }
    }
}

/// A discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spec {
    /// [`DropTail`].
    DropTail {
        /// Its bound.
        limit: Limit,
    },
}

impl From<Limit> for Spec {
    fn from(limit: Limit) -> Self {
        Self::DropTail { limit }
    }
}

impl Spec {
    /// An empty queue of this kind.
    pub fn build<T: Item + Debug + Send + 'static>(&self) -> Box<dyn Discipline<T>> {
        match *self {
            Self::DropTail { limit } => Box::new(DropTail::new(limit)),
        }
    }
}
