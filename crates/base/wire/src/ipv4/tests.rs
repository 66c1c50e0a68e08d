//! Headers, checksums and refusals.

use super::*;
use crate::testing::{hex, unhex};
use proptest::prelude::*;

fn header() -> Header {
    Header {
        source: Ipv4Addr::new(172, 16, 10, 99),
        destination: Ipv4Addr::new(172, 16, 10, 12),
        id: 0x1c46,
        ttl: 64,
        tos: 0,
        dont_fragment: true,
        protocol: PROTOCOL_TCP,
        payload_len: 40,
    }
}

const GOLDEN: &str = "4500003c1c46400040 06b1e6ac100a63ac100a0c";

#[test]
fn a_header_in_hex() {
    let mut out = Vec::new();
    header().write(&mut out).unwrap();
    assert_eq!(hex(&out), GOLDEN.replace(' ', ""));
}

/// The bytes of [`GOLDEN`] and its payload, with one byte replaced and the checksum mended.
fn altered(at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = unhex(GOLDEN);
    bytes[at] = byte;
    bytes[10..12].fill(0);
    let sum = Sum::default().add(&bytes).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.resize(60, 0);
    bytes
}

#[test]
fn what_is_not_for_us_is_refused() {
    let error = |at, byte| parse(&altered(at, byte)).unwrap_err();
    assert_eq!(error(0, 0x65), Error::Version { version: 6 });
    assert_eq!(error(0, 0x44), Error::HeaderLength { bytes: 16 });
    assert_eq!(error(3, 19), Error::TotalLength { total: 19, header: 20 });
    assert_eq!(error(6, 0x20), Error::Fragment { position: 0, more: true });
    assert_eq!(error(7, 0x02), Error::Fragment { position: 16, more: false });
    let truncated = Truncated { field: "payload", offset: 20, need: 41, have: 40 };
    assert_eq!(error(3, 61), Error::Truncated(truncated));
}

#[test]
fn options_and_link_padding_are_skipped() {
    let mut bytes = unhex("4600001d 00000000 0111 0000 0a000001 0a000002 94040000 010203 0505");
    bytes.extend([0; 2]);
    let sum = Sum::default().add(&bytes[..24]).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    let (header, payload) = parse(&bytes).unwrap();
    assert_eq!((header.payload_len, payload), (5, &[1u8, 2, 3, 5, 5][..]));
}

#[test]
fn a_payload_that_does_not_fit_writes_nothing() {
    let mut out = Vec::new();
    let too_long = Header { payload_len: 65_516, ..header() };
    assert_eq!(too_long.write(&mut out), Err(Error::PayloadLength { len: 65_516 }));
    assert!(out.is_empty());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        ends: (u32, u32), id: u16, ttl: u8, tos: u8, dont_fragment: bool, protocol: u8,
        payload in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let header = Header {
            source: ends.0.into(), destination: ends.1.into(),
            id, ttl, tos, dont_fragment, protocol, payload_len: payload.len() as u32,
        };
        let mut out = Vec::new();
        header.write(&mut out).unwrap();
        out.extend(&payload);
        prop_assert_eq!(parse(&out), Ok((header, payload.as_slice())));
    }

    #[test]
    fn a_flipped_bit_is_found(bit in 0usize..160) {
        let mut bytes = unhex(GOLDEN);
        bytes.resize(60, 0);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }
}
