//! IPv6 header (RFC 8200 section 3; RFC 2474 and 3168 for the traffic class).
//!
//! As [`crate::ipv4`] it reads whole datagrams that a receiver accepts. Extension headers that a
//! receiver without the option may skip are skipped, as IPv4's options are; [`crate::ip`] reads
//! packets of captures.

use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use core::net::Ipv6Addr;
use thiserror::Error;

/// Length of a header without extensions, in bytes.
pub const HEADER_LEN: usize = 40;
/// Largest payload in bytes: the length has 16 bits, and jumbograms (RFC 2675) are not written.
pub const PAYLOAD_LEN_MAX: u32 = 0xffff;
/// Greatest flow label.
pub const FLOW_LABEL_MAX: u32 = 0xf_ffff;

/// Numbers of the extension headers.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

/// A header of a whole datagram. Extension headers are skipped and never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Differentiated services and ECN byte.
    pub traffic_class: u8,
    /// Flow label, at most [`FLOW_LABEL_MAX`].
    pub flow_label: u32,
    /// Hop limit.
    pub hops: u8,
    /// Protocol of the payload, by the numbers of IPv4.
    pub protocol: u8,
    /// Payload in bytes, at most [`PAYLOAD_LEN_MAX`].
    pub payload_len: u32,
}

/// Reason for which bytes are no datagram for us, or a header cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes ended early.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Not version 6.
    #[error("version at offset 0 is {version}, not 6")]
    Version {
        /// The version found.
        version: u8,
    },
    /// A fragment; we neither make nor reassemble them.
    #[error("fragment at offset {offset}")]
    Fragment {
        /// Offset of its header.
        offset: usize,
    },
    /// A routing header with addresses still to be visited: the packet is not for us yet.
    #[error("routing header at offset {offset} names {left} more addresses")]
    Routed {
        /// Its offset.
        offset: usize,
        /// The number that it names.
        left: u8,
    },
    /// A hop-by-hop header that is not the first of all (RFC 8200 section 4.1).
    #[error("hop-by-hop header at offset {offset} is not the first")]
    HopByHop {
        /// Its offset.
        offset: usize,
    },
    /// An option that a receiver that does not know it must not skip (RFC 8200 section 4.2).
    #[error("option {kind} at offset {offset} must be known")]
    Option {
        /// Its offset.
        offset: usize,
        /// Its type.
        kind: u8,
    },
    /// A flow label of more than 20 bits.
    #[error("flow label {label:#x} has more than 20 bits")]
    FlowLabel {
        /// The label.
        label: u32,
    },
    /// More payload than the length can state.
    #[error("payload of {len} bytes does not fit, the limit is 65535")]
    PayloadLength {
        /// The payload's length.
        len: u32,
    },
}

/// Reads a header and its extensions; returns the payload, without link padding.
pub fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let mut reader = Reader::new(bytes);
    let word = reader.u32_be("version and traffic class")?;
    let version = (word >> 28) as u8;
    if version != 6 {
        return Err(Error::Version { version });
    }
    let stated = usize::from(reader.u16_be("payload length")?);
    let mut next = reader.u8("next header")?;
    let hops = reader.u8("hop limit")?;
    let source = Ipv6Addr::from(reader.array::<16>("source address")?);
    let destination = Ipv6Addr::from(reader.array::<16>("destination address")?);
    // Checks that it is there; the headers are read from the datagram's own beginning, so that
    // offsets count from there.
    reader.take(stated, "payload")?;
    let mut offset = HEADER_LEN;
    while let Some(following) = extension(next, &bytes[..HEADER_LEN + stated], &mut offset)? {
        next = following;
    }
    let payload = &bytes[offset..HEADER_LEN + stated];
    let header = Header {
        source,
        destination,
        traffic_class: (word >> 20) as u8,
        flow_label: word & FLOW_LABEL_MAX,
        hops,
        protocol: next,
        payload_len: payload.len() as u32,
    };
    Ok((header, payload))
}

/// Steps over the extension header at `offset`, if `kind` is one; names the header behind it.
fn extension(kind: u8, bytes: &[u8], offset: &mut usize) -> Result<Option<u8>, Error> {
    if !matches!(kind, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION) {
        return Ok(None);
    }
    let begin = *offset;
    if kind == FRAGMENT {
        return Err(Error::Fragment { offset: begin });
    }
    if kind == HOP_BY_HOP && begin != HEADER_LEN {
        return Err(Error::HopByHop { offset: begin });
    }
    let at = |place: usize| {
        let missing = Truncated { field: "extension header", offset: place, need: 1, have: 0 };
        bytes.get(place).copied().ok_or(missing)
    };
    let (next, len) = (at(begin)?, (usize::from(at(begin + 1)?) + 1) * 8);
    let end = begin + len;
    at(end - 1)?;
    if kind == ROUTING {
        let left = at(begin + 3)?;
        if left > 0 {
            return Err(Error::Routed { offset: begin, left });
        }
    } else {
        options(bytes, begin + 2, end)?;
    }
    *offset = end;
    Ok(Some(next))
}

/// Returns whether a receiver that does not know the options may skip them: the two highest bits
/// say so.
fn options(bytes: &[u8], mut at: usize, end: usize) -> Result<(), Error> {
    const PAD_1: u8 = 0;
    while at < end {
        let kind = bytes[at];
        if kind & 0b1100_0000 != 0 {
            return Err(Error::Option { offset: at, kind });
        }
        at += match (kind, bytes[..end].get(at + 1)) {
            (PAD_1, _) => 1,
            (_, Some(len)) => 2 + usize::from(*len),
            // Its length would stand behind the header: nothing follows.
            (_, None) => 1,
        };
    }
    Ok(())
}

