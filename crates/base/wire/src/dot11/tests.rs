//! Frames against bytes laid out by hand, and round trips of any frame.

use super::*;
use crate::datagram::{self, Datagram, Transport};
use crate::testing::{hex, unhex};
use proptest::prelude::*;

const AP: Mac = Mac([2, 0, 0, 0, 0, 1]);
const STATION: Mac = Mac([2, 0, 0, 0, 0, 2]);
const SERVER: Mac = Mac([2, 0, 0, 0, 0, 3]);

fn data(direction: Direction) -> Data {
    Data {
        direction,
        retry: true,
        duration_us: 44,
        bssid: AP,
        source: STATION,
        destination: SERVER,
        sequence: Sequence::new(0x123),
        qos: None,
        ether_type: EtherType::IPV4,
    }
}

fn management() -> Management {
    Management {
        retry: false,
        duration_us: 314,
        destination: STATION,
        source: AP,
        bssid: AP,
        sequence: Sequence::new(4095),
    }
}

fn elements(rates: &[u8]) -> Elements {
    let mut elements =
        Elements { ssid: Ssid::new(b"lab"), channel: Some(6), ..Elements::default() };
    for &units in rates {
        assert!(elements.rates.push(Rate::basic(units).unwrap()));
    }
    elements
}

fn written(frame: &Frame) -> String {
    let mut out = Vec::new();
    frame.write(&mut out);
    assert_eq!(parse(&out), Ok((*frame, &[][..])));
    hex(&out)
}

#[test]
fn the_check_value_of_crc_32() {
    assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
}

#[test]
fn control_frames_in_hex() {
    let (receiver, transmitter, duration_us) = (STATION, AP, 0x0102);
    let ack = Frame::Ack { receiver, duration_us: 0 };
    assert_eq!(written(&ack), "d4000000020000000002");
    let cts = Frame::Cts { receiver, duration_us };
    assert_eq!(written(&cts), "c4000201020000000002");
    let rts = Frame::Rts { receiver, transmitter, duration_us };
    assert_eq!(written(&rts), "b4000201020000000002020000000001");
}

#[test]
fn data_frames_in_hex_order_their_addresses_by_direction() {
    let up = written(&Frame::Data(data(Direction::ToAp)));
    let tail = "3012 aaaa03000000 0800";
    let expected = format!("0809 2c00 020000000001 020000000002 020000000003 {tail}");
    assert_eq!(up, expected.replace(' ', ""));
    let down = written(&Frame::Data(data(Direction::FromAp)));
    let expected = format!("080a 2c00 020000000003 020000000001 020000000002 {tail}");
    assert_eq!(down, expected.replace(' ', ""));
}

const HEADER: &str = "00 3a01 020000000002 020000000001 020000000001 f0ff";

#[test]
fn a_beacon_in_hex() {
    let beacon = Beacon {
        header: management(),
        timestamp_us: 0x0102_0304,
        interval_tu: 100,
        capabilities: CAPABILITY_ESS | CAPABILITY_SHORT_SLOT,
        elements: elements(&[2, 4, 11, 22, 12, 24, 48, 72, 108]),
    };
    let fields = "0403020100000000 6400 0104";
    let elements = "00036c6162 010882848b968c98b0c8 030106 3201ec";
    let expected = format!("80 {HEADER} {fields} {elements}").replace(' ', "");
    assert_eq!(written(&Frame::Beacon(beacon)), expected);
}

#[test]
fn association_in_hex() {
    let (header, capabilities) = (management(), CAPABILITY_ESS);
    let request = AssociationRequest {
        header,
        capabilities,
        listen_interval: 10,
        elements: elements(&[108]),
    };
    let expected = format!("00 {HEADER} 0100 0a00 00036c6162 0101ec 030106").replace(' ', "");
    assert_eq!(written(&Frame::AssociationRequest(request)), expected);
    let response = AssociationResponse {
        header,
        capabilities,
        status: 0,
        id: AssociationId::new(5),
        elements: Elements::default(),
    };
    let expected = format!("10 {HEADER} 0100 0000 05c0").replace(' ', "");
    assert_eq!(written(&Frame::AssociationResponse(response)), expected);
    written(&Frame::AssociationResponse(AssociationResponse { status: 17, id: None, ..response }));
}

