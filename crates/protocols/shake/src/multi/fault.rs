//! Impossible messages of a peer.

use super::mark::MarkError;
use thiserror::Error;

/// An impossible message of a peer.
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
        /// Its own number.
        connection: u8,
        /// Of how many.
        connections: u8,
        /// The number that it must have.
        expected: u8,
    },
    /// Data behind the end of the stream.
    #[error("a block at {offset} of a stream that ends at {length}")]
    BeyondEnd {
        /// Position of the block.
        offset: u64,
        /// End of the stream.
        length: u64,
    },
    /// The stream ends at two places, or before data that has come of it.
    #[error("a stream of {length} bytes that goes on to {offset}")]
    OtherEnd {
        /// The position that it continues to.
        offset: u64,
        /// Its earlier end.
        length: u64,
    },
    /// Bytes behind the mark that nothing follows.
    #[error("bytes behind the end")]
    BehindEnd,
}