impl Header {
    /// Appends the header.
    ///
    /// # Errors
    /// A flow label or a payload that does not fit; then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let Ok(len) = u16::try_from(self.payload_len) else {
            return Err(Error::PayloadLength { len: self.payload_len });
        };
        if self.flow_label > FLOW_LABEL_MAX {
            return Err(Error::FlowLabel { label: self.flow_label });
        }
        let word = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label;
        out.extend(word.to_be_bytes());
        out.extend(len.to_be_bytes());
        out.extend([self.protocol, self.hops]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        Ok(())
    }

    /// Returns the fields for a transport checksum.
    pub const fn pseudo(&self) -> Pseudo {
        Pseudo::V6 { source: self.source, destination: self.destination }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, unhex};
    use crate::{ip, udp};
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            source: "2001:db8::1".parse().unwrap(),
            destination: "2001:db8::2".parse().unwrap(),
            traffic_class: 0xb9,
            flow_label: 0x12345,
            hops: 64,
            protocol: 17,
            payload_len: 11,
        }
    }

    const GOLDEN: &str = "6b912345 000b 11 40 20010db8000000000000000000000001 \
                          20010db8000000000000000000000002";

    #[test]
    fn a_header_in_hex() {
        let mut out = Vec::new();
        header().write(&mut out).unwrap();
        assert_eq!(hex(&out), GOLDEN.replace(' ', ""));
    }

    /// A datagram with this next header, and these bytes behind the fixed header.
    fn extended(next: u8, behind: &str) -> Vec<u8> {
        let mut bytes = unhex(GOLDEN);
        bytes.extend(unhex(behind));
        bytes[5] = (bytes.len() - HEADER_LEN) as u8;
        bytes[6] = next;
        bytes
    }

    #[test]
    fn extension_headers_are_skipped_and_those_that_may_not_be_are_refused() {
        // Hop-by-hop with padding, destination options with one of type 5, then three bytes.
        let bytes = extended(0, "3c00 0104 00000000 1100 0504 00000000 616263");
        let (read, payload) = parse(&bytes).unwrap();
        assert_eq!((read.protocol, read.payload_len, payload), (17, 3, &b"abc"[..]));
        let error = |next, behind| parse(&extended(next, behind)).unwrap_err();
        assert_eq!(error(44, "1100 0001 00000007"), Error::Fragment { offset: 40 });
        assert_eq!(error(43, "1100 0402 00000000"), Error::Routed { offset: 40, left: 2 });
        assert_eq!(
            error(60, "0000 0104 00000000 1100 0104 00000000"),
            Error::HopByHop { offset: 48 }
        );
        assert_eq!(error(60, "1100 c204 00000000"), Error::Option { offset: 42, kind: 0xc2 });
        let truncated = Truncated { field: "extension header", offset: 55, need: 1, have: 0 };
        assert_eq!(error(60, "1101 0104 00000000"), Error::Truncated(truncated));
    }

    #[test]
    fn lengths_and_labels_have_limits() {
        let mut out = Vec::new();
        let (label, len) = (FLOW_LABEL_MAX + 1, PAYLOAD_LEN_MAX + 1);
        let error = Header { flow_label: label, ..header() }.write(&mut out).unwrap_err();
        assert_eq!(error, Error::FlowLabel { label });
        let error = Header { payload_len: len, ..header() }.write(&mut out).unwrap_err();
        assert!(error == Error::PayloadLength { len } && out.is_empty());
        let missing = Truncated { field: "payload", offset: 40, need: 11, have: 0 };
        assert_eq!(parse(&unhex(GOLDEN)), Err(Error::Truncated(missing)));
        assert_eq!(parse(&[0x45; 60]), Err(Error::Version { version: 4 }));
    }

    proptest! {
        /// A receiver and an analyst read the fields that were written.
        #[test]
        fn what_is_written_is_read(
            ends: ([u8; 16], [u8; 16]), traffic_class: u8, hops: u8,
            flow_label in 0..=FLOW_LABEL_MAX,
            ports: (u16, u16), payload in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let (source, destination) = (Ipv6Addr::from(ends.0), Ipv6Addr::from(ends.1));
            let payload_len = (udp::HEADER_LEN + payload.len()) as u32;
            let header = Header {
                source, destination, traffic_class, flow_label, hops, protocol: 17, payload_len,
            };
            let mut out = Vec::new();
            header.write(&mut out).unwrap();
            let udp = udp::Header { source_port: ports.0, destination_port: ports.1 };
            udp.write(&mut out, header.pseudo(), &payload).unwrap();
            let (read, segment) = parse(&out).unwrap();
            prop_assert_eq!(read, header);
            prop_assert_eq!(udp::parse(segment, read.pseudo()), Ok((udp, payload.as_slice())));
            let captured = ip::parse(&out, 0).unwrap();
            prop_assert_eq!(captured.checksum(), ip::Checksum::Right);
            prop_assert_eq!((captured.traffic_class, captured.hops), (traffic_class, hops));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..160)) {
            let _ = parse(&bytes);
            // Past the version and the length, so that headers are walked.
            if bytes.len() >= HEADER_LEN {
                let len = (bytes.len() - HEADER_LEN) as u16;
                bytes[0] = 0x60;
                bytes[4..6].copy_from_slice(&len.to_be_bytes());
                bytes[6] = [0, 43, 60, 17][usize::from(bytes[6] % 4)];
                let _ = parse(&bytes);
            }
        }
    }
}