/// Why the bytes of `text` are refused.
fn refusal(text: &str) -> String {
    parse(&unhex(text)).unwrap_err().to_string()
}

#[test]
fn what_is_not_for_us_is_refused_by_name() {
    assert_eq!(refusal("d500 0000"), "protocol version at offset 0 is 1, not 0");
    assert_eq!(refusal("4801 0000"), "frame type 2 subtype 4 at offset 0 is not supported");
    assert_eq!(refusal("0841 0000"), "frame flags 0x41 at offset 1 are not supported");
    assert_eq!(refusal("0803 0000"), "frame flags 0x03 at offset 1 are not supported");
    assert_eq!(refusal("d400 0080"), "duration at offset 2 is 0x8000, above 32767 us");
    assert_eq!(refusal("d400 0000 0200"), "truncated address at offset 4: needs 6 bytes, has 2");
    let (zeros, data) = ("00".repeat(18), "0801 0000");
    assert!(refusal(&format!("{data}{zeros}0100")).starts_with("fragment 1 at offset 22"));
    assert!(refusal(&format!("0805 0000{zeros}0000")).contains("more fragments true"));
    assert!(refusal(&format!("{data}{zeros}0000 e0e003000000")).starts_with("llc header"));
    assert!(refusal(&format!("{data}{zeros}0000 aaaa03000000 0100")).contains("length"));
    let response = format!("1000 0000{zeros}0000 0000 0000");
    assert_eq!(
        refusal(&format!("{response} d8c7")),
        "association id at offset 28 is 2008, above 2007"
    );
    let element = |text: &str| refusal(&format!("{response} 01c0 {text}"));
    assert_eq!(element("0302 0101"), "element 3 at offset 30 has impossible content of 2 bytes");
    assert!(element("0101 80").starts_with("element 1"));
    assert!(element(&format!("0111 {}", "02".repeat(17))).starts_with("element 1"));
    assert!(element(&format!("0021 {}", "61".repeat(33))).starts_with("element 0"));
    assert_eq!(element("dd05 00"), "truncated element at offset 32: needs 5 bytes, has 1");
}

#[test]
fn a_data_frame_carries_its_datagram() {
    let datagram = Datagram {
        source: [10, 0, 0, 2].into(),
        destination: [10, 0, 0, 3].into(),
        id: 1,
        ttl: 64,
        tos: 0,
        transport: Transport::Udp { source_port: 1, destination_port: 2 },
        payload_len: 100,
    };
    let header = data(Direction::ToAp);
    let mut out = vec![0xee];
    data_frame(&header, &datagram.into(), &mut out).unwrap();
    let (frame, payload) = parse(strip_fcs(&out[1..]).unwrap()).unwrap();
    assert_eq!(frame, Frame::Data(header));
    assert_eq!(datagram::parse(payload).unwrap().0, datagram);

    let too_long = Datagram { payload_len: 70_000, ..datagram };
    let mut out = vec![0xee];
    assert!(data_frame(&header, &too_long.into(), &mut out).is_err());
    assert_eq!(out, [0xee]);
}

fn voice() -> Qos {
    Qos { tid: Tid::new(6).unwrap(), ack_policy: AckPolicy::Normal }
}

#[test]
fn qos_data_in_hex() {
    let frame = Frame::Data(Data { qos: Some(voice()), ..data(Direction::ToAp) });
    let addresses = "020000000001 020000000002 020000000003";
    let expected = format!("8809 2c00 {addresses} 3012 0600 aaaa03000000 0800");
    assert_eq!(written(&frame), expected.replace(' ', ""));
}

