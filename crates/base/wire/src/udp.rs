//! UDP header (RFC 768).

use crate::ipv4::PROTOCOL_UDP;
use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use thiserror::Error;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;

/// A UDP header; length and checksum follow from the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source port; zero if no reply is expected.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// Reason for which bytes are no UDP datagram, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A length that does not even cover the header.
    #[error("length at offset 4 is {len} bytes, below 8")]
    Length {
        /// The length stated.
        len: usize,
    },
    /// The datagram was damaged, or came over IPv6 without a checksum, which RFC 8200 section 8.1
    /// demands.
    #[error("checksum at offset 6 is {found:#06x}, does not match the datagram")]
    Checksum {
        /// Checksum in the header.
        found: u16,
    },
    /// More payload than the length field can state.
    #[error("payload of {len} bytes does not fit, the limit is 65527")]
    PayloadLength {
        /// The payload's length.
        len: usize,
    },
}

/// Reads a datagram and checks its sum; returns the payload. A sum of zero means that there is
/// none, which IPv4 alone allows.
pub fn parse(bytes: &[u8], pseudo: Pseudo) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let source_port = reader.u16_be("source port")?;
    let destination_port = reader.u16_be("destination port")?;
    let len = usize::from(reader.u16_be("length")?);
    let found = reader.u16_be("checksum")?;
    let payload_len = len.checked_sub(HEADER_LEN).ok_or(Error::Length { len })?;
    let payload = reader.take(payload_len, "payload")?;
    let may_lack = matches!(pseudo, Pseudo::V4 { .. });
    let is_right = || pseudo.sum(PROTOCOL_UDP, len).add(&bytes[..len]).finish() == 0;
    if !(found == 0 && may_lack || is_right()) {
        return Err(Error::Checksum { found });
    }
    Ok((Header { source_port, destination_port }, payload))
}

impl Header {
    /// Appends header and payload.
    ///
    /// # Errors
    /// [`Error::PayloadLength`], and then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>, pseudo: Pseudo, payload: &[u8]) -> Result<(), Error> {
        let Ok(len) = u16::try_from(HEADER_LEN + payload.len()) else {
            return Err(Error::PayloadLength { len: payload.len() });
        };
        let start = out.len();
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend(len.to_be_bytes());
        out.extend([0, 0]);
        out.extend(payload);
        let sum = match pseudo.sum(PROTOCOL_UDP, usize::from(len)).add(&out[start..]).finish() {
            0 => 0xffff,
            sum => sum,
        };
        out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    const PSEUDO: Pseudo =
        Pseudo::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

    fn written(header: Header, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        header.write(&mut out, PSEUDO, payload).unwrap();
        out
    }

    #[test]
    fn a_datagram_in_hex() {
        let header = Header { source_port: 5001, destination_port: 9 };
        assert_eq!(hex(&written(header, b"abc")), "13890009000b13e1616263");
    }

    #[test]
    fn a_missing_checksum_is_accepted_and_a_zero_sum_is_written_as_ones() {
        let header = Header::default();
        let mut bytes = written(header, b"ab");
        bytes[6..8].fill(0);
        assert_eq!(parse(&bytes, PSEUDO), Ok((header, &b"ab"[..])));
        let zero_sum =
            u16::from_be_bytes([written(header, &[0, 0])[6], written(header, &[0, 0])[7]]);
        assert_eq!(written(header, &zero_sum.to_be_bytes())[6..8], [0xff, 0xff]);
    }

    #[test]
    fn over_ipv6_a_checksum_must_be_there() {
        let [source, destination] =
            ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
        let pseudo = Pseudo::V6 { source, destination };
        let header = Header { source_port: 5001, destination_port: 9 };
        let mut bytes = Vec::new();
        header.write(&mut bytes, pseudo, b"abc").unwrap();
        assert_eq!(parse(&bytes, pseudo), Ok((header, &b"abc"[..])));
        bytes[6..8].fill(0);
        assert_eq!(parse(&bytes, pseudo), Err(Error::Checksum { found: 0 }));
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(parse(&[0, 1, 0, 2, 0, 7, 0, 0], PSEUDO), Err(Error::Length { len: 7 }));
        let error = parse(&[0, 1, 0, 2, 0, 9, 0, 0], PSEUDO).unwrap_err().to_string();
        assert_eq!(error, "truncated payload at offset 8: needs 1 bytes, has 0");
        let mut out = Vec::new();
        let error = Header::default().write(&mut out, PSEUDO, &[0; 65_528]).unwrap_err();
        assert!(error == Error::PayloadLength { len: 65_528 } && out.is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_unless_a_bit_flips(
            source_port: u16, destination_port: u16, payload: Vec<u8>, bit: prop::sample::Index,
        ) {
            let header = Header { source_port, destination_port };
            let mut bytes = written(header, &payload);
            prop_assert_eq!(parse(&bytes, PSEUDO), Ok((header, payload.as_slice())));
            let bit = bit.index(bytes.len() * 8);
            // A shorter length may fit the sum by chance: it leaves out bytes.
            prop_assume!(!(32..48).contains(&bit));
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A checksum of a single bit becomes "none".
            prop_assert!(parse(&bytes, PSEUDO).is_err() || bytes[6..8] == [0, 0]);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes, PSEUDO);
        }
    }
}
