//! Headers, alignment, and fields that are stepped over.

use super::*;
use crate::testing::{hex, unhex};
use proptest::prelude::*;

fn read(text: &str) -> Result<Header, Error> {
    parse(&unhex(text)).map(|(header, _)| header)
}

#[test]
fn a_header_in_hex() {
    let header = Header {
        tsft_us: Some(0x0102_0304_0506_0708),
        flags: Some(Flags::FCS_PRESENT.with(Flags::SHORT_PREAMBLE)),
        rate_500kbps: rate_500kbps(BitRate::mbps(54)),
        channel: Some(Channel { frequency_mhz: 2437, flags: Channel::OFDM | Channel::BAND_2_GHZ }),
        signal_dbm: Some(-40),
        ..Header::default()
    };
    let mut out = Vec::new();
    header.write(&mut out);
    assert_eq!(hex(&out), "0000 1700 2f000000 0807060504030201 12 6c 8509c000 d8".replace(' ', ""));
}

#[test]
fn fields_are_aligned_from_the_start_of_the_header() {
    // Rate alone, then a byte of padding before the channel.
    let header = Header {
        rate_500kbps: Some(2),
        channel: Some(Channel { frequency_mhz: 1, flags: 2 }),
        ..Header::default()
    };
    let mut out = vec![0xff];
    header.write(&mut out);
    assert_eq!(hex(&out[1..]), "00000e000c0000000200 01000200".replace(' ', ""));
    assert_eq!(parse(&out[1..]), Ok((header, &[][..])));
}

#[test]
fn modulations_in_hex() {
    let write = |header: Header| {
        let mut out = Vec::new();
        header.write(&mut out);
        assert_eq!(parse(&out), Ok((header, &[][..])));
        hex(&out[4..])
    };
    let flags = AmpduStatus::LAST_KNOWN | AmpduStatus::LAST;
    let ampdu = Some(AmpduStatus { reference: 7, flags });
    // MCS at 8, then padding to 12.
    let ht = Header { mcs: Some(Mcs::mixed(15, true, true)), ampdu, ..Header::default() };
    assert_eq!(write(ht), "00001800 7f050f 00 07000000 0c00 0000".replace(' ', ""));
    let vht = Header { vht: Vht::single(80, false, 9, 2), ..Header::default() };
    assert_eq!(write(vht), "00002000 4500 00 04 92000000 00 00 0000".replace(' ', ""));
    let he = He::single(160, 3200, 11, 4, true);
    let he = Header { flags: Some(Flags(0)), he, ..Header::default() };
    assert_eq!(write(he), "02008000 00 00 a040 0200 002b 0000 2300 0400".replace(' ', ""));
    assert_eq!((Vht::single(60, false, 9, 2), Vht::single(20, false, 10, 1)), (None, None));
    assert_eq!((He::single(20, 400, 0, 1, false), He::single(20, 800, 0, 9, false)), (None, None));
}

#[test]
fn rates_are_exact_or_nothing() {
    assert_eq!(rate_500kbps(BitRate(5_500_000)), Some(11));
    assert_eq!(rate_500kbps(BitRate(5_600_000)), None);
    assert_eq!(rate_500kbps(BitRate::mbps(300)), None);
}

#[test]
fn other_fields_are_stepped_over() {
    // Flags, FHSS, signal, noise, antenna, receive flags, MCS.
    let header = read("0000 1600 72480800 10 00 aabb c4 a0 01 00 bbcc 07 00 04 0000").unwrap();
    assert_eq!((header.flags, header.signal_dbm), (Some(Flags(0x10)), Some(-60)));
}

/// Each field of another size is stepped over to a rate, counted from bit 0 again.
#[test]
fn every_field_has_its_size_and_alignment() {
    // Alignments and sizes as radiotap.org lists them, from bit 6 on.
    let sizes = [1, 2, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1, 8, 3, 8, 12, 12, 12, 12, 6, 1, 4];
    let aligns = [1, 2, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1, 4, 1, 4, 2, 8, 2, 2, 2, 1, 2];
    for (bit, (size, align)) in (6..).zip(sizes.into_iter().zip(aligns)) {
        // Flags before it, so that its alignment shows: two presence words end at byte 12.
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend((1u32 << 31 | 1 << 29 | 1 << bit | 1 << FLAGS).to_le_bytes());
        bytes.extend((1u32 << RATE).to_le_bytes());
        bytes.push(0x10);
        bytes.resize(bytes.len().next_multiple_of(align) + size, 0xff);
        bytes.push(108);
        bytes[2] = bytes.len() as u8;
        let (header, _) = parse(&bytes).unwrap();
        assert_eq!(
            (header.rate_500kbps, header.flags),
            (Some(108), Some(Flags(0x10))),
            "bit {bit}"
        );
    }
}

