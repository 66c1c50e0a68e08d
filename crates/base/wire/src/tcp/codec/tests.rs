//! Segments and their options, laid out by hand and at random.

use super::*;
use crate::testing::hex;
use proptest::prelude::*;
use std::net::Ipv4Addr;

const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

fn written(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header.write(&mut out, PSEUDO, payload).unwrap();
    out
}

/// A pure ACK with these option bytes and a correct sum.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut bytes = written(&Header::default(), &[]);
    bytes.extend(options);
    bytes[12] = ((bytes.len() / 4) << 4) as u8;
    bytes[16..18].fill(0);
    let sum = PSEUDO.sum(PROTOCOL_TCP, bytes.len()).add(&bytes).finish();
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn options_of(bytes: &[u8]) -> Result<Options, Error> {
    parse(&with_options(bytes), PSEUDO).map(|(header, _)| header.options)
}

#[test]
fn a_syn_with_every_option_in_hex() {
    let header = Header {
        source_port: 0x1389,
        destination_port: 80,
        seq: Seq32(0x0102_0304),
        flags: Flags { syn: true, ..Flags::default() },
        window: 0xfaf0,
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::default()
        },
        ..Header::default()
    };
    let bytes = written(&header, &[]);
    assert_eq!(
        hex(&bytes),
        "13890050 01020304 00000000 a002faf0 212d0000 020405b4 0402 080a0000000100000000 01030307"
            .replace(' ', "")
    );
}

#[test]
fn sack_blocks_in_hex() {
    let mut sack = SackBlocks::default();
    assert!(sack.push(Seq32(0x10), Seq32(0x20)) && sack.push(Seq32(0xffff_fff0), Seq32(8)));
    let flags = Flags { ack: true, ..Flags::default() };
    let options = Options { sack, ..Options::default() };
    let bytes = written(&Header { flags, options, ..Header::default() }, b"x");
    assert_eq!(
        hex(&bytes[20..]),
        "01010512 00000010 00000020 fffffff0 00000008 78".replace(' ', "")
    );
    assert_eq!((bytes[12], bytes[13]), (0xa0, 0x10));
}

#[test]
fn options_are_laid_out_in_whole_words() {
    let layout = |options: Options| {
        let bytes = written(&Header { options, ..Header::default() }, &[]);
        assert_eq!(bytes.len(), 20 + options.wire_len());
        hex(&bytes[20..])
    };
    let none = Options::default();
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    assert_eq!(layout(none), "");
    assert_eq!(layout(Options { mss: Some(536), ..none }), "02040218");
    assert_eq!(layout(Options { sack_permitted: true, ..none }), "01010402");
    assert_eq!(layout(Options { timestamps, ..none }), "0101080a0000000100000002");
    assert_eq!(layout(Options { window_scale: Some(0), ..none }), "01030300");
}

#[test]
fn each_flag_has_its_bit() {
    for bit in 0..8 {
        assert_eq!(Flags::from_byte(1 << bit).to_byte(), 1 << bit);
    }
    assert!(Flags::from_byte(0x80).cwr && Flags::from_byte(0x01).fin && Flags::from_byte(2).syn);
}

#[test]
fn unknown_options_are_skipped_and_nothing_is_read_past_the_end() {
    let mss = Options { mss: Some(0x0102), ..Options::default() };
    assert_eq!(options_of(&[254, 4, 0, 0, 2, 4, 1, 2]), Ok(mss));
    assert_eq!(options_of(&[2, 4, 1, 2, 0, 2, 0, 0]), Ok(mss));
}

#[test]
fn a_window_scale_above_14_is_read_as_14_and_never_written() {
    assert_eq!(options_of(&[1, 3, 3, 200]).unwrap().window_scale, Some(14));
    let options = Options { window_scale: Some(15), ..Options::default() };
    let mut out = Vec::new();
    let error = Header { options, ..Header::default() }.write(&mut out, PSEUDO, &[]);
    assert!(error == Err(Error::WindowScale { shift: 15 }) && out.is_empty());
}

