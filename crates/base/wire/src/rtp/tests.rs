//! RTP headers and feedback, byte by byte and whatever the bytes.

use super::*;
use proptest::prelude::*;

fn header() -> Header {
    Header {
        payload_type: 96,
        marker: true,
        sequence: 0x1234,
        timestamp: 0x0102_0304,
        ssrc: 0xa0b0_c0d0,
        transport_sequence: Some(0xbeef),
    }
}

/// RFC 3550 section 5.1, with an extension after RFC 8285 section 4.2: identifier 5, two bytes.
#[test]
fn a_header_has_its_bytes() {
    let expected = [
        0x90, 0xe0, 0x12, 0x34, 1, 2, 3, 4, 0xa0, 0xb0, 0xc0, 0xd0, 0xbe, 0xde, 0, 1, 0x51, 0xbe,
        0xef, 0,
    ];
    assert_eq!(header().bytes(), expected);
    let packet = [&expected[..], b"payload"].concat();
    assert_eq!(Header::parse(&packet), Ok((header(), &b"payload"[..])));
}

#[test]
fn padding_sources_and_strange_extensions_are_passed_over() {
    // One contributing source, one extension word of padding and extension 3 with one byte, then
    // two bytes of payload and three of padding.
    let mut bytes = vec![0xb1, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 7, 7, 7, 7];
    bytes.extend([0xbe, 0xde, 0, 2, 0, 0x30, 0xff, 0x51, 0, 42, 0, 0]);
    bytes.extend([1, 2, 0, 0, 3]);
    let (header, payload) = Header::parse(&bytes).expect("it is legal");
    assert_eq!((header.transport_sequence, payload), (Some(42), &[1, 2][..]));
    let last = bytes.len() - 1;
    for padding in [0, 6, 255] {
        bytes[last] = padding;
        assert_eq!(Header::parse(&bytes), Err(Error::Padding { len: padding }));
    }
    assert_eq!(Header::parse(&[0x50; 20]), Err(Error::Version { version: 1 }));
    assert!(matches!(Header::parse(&bytes[..11]), Err(Error::Truncated(_))));
}

fn feedback(arrivals: Vec<Option<i16>>) -> Feedback {
    Feedback { sender_ssrc: 1, media_ssrc: 2, base: 65_534, reference: -3, count: 7, arrivals }
}

fn written(feedback: &Feedback) -> Vec<u8> {
    let mut bytes = Vec::new();
    feedback.write(&mut bytes).expect("it is not too much");
    bytes
}

/// Packets 65534, 65535 and 1 arrived, 0 did not; the last came 2 ticks earlier than the one
/// before. The draft's section 3.1: a vector of two-bit symbols 01 01 00 10, deltas 4, 255, -2.
#[test]
fn feedback_has_its_bytes() {
    let feedback = feedback(vec![Some(4), Some(255), None, Some(-2)]);
    let expected = [
        0xaf, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfe, 0, 4, 0xff, 0xff, 0xfd, 7, 0xd4, 0x80,
        4, 255, 0xff, 0xfe, 0, 2,
    ];
    assert_eq!(written(&feedback), expected);
    assert_eq!(Feedback::parse(&expected), Ok((feedback, &[][..])));
}

/// A run of 300 small deltas is one chunk: 0 01 and the length in 13 bits.
#[test]
fn runs_are_short() {
    let feedback = feedback(vec![Some(1); 300]);
    let bytes = written(&feedback);
    assert_eq!(bytes[20..22], (0x2000u16 | 300).to_be_bytes());
    assert_eq!(bytes.len(), 20 + 2 + 300 + 2);
}

#[test]
fn what_is_no_feedback_is_refused() {
    let mut bytes = written(&feedback(vec![Some(4), None]));
    bytes[1] = 206;
    assert_eq!(Feedback::parse(&bytes), Err(Error::Kind { kind: 206, format: 15 }));
    bytes[1] = 205;
    bytes[20..22].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(Feedback::parse(&bytes), Err(Error::Symbol { index: 0 }));
    bytes[14..16].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(Feedback::parse(&bytes), Err(Error::TooMany { count: 65_535 }));
    let max = feedback(vec![None; MAX_STATUSES + 1]);
    assert_eq!(max.write(&mut bytes), Err(Error::TooMany { count: MAX_STATUSES + 1 }));
}

proptest! {
    #[test]
    fn feedback_survives_the_wire(
        arrivals in proptest::collection::vec(
            proptest::option::weighted(0.8, prop_oneof![9 => 0i16..300, 1 => any::<i16>()]),
            0..200,
        ),
        base in any::<u16>(),
        reference in -(1i32 << 23)..1 << 23,
        more in proptest::collection::vec(any::<u8>(), 0..5),
    ) {
        let feedback = Feedback { base, reference, ..feedback(arrivals) };
        let mut bytes = written(&feedback);
        prop_assert_eq!(bytes.len() % 4, 0);
        bytes.extend(&more);
        prop_assert_eq!(Feedback::parse(&bytes), Ok((feedback, &more[..])));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Header::parse(&bytes);
        let _ = Feedback::parse(&bytes);
        if let [first, kind, high, low, ..] = &mut bytes[..] {
            (*first, *kind, *high, *low) = (0x8f, 205, 0, 14);
        }
        if let Ok((feedback, _)) = Feedback::parse(&bytes) {
            prop_assert!(feedback.arrivals.len() <= MAX_STATUSES);
        }
    }
}
