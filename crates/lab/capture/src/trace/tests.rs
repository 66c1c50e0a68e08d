//! From the bytes of a capture to its summary.

use super::*;
use fairwave_units::{Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use fairwave_wire::tcp::{Flags, Header, Options};
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// A datagram of 100 bytes from port `port` of 10.0.0.1 to port 9 of 10.0.0.2.
fn datagram(port: u16) -> Vec<u8> {
    let transport = Transport::Udp { source_port: port, destination_port: 9 };
    let [source, destination] = [1, 2].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let datagram =
        Datagram { source, destination, id: 0, ttl: 64, tos: 0, transport, payload_len: 100 };
    let mut bytes = Vec::new();
    datagram.write(&mut bytes).unwrap();
    bytes
}

/// A capture of datagrams, each with its time in seconds and its source port.
fn capture(datagrams: &[(u64, u16)]) -> Vec<u8> {
    let packet = |(at_s, port): &(u64, u16)| (at_s * 1_000, datagram(*port));
    raw(&datagrams.iter().map(packet).collect::<Vec<_>>())
}

fn analysed(bytes: Vec<u8>, selection: &Selection) -> TraceSummary {
    let mut capture = Capture::from_reader(Path::new("test"), Cursor::new(bytes)).unwrap();
    let mut collector = Collector::new(selection.clone());
    let report = &mut |_| ();
    let counts = analyse(&mut capture, Config::default(), &mut collector, report).unwrap();
    TraceSummary::new("test", &capture.facts(), &counts, collector)
}

#[test]
fn streams_are_told_with_times_from_the_first_packet() {
    let bytes = capture(&[(1_700_000_000, 1), (1_700_000_001, 2), (1_700_000_004, 1)]);
    let summary = analysed(bytes, &Selection::default());
    assert_eq!(summary.capture.start_unix_ns, Some(1_700_000_000_000_000_000));
    assert_eq!((summary.capture.packets, summary.capture.duration_ns), (3, 4_000_000_000));
    assert_eq!((summary.capture.ip.udp, summary.capture.udp_streams), (3, 2));
    let [first, second] = &summary.udp[..] else { panic!("{:?}", summary.udp) };
    assert_eq!((first.number, &*first.ends.a, &*first.ends.b), (0, "10.0.0.1:1", "10.0.0.2:9"));
    assert_eq!((first.start_ns, first.duration_ns), (0, 4_000_000_000));
    // 2 x 100 bytes in 4 s.
    assert_eq!((first.a_sent.payload_bytes, first.a_sent.rate_bps), (200, 400));
    assert_eq!(first.a_sent.gap_max_ns, 4_000_000_000);
    assert_eq!((second.number, second.start_ns), (1, 1_000_000_000));
}

#[test]
fn a_selection_is_kept_to_and_what_is_missing_is_named() {
    let bytes = capture(&[(1, 1), (2, 2), (3, 3)]);
    let numbers = |selection: &Selection| {
        let summary = analysed(bytes.clone(), selection);
        summary.udp.iter().map(|stream| stream.number).collect::<Vec<_>>()
    };
    let ports = Selection { ports: vec![2, 3], ..Selection::default() };
    assert_eq!(numbers(&ports), [1, 2]);
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    assert_eq!(numbers(&Selection { hosts: vec![host(2)], ..Selection::default() }), [0, 1, 2]);
    assert!(numbers(&Selection { hosts: vec![host(3)], ..Selection::default() }).is_empty());
    let streams = vec!["udp:1".parse().unwrap(), "udp:7".parse().unwrap()];
    let named = Selection { streams, ..Selection::default() };
    assert_eq!(numbers(&named), [1]);
    let missing = analysed(bytes.clone(), &named).missing(&named.streams).copied();
    assert_eq!(missing, Some(named.streams[1]));
}

#[test]
fn damage_is_part_of_the_summary() {
    let mut bytes = capture(&[(1, 1), (2, 2)]);
    bytes.truncate(bytes.len() - 5);
    let broken = analysed(bytes, &Selection::default()).capture.broken.unwrap();
    assert_eq!(broken.packets, 1);
    assert_eq!(broken.reason, "the file ends 5 bytes before the record does");
}

/// A capture of raw IP packets, each with its time in milliseconds.
fn raw(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let interface = Interface { link_type: LinkType::RawIp, name: None, snap_len: None };
    let id = writer.add_interface(&interface).unwrap();
    for (at_ms, bytes) in packets {
        writer.write_packet(id, Instant::from_nanos(at_ms * 1_000_000), bytes, None).unwrap();
    }
    writer.into_inner()
}

/// A segment between port 40000 of host 1 and port 80 of host 2.
fn segment(from: u8, id: u16, flags: Flags, numbers: [u32; 2], payload_len: u32) -> Vec<u8> {
    let ports = if from == 1 { [40_000, 80] } else { [80, 40_000] };
    let options = Options { mss: flags.syn.then_some(1_460), ..Options::default() };
    let header = Header {
        source_port: ports[0],
        destination_port: ports[1],
        seq: Seq32(numbers[0]),
        ack: Seq32(numbers[1]),
        flags,
        window: 65_000,
        options,
        ..Header::default()
    };
    let [source, destination] = [from, 3 - from].map(|host| Ipv4Addr::new(10, 0, 0, host));
    let transport = Transport::Tcp(header);
    let packet = Datagram { source, destination, id, ttl: 64, tos: 0, transport, payload_len };
    let mut bytes = Vec::new();
    packet.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn joined_segments_that_are_sent_again_are_counted_in_words() {
    let ack = Flags { ack: true, ..Flags::default() };
    let syn = Flags { syn: true, ..Flags::default() };
    let both = Flags { syn: true, ack: true, ..Flags::default() };
    let packets = [
        (0, segment(1, 1, syn, [99, 0], 0)),
        (20, segment(2, 0, both, [499, 100], 0)),
        (21, segment(1, 2, ack, [100, 500], 0)),
        (22, segment(1, 3, ack, [100, 500], 5_840)),
        (422, segment(1, 7, ack, [100, 500], 5_840)),
        (442, segment(2, 1, ack, [500, 5_940], 0)),
    ];
    let summary = analysed(raw(&packets), &Selection::default());
    let lines = words::connection(&summary.connections[0]).join("\n");
    assert!(lines.contains("4 segments in 1 packet sent again"), "{lines}");
    assert!(lines.contains("1 timeout\n"), "{lines}");
    assert!(!lines.contains("1 packets") && !lines.contains("1 segments"), "{lines}");
}

/// RTP of a gateway with a constant IP identification: 100 datagrams of 20 ms, two of them lost.
#[test]
fn datagrams_with_a_constant_identification_are_no_copies_and_their_numbers_are_named() {
    let rtp = |n: u16| {
        let mut bytes = datagram(5_004);
        // The identification, and the payload behind both headers.
        bytes[4..6].copy_from_slice(&[0, 1]);
        let [high, low] = n.to_be_bytes();
        let [t, i, m, e] = (160 * u32::from(n)).to_be_bytes();
        bytes[28..40].copy_from_slice(&[0x80, 0, high, low, t, i, m, e, 0, 0, 0, 9]);
        (20 * u64::from(n), bytes)
    };
    let sent = (0..100).filter(|n| ![40, 41].contains(n)).map(rtp).collect::<Vec<_>>();
    let summary = analysed(raw(&sent), &Selection::default());
    assert_eq!((summary.capture.ip.udp, summary.capture.ip.copies), (98, 0));
    let rows = words::udp_rows("udp", &summary.udp[0]);
    let [(_, cells)] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&*cells[2], &*cells[3], &*cells[7]), ("98", "2", "RTP"));
}