#[test]
fn malformed_options_are_named() {
    let wrong = |kind, offset, len| Err(Error::OptionLength { kind, offset, len });
    assert_eq!(options_of(&[2, 3, 0, 0]), wrong(2, 20, 3));
    assert_eq!(options_of(&[1, 1, 9, 0]), wrong(9, 22, 0));
    assert_eq!(options_of(&[1, 1, 8, 10]), wrong(8, 22, 10));
    assert_eq!(options_of(&[4, 3, 0, 0]), wrong(4, 20, 3));
    assert_eq!(options_of(&[5, 2, 0, 0]), wrong(5, 20, 2));
    assert_eq!(options_of(&[5, 4, 0, 0]), wrong(5, 20, 4));
    assert_eq!(options_of(&[1, 1, 1, 2]), Err(Error::OptionCut { kind: 2, offset: 23 }));
    let text = options_of(&[1, 1, 9, 0]).unwrap_err().to_string();
    assert_eq!(text, "option kind 9 at offset 22 has length 0");
}

#[test]
fn a_wrong_data_offset_is_refused() {
    let mut bytes = written(&Header::default(), &[]);
    bytes[12] = 0x40;
    assert_eq!(parse(&bytes, PSEUDO), Err(Error::DataOffset { words: 4 }));
    bytes[12] = 0x60;
    let error = parse(&bytes, PSEUDO).unwrap_err().to_string();
    assert_eq!(error, "truncated options at offset 20: needs 4 bytes, has 0");
}

#[test]
fn what_does_not_fit_writes_nothing() {
    let mut sack = SackBlocks::default();
    while sack.push(Seq32(1), Seq32(2)) {}
    let timestamps = Some(Timestamps::default());
    let options = Options { timestamps, sack, ..Options::default() };
    let mut out = Vec::new();
    let error = Header { options, ..Header::default() }.write(&mut out, PSEUDO, &[]);
    assert_eq!(error, Err(Error::OptionsLength { len: 48 }));
    let error = Header::default().write(&mut out, PSEUDO, &[0; 65_500]);
    assert_eq!(error, Err(Error::SegmentLength { len: 65_520 }));
    assert!(out.is_empty());
}

fn any_options() -> impl Strategy<Value = Options> {
    let timestamps =
        prop::option::of(any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo }));
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
    (any::<Option<u16>>(), prop::option::of(0u8..=14), any::<bool>(), timestamps, blocks).prop_map(
        |(mss, window_scale, sack_permitted, timestamps, blocks)| {
            let mut options =
                Options { mss, window_scale, sack_permitted, timestamps, ..Options::default() };
            for (left, right) in blocks {
                if options.wire_len() + if options.sack.is_empty() { 12 } else { 8 } <= 40 {
                    assert!(options.sack.push(Seq32(left), Seq32(right)));
                }
            }
            options
        },
    )
}

prop_compose! {
    fn any_header()(
        ports: (u16, u16), seq: u32, ack: u32, flags: u8, window: u16, urgent: u16,
        options in any_options(),
    ) -> Header {
        Header {
            source_port: ports.0, destination_port: ports.1, seq: Seq32(seq), ack: Seq32(ack),
            flags: Flags::from_byte(flags), window, urgent, options,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in any_header(), payload: Vec<u8>) {
        let bytes = written(&header, &payload);
        prop_assert_eq!(bytes.len(), header.wire_len() + payload.len());
        prop_assert_eq!(parse(&bytes, PSEUDO), Ok((header, payload.as_slice())));
    }

    #[test]
    fn a_flipped_bit_is_found(
        header in any_header(), payload: Vec<u8>, bit: prop::sample::Index,
    ) {
        let mut bytes = written(&header, &payload);
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(parse(&bytes, PSEUDO).is_err());
    }

    #[test]
    fn arbitrary_options_do_not_panic(words in prop::collection::vec(any::<u32>(), 0..=10)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let _ = options_of(&bytes);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes, PSEUDO);
    }
}