#[test]
fn a_second_antenna_does_not_replace_the_frame() {
    // Signal -60 for the frame; then, counted from bit 0 again, signal -70 of antenna 1.
    let header = read("0000 1000 200000a0 20080000 c4 ba 01 00").unwrap();
    assert_eq!(header.signal_dbm, Some(-60));
}

#[test]
fn vendor_data_are_stepped_over() {
    // Rate; vendor data of 3 bytes; the vendor's word, which resets; then flags from bit 0.
    let words = "040000c0 ffffffa0 02000000";
    let header = read(&format!("0000 1c00 {words} 0c 00 00112233 0300 aabbcc 10")).unwrap();
    assert_eq!((header.rate_500kbps, header.flags), (Some(12), Some(Flags(0x10))));
}

#[test]
fn an_unknown_field_ends_the_walk_but_not_the_header() {
    // Rate, then bit 28, of unknown size.
    let (header, frame) = (unhex("0000 0c00 04000010 0b 010203 aabb"), [0xaa, 0xbb]);
    let expected = Header { rate_500kbps: Some(11), ..Header::default() };
    assert_eq!(parse(&header), Ok((expected, &frame[..])));
    // The same in a second word without reset, where bit 32 is unknown.
    let header = read("0000 1000 04000080 01000000 0b 010203").unwrap();
    assert_eq!(header, expected);
    // What a third word announces is beyond reach, reset or not.
    let header = read("0000 1400 04000080 010000a0 02000000 0b 010203").unwrap();
    assert_eq!(header, expected);
}

#[test]
fn impossible_headers_are_refused() {
    assert_eq!(read("0100 0800 00000000"), Err(Error::Version { version: 1 }));
    assert_eq!(read("0000 0700 00000000"), Err(Error::Length { len: 7 }));
    let text = |bytes| read(bytes).unwrap_err().to_string();
    assert_eq!(text("0000 0900 00000000"), "truncated header at offset 0: needs 9 bytes, has 8");
    assert_eq!(text("0000 0900 01000000 00"), "truncated field at offset 8: needs 8 bytes, has 1");
    assert_eq!(
        text("0000 0800 00000080"),
        "truncated presence word at offset 8: needs 4 bytes, has 0"
    );
}

prop_compose! {
    fn any_header()(
        tsft_us: Option<u64>, flags: Option<u8>, rate_500kbps: Option<u8>,
        channel: Option<(u16, u16)>, signal_dbm: Option<i8>, mcs: Option<[u8; 3]>,
        ampdu: Option<(u32, u16)>, vht_words: Option<(u16, [u8; 2], [u8; 4], [u8; 2], u16)>,
        he: Option<[u16; 6]>,
    ) -> Header {
        Header {
            tsft_us,
            flags: flags.map(Flags),
            rate_500kbps,
            channel: channel.map(|(frequency_mhz, flags)| Channel { frequency_mhz, flags }),
            signal_dbm,
            mcs: mcs.map(|[known, flags, index]| Mcs { known, flags, index }),
            ampdu: ampdu.map(|(reference, flags)| AmpduStatus { reference, flags }),
            vht: vht_words.map(|(known, [flags, bandwidth], mcs_nss, [coding, group_id], aid)| Vht {
                known, flags, bandwidth, mcs_nss, coding, group_id, partial_aid: aid,
            }),
            he: he.map(He),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in any_header(), frame: Vec<u8>) {
        let mut out = Vec::new();
        header.write(&mut out);
        out.extend(&frame);
        prop_assert_eq!(parse(&out), Ok((header, frame.as_slice())));
    }

    #[test]
    fn arbitrary_presence_words_do_not_panic(
        words in prop::collection::vec(any::<u32>(), 1..5), fields: Vec<u8>,
    ) {
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(fields);
        let len = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&len.to_le_bytes());
        let _ = parse(&bytes);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }
}
