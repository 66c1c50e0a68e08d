//! A block of the stream on its way.

use std::num::NonZeroU16;

/// A block that is not known to have arrived, or follows one that is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Its position in the stream.
    pub(super) offset: u64,
    /// Its length in bytes.
    pub(super) len: NonZeroU16,
    /// The peer's TCP has got it.
    pub(super) arrived: bool,
    /// The connection that it was put on last, and where it ends on that one's stream.
    pub(super) leg: usize,
    pub(super) until: u64,
}