#[test]
fn block_acks_in_hex() {
    let mut frame = BlockAck {
        receiver: STATION,
        transmitter: AP,
        duration_us: 0,
        tid: Tid::new(5).unwrap(),
        start: Sequence::new(0xabc),
        bitmap: Bitmap::Of64(0x8000_0000_0000_0005),
    };
    let head = "9400 0000 020000000002 020000000001 0450";
    let expected = format!("{head} c0ab 0500000000000080").replace(' ', "");
    assert_eq!(written(&Frame::BlockAck(frame)), expected);
    frame.bitmap = Bitmap::Of256([1, 2, 3, 4]);
    let words = ["01", "02", "03", "04"].map(|word| format!("{word}00000000000000")).concat();
    let expected = format!("{head} c4ab {words}").replace(' ', "");
    assert_eq!(written(&Frame::BlockAck(frame)), expected);
    // With its check sequence the long one has the 56 bytes that a response takes.
    assert_eq!(expected.len() / 2 + FCS_LEN, 56);
}

#[test]
fn block_ack_requests_in_hex() {
    let frame = BlockAckReq {
        receiver: AP,
        transmitter: STATION,
        duration_us: 48,
        tid: Tid::new(5).unwrap(),
        start: Sequence::new(0xabc),
    };
    let expected = "8400 3000 020000000001 020000000002 0450 c0ab".replace(' ', "");
    assert_eq!(written(&Frame::BlockAckReq(frame)), expected);
    // With its check sequence: the 24 bytes of clause 9.3.1.7.
    assert_eq!(expected.len() / 2 + FCS_LEN, 24);
    let head = "8400 0000 020000000001 020000000002";
    assert!(refusal(&format!("{head} 0050")).ends_with("has type 0, not 2"));
}

#[test]
fn other_qos_frames_are_refused_by_name() {
    let zeros = "00".repeat(18);
    let order = refusal(&format!("8881 0000{zeros}0000 0000"));
    assert_eq!(order, "frame flags 0x81 at offset 1 are not supported");
    let head = "9400 0000 020000000002 020000000001";
    assert!(refusal(&format!("{head} 0050")).ends_with("has type 0, not 2"));
    assert!(refusal(&format!("{head} 0450 0200")).ends_with("bitmap code 2, neither 0 nor 4"));
    let elsewhere = "020000000001 020000000002 020000000003";
    assert!(
        refusal(&format!("8801 0000 {elsewhere} 0000 8000")).starts_with("address at offset 16")
    );
}

fn amsdu() -> Amsdu {
    Amsdu {
        direction: Direction::ToAp,
        retry: false,
        duration_us: 44,
        bssid: AP,
        station: STATION,
        sequence: Sequence::new(1),
        qos: voice(),
    }
}

fn part(payload_len: u32) -> (Subframe, Datagram) {
    let subframe = Subframe { destination: SERVER, source: STATION, ether_type: EtherType::IPV4 };
    let datagram = Datagram {
        source: [10, 0, 0, 2].into(),
        destination: [10, 0, 0, 3].into(),
        id: payload_len as u16,
        ttl: 64,
        tos: 0,
        transport: Transport::Udp { source_port: 1, destination_port: 2 },
        payload_len,
    };
    (subframe, datagram)
}

/// Subframes of 14 bytes and an MSDU each, all but the last padded to four (clause 9.3.2.2.2).
fn payloads(parts: &[(Subframe, Datagram)]) -> impl Iterator<Item = (Subframe, Payload<'static>)> {
    parts.iter().map(|(subframe, datagram)| (*subframe, (*datagram).into()))
}

#[test]
fn a_report_is_in_front_of_its_datagram_or_alone() {
    let report = crate::soc::Written::from([0xab; crate::soc::LEN]);
    let header = Data { ether_type: crate::soc::ETHER_TYPE, ..data(Direction::ToAp) };
    let (_, datagram) = part(10);
    for behind in [None, Some(datagram)] {
        let mut out = Vec::new();
        let payload = Payload { report: Some(report), datagram: behind, contents: None };
        data_frame(&header, &payload, &mut out).unwrap();
        let (frame, payload) = parse(strip_fcs(&out).unwrap()).unwrap();
        assert_eq!(frame, Frame::Data(header));
        let (front, rest) = payload.split_at(report.len());
        assert_eq!(front, &*report);
        assert_eq!(datagram::parse(rest).ok().map(|(datagram, _)| datagram), behind);
    }
}

