//! Packets and options: bytes by hand from RFC 4340, round trips, and what is refused.

use super::*;
use crate::pseudo::Pseudo;
use crate::testing::hex;
use crate::udp;
use proptest::prelude::*;
use std::net::Ipv4Addr;

const PSEUDO: Pseudo =
    Pseudo::V4 { source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

fn header(kind: Kind) -> Header {
    Header {
        source_port: 5001,
        destination_port: 9,
        ccval: 0,
        coverage: 0,
        seq: Seq48::new(0x0102_0304_0506),
        short: false,
        kind,
        options_words: 0,
    }
}

fn written(header: &Header, options: &Options, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header.write(&mut out, PSEUDO, options, payload).unwrap();
    assert_eq!(out.len(), header.wire_len() + payload.len());
    out
}

fn with(values: &[Value<'_>]) -> Options {
    let mut options = Options::new();
    for value in values {
        options.push(*value).unwrap();
    }
    options
}

fn bytes_of(value: Value<'_>) -> Vec<u8> {
    with(&[value]).as_bytes().to_vec()
}

/// RFC 4340 sections 5.1 and 5.2: the fields at their places. The sum by hand: the pseudo header
/// gives 0a00 + 0001 + 0a00 + 0002 + 0021 + 0014 = 1438, the packet 1389 + 0009 + 0500 + 0100 +
/// 0102 + 0304 + 0506 + 5343 + 3a78 = b059; the complement of c491 is 3b6e.
#[test]
fn a_request_in_hex() {
    let request = header(Kind::Request { service: 0x5343_3a78 });
    let bytes = written(&request, &Options::new(), b"");
    assert_eq!(hex(&bytes), "13890009 0500 3b6e 0100 0102 03040506 53433a78".replace(' ', ""));
}

#[test]
fn a_short_acknowledgement_has_sixteen_bytes() {
    let kind = Kind::DataAck { ack: Seq48::new(0x0a_0b0c) };
    let short = Header {
        short: true,
        seq: Seq48::new(0x01_0203),
        ccval: 7,
        coverage: 2,
        options_words: 1,
        ..header(kind)
    };
    let bytes = written(&short, &with(&[Value::SlowReceiver]), b"abcdef");
    assert_eq!(hex(&bytes[..6]), "138900090572");
    assert_eq!(hex(&bytes[8..]), "08010203 000a0b0c 02000000 616263646566".replace(' ', ""));
    let read = parse(&bytes, PSEUDO).unwrap();
    assert_eq!((read.header, read.options, read.payload), (short, &bytes[16..20], &b"abcdef"[..]));
}

/// RFC 4340 section 9.2: coverage 2 protects the first four bytes of data and no more.
#[test]
fn damage_outside_the_coverage_passes() {
    let partial = Header { coverage: 2, ..header(Kind::Data) };
    let bytes = written(&partial, &Options::new(), b"abcdefgh");
    for (at, passes) in [(16, false), (19, false), (20, true), (23, true)] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert_eq!(parse(&damaged, PSEUDO).is_ok(), passes, "byte {at}");
    }
}

/// RFC 4340 section 6.5, the byte encodings of feature negotiation; section 7.7; 13.2.
#[test]
fn options_in_bytes() {
    let change = |side, feature, values| bytes_of(Value::Change { side, feature, values });
    let confirm = |side, feature, values| bytes_of(Value::Confirm { side, feature, values });
    use Side::{Local, Remote};
    assert_eq!(change(Local, 1, &[2, 3]), [32, 5, 1, 2, 3]);
    assert_eq!(change(Local, 3, &[0, 0, 0, 0, 4, 0]), [32, 9, 3, 0, 0, 0, 0, 4, 0]);
    assert_eq!(confirm(Local, 1, &[2, 2, 3]), [33, 6, 1, 2, 2, 3]);
    assert_eq!(confirm(Local, 126, &[]), [33, 3, 126]);
    assert_eq!(change(Remote, 1, &[3, 2]), [34, 5, 1, 3, 2]);
    assert_eq!(confirm(Remote, 1, &[2, 3, 2]), [35, 6, 1, 2, 3, 2]);
    assert_eq!(confirm(Remote, 3, &[0, 0, 0, 0, 4, 0]), [35, 9, 3, 0, 0, 0, 0, 4, 0]);
    assert_eq!(confirm(Remote, 126, &[]), [35, 3, 126]);
    assert_eq!(bytes_of(Value::NdpCount(0)), [37, 3, 0]);
    assert_eq!(bytes_of(Value::NdpCount(256)), [37, 4, 1, 0]);
    assert_eq!(bytes_of(Value::ElapsedTime(0xffff)), [43, 4, 0xff, 0xff]);
    assert_eq!(bytes_of(Value::ElapsedTime(0x1_0000)), [43, 6, 0, 1, 0, 0]);
    assert_eq!(bytes_of(Value::TimestampEcho { echo: 1, elapsed: 0 }), [42, 6, 0, 0, 0, 1]);
    assert_eq!(bytes_of(Value::TimestampEcho { echo: 1, elapsed: 2 }), [42, 8, 0, 0, 0, 1, 0, 2]);
}

/// RFC 4340 section 11.4: 0,192,3,64,5 with acknowledgement number 100.
#[test]
fn the_ack_vector_of_the_rfc() {
    let runs: Vec<_> = Runs::ack_vector(Seq48::new(100), &[0, 192, 3, 64, 5])
        .map(|(first, state, count)| (first.value(), state, count))
        .collect();
    use Arrival::{Marked, Missing, Received};
    let stated = [
        (100, Received, 1),
        (99, Missing, 1),
        (98, Received, 4),
        (94, Marked, 1),
        (93, Received, 6),
    ];
    assert_eq!(runs, stated);
    let bytes: Vec<u8> = stated.map(|(_, state, count)| state.byte(count)).to_vec();
    assert_eq!(bytes, [0, 192, 3, 64, 5]);
    assert_eq!(Runs::ack_vector(Seq48::new(100), &bytes).end(), Seq48::new(87));
}

/// RFC 4340 section 11.7: 0,160,3,162 with acknowledgement number 100; its prose counts packet 95
/// twice, the run lengths do not.
#[test]
fn the_data_dropped_of_the_rfc() {
    let runs: Vec<_> = Runs::data_dropped(Seq48::new(100), &[0, 160, 3, 162])
        .map(|(first, state, count)| (first.value(), state, count))
        .collect();
    let full = Dropped::Dropped(DropCode::RECEIVE_BUFFER);
    let stated =
        [(100, Dropped::Normal, 1), (99, full, 1), (98, Dropped::Normal, 4), (94, full, 3)];
    assert_eq!(runs, stated);
    assert_eq!(stated.map(|(_, state, count)| state.byte(count)), [0, 160, 3, 162]);
}

/// RFC 4342 section 8.6.2.
#[test]
fn the_loss_intervals_of_the_rfc() {
    let intervals = [
        LossInterval::new(10, 1, 10, true),
        LossInterval::new(8, 5, 10, false),
        LossInterval::new(8, 1, 8, false),
        LossInterval::new(10, 0, 15, true),
    ];
    let mut data = Vec::new();
    for interval in intervals {
        data.extend(interval.to_bytes());
    }
    let value =
        Value::LossIntervals { skip: 2, intervals: LossIntervals::from_bytes(&data).unwrap() };
    let bytes = bytes_of(value);
    let stated = [
        193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0,
        0, 8, 0, 0, 10, 128, 0, 0, 0, 0, 15,
    ];
    assert_eq!(bytes, stated);
    let read: Vec<_> = LossIntervals::from_bytes(&stated[3..]).unwrap().iter().collect();
    assert_eq!(read, intervals);
}

/// RFC 4340 sections 5.8 and 5.8.2.
#[test]
fn options_end_at_nonsense_and_mandatory_marks_the_next() {
    let kinds = |bytes: &[u8]| -> Vec<(u8, bool, usize)> {
        Items::new(bytes).map(|item| (item.kind, item.mandatory, item.offset)).collect()
    };
    assert_eq!(kinds(&[0, 2, 41, 6, 0, 0, 0, 1, 0]), [(2, false, 1), (41, false, 2)]);
    assert_eq!(kinds(&[2, 41, 1, 2, 2]), [(2, false, 0)], "a length below two");
    assert_eq!(kinds(&[2, 41, 9, 2, 2]), [(2, false, 0)], "a length beyond the end");
    assert_eq!(kinds(&[1, 33, 3, 126, 2]), [(33, true, 1), (2, false, 4)]);
    assert_eq!(kinds(&[1, 0, 2]), [(2, false, 2)], "mandatory padding is padding");
    assert_eq!(kinds(&[2, 1]), [(2, false, 0), (1, true, 1)], "nothing behind it");
    assert_eq!(kinds(&[1, 1, 2])[0], (1, true, 0), "twice");
}

#[test]
fn bad_options_say_where_they_are() {
    let error = |bytes: &[u8]| Items::new(bytes).last().unwrap().value().unwrap_err().to_string();
    assert_eq!(error(&[2, 60, 2]), "option type 60 at offset 1 is not known");
    let why = "has 2 bytes of data, or values it may not";
    assert_eq!(error(&[44, 4, 1, 2]), format!("option type 44 at offset 0 {why}"));
    let mut options = with(&[Value::SlowReceiver]);
    assert!(options.push(Value::InitCookie(&[7; 254])).is_err());
    assert!(options.push(Value::Ccid { kind: 44, data: &[] }).is_err());
    assert!(options.push_mandatory(Value::NdpCount(1 << 48)).is_err());
    assert_eq!(options.as_bytes(), [2]);
    while options.push(Value::InitCookie(&[7; 250])).is_ok() {}
    assert_eq!(options.len(), 1 + 3 * 252);
}

/// The longest header is a Response's: 28 bytes before the options.
#[test]
fn options_that_fit_one_header_fit_every_header() {
    let mut options = Options::new();
    while options.push(Value::SlowReceiver).is_ok() {}
    assert!(options.as_bytes().len() > 900);
    let options_words = options.as_bytes().len().div_ceil(4) as u8;
    let ack = Seq48::new(7);
    for kind in [Kind::Data, Kind::Ack { ack }, Kind::Response { ack, service: 1 }] {
        let header = Header { options_words, ..header(kind) };
        assert!(written(&header, &options, &[]).len() <= HEADER_LEN_MAX, "{kind:?}");
    }
}

#[test]
fn what_is_refused_says_where() {
    let good = written(&header(Kind::Data), &Options::new(), b"abcd");
    let error = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        parse(&bytes, PSEUDO).unwrap_err().to_string()
    };
    assert_eq!(error(8, 10 << 1 | 1), "type at offset 8 is 10, the last known one is 9");
    assert_eq!(
        error(8, 6 << 1),
        "type 6 at offset 8 has short sequence numbers; only 2, 3 and 4 may"
    );
    assert_eq!(
        error(4, 3),
        "data offset at offset 4 is 12 bytes; the header has 16, the packet 20"
    );
    assert_eq!(
        error(4, 6),
        "data offset at offset 4 is 24 bytes; the header has 16, the packet 20"
    );
    assert_eq!(error(5, 3), "coverage at offset 5 is 3, the application data have 4 bytes only");
    let cut = parse(&good[..11], PSEUDO).unwrap_err().to_string();
    assert_eq!(cut, "truncated sequence number at offset 10: needs 6 bytes, has 1");
}

