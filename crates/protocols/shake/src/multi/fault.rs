//! What a peer said that cannot be.

use super::mark::MarkError;
use thiserror::Error;

/// What a peer said that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It is no preface or header.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// A connection of another set.
    #[error("a connection of set {0:#018x}, which is another")]
    OtherSet(u64),
    /// Another connection of the set, or the set has more or fewer.
    #[error("connection {connection} of {connections}, expected was {expected}")]
    OtherConnection {
        /// What it calls itself.
        connection: u8,
        /// Of how many.
        connections: u8,
        /// Which it must be.
        expected: u8,
    },
    /// Data behind the end of the stream.
    #[error("a block at {offset} of a stream that ends at {length}")]
    BeyondEnd {
        /// Where the block begins.
        offset: u64,
        /// Where the stream ends.
        length: u64,
    },
    /// The stream ends at two places, or before what has come of it.
    #[error("a stream of {length} bytes that goes on to {offset}")]
    OtherEnd {
        /// Where it goes on to.
        offset: u64,
        /// Where it was said to end.
        length: u64,
    },
    /// Bytes behind the mark that nothing follows.
    #[error("bytes behind the end")]
    BehindEnd,
}