#[test]
fn an_amsdu_carries_its_datagrams() {
    let parts = [part(100), part(1), part(3)];
    let mut out = vec![0xee];
    amsdu_frame(&amsdu(), payloads(&parts), &mut out).unwrap();
    let (frame, body) = parse(strip_fcs(&out[1..]).unwrap()).unwrap();
    assert_eq!(frame, Frame::Amsdu(amsdu()));
    // MSDU: LLC 8, IPv4 20, UDP 8 and the payload.
    assert_eq!(body.len(), 152 + 52 + 53);
    let read: Vec<_> = subframes(body).map(Result::unwrap).collect();
    for ((subframe, payload), expected) in read.iter().zip(parts) {
        assert_eq!((*subframe, datagram::parse(payload).unwrap().0), expected);
    }
    assert_eq!(read.len(), 3);
    let padded = subframes(&body[..150]).map(|read| read.map(|_| ()).map_err(|e| e.to_string()));
    assert_eq!(padded.collect::<Vec<_>>(), [Ok(())], "the last one needs no padding");
    let cut = subframes(&body[..149]).next().unwrap().unwrap_err().to_string();
    assert_eq!(cut, "truncated subframe at offset 14: needs 136 bytes, has 135");
}

#[test]
fn an_amsdu_has_its_limits() {
    let mut out = vec![0xee];
    let parts = [part(1400); 8];
    let refused = amsdu_frame(&amsdu(), payloads(&parts), &mut out);
    // 1450 bytes each, padded to 1452 but for the last.
    assert_eq!(refused, Err(AmsduError::Length { len: 7 * 1452 + 1450 }));
    assert_eq!(out, [0xee]);
    let too_long = amsdu_frame(&amsdu(), payloads(&[part(70_000)]), &mut out);
    assert!(matches!(too_long, Err(AmsduError::Datagram(_))));
}

#[test]
fn a_frame_too_short_for_a_check_sequence_is_refused() {
    assert_eq!(strip_fcs(&[1, 2, 3]), Err(Error::NoFcs { have: 3 }));
}

fn any_mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

prop_compose! {
    fn any_management()(
        retry: bool, duration_us in 0..=DURATION_MAX_US, destination in any_mac(),
        source in any_mac(), bssid in any_mac(), sequence: u16,
    ) -> Management {
        let sequence = Sequence::new(sequence);
        Management { retry, duration_us, destination, source, bssid, sequence }
    }
}

prop_compose! {
    fn any_data()(
        to_ap: bool, header in any_management(), qos in prop::option::of(any_qos()),
        ether_type in 0x0600u16..,
    ) -> Data {
        let Management { retry, duration_us, destination, source, bssid, sequence } = header;
        let direction = if to_ap { Direction::ToAp } else { Direction::FromAp };
        let ether_type = EtherType::new(ether_type).unwrap();
        Data {
            direction,
            retry,
            duration_us,
            bssid,
            source,
            destination,
            sequence,
            qos,
            ether_type,
        }
    }
}

fn any_qos() -> impl Strategy<Value = Qos> {
    use AckPolicy::{Block, None, Normal, NotExplicit};
    let policies = prop::sample::select(vec![Normal, None, NotExplicit, Block]);
    (0u8..16, policies)
        .prop_map(|(tid, ack_policy)| Qos { tid: Tid::new(tid).unwrap(), ack_policy })
}

prop_compose! {
    fn any_amsdu()(to_ap: bool, header in any_management(), qos in any_qos()) -> Amsdu {
        let Management { retry, duration_us, source: station, bssid, sequence, .. } = header;
        let direction = if to_ap { Direction::ToAp } else { Direction::FromAp };
        Amsdu { direction, retry, duration_us, bssid, station, sequence, qos }
    }
}

