//! From the bytes of a capture to its summary.

use super::*;
use fairwave_units::{Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use fairwave_wire::tcp::{Flags, Header, Options};
use std::collections::BTreeMap;
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
fn a_selection_that_takes_nothing_is_named() {
    let bytes = capture(&[(1, 1), (2, 2)]);
    let unmatched =
        |selection: &Selection| words::unmatched(selection, &analysed(bytes.clone(), selection));
    let ports = |ports: &[u16]| Selection { ports: ports.to_vec(), ..Selection::default() };
    let text = unmatched(&ports(&[81, 82])).expect("neither is there");
    let expected = "no stream has port 81 or 82; the capture has 0 TCP connections, 2 UDP streams";
    assert_eq!(text, expected);
    assert_eq!(unmatched(&ports(&[1, 81])), None);
    let host = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
    let text = unmatched(&Selection { hosts: vec![host], ..ports(&[1]) }).expect("no such host");
    assert!(text.starts_with("no stream has host 10.0.0.3 and port 1;"), "{text}");
}

/// A NAT changes addresses: every packet of either capture then seemed to be lost.
#[test]
fn captures_without_a_common_packet_have_no_losses() {
    let compared = |ports: [u16; 2]| {
        let bytes = ports.map(|port| capture(&[(1, port), (2, port)]));
        let mut captures =
            bytes.map(|bytes| Capture::from_reader(Path::new("test"), Cursor::new(bytes)).unwrap());
        let config = fairwave_trace::analysis::compare::Config::default();
        let interval = fairwave_units::Duration::from_secs(1);
        let mut bins = fairwave_trace::analysis::compare::Bins::new(interval);
        let report = compare(&mut captures, config, &mut bins, &mut |_| ()).unwrap();
        let [first, second] = captures.each_ref().map(Capture::facts);
        let files = [("first", first), ("second", second)];
        ComparisonSummary::new(files, &report, &config, &Selection::default())
    };
    let is_named = |summary: &ComparisonSummary| {
        let lines = words::comparison(summary);
        lines.iter().any(|line| line.starts_with("No packet is in both captures"))
    };
    let same = compared([1, 1]);
    assert!(same.ways.len() == 1 && same.ways[0].all.crossed > 0 && !is_named(&same));
    let other = compared([1, 2]);
    assert_eq!((other.ways.len(), is_named(&other)), (2, true));
    for way in &other.ways {
        assert_eq!((way.passes_first, way.lost, way.lost_percent), (None, None, None));
        assert_eq!(words::between(way)[2..5], ["?", "?", "?"]);
    }
}

#[test]
fn damage_is_part_of_the_summary() {
    let mut bytes = capture(&[(1, 1), (2, 2)]);
    bytes.truncate(bytes.len() - 5);
    let broken = analysed(bytes, &Selection::default()).capture.broken.unwrap();
    assert_eq!(broken.packets, 1);
    assert_eq!(broken.reason, "the file ends 5 bytes before the record does");
}

/// A pcapng of raw IP: a datagram with a time and one without (a simple packet block), by turns.
fn half_timed(first_is_timed: bool) -> Vec<u8> {
    let timed = capture(&[(1_700_000_000, 1)]);
    let (head, packet) = timed.split_at(timed.len() - (32 + datagram(1).len()));
    let data = datagram(1);
    let len = (16 + data.len() as u32).to_le_bytes();
    let mut simple = [&3u32.to_le_bytes()[..], &len].concat();
    simple.extend((data.len() as u32).to_le_bytes());
    simple.extend(&data);
    simple.extend(len);
    let pair = if first_is_timed { [packet, &simple] } else { [&simple, packet] };
    [head, &pair.concat()].concat()
}

#[test]
fn packets_without_a_time_count_at_that_of_their_neighbour() {
    for first_is_timed in [true, false] {
        let summary = analysed(half_timed(first_is_timed), &Selection::default());
        let capture = &summary.capture;
        assert_eq!((capture.untimed, capture.ip.udp, capture.duration_ns), (1, 2, 0));
        assert_eq!(capture.start_unix_ns, Some(1_700_000_000_000_000_000));
        assert!(words::capture(capture)[1].starts_with("1 packet without a time"));
    }
}

/// Three packets without a time between two that are 4 s apart.
#[test]
fn times_are_spread_between_neighbours() {
    let timed = [(1_700_000_000, 1), (1_700_000_004, 1)];
    let len = capture(&timed[..1]).len();
    let pair = half_timed(true);
    let simple = &pair[len..];
    let bytes = [&pair[..len], simple, simple, simple, &capture(&timed)[len..]].concat();
    let summary = analysed(bytes, &Selection::default());
    let way = &summary.udp[0].a_sent;
    assert_eq!((way.packets, way.gap_max_ns, summary.capture.untimed), (5, 1_000_000_000, 3));
}

/// Two encrypted data frames and the ACK of one, as a monitoring card shows them.
#[test]
fn encrypted_frames_show_their_use_of_the_air() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let interface = Interface { link_type: LinkType::Radiotap, name: None, snap_len: None };
    let id = writer.add_interface(&interface).unwrap();
    // Radiotap with a rate of 54 Mbps, and for ACKs of 24 Mbps.
    let radiotap = |rate| [0, 0, 9, 0, 4, 0, 0, 0, rate];
    let data = |flags: u8| {
        let addresses = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]].concat();
        [&radiotap(108)[..], &[0x08, flags, 44, 0], &addresses, &[0, 0], &[7; 1_322]].concat()
    };
    let ack = [&radiotap(48)[..], &[0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 2]].concat();
    for (ms, frame) in [(0, data(0x41)), (1, data(0x49)), (10, ack)] {
        writer.write_packet(id, Instant::from_nanos(ms * 1_000_000), &frame, None).unwrap();
    }
    let summary = analysed(writer.into_inner(), &Selection::default());
    let [data, ack] = &summary.air[..] else { panic!("{:?}", summary.air) };
    assert_eq!(air::name(data), "02:00:00:00:00:02 > 02:00:00:00:00:01");
    // 1350 bytes take 200 us at 54 Mbps, behind a preamble of 20 us.
    let row = ["2", "2", "2", "50.00", "54.0", "54.0", "54.0", "4.40"];
    assert_eq!((air::row(data), data.airtime_ns), (row.map(str::to_owned), 440_000));
    assert_eq!(air::name(ack), "(ACK or CTS) > 02:00:00:00:00:02");
    assert_eq!((ack.retry_percent, ack.rate_bps), (None, None));
    let text = terminal::summary(&summary, false);
    assert!(text.contains("02:00:00:00:00:02 > 02:00:00:00:00:01"), "{text}");
    let plots = fairwave_lab::plot::Plots::default();
    let page = out::page::page(&summary, &BTreeMap::new(), &plots);
    let row =
        "02:00:00:00:00:02 &gt; 02:00:00:00:00:01</th><td>2</td><td>2</td><td>2</td><td>50.00";
    assert!(page.contains(row), "{page}");
}

