//! A preface and headers in hex, what is refused, and what every value keeps.

use super::*;
use crate::testing::{hex, unhex};
use proptest::prelude::*;

const PREFACE: &str = "46576d63 01 02 03 00 0102030405060708 0000cd50";

fn preface() -> Preface {
    let connections = NonZeroU8::new(3).unwrap();
    Preface { set: 0x0102_0304_0506_0708, connection: 2, connections, buffer: 52_560 }
}

fn block(offset: u64, len: u16) -> Header {
    Header::Block { offset, len: NonZeroU16::new(len).unwrap() }
}

#[test]
fn a_preface_in_hex() {
    let mut out = Vec::new();
    preface().write(&mut out).unwrap();
    assert_eq!((hex(&out), out.len()), (PREFACE.replace(' ', ""), PREFACE_LEN));
    out.extend(*b"rest");
    assert_eq!(Preface::parse(&out), Ok((preface(), &b"rest"[..])));
}

#[test]
fn headers_in_hex() {
    let written = |header: Header| {
        let mut out = Vec::new();
        header.write(&mut out).unwrap();
        assert_eq!(out.len(), HEADER_LEN);
        hex(&out)
    };
    assert_eq!(written(block(1448, 1448)), "010005a800000000000005a8");
    assert_eq!(written(Header::End { offset: 256 }), "020000000000000000000100");
}

#[test]
fn other_prefaces_are_refused() {
    let changed = |at: usize, to: u8| {
        let mut bytes = unhex(PREFACE);
        bytes[at] = to;
        Preface::parse(&bytes).unwrap_err()
    };
    assert_eq!(changed(0, b'G'), Error::Magic { found: *b"GWmc" });
    assert_eq!(changed(4, 2), Error::Version { found: 2 });
    assert_eq!(changed(5, 3), Error::Connection { connection: 3, connections: 3 });
    assert_eq!(changed(6, 0), Error::Connection { connection: 2, connections: 0 });
    assert_eq!(changed(7, 1), Error::Reserved { found: 1, offset: 7 });
    let short = Truncated { field: "buffer", offset: 16, need: 4, have: 3 };
    assert_eq!(Preface::parse(&unhex(PREFACE)[..19]), Err(Error::Truncated(short)));
    let absurd = Preface { connection: 3, ..preface() };
    let mut out = vec![7];
    assert!(absurd.write(&mut out).is_err() && out == [7]);
}

#[test]
fn other_headers_are_refused() {
    let parse = |text: &str| Header::parse(&unhex(text)).unwrap_err();
    assert_eq!(parse("03 00 0001 0000000000000000"), Error::Kind { found: 3 });
    assert_eq!(parse("01 08 0001 0000000000000000"), Error::Reserved { found: 8, offset: 1 });
    assert_eq!(parse("01 00 0000 0000000000000000"), Error::Length { found: 0, kind: 1 });
    assert_eq!(parse("02 00 0001 0000000000000000"), Error::Length { found: 1, kind: 2 });
    let far = Error::TooFar { offset: OFFSET_LIMIT };
    assert_eq!(parse("01 00 0001 4000000000000000"), far);
    let mut out = vec![7];
    assert_eq!(Header::End { offset: OFFSET_LIMIT }.write(&mut out), Err(far));
    assert_eq!(out, [7]);
}

proptest! {
    /// Hostile bytes are a value that writes them again, or an error.
    #[test]
    fn what_parses_is_what_was_written(
        mut bytes in prop::collection::vec(any::<u8>(), 0..30),
        begins in any::<bool>(),
    ) {
        if begins {
            let head = [&MAGIC[..], &[VERSION]].concat();
            bytes.splice(0..head.len().min(bytes.len()), head);
        }
        let mut out = Vec::new();
        if let Ok((preface, rest)) = Preface::parse(&bytes) {
            preface.write(&mut out).unwrap();
            prop_assert_eq!([&out[..], rest].concat(), bytes.clone());
        }
        out.clear();
        if let Some(kind) = bytes.first_mut() {
            *kind %= 4;
        }
        if let Ok((header, rest)) = Header::parse(&bytes) {
            header.write(&mut out).unwrap();
            prop_assert_eq!([&out[..], rest].concat(), bytes);
        }
    }
}
