//! Reports by hand, and what must hold for all of them.

use super::*;
use crate::testing::{hex, unhex};
use proptest::prelude::*;

fn key() -> Key {
    Key::new(b"a station's key, 32 bytes long..").unwrap()
}

fn example() -> Report {
    Report {
        next: Some(EtherType::IPV4),
        station: Mac::local(3),
        ipv4: Ipv4Addr::new(10, 0, 0, 3),
        ipv6: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 3),
        sequence: 0x0102,
        made_ms: 200,
        interval_ms: NonZeroU16::new(200).unwrap(),
        soc: CentiDb(-150),
    }
}

/// Any value that exists.
fn reports() -> impl Strategy<Value = Report> {
    let next = prop_oneof![Just(None), (0x0600u16..).prop_map(EtherType::new)];
    let station = any::<[u8; 6]>().prop_map(|mut mac| {
        mac[0] &= !1;
        Mac(mac)
    });
    let rest = any::<(u32, u128, u64, u32, NonZeroU16, i16)>();
    (next, station, rest).prop_map(|(next, station, rest)| {
        let (ipv4, ipv6, sequence, made_ms, interval_ms, soc) = rest;
        let (ipv4, ipv6) = (ipv4.into(), ipv6.into());
        let soc = CentiDb(soc);
        Report { next, station, ipv4, ipv6, sequence, made_ms, interval_ms, soc }
    })
}

#[test]
fn a_report_in_hex() {
    let bytes = example().seal(&key());
    let covered = "5343 01 00 0800 020000000003 0a000003 fe800000000000000000000000000003
                   0000000000000102 000000c8 00c8 ff6a";
    assert_eq!(bytes[..48], unhex(covered));
    assert_eq!(bytes[48..], key().tag("soc report", &[&unhex(covered)]).0);
}

#[test]
fn errors_name_field_and_offset() {
    let good = example().seal(&key());
    let with = |at: usize, new: &[u8]| {
        let mut bytes = good;
        bytes[at..at + new.len()].copy_from_slice(new);
        parse(&bytes).unwrap_err()
    };
    assert_eq!(with(0, &[0, 1]), Error::Subtype { found: 1 });
    assert_eq!(with(2, &[2]), Error::Version { found: 2 });
    assert_eq!(with(3, &[8]), Error::Reserved { found: 8 });
    assert_eq!(with(4, &[0x05, 0xff]), Error::Next { found: 0x05ff });
    assert_eq!(with(6, &[3]).to_string(), {
        "station address at offset 6 is 03:00:00:00:00:03, that of a group"
    });
    assert_eq!(with(44, &[0, 0]), Error::Interval);
    let short = parse(&good[..47]).unwrap_err().to_string();
    assert_eq!(short, "truncated soc at offset 46: needs 2 bytes, has 1");
}

#[test]
fn levels_round_to_the_nearest_hundredth_and_stop_at_the_ends() {
    for (db, centi) in [(6.86, 686), (-0.004, 0), (-1.5, -150), (1e9, i16::MAX), (-1e9, -i16::MAX)]
    {
        assert_eq!(CentiDb::from_db(db), CentiDb(centi), "{db}");
    }
    assert_eq!(CentiDb::from_db(f64::NAN), CentiDb(0));
    assert_eq!(CentiDb(686).db(), 6.86);
}

#[test]
fn another_key_does_not_open_it() {
    let bytes = example().seal(&key());
    let (claim, _) = parse(&bytes).unwrap();
    assert_eq!(claim.open(&Key::new(b"another station's key, as long..").unwrap()), Err(Forged));
    assert_eq!(claim.open(&key()), Ok(example()));
}

#[test]
fn the_frame_of_the_paper_in_hex() {
    let plain = Plain { ipv4: Ipv4Addr::new(192, 168, 0, 7), soc_db: 15 };
    assert_eq!(hex(&plain.bytes()), "c0a800070000000f");
    let mut padded = plain.bytes().to_vec();
    padded.resize(46, 0);
    assert_eq!(Plain::parse(&padded), Ok(plain));
    assert!(Plain::is_meant(&plain.bytes()) && Plain::is_meant(&padded));
    let report = example().seal(&key());
    assert!(!Plain::is_meant(&report) && !Plain::is_meant(&report[..40]));
    assert!(Plain::parse(&[0; 7]).is_err());
}

/// Like a VLAN tag, the frame of the paper is followed by the type of the payload behind it.
#[test]
fn the_frame_of_the_paper_in_front_of_data_in_hex() {
    let plain = Plain { ipv4: Ipv4Addr::new(192, 168, 0, 7), soc_db: 15 };
    assert_eq!(&*plain.written(None), &plain.bytes());
    let mut frame = plain.written(Some(EtherType::IPV4)).to_vec();
    assert_eq!(hex(&frame), "c0a800070000000f0800");
    frame.extend([0x45; 1500]);
    assert_eq!(Plain::parse(&frame), Ok(plain));
    assert_eq!(Plain::next(&frame), Some(EtherType::IPV4));
    assert!(Plain::is_meant(&frame) && Plain::is_meant(&frame[..LEN]));
    // Other messages to an access point are none of it, however long they are.
    for mark in ["SC", "SG", "SA", "SP"] {
        let other = [mark.as_bytes(), &frame[2..]].concat();
        assert!(!Plain::is_meant(&other) && !Plain::is_meant(&other[..40]), "{mark}");
    }
}

#[test]
fn the_frame_of_the_paper_has_whole_decibels_and_none_below_the_noise() {
    let soc_db = |centi| Plain::new(Ipv4Addr::LOCALHOST, CentiDb(centi)).soc_db;
    assert_eq!([1449, 1450, 0, -1, -3000].map(soc_db), [14, 15, 0, 0, 0]);
}

proptest! {
    #[test]
    fn what_is_sealed_opens_with_what_follows_it(report in reports(), tail: Vec<u8>) {
        let mut bytes = report.seal(&key()).to_vec();
        bytes.extend(&tail);
        let (claim, rest) = parse(&bytes).unwrap();
        prop_assert_eq!(claim.station(), report.station);
        prop_assert_eq!(claim.open(&key()), Ok(report));
        prop_assert_eq!(rest, tail.as_slice());
    }

    #[test]
    fn no_flipped_bit_passes(report in reports(), bit in 0usize..LEN * 8) {
        let mut bytes = report.seal(&key());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let opened = parse(&bytes).map(|(claim, _)| claim.open(&key()));
        prop_assert!(!matches!(opened, Ok(Ok(_))), "bit {bit} of {report:?}");
    }

    #[test]
    fn a_cut_report_is_truncated(report in reports(), len in 0usize..LEN) {
        let bytes = report.seal(&key());
        let error = parse(&bytes[..len]).unwrap_err();
        prop_assert!(matches!(error, Error::Truncated(_)), "{len}: {error}");
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
        let _ = Plain::parse(&bytes);
    }

    #[test]
    fn a_plain_frame_survives(ipv4: u32, soc_db: u32, next in prop::option::of(0x600u16..)) {
        let plain = Plain { ipv4: ipv4.into(), soc_db };
        let next = next.and_then(EtherType::new);
        let written = plain.written(next);
        prop_assert_eq!(Plain::parse(&written), Ok(plain));
        prop_assert_eq!(Plain::next(&written), next);
        prop_assert!(Plain::is_meant(&written) || ipv4 >> 24 == 0x53);
    }
}