#[test]
fn protocols_that_are_not_read_are_named() {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let arp = [&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    for (link_type, packets) in [(LinkType::Ethernet, 2), (LinkType::Other(147), 1)] {
        let id =
            writer.add_interface(&Interface { link_type, name: None, snap_len: None }).unwrap();
        for _ in 0..packets {
            writer.write_packet(id, Instant::from_nanos(7), &arp, None).unwrap();
        }
    }
    let summary = analysed(writer.into_inner(), &Selection::default());
    assert_eq!(
        words::capture(&summary.capture)[1],
        "Not analysed: 2 not IP (2 ether type 0x0806 ARP), 1 of an unknown link type (1 link type \
         147 USER0)"
    );
    let json = serde_json::to_value(&summary.capture.contents).unwrap();
    let arp = serde_json::json!(
        { "registry": "ether_type", "number": 2054, "name": "ARP", "count": 2 }
    );
    assert_eq!(json[0], arp);
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

#[test]
fn delays_above_the_fastest_packet_s_are_in_the_direction_of_travel() {
    let none = CountBetween { crossed: 0, alone: [0; 2], outside: [0; 2] };
    let [min_ns, p01_ns, p50_ns, p99_ns, max_ns] = [-9, -5, 1, 2, 3].map(|ms| ms * 1_000_000);
    let shift = ShiftSummary { count: 900, min_ns, p01_ns, mean_ns: 0, p50_ns, p99_ns, max_ns };
    let above = |passes_first| {
        let way = WayBetween {
            protocol: "udp",
            ends: Ends { a: "a".to_owned(), b: "b".to_owned() },
            packets: [900; 2],
            offloaded_packets: [0; 2],
            segment_size_unknown: false,
            passes_first,
            lost: None,
            lost_percent: None,
            all: none,
            pure_acks: none,
            reordered: 0,
            duplicates: [0; 2],
            shift: Some(shift),
            place: (0, 0),
        };
        let [.., above] = words::between(&way);
        above
    };
    assert_eq!(above(Some("first")), "11.000");
    assert_eq!(above(Some("second")), "8.000");
    assert_eq!(above(None), "?");
}
