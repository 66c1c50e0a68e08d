//! IPv4 header (RFC 791 section 3.1; RFC 2474 and 3168 for the second byte).

use crate::checksum::Sum;
use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use std::net::Ipv4Addr;
use thiserror::Error;

/// Length of a header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// Largest payload in bytes: the total length has 16 bits.
pub const PAYLOAD_LEN_MAX: u32 = 0xffff - HEADER_LEN as u32;

/// Protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// Protocol number of DCCP.
pub const PROTOCOL_DCCP: u8 = 33;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

/// A header of a whole datagram: fragments are refused, options are skipped and never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Identification.
    pub id: u16,
    /// Time to live in hops.
    pub ttl: u8,
    /// Differentiated services and ECN byte.
    pub tos: u8,
    /// Whether routers may not fragment it.
    pub dont_fragment: bool,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Payload in bytes, at most [`PAYLOAD_LEN_MAX`].
    pub payload_len: u32,
}

/// The ECN field: the two low bits of the second byte (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not take part.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, codepoint ECT(1).
    Ect1 = 0b01,
    /// ECN-capable transport, codepoint ECT(0), which TCP uses.
    Ect0 = 0b10,
    /// Congestion experienced: a router marked it instead of dropping it.
    Ce = 0b11,
}

impl Ecn {
    /// The field of a differentiated services and ECN byte.
    pub const fn of(tos: u8) -> Self {
        match tos & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// `tos` with this field instead of its own.
    pub const fn put(self, tos: u8) -> u8 {
        tos & !0b11 | self as u8
    }

    /// Whether a router may mark instead of drop.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Reason for which bytes are no datagram for us, or a header cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Not version 4.
    #[error("version at offset 0 is {version}, not 4")]
    Version {
        /// The version found.
        version: u8,
    },
    /// A header length below 20 bytes.
    #[error("header length at offset 0 is {bytes} bytes, below 20")]
    HeaderLength {
        /// The length stated.
        bytes: usize,
    },
    /// A total length that does not even cover the header.
    #[error("total length at offset 2 is {total} bytes, the header alone has {header}")]
    TotalLength {
        /// The length stated.
        total: usize,
        /// The header's length.
        header: usize,
    },
    /// The header was damaged.
    #[error("header checksum at offset 10 is {found:#06x}, should be {expected:#06x}")]
    Checksum {
        /// Value in the header.
        found: u16,
        /// Value computed from its bytes.
        expected: u16,
    },
    /// A fragment; we neither make nor reassemble them.
    #[error("fragment at offset 6: position {position} bytes, more fragments {more}")]
    Fragment {
        /// Offset of its payload in the datagram, in bytes.
        position: u32,
        /// Whether others follow.
        more: bool,
    },
    /// More payload than the total length can state.
    #[error("payload of {len} bytes does not fit, the limit is 65515")]
    PayloadLength {
        /// The payload's length.
        len: u32,
    },
}

/// Reads a header and checks its sum; returns the payload, without link padding.
pub fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let header_len = header_len(reader.u8("version and header length")?)?;
    let tos = reader.u8("type of service")?;
    let total = usize::from(reader.u16_be("total length")?);
    let id = reader.u16_be("identification")?;
    let dont_fragment = whole(reader.u16_be("flags and fragment offset")?)?;
    let ttl = reader.u8("time to live")?;
    let protocol = reader.u8("protocol")?;
    let found = reader.u16_be("header checksum")?;
    let source = Ipv4Addr::from(reader.array::<4>("source address")?);
    let destination = Ipv4Addr::from(reader.array::<4>("destination address")?);
    reader.take(header_len - HEADER_LEN, "options")?;
    check_sum(&bytes[..header_len], found)?;
    if total < header_len {
        return Err(Error::TotalLength { total, header: header_len });
    }
    let payload = reader.take(total - header_len, "payload")?;
    let payload_len = payload.len() as u32;
    let header = Header { source, destination, id, ttl, tos, dont_fragment, protocol, payload_len };
    Ok((header, payload))
}

fn header_len(byte: u8) -> Result<usize, Error> {
    let (version, bytes) = (byte >> 4, usize::from(byte & 0xf) * 4);
    if version != 4 {
        return Err(Error::Version { version });
    }
    if bytes < HEADER_LEN { Err(Error::HeaderLength { bytes }) } else { Ok(bytes) }
}

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// Whether it may not be fragmented, given that it is no fragment.
fn whole(word: u16) -> Result<bool, Error> {
    let (position, more) = (u32::from(word & 0x1fff) * 8, word & MORE_FRAGMENTS != 0);
    if more || position > 0 {
        return Err(Error::Fragment { position, more });
    }
    Ok(word & DONT_FRAGMENT != 0)
}

fn check_sum(header: &[u8], found: u16) -> Result<(), Error> {
    let expected = Sum::default().add(&header[..10]).add(&header[12..]).finish();
    if found == expected { Ok(()) } else { Err(Error::Checksum { found, expected }) }
}

impl Header {
    /// Appends the header with its checksum; the payload comes after it.
    ///
    /// # Errors
    /// [`Error::PayloadLength`], and then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.payload_len > PAYLOAD_LEN_MAX {
            return Err(Error::PayloadLength { len: self.payload_len });
        }
        let total = HEADER_LEN as u16 + self.payload_len as u16;
        let start = out.len();
        out.extend([0x45, self.tos]);
        out.extend(total.to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend(if self.dont_fragment { DONT_FRAGMENT } else { 0 }.to_be_bytes());
        out.extend([self.ttl, self.protocol, 0, 0]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        let sum = Sum::default().add(&out[start..]).finish();
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }

    /// Returns the fields for a transport checksum.
    pub fn pseudo(&self) -> Pseudo {
        Pseudo::V4 { source: self.source, destination: self.destination }
    }
}

#[cfg(test)]
mod tests;
