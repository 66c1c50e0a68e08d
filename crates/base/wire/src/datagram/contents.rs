//! Contents of a datagram, where they are not the pattern of its own position.

use super::{Datagram, Transport, patterned};
use crate::ethernet::EtherType;
use crate::ipv4::Ecn;
use crate::{dccp, patch};

/// The parts that the value of a datagram leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The options of a DCCP packet; its payload is the pattern.
    Options(dccp::Options),
    /// The payload, piece by piece.
    Payload(Vec<Piece>),
    /// The packet from its IP header on, of version 4 or 6. The datagram only stands for it, and
    /// has its current ECN field and window.
    Packet(Vec<u8>),
}

/// A part of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Bytes of the pattern.
    Pattern {
        /// Position of their beginning in the pattern.
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
            Self::Payload(_) | Self::Packet(_) => None,
        }
    }

    /// Appends the packet as `datagram` shows that queues left it. False, and nothing is appended,
    /// if these contents are not a whole packet.
    pub(super) fn write_packet(&self, datagram: &Datagram, out: &mut Vec<u8>) -> bool {
        let Self::Packet(bytes) = self else { return false };
        let start = out.len();
        out.extend_from_slice(bytes);
        let packet = &mut out[start..];
        if datagram.ecn() == Ecn::Ce {
            patch::mark_ce(packet);
        }
        if let Transport::Tcp(header) = &datagram.transport {
            patch::clamp_window(packet, header.window);
        }
        true
    }

    /// The link type of packets with these contents.
    pub fn ether_type(&self) -> EtherType {
        match self {
            Self::Packet(bytes) if bytes.first().is_some_and(|byte| byte >> 4 == 6) => {
                EtherType::IPV6
            }
            _ => EtherType::IPV4,
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
            // Packets of other protocols may be shorter than a UDP datagram can say.
            Self::Packet(bytes) => {
                let len = datagram.wire_len() as usize;
                bytes.len() == len || (bytes.len() < len && datagram.payload_len == 0)
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
            Self::Packet(bytes) => beside + bytes.len(),
        }
    }
}
