//! Common parts of messages of Fairwave's own formats: their first bytes, and their faults.

use crate::reader::{Reader, Truncated};
use crate::seal::Forged;
use thiserror::Error;

/// Reason for which bytes are no message of a format, or a message of it cannot be written. A
/// format need not have every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Something else arrived at the port.
    #[error("no {format} message: it begins with {found:02x?}")]
    Magic {
        /// The format.
        format: &'static str,
        /// The first bytes.
        found: [u8; 4],
    },
    /// Another version.
    #[error("version {found} at offset 4, spoken is {spoken}")]
    Version {
        /// The version stated.
        found: u8,
        /// The version of this format.
        spoken: u8,
    },
    /// Not written with the key, or changed since.
    #[error(transparent)]
    Forged(#[from] Forged),
    /// A kind that there is not.
    #[error("kind {found} at offset 5 is unknown")]
    Kind {
        /// The number stated.
        found: u8,
    },
    /// Flags that this kind of message does not have.
    #[error("flags {found:#04x} at offset 6 do not fit kind {kind}")]
    Flags {
        /// All flags.
        found: u8,
        /// The kind.
        kind: u8,
    },
    /// A field whose value makes no sense.
    #[error("{field} is out of range")]
    Range {
        /// The field.
        field: &'static str,
    },
    /// Bytes that must be zero are not.
    #[error("{field} is not zero")]
    NotZero {
        /// The expected value.
        field: &'static str,
    },
    /// The body is longer than it may be, or there is a payload that nothing describes.
    #[error("{len} bytes behind the body of kind {kind}")]
    Trailing {
        /// How many.
        len: usize,
        /// The kind.
        kind: u8,
    },
    /// More bytes than a datagram carries.
    #[error("a message of {len} bytes, the limit is {most}")]
    TooLong {
        /// Its length.
        len: usize,
        /// The greatest length of this format.
        most: usize,
    },
}

/// First bytes of every message of a format.
pub(crate) struct Format {
    /// Name of the format in errors.
    pub(crate) name: &'static str,
    pub(crate) magic: [u8; 4],
    pub(crate) version: u8,
}

impl Format {
    /// Reads the magic and the version, five bytes.
    pub(crate) fn read(&self, reader: &mut Reader<'_>) -> Result<(), Error> {
        let found = reader.array("magic")?;
        if found != self.magic {
            return Err(Error::Magic { format: self.name, found });
        }
        let found = reader.u8("version")?;
        if found != self.version {
            return Err(Error::Version { found, spoken: self.version });
        }
        Ok(())
    }

    /// Appends them.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.magic);
        out.push(self.version);
    }
}