#[test]
fn what_has_no_place_on_the_wire_is_not_written() {
    let refused = |header: Header, options: &Options, payload: &[u8]| {
        let mut out = vec![1];
        let error = header.write(&mut out, PSEUDO, options, payload).unwrap_err().to_string();
        assert_eq!(out, [1]);
        error
    };
    let (none, data) = (Options::new(), header(Kind::Data));
    assert_eq!(refused(Header { ccval: 16, ..data }, &none, b""), "ccval is 16, above 15");
    let long = Header { short: true, ..data };
    assert!(refused(long, &none, b"").contains("more than 24 bits"));
    let close = Header { short: true, ..header(Kind::Close { ack: Seq48::ZERO }) };
    assert!(refused(close, &none, b"").contains("type 6"));
    let slow = with(&[Value::SlowReceiver]);
    assert!(refused(data, &slow, b"").contains("options of 1 bytes do not fit"));
    assert!(refused(Header { options_words: 252, ..data }, &none, b"").contains("of 1008 bytes"));
    assert!(refused(Header { coverage: 3, ..data }, &none, b"abcd").contains("coverage"));
    assert!(refused(data, &none, &[0; 65_500]).contains("the limit is 65515"));
}

/// RFC 6773 section 3.3: the sum of UDP replaces that of DCCP, and must be there.
#[test]
fn inside_udp_the_outer_checksum_protects() {
    let ports = udp::Header { source_port: 40_000, destination_port: UDP_PORT };
    let inner = Header { options_words: 1, ..header(Kind::Data) };
    let mut bytes = Vec::new();
    let options = with(&[Value::SlowReceiver]);
    write_udp(&mut bytes, ports, &inner, PSEUDO, &options, b"abc").unwrap();
    assert_eq!((bytes.len(), &bytes[14..16]), (8 + 20 + 3, &[0, 0][..]), "inner checksum");
    let (read_ports, packet) = parse_udp(&bytes, PSEUDO).unwrap();
    assert_eq!((read_ports, packet.header, packet.payload), (ports, inner, &b"abc"[..]));
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    assert!(matches!(parse_udp(&damaged, PSEUDO), Err(UdpError::Udp(_))));
    bytes[6..8].fill(0);
    assert_eq!(parse_udp(&bytes, PSEUDO), Err(UdpError::NoChecksum));
}