prop_compose! {
    fn any_block_ack()(
        header in any_management(), tid in 0u8..16, is_long: bool, words: [u64; 4],
    ) -> BlockAck {
        let Management { duration_us, destination, source, sequence, .. } = header;
        let bitmap = if is_long { Bitmap::Of256(words) } else { Bitmap::Of64(words[0]) };
        BlockAck {
            receiver: destination,
            transmitter: source,
            duration_us,
            tid: Tid::new(tid).unwrap(),
            start: sequence,
            bitmap,
        }
    }
}

prop_compose! {
    fn any_block_ack_req()(header in any_management(), tid in 0u8..16) -> BlockAckReq {
        let Management { duration_us, destination, source, sequence, .. } = header;
        let (receiver, transmitter) = (destination, source);
        let (tid, start) = (Tid::new(tid).unwrap(), sequence);
        BlockAckReq { receiver, transmitter, duration_us, tid, start }
    }
}

prop_compose! {
    fn any_elements()(
        ssid in prop::option::of(prop::collection::vec(any::<u8>(), 0..=32)),
        rates in prop::collection::vec((1u8..=127, any::<bool>()), 0..=16),
        channel: Option<u8>,
    ) -> Elements {
        let ssid = ssid.and_then(|ssid| Ssid::new(&ssid));
        let mut elements = Elements { ssid, channel, ..Elements::default() };
        for (units, basic) in rates {
            let rate = if basic { Rate::basic(units) } else { Rate::optional(units) };
            assert!(elements.rates.push(rate.unwrap()));
        }
        elements
    }
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let words = any::<(u64, u16, u16)>();
    prop_oneof![
        any_data().prop_map(Frame::Data),
        any_amsdu().prop_map(Frame::Amsdu),
        any_block_ack().prop_map(Frame::BlockAck),
        any_block_ack_req().prop_map(Frame::BlockAckReq),
        (any_mac(), any_mac(), 0..=DURATION_MAX_US, 0..3).prop_map(
            |(receiver, transmitter, duration_us, kind)| match kind {
                0 => Frame::Ack { receiver, duration_us },
                1 => Frame::Cts { receiver, duration_us },
                _ => Frame::Rts { receiver, transmitter, duration_us },
            }
        ),
        (any_management(), any_elements(), words, 0..3, prop::option::of(1u16..=2007)).prop_map(
            |(header, elements, (timestamp_us, a, b), kind, id)| match kind {
                0 => Frame::Beacon(Beacon {
                    header,
                    timestamp_us,
                    interval_tu: a,
                    capabilities: b,
                    elements,
                }),
                1 => Frame::AssociationRequest(AssociationRequest {
                    header,
                    capabilities: a,
                    listen_interval: b,
                    elements,
                }),
                _ => Frame::AssociationResponse(AssociationResponse {
                    header,
                    capabilities: a,
                    status: b,
                    id: id.and_then(AssociationId::new),
                    elements,
                }),
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(frame in any_frame()) {
        let mut out = Vec::new();
        on_air(&frame, &mut out);
        prop_assert_eq!(parse(strip_fcs(&out).unwrap()), Ok((frame, &[][..])));
    }

    #[test]
    fn a_flipped_bit_is_found(frame in any_frame(), bit: prop::sample::Index) {
        let mut out = Vec::new();
        on_air(&frame, &mut out);
        let bit = bit.index(out.len() * 8);
        out[bit / 8] ^= 1 << (bit % 8);
        let found = matches!(strip_fcs(&out), Err(Error::Fcs { .. }));
        prop_assert!(found);
    }

    #[test]
    fn arbitrary_bodies_of_amsdus_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), len in 0u8..64,
    ) {
        let mut bytes = bytes;
        if let Some(length) = bytes.get_mut(12..14) {
            length.copy_from_slice(&[0, len]);
        }
        prop_assert!(subframes(&bytes).count() <= bytes.len() / 14 + 1);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(kind: u8, mut bytes: Vec<u8>) {
        if let Some(first) = bytes.first_mut() {
            *first = kind & 0xfc;
        }
        let _ = parse(&bytes);
        let _ = strip_fcs(&bytes);
    }
}
