//! Framing of multi-connection SHAKE on the streams of its TCP connections: a preface at the
//! beginning of each, and a header before each block. Fairwave's own format
//! (`docs/models/multi-tcp.md` has it byte by byte).
//!
//! Iida, Ishihara and Mizuno name the system (section 3.2.4) and give no format. Blocks are known
//! by their offset in the stream of the application, so that one that comes twice is recognised.

use crate::reader::{Reader, Truncated};
use std::num::{NonZeroU8, NonZeroU16};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The first four bytes of every connection's stream.
pub const MAGIC: [u8; 4] = *b"FWmc";
/// The version that is spoken here.
pub const VERSION: u8 = 1;
/// Length of a preface in bytes.
pub const PREFACE_LEN: usize = 20;
/// Length of a header in bytes.
pub const HEADER_LEN: usize = 12;
/// Streams are shorter than this, so that sums cannot overflow.
pub const OFFSET_LIMIT: u64 = 1 << 62;

const BLOCK: u8 = 1;
const END: u8 = 2;

/// First bytes of a connection's stream in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preface {
    /// The set of connections that this one belongs to: drawn at random by the end that opens them.
    pub set: u64,
    /// Index of this connection in the set, counting from zero; below `connections`.
    pub connection: u8,
    /// Number of connections that the set has.
    pub connections: NonZeroU8,
    /// Receive buffer of the sender of this in bytes, beyond the bytes that its application has
    /// read.
    pub buffer: u32,
}

/// Header of a block, or of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Bytes of the application's stream follow.
    Block {
        /// Offset of the first of them.
        offset: u64,
        /// How many.
        len: NonZeroU16,
    },
    /// Nothing follows on this connection.
    End {
        /// Length of the application's stream.
        offset: u64,
    },
}

/// Reason for which bytes are no preface or header, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Something else speaks on this connection.
    #[error("no preface of multi-connection SHAKE: the stream begins with {found:02x?}")]
    Magic {
        /// The first bytes.
        found: [u8; 4],
    },
    /// Another version.
    #[error("version {found} at offset 4, spoken is {VERSION}")]
    Version {
        /// The version stated.
        found: u8,
    },
    /// A connection that the set does not have.
    #[error("connection {connection} of a set of {connections}")]
    Connection {
        /// The connection stated.
        connection: u8,
        /// The number stated.
        connections: u8,
    },
    /// A kind of header that there is not.
    #[error("kind {found} at offset 0 is unknown")]
    Kind {
        /// The number stated.
        found: u8,
    },
    /// A byte that must be zero.
    #[error("byte {found:#04x} at offset {offset} must be zero")]
    Reserved {
        /// The byte.
        found: u8,
        /// Its offset.
        offset: usize,
    },
    /// A length that does not fit the kind of header.
    #[error("length {found} at offset 2 does not fit kind {kind}")]
    Length {
        /// The length stated.
        found: u16,
        /// The kind.
        kind: u8,
    },
    /// A stream that is too long.
    #[error("offset {offset} is not below 2^62")]
    TooFar {
        /// The offset.
        offset: u64,
    },
}

fn zero(found: u8, offset: usize) -> Result<(), Error> {
    if found == 0 { Ok(()) } else { Err(Error::Reserved { found, offset }) }
}

impl Preface {
    /// Reads a preface, and returns the rest.
    ///
    /// # Errors
    /// If the bytes are none of this version.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(bytes);
        let found = reader.array("magic")?;
        if found != MAGIC {
            return Err(Error::Magic { found });
        }
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(Error::Version { found: version });
        }
        let connection = reader.u8("connection")?;
        let connections = reader.u8("number of connections")?;
        zero(reader.u8("reserved")?, 7)?;
        let set = reader.u64_be("set")?;
        let buffer = reader.u32_be("buffer")?;
        let preface = NonZeroU8::new(connections)
            .filter(|max| connection < max.get())
            .map(|connections| Self { set, connection, connections, buffer })
            .ok_or(Error::Connection { connection, connections })?;
        Ok((preface, reader.rest()))
    }

    /// Appends its bytes.
    ///
    /// # Errors
    /// [`Error::Connection`] if the set has no such connection. Then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let (connection, connections) = (self.connection, self.connections.get());
        if connection >= connections {
            return Err(Error::Connection { connection, connections });
        }
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, connection, connections, 0]);
        out.extend_from_slice(&self.set.to_be_bytes());
        out.extend_from_slice(&self.buffer.to_be_bytes());
        Ok(())
    }
}

impl Header {
    /// Reads a header, and returns the rest.
    ///
    /// # Errors
    /// If the bytes are none of this version.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8("kind")?;
        zero(reader.u8("reserved")?, 1)?;
        let found = reader.u16_be("length")?;
        let offset = reader.u64_be("offset")?;
        let header = match (kind, NonZeroU16::new(found)) {
            (BLOCK, Some(len)) => Self::Block { offset, len },
            (END, None) => Self::End { offset },
            (BLOCK | END, _) => return Err(Error::Length { found, kind }),
            _ => return Err(Error::Kind { found: kind }),
        };
        header.check()?;
        Ok((header, reader.rest()))
    }

    /// Appends its bytes.
    ///
    /// # Errors
    /// [`Error::TooFar`] if the stream would be too long. Then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.check()?;
        let (kind, len, offset) = match *self {
            Self::Block { offset, len } => (BLOCK, len.get(), offset),
            Self::End { offset } => (END, 0, offset),
        };
        out.extend_from_slice(&[kind, 0]);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&offset.to_be_bytes());
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        match *self {
            Self::Block { offset, .. } | Self::End { offset } if offset >= OFFSET_LIMIT => {
                Err(Error::TooFar { offset })
            }
            _ => Ok(()),
        }
    }
}
