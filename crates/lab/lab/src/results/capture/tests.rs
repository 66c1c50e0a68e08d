//! Frames come out in order, with the addresses and the radio's facts that they had on the air.

use super::*;
use fairwave_scenario::plan::Plan;
use fairwave_trace::{Place, Ppdu, PpduFormat, Scoreboard};
use fairwave_units::{BitRate, Dbm};
use fairwave_wire::pcapng::Reader;
use std::fs;
use std::net::Ipv4Addr;
use tempfile::TempDir;

const AP: NodeId = NodeId(0);
const STATION: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const SERVER: NodeId = NodeId(3);

fn world() -> World {
    let text = r#"
        duration = "10 s"
        cell = { standard = "802.11b", preamble = "short" }
        node = [
            { name = "ap", kind = "access-point", data_rate = "11 Mbps" },
            { name = "sta", kind = "station", data_rate = "11 Mbps", count = 2 },
            { name = "server", kind = "host" },
        ]
        link = [{ ends = ["ap", "server"] }]
        flow = [{ name = "up", from = "sta*", to = "server" }]
    "#;
    let plan = Plan::parse("test", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.to_world(1)
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn frame(from: NodeId, to: Option<NodeId>, body: FrameBody, airtime_us: u64) -> FrameSample {
    FrameSample {
        transmitter: from,
        receiver: to,
        ends: None,
        rate: BitRate(11_000_000),
        ppdu: Ppdu {
            format: PpduFormat::Dsss,
            mcs: 3,
            streams: 1,
            width_mhz: 20,
            guard_ns: 800,
            is_ldpc: false,
        },
        tid: None,
        place: None,
        signal: Dbm(-61.4),
        airtime: Duration::from_micros(airtime_us),
        duration_us: 258,
        sequence: 7,
        retry: true,
        body,
        report: None,
        received: true,
    }
}

fn datagram() -> FrameBody {
    FrameBody::Data(datagram::Datagram {
        source: Ipv4Addr::new(10, 0, 0, 2),
        destination: Ipv4Addr::new(10, 0, 0, 4),
        id: 1,
        ttl: 64,
        tos: 0,
        transport: datagram::Transport::Udp { source_port: 1000, destination_port: 2000 },
        payload_len: 20,
    })
}

/// What the file says of each frame: when, radiotap, the frame, the comment.
type Seen = (Instant, radiotap::Header, Frame, Option<String>);

fn captured(frames: &[(u64, FrameSample)]) -> Vec<Seen> {
    captured_with(frames, &PacketContents::default())
}

fn captured_with(frames: &[(u64, FrameSample)], contents: &PacketContents) -> Vec<Seen> {
    let place = scratch();
    let directory = place.path();
    let mut capture = Capture::create(&world(), directory).unwrap();
    for (start_us, frame) in frames {
        capture.push(at_us(*start_us), frame, contents).unwrap();
    }
    capture.finish(contents).unwrap();
    let bytes = fs::read(directory.join(FILE)).unwrap();
    let packets = Reader::new(&bytes).unwrap().map(|packet| {
        let packet = packet.unwrap();
        let (header, frame) = radiotap::parse(&packet.data).unwrap();
        let (frame, _) =
            fairwave_wire::dot11::parse(fairwave_wire::dot11::strip_fcs(frame).unwrap()).unwrap();
        (packet.at, header, frame, packet.comment.map(|c| c.to_string()))
    });
    packets.collect()
}

#[test]
fn frames_are_in_the_order_of_their_starts() {
    let long = frame(STATION, Some(AP), datagram(), 500);
    let short = frame(OTHER, Some(AP), FrameBody::Ack, 100);
    // As they end: the hidden station's short frame first, although it began later.
    let seconds_later = (3_000_000, short);
    let seen = captured(&[(1_200, short), (1_000, long), (1_200, long), seconds_later]);
    let times: Vec<Instant> = seen.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [1_000, 1_200, 1_200, 3_000_000].map(at_us));
    assert!(matches!(seen[1].2, Frame::Ack { .. }) && matches!(seen[2].2, Frame::Data(_)));
}

#[test]
fn few_frames_wait_however_long_the_run() {
    let mut waiting = Waiting::default();
    for ms in 0..10_000 {
        let start = at_us(1_000 * ms);
        waiting.push(start, frame(STATION, Some(AP), FrameBody::Ack, 100));
        while waiting.pop_complete(start).is_some() {}
    }
    assert!(waiting.frames.len() <= 601, "{} wait", waiting.frames.len());
}

#[test]
fn data_crosses_the_access_point_with_the_addresses_of_its_ends() {
    let up =
        FrameSample { ends: Some((STATION, SERVER)), ..frame(STATION, Some(AP), datagram(), 100) };
    let down =
        FrameSample { ends: Some((SERVER, OTHER)), ..frame(AP, Some(OTHER), datagram(), 100) };
    let seen = captured(&[(0, up), (1_000, down)]);
    let addresses = |frame: &Frame| match frame {
        Frame::Data(data) => (data.direction, data.bssid, data.source, data.destination),
        other => panic!("not data: {other:?}"),
    };
    let upwards = (Direction::ToAp, mac(AP), mac(STATION), mac(SERVER));
    assert_eq!(addresses(&seen[0].2), upwards);
    let downwards = (Direction::FromAp, mac(AP), mac(SERVER), mac(OTHER));
    assert_eq!(addresses(&seen[1].2), downwards);
}

#[test]
fn control_frames_name_whom_they_concern() {
    let rts = frame(STATION, Some(AP), FrameBody::Rts, 100);
    let cts = frame(AP, Some(STATION), FrameBody::Cts, 100);
    let seen = captured(&[(0, rts), (1_000, cts)]);
    let (receiver, transmitter) = (mac(AP), mac(STATION));
    assert_eq!(seen[0].2, Frame::Rts { receiver, transmitter, duration_us: 258 });
    assert_eq!(seen[1].2, Frame::Cts { receiver: mac(STATION), duration_us: 258 });
}

fn ht(frame: FrameSample, sequence: u16, is_last: bool) -> FrameSample {
    let ppdu = Ppdu { format: PpduFormat::Ht, mcs: 7, streams: 2, guard_ns: 400, ..frame.ppdu };
    let place = Place {
        ppdu: 9,
        is_ampdu: true,
        is_alone: false,
        is_last,
        is_amsdu: false,
        goes_on: false,
    };
    FrameSample { ppdu, sequence, tid: Some(6), place: Some(place), ..frame }
}

#[test]
fn every_mpdu_of_an_ampdu_is_there_and_tells_of_it() {
    let frame = frame(STATION, Some(AP), datagram(), 100);
    let seen = captured(&[(0, ht(frame, 7, false)), (0, ht(frame, 8, true))]);
    let sequences = seen.iter().map(|(_, _, frame, _)| match frame {
        Frame::Data(data) => (data.sequence.number(), data.qos.unwrap().tid.number()),
        other => panic!("not data: {other:?}"),
    });
    assert_eq!(sequences.collect::<Vec<_>>(), [(7, 6), (8, 6)]);
    let headers = seen.iter().map(|(_, header, ..)| {
        assert_eq!(
            (header.rate_500kbps, header.mcs),
            (None, Some(radiotap::Mcs::mixed(15, false, true)))
        );
        let ampdu = header.ampdu.unwrap();
        (ampdu.reference, ampdu.flags & radiotap::AmpduStatus::LAST > 0)
    });
    assert_eq!(headers.collect::<Vec<_>>(), [(9, false), (9, true)]);
}

/// A datagram that stands for an IPv6 packet: the frame says so, alone and in an A-MSDU, and holds
/// the packet.
#[test]
fn a_real_packet_is_in_its_frame() {
    let FrameBody::Data(datagram) = datagram() else { panic!("data") };
    let mut packet = vec![0x60, 0, 0, 0, 0, 8, 59, 64];
    packet.resize(48, 0x77);
    let mut contents = PacketContents::default();
    contents.note(&datagram, Contents::Packet(packet.clone()));
    let alone = frame(STATION, Some(AP), FrameBody::Data(datagram), 100);
    let place = ht(alone, 7, true).place.map(|place| Place { is_amsdu: true, ..place });
    let part = FrameSample { place, ..ht(alone, 7, true) };
    let seen = captured_with(&[(0, alone), (500, part)], &contents);
    let Frame::Data(data) = &seen[0].2 else { panic!("no data: {:?}", seen[0].2) };
    assert_eq!(data.ether_type, EtherType::IPV6);
    assert!(matches!(seen[1].2, Frame::Amsdu(_)));
    let (sides, contents) = (Sides::of(&world()), &contents);
    let radio = radio(&world(), STATION).expect("a radio");
    let (subframe, payload) = subframe(&radio, &part, &sides, contents);
    assert_eq!(subframe.ether_type, EtherType::IPV6);
    assert_eq!(payload.contents, Some(&Contents::Packet(packet)));
}

#[test]
fn payloads_of_an_amsdu_are_one_frame() {
    let part = |goes_on| {
        let frame = ht(frame(AP, Some(STATION), datagram(), 100), 7, true);
        let place = frame.place.map(|place| Place { is_amsdu: true, goes_on, ..place });
        FrameSample { place, ends: Some((SERVER, STATION)), ..frame }
    };
    let seen = captured(&[(0, part(true)), (0, part(true)), (0, part(false))]);
    assert_eq!(seen.len(), 1);
    let Frame::Amsdu(amsdu) = seen[0].2 else { panic!("no A-MSDU: {:?}", seen[0].2) };
    assert_eq!((amsdu.bssid, amsdu.station), (mac(AP), mac(STATION)));
}

#[test]
fn a_block_ack_says_what_arrived() {
    for is_long in [false, true] {
        let board = Scoreboard { start: 4000, arrived: [5, 0, 0, 1], is_long };
        let answer = frame(AP, Some(STATION), FrameBody::BlockAck(board), 32);
        let answer = FrameSample { tid: Some(5), ..answer };
        let seen = captured(&[(0, answer)]);
        let Frame::BlockAck(answer) = seen[0].2 else { panic!("{:?}", seen[0].2) };
        let words = [5, 0, 0, 1];
        let bitmap = if is_long { Bitmap::Of256(words) } else { Bitmap::Of64(5) };
        assert_eq!((answer.start.number(), answer.tid.number()), (4000, 5));
        assert_eq!((answer.transmitter, answer.bitmap), (mac(AP), bitmap));
    }
}

#[test]
fn a_block_ack_request_says_from_where_on() {
    let asks = frame(STATION, Some(AP), FrameBody::BlockAckReq(4001), 24);
    let seen = captured(&[(0, FrameSample { tid: Some(5), ..asks })]);
    let Frame::BlockAckReq(asks) = seen[0].2 else { panic!("{:?}", seen[0].2) };
    assert_eq!((asks.start.number(), asks.tid.number()), (4001, 5));
    assert_eq!((asks.transmitter, asks.receiver), (mac(STATION), mac(AP)));
}

#[test]
fn a_beacon_describes_its_network() {
    let beacon = frame(AP, None, FrameBody::Beacon, 100);
    let seen = captured(&[(102_400, beacon)]);
    let Frame::Beacon(beacon) = seen[0].2 else { panic!("not a beacon: {:?}", seen[0].2) };
    assert_eq!(beacon.header.destination, Mac::BROADCAST);
    assert_eq!((beacon.timestamp_us, beacon.interval_tu), (102_400, 100));
    assert_eq!(beacon.capabilities, CAPABILITY_ESS | CAPABILITY_SHORT_PREAMBLE);
    assert_eq!(beacon.elements.ssid, Ssid::new(b"ap"));
    let rates: Vec<(u8, bool)> = beacon
        .elements
        .rates
        .as_slice()
        .iter()
        .map(|r| (r.units_500kbps(), r.is_basic()))
        .collect();
    assert_eq!(rates, [(2, true), (4, true), (11, false), (22, false)]);
}

#[test]
fn radiotap_tells_the_radios_facts() {
    let lost = FrameSample { received: false, ..frame(STATION, Some(AP), datagram(), 100) };
    let unheard = FrameSample { signal: Dbm(-200.0), ..lost };
    let seen = captured(&[(5, lost), (1_000, unheard)]);
    let header = seen[0].1;
    assert_eq!((header.tsft_us, header.rate_500kbps), (Some(5), Some(22)));
    assert_eq!(header.signal_dbm, Some(-61));
    assert_eq!(seen[1].1.signal_dbm, None, "a level beyond the field is left out");
    let flags = header.flags.unwrap();
    assert!(flags.contains(radiotap::Flags::FCS_PRESENT.with(radiotap::Flags::SHORT_PREAMBLE)));
    let channel = header.channel.unwrap();
    assert_eq!(channel.flags, radiotap::Channel::CCK | radiotap::Channel::BAND_2_GHZ);
    assert_eq!(seen[0].3.as_deref(), Some("not received"));
}

#[test]
fn channels_of_2_4_ghz_have_numbers() {
    let numbers = [2412, 2437, 2472, 2484, 5180, 2413].map(|mhz| Hertz(mhz * 1_000_000));
    assert_eq!(numbers.map(channel_number), [Some(1), Some(6), Some(13), Some(14), None, None]);
}

#[test]
fn a_capture_that_is_not_finished_leaves_nothing() {
    let place = scratch();
    let directory = place.path();
    let capture = Capture::create(&world(), directory).unwrap();
    drop(capture);
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
}