fn seq() -> impl Strategy<Value = Seq48> {
    any::<u64>().prop_map(Seq48::new)
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        any::<u32>().prop_map(|service| Kind::Request { service }),
        (seq(), any::<u32>()).prop_map(|(ack, service)| Kind::Response { ack, service }),
        Just(Kind::Data),
        seq().prop_map(|ack| Kind::Ack { ack }),
        seq().prop_map(|ack| Kind::DataAck { ack }),
        seq().prop_map(|ack| Kind::CloseReq { ack }),
        seq().prop_map(|ack| Kind::Close { ack }),
        (seq(), any::<u8>(), any::<[u8; 3]>()).prop_map(|(ack, code, data)| Kind::Reset {
            ack,
            code: ResetCode(code),
            data
        }),
        seq().prop_map(|ack| Kind::Sync { ack }),
        seq().prop_map(|ack| Kind::SyncAck { ack }),
    ]
}

prop_compose! {
    fn packet()(
        kind in kind(), seq in seq(), ports: (u16, u16), ccval in 0u8..16, coverage in 0u8..16,
        short: bool, options in prop::collection::vec(any::<u8>(), 0..40), payload: Vec<u8>,
    ) -> (Header, Options, Vec<u8>) {
        let short = short && kind.may_be_short();
        let fits = |number: Seq48| if short { number.low() } else { number };
        let kind = kind.ack().map_or(kind, |ack| kind.with_ack(fits(ack)));
        let options = Options::from_bytes(&options);
        let options_words = options.words();
        let (source_port, destination_port) = ports;
        let seq = fits(seq);
        let header = header(kind);
        let mut header = Header { source_port, destination_port, ccval, ..header };
        header = Header { coverage, seq, short, options_words, ..header };
        if header.covered(payload.len()).is_none() {
            header.coverage = 0;
        }
        (header, options, payload)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_unless_a_bit_flips(
        (header, options, payload) in packet(), bit: prop::sample::Index,
    ) {
        let mut bytes = written(&header, &options, &payload);
        let read = parse(&bytes, PSEUDO).unwrap();
        prop_assert_eq!((read.header, read.payload), (header, payload.as_slice()));
        prop_assert!(read.options.starts_with(options.as_bytes()));
        let covered = bytes.len() - payload.len() + header.covered(payload.len()).unwrap();
        let bit = bit.index(covered * 8);
        // Another coverage may fit the sum by chance: it leaves out other bytes.
        prop_assume!(!(44..48).contains(&bit));
        bytes[bit / 8] ^= 1 << (7 - bit % 8);
        prop_assert!(parse(&bytes, PSEUDO).is_err());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes, PSEUDO);
        let _ = parse_udp(&bytes, PSEUDO);
        for item in Items::new(&bytes) {
            let Ok(value) = item.value() else { continue };
            let mut again = Options::new();
            again.push(value).unwrap();
            prop_assert_eq!(again.values().next(), Some(value));
        }
        prop_assert!(Runs::ack_vector(Seq48::ZERO, &bytes).count() == bytes.len());
        prop_assert!(Runs::data_dropped(Seq48::ZERO, &bytes).count() == bytes.len());
    }
}
