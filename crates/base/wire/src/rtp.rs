//! RTP (RFC 3550) with transport-wide sequence numbers, and the feedback about those
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01).
//!
//! The number rides in a one-byte header extension (RFC 8285) under [`EXTENSION_ID`], which the two
//! ends would otherwise agree upon by SDP.

mod feedback;
mod remb;
#[cfg(test)]
mod tests;

pub use feedback::{Feedback, MAX_STATUSES, TICK};
pub use remb::{Remb, is_rtcp};

use crate::reader::{Reader, Truncated};
use thiserror::Error;

/// Identifier of the transport-wide sequence number among header extensions.
pub const EXTENSION_ID: u8 = 5;
/// Length of the result of [`Header::bytes`]: the fixed header and one extension word behind its
/// head.
pub const HEADER_LEN: usize = 20;

/// Profile of one-byte header extensions (RFC 8285 section 4.2).
const ONE_BYTE: u16 = 0xbede;

/// Fault of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// They end too early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// They are of another version.
    #[error("RTP version {version}; 2 is known")]
    Version {
        /// The version.
        version: u8,
    },
    /// The padding is longer than the payload.
    #[error("padding of {len} bytes, which are not there")]
    Padding {
        /// Its length.
        len: u8,
    },
    /// An RTCP packet of another kind.
    #[error(
        "RTCP packet type {kind} format {format}; transport-wide feedback is 205 format 15, REMB \
         206 format 15"
    )]
    Kind {
        /// Packet type.
        kind: u8,
        /// Format or count.
        format: u8,
    },
    /// A chunk has a symbol that means nothing.
    #[error("reserved status symbol of packet {index}")]
    Symbol {
        /// Counting from the base.
        index: usize,
    },
    /// More packets than one feedback can hold.
    #[error("{count} packet statuses; at most {MAX_STATUSES} are taken")]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// The header of an RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Payload type, 0..128.
    pub payload_type: u8,
    /// Marker: of a video, the last packet of a frame.
    pub marker: bool,
    /// Sequence number within the stream.
    pub sequence: u16,
    /// Media time; of a video in 90 kHz.
    pub timestamp: u32,
    /// Who sends.
    pub ssrc: u32,
    /// Sequence number over all streams of the transport.
    pub transport_sequence: Option<u16>,
}

impl Header {
    /// Reads a header, and gives the payload without its padding. Contributing sources and other
    /// extensions are passed over.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Version`] and [`Error::Padding`].
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(bytes);
        let first = reader.u8("first byte")?;
        if first >> 6 != 2 {
            return Err(Error::Version { version: first >> 6 });
        }
        let second = reader.u8("payload type")?;
        let mut header = Self {
            payload_type: second & 0x7f,
            marker: second & 0x80 != 0,
            sequence: reader.u16_be("sequence number")?,
            timestamp: reader.u32_be("timestamp")?,
            ssrc: reader.u32_be("SSRC")?,
            transport_sequence: None,
        };
        reader.take(4 * usize::from(first & 0x0f), "contributing sources")?;
        if first & 0x10 != 0 {
            let profile = reader.u16_be("extension profile")?;
            let words = reader.u16_be("extension length")?;
            let extension = reader.take(4 * usize::from(words), "extension")?;
            if profile == ONE_BYTE {
                header.transport_sequence = transport_sequence(extension);
            }
        }
        let payload = reader.rest();
        let padding = match payload.last() {
            Some(last) if first & 0x20 != 0 => *last,
            _ if first & 0x20 != 0 => return Err(Error::Padding { len: 0 }),
            _ => 0,
        };
        let len = payload.len().checked_sub(padding.into());
        let bad = padding == 0 && first & 0x20 != 0;
        match len.filter(|_| !bad) {
            Some(len) => Ok((header, &payload[..len])),
            None => Err(Error::Padding { len: padding }),
        }
    }

    /// The header as bytes. A stream without a transport-wide number is sent with number zero.
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[0] = 0x90;
        out[1] = (self.payload_type & 0x7f) | if self.marker { 0x80 } else { 0 };
        out[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        out[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        out[8..12].copy_from_slice(&self.ssrc.to_be_bytes());
        out[12..14].copy_from_slice(&ONE_BYTE.to_be_bytes());
        out[15] = 1;
        // The length field of an extension is one less than its length (RFC 8285 section 4.2).
        out[16] = EXTENSION_ID << 4 | 1;
        let number = self.transport_sequence.unwrap_or_default();
        out[17..19].copy_from_slice(&number.to_be_bytes());
        out
    }
}

/// The number, if it is among one-byte extensions.
fn transport_sequence(mut extensions: &[u8]) -> Option<u16> {
    while let [head, rest @ ..] = extensions {
        let (id, len) = (head >> 4, usize::from(head & 0x0f) + 1);
        match id {
            0 => extensions = rest,
            15 => return None,
            EXTENSION_ID if len == 2 => {
                return Some(u16::from_be_bytes([*rest.first()?, *rest.get(1)?]));
            }
            _ => extensions = rest.get(len..)?,
        }
    }
    None
}
