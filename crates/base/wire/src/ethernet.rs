//! Ethernet II framing (IEEE 802.3-2018 clause 3): addresses, type and header.

use crate::reader::{Reader, Truncated};
use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 14;

/// A 48-bit MAC address, in the order of transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The unicast, locally administered address of the node with this index (`02:00:...`).
    pub const fn local(index: u32) -> Self {
        let [a, b, c, d] = index.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }

    /// Whether this is a group address (multicast or broadcast).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    /// Six lower-case hexadecimal bytes with colons, as in `02:00:00:00:00:01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text is no MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not six bytes in hexadecimal with colons, such as 02:00:00:00:00:01")]
pub struct NoMac;

impl FromStr for Mac {
    type Err = NoMac;

    /// Six bytes of two hexadecimal digits each, with colons.
    fn from_str(text: &str) -> Result<Self, NoMac> {
        let is_digit = |digit: char| digit.is_ascii_hexdigit();
        let byte = |part: &str| match part.len() == 2 && part.chars().all(is_digit) {
            true => u8::from_str_radix(part, 16).ok(),
            false => None,
        };
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NoMac)
    }
}

/// Type of the payload: at least 0x0600, smaller numbers being lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// Local Experimental EtherType 1 (IEEE 802-2014 clause 9.2.4): for experiments, within one
    /// network; frames of this type never leave it.
    pub const LOCAL_EXPERIMENT_1: Self = Self(0x88b5);

    /// The type of this number; `None` below 0x0600.
    pub const fn new(number: u16) -> Option<Self> {
        if number < 0x0600 { None } else { Some(Self(number)) }
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// An Ethernet II header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// To whom.
    pub destination: Mac,
    /// From whom.
    pub source: Mac,
    /// What follows.
    pub ether_type: EtherType,
}

/// Reason for which bytes are no Ethernet II frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// An IEEE 802.3 length where the type should be.
    #[error("ether type at offset 12 is {number:#06x}: below 0x0600 it is a length")]
    Length {
        /// The number found.
        number: u16,
    },
}

/// Reads a header; returns the rest, link padding included.
pub fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let destination = Mac(reader.array("destination address")?);
    let source = Mac(reader.array("source address")?);
    let number = reader.u16_be("ether type")?;
    let ether_type = EtherType::new(number).ok_or(Error::Length { number })?;
    Ok((Header { destination, source, ether_type }, reader.rest()))
}

/// EtherTypes of VLAN tags: 802.1Q, and 802.1ad's.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Reads a header and skips the VLAN tags behind its addresses (IEEE 802.1Q-2018 clause 9), whose
/// type is then that of the payload; returns the rest, link padding included.
pub fn parse_tagged(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let (mut header, mut rest) = parse(bytes)?;
    while TAGS.contains(&header.ether_type.number()) {
        let mut reader = Reader::new(rest);
        reader.u16_be("VLAN tag")?;
        let number = reader.u16_be("ether type")?;
        header.ether_type = EtherType::new(number).ok_or(Error::Length { number })?;
        rest = reader.rest();
    }
    Ok((header, rest))
}

impl Header {
    /// Appends the header; the payload comes after it. Neither padding nor FCS is added.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.destination.0);
        out.extend(self.source.0);
        out.extend(self.ether_type.0.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    #[test]
    fn a_header_in_hex() {
        let header = Header {
            destination: Mac::BROADCAST,
            source: Mac::local(0x0102),
            ether_type: EtherType::ARP,
        };
        let mut out = Vec::new();
        header.write(&mut out);
        assert_eq!(hex(&out), "ffffffffffff 02000000 01020806".replace(' ', ""));
        assert_eq!(header.source.to_string(), "02:00:00:00:01:02");
        assert!(header.destination.is_group() && !header.source.is_group());
    }

    #[test]
    fn errors_name_field_and_offset() {
        let error = parse(&[0; 13]).unwrap_err().to_string();
        assert_eq!(error, "truncated ether type at offset 12: needs 2 bytes, has 1");
        assert_eq!(parse(&[0; 14]), Err(Error::Length { number: 0 }));
    }

    #[test]
    fn vlan_tags_are_skipped() {
        let ends = [&Mac::local(1).0[..], &Mac::local(2).0].concat();
        let (plain, c_tag) = (&[0x08, 0][..], &[0x81, 0, 0x60, 5, 0x08, 0][..]);
        let both = &[0x88, 0xa8, 0, 7, 0x81, 0, 0x60, 5, 0x08, 0];
        for types in [plain, c_tag, both] {
            let bytes = [&ends, types, &[1, 2, 3]].concat();
            let (header, rest) = parse_tagged(&bytes).unwrap();
            assert_eq!((header.source, header.ether_type), (Mac::local(2), EtherType::IPV4));
            assert_eq!(rest, [1, 2, 3]);
            let cut = bytes.len() - 5;
            assert!(parse_tagged(&bytes[..cut]).is_err(), "{types:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(a: [u8; 6], b: [u8; 6], number in 0x0600u16.., tail: Vec<u8>) {
            let ether_type = EtherType::new(number).unwrap();
            let header = Header { destination: Mac(a), source: Mac(b), ether_type };
            let mut out = Vec::new();
            header.write(&mut out);
            prop_assert_eq!(out.len(), HEADER_LEN);
            out.extend(&tail);
            prop_assert_eq!(parse(&out), Ok((header, tail.as_slice())));
        }
    }
}
