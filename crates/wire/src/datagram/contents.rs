//! What a datagram carries, where that is not the pattern of its own position.

use super::{Datagram, patterned};
use crate::dccp;

/// What the value of a datagram leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The options of a DCCP packet; its payload is the pattern.
    Options(dccp::Options),
    /// The payload, piece by piece.
    Payload(Vec<Piece>),
}

/// A part of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes of the pattern.
    Pattern {
        /// Where in the pattern they begin.
        position: u32,
        /// How many.
        len: u32,
    },
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Pattern { len, .. } => *len as usize,
        }
    }
}

impl Contents {
    /// A payload of bytes alone.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self::Payload(vec![Piece::Bytes(bytes)])
    }

    pub(super) const fn options(&self) -> Option<&dccp::Options> {
        match self {
            Self::Options(options) => Some(options),
            Self::Payload(_) => None,
        }
    }

    pub(super) fn payload(&self) -> Option<Vec<u8>> {
        let Self::Payload(pieces) = self else { return None };
        let mut payload = Vec::with_capacity(pieces.iter().map(Piece::len).sum());
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => payload.extend_from_slice(bytes),
                Piece::Pattern { position, len } => payload.extend(patterned(*position, *len)),
            }
        }
        Some(payload)
    }

    /// Whether they are as long as the payload of `datagram`.
    pub fn fit(&self, datagram: &Datagram) -> bool {
        match self {
            Self::Options(_) => true,
            Self::Payload(pieces) => {
                let len: usize = pieces.iter().map(Piece::len).sum();
                len == datagram.payload_len as usize
            }
        }
    }

    /// Bytes that have to be kept for them, about.
    pub fn kept_bytes(&self) -> usize {
        let beside = size_of::<Self>();
        match self {
            Self::Options(options) => beside + options.as_bytes().len(),
            Self::Payload(pieces) => {
                let piece = |piece: &Piece| match piece {
                    Piece::Bytes(bytes) => size_of::<Piece>() + bytes.len(),
                    Piece::Pattern { .. } => size_of::<Piece>(),
                };
                beside + pieces.iter().map(piece).sum::<usize>()
            }
        }
    }
}
