//! IP fragments, tunnels, links that are named, and directions out of step.

use crate::common::{MS, Shot, analyse};
use crate::compare::compared;
use fairwave_trace::analysis::compare;
use fairwave_trace::analysis::{Analyzer, Captured, Config, Kind, Stream, StreamId, Totals};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::link::Content;
use fairwave_wire::pcapng::LinkType;
use fairwave_wire::tcp::{Flags, Header};
use fairwave_wire::tunnel::Tunnel;
use proptest::prelude::*;
use std::net::Ipv4Addr;

const PORTS: [u16; 2] = [40_000, 80];

/// A segment from one of two hosts; the first one sends data.
fn segment(from: usize, id: u16, seq: u32, ack: u32, syn: bool, payload_len: u32) -> Vec<u8> {
    let flags = Flags { syn, ack: !syn || from == 1, ..Flags::default() };
    let (source_port, destination_port) = (PORTS[from], PORTS[1 - from]);
    let (seq, ack) = (Seq32(seq), Seq32(ack));
    let transport = Transport::Tcp(Header {
        source_port,
        destination_port,
        seq,
        ack,
        flags,
        window: 8_192,
        ..Header::default()
    });
    written(from, id, transport, payload_len)
}

fn written(from: usize, id: u16, transport: Transport, payload_len: u32) -> Vec<u8> {
    let hosts = [1, 2].map(|host| Ipv4Addr::new(192, 0, 2, host));
    let (source, destination) = (hosts[from], hosts[1 - from]);
    let mut bytes = Vec::new();
    let packet = Datagram { source, destination, id, ttl: 64, tos: 0, transport, payload_len };
    packet.write(&mut bytes).unwrap();
    bytes
}

/// Cuts a packet into fragments of at most `size` bytes of payload, a multiple of eight.
fn cut(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let (header, body) = packet.split_at(20);
    let pieces = body.chunks(size).enumerate();
    pieces
        .map(|(number, piece)| {
            let offset = number * size;
            let goes_on = u16::from(offset + piece.len() < body.len()) << 13;
            let mut bytes = [header, piece].concat();
            let len = bytes.len() as u16;
            bytes[2..4].copy_from_slice(&len.to_be_bytes());
            bytes[6..8].copy_from_slice(&((offset / 8) as u16 | goes_on).to_be_bytes());
            bytes
        })
        .collect()
}

fn shot(at: Duration, bytes: Vec<u8>) -> Shot {
    let len = bytes.len() as u32;
    Shot { at: Instant::ZERO + at, bytes, len }
}

/// The handshake, and then a segment and its ACK each 20 ms, as their packets.
fn transfer(segments: u32) -> Vec<(Duration, usize, Vec<u8>)> {
    transfer_from(100, segments)
}

/// The same with this number of the first byte.
fn transfer_from(first: u32, segments: u32) -> Vec<(Duration, usize, Vec<u8>)> {
    let mut packets = vec![
        (MS(0), 0, segment(0, 1, first - 1, 0, true, 0)),
        (MS(10), 1, segment(1, 1, 499, first, true, 0)),
        (MS(11), 0, segment(0, 2, first, 500, false, 0)),
    ];
    for number in 0..segments {
        let (at, seq) = (MS(20 + 20 * u64::from(number)), first + 1_460 * number);
        let id = 3 + number as u16;
        packets.push((at, 0, segment(0, id, seq, 500, false, 1_460)));
        packets.push((at + MS(10), 1, segment(1, id, 500, seq + 1_460, false, 0)));
    }
    packets
}

fn balance(totals: &Totals) {
    let p = totals.packets;
    let parts = p.copies + p.fragments + p.joined + p.other + p.unreadable + p.broken;
    assert_eq!(p.seen, p.tcp + p.udp + p.dccp + parts, "{p:?}");
}

#[test]
fn a_segment_in_fragments_is_one_segment() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let mut shots = Vec::new();
        for (at, _, packet) in transfer(20) {
            let pieces = cut(&packet, 560);
            match pieces.len() {
                3 => shots.extend(order.map(|piece| shot(at, pieces[piece].clone()))),
                _ => shots.push(shot(at, packet)),
            }
        }
        let (streams, totals) = analyse(&shots);
        let tcp = &streams[0].ways[0].tcp;
        assert_eq!((tcp.unique_bytes, tcp.holes, tcp.missing_bytes), (29_200, 0, 0));
        assert_eq!((tcp.retransmissions(), tcp.data_packets), (0, 20));
        assert_eq!(streams[0].ways[1].tcp.unseen_acked, 0);
        let p = totals.packets;
        assert_eq!((p.tcp, p.joined, p.fragments, p.incomplete), (43, 40, 0, 0));
        balance(&totals);
    }
}

/// The fragments of the same packet over IPv6.
fn cut_v6(packet: &[u8], size: usize) -> Vec<Vec<u8>> {
    let of = |piece: &Vec<u8>| {
        let [id, offset] = [[0, piece[5]], [piece[6], piece[7]]].map(u16::from_be_bytes);
        let offset = (offset & 0x1fff) << 3 | offset >> 13;
        let body = &piece[20..];
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((8 + body.len() as u16).to_be_bytes());
        bytes.extend([44, 64]);
        [&packet[12..16], &packet[16..20]].into_iter().for_each(|address| {
            bytes.extend([0xfd; 12]);
            bytes.extend(address);
        });
        bytes.extend([6, 0]);
        bytes.extend(offset.to_be_bytes());
        bytes.extend(u32::from(id).to_be_bytes());
        bytes.extend(body);
        bytes
    };
    cut(packet, size).iter().map(of).collect()
}

#[test]
fn fragments_of_version_6_are_joined_alike() {
    let pieces = |(at, _, packet): (Duration, usize, Vec<u8>)| {
        cut_v6(&packet, 560).into_iter().map(move |piece| shot(at, piece))
    };
    let shots: Vec<Shot> = transfer(20).into_iter().flat_map(pieces).collect();
    let (streams, totals) = analyse(&shots);
    let tcp = &streams[0].ways[0].tcp;
    assert_eq!((tcp.unique_bytes, tcp.holes, tcp.retransmissions()), (29_200, 0, 0));
    assert_eq!((totals.packets.tcp, totals.packets.joined), (43, 40));
    balance(&totals);
}

/// A capture with a filter for ports has first fragments alone. They keep their times, and are
/// known to be incomplete.
#[test]
fn first_fragments_alone_are_counted_at_once() {
    let firsts = transfer(20).into_iter();
    let shots: Vec<Shot> =
        firsts.map(|(at, _, packet)| shot(at, cut(&packet, 560).swap_remove(0))).collect();
    let (streams, totals) = analyse(&shots);
    assert_eq!((streams[0].ways[0].volume.packets, totals.packets.incomplete), (22, 20));
    assert_eq!(streams[0].ways[0].gap_max.unwrap().1, MS(20));
    balance(&totals);
}

#[test]
fn a_datagram_in_fragments_counts_once() {
    let mut shots = Vec::new();
    for number in 0..10 {
        let transport = Transport::Udp { source_port: 5, destination_port: 6 };
        let packet = written(0, number, transport, 4_000);
        let pieces = cut(&packet, 1_480).into_iter();
        let at = MS(20 * u64::from(number));
        // Of the last datagram the first fragment is missing, of the one before a later one.
        let missing = match number {
            9 => 0,
            8 => 1,
            _ => 9,
        };
        let pieces = pieces.enumerate().filter(|(place, _)| *place != missing);
        shots.extend(pieces.map(|(_, piece)| shot(at, piece)));
    }
    let (streams, totals) = analyse(&shots);
    let way = &streams[0].ways[0];
    assert_eq!((way.volume.packets, way.volume.payload_bytes), (9, 36_000));
    let p = totals.packets;
    assert_eq!((p.joined, p.fragments, p.incomplete), (17, 2, 1));
    balance(&totals);
}

/// Puts a packet into GRE between two routers.
fn in_gre(packet: &[u8]) -> Vec<u8> {
    in_network(None, packet)
}

/// The same with a key.
fn in_network(key: Option<u8>, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 47, 0, 0, 203, 0, 113, 1, 203, 0, 113, 2];
    bytes.extend([if key.is_some() { 0x20 } else { 0 }, 0, 8, 0]);
    bytes.extend(key.into_iter().flat_map(|key| [0, 0, 0, key]));
    bytes.extend(packet);
    let len = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes
}

#[test]
fn a_tunnel_shows_the_streams_within_it() {
    let plain: Vec<Shot> = transfer(20).into_iter().map(|(at, _, p)| shot(at, p)).collect();
    let within: Vec<Shot> = transfer(20).iter().map(|(at, _, p)| shot(*at, in_gre(p))).collect();
    // Outer packets in fragments: the first one has the header within.
    let cut = |(at, _, p): &(Duration, usize, Vec<u8>)| {
        cut(&in_gre(p), 560).into_iter().map(|piece| shot(*at, piece)).collect::<Vec<_>>()
    };
    let pieces: Vec<Shot> = transfer(20).iter().flat_map(cut).collect();
    let (expected, _) = analyse(&plain);
    for shots in [&within, &pieces] {
        let (streams, totals) = analyse(shots);
        assert_eq!(streams[0].ends, expected[0].ends);
        assert_eq!(streams[0].ways[0].tcp.unique_bytes, expected[0].ways[0].tcp.unique_bytes);
        assert_eq!(streams[0].ways[0].tcp.holes, 0);
        assert_eq!((streams.len(), totals.tunnels[Tunnel::Gre.index()]), (1, 43));
        balance(&totals);
    }
    // A tunnel within a tunnel is named and not followed.
    let twice = in_gre(&in_gre(&transfer(0).swap_remove(0).2));
    let (streams, totals) = analyse(&[shot(MS(0), twice)]);
    assert!(streams.is_empty());
    assert_eq!(totals.contents.iter().collect::<Vec<_>>(), [(Content::Ip(47), 1)]);
}

/// Two networks with the same addresses and ports, one behind the other by a millisecond. In the
/// second case each direction has a number of its own.
#[test]
fn networks_of_tunnels_keep_their_streams_apart() {
    let datagram = |id| written(0, id, Transport::Udp { source_port: 5, destination_port: 6 }, 90);
    for keys in [[[1, 1], [2, 2]], [[1, 2], [3, 4]]] {
        let mut shots = Vec::new();
        for (number, [there, back]) in keys.into_iter().enumerate() {
            let later = MS(number as u64);
            let first = 100 + 1_000_000_000 * number as u32;
            for (at, from, packet) in transfer_from(first, 20) {
                let key = if from == 0 { there } else { back };
                shots.push(shot(at + later, in_network(Some(key), &packet)));
            }
            let datagrams = (0..10u16).map(|n| (MS(10 * u64::from(n)), datagram(n)));
            let datagrams = datagrams.map(|(at, p)| shot(at + later, in_network(Some(there), &p)));
            shots.extend(datagrams);
        }
        shots.sort_by_key(|shot| shot.at);
        let (streams, totals) = analyse(&shots);
        assert_eq!((totals.tcp_streams, totals.udp_streams), (2, 2), "{keys:?}");
        for stream in &streams {
            let (tcp, packets) = (&stream.ways[0].tcp, stream.ways[0].volume.packets);
            match stream.id {
                StreamId::Tcp(_) => {
                    assert_eq!(
                        (tcp.unique_bytes, tcp.holes, tcp.retransmissions()),
                        (29_200, 0, 0)
                    );
                    assert_eq!((packets, stream.ways[1].volume.packets), (22, 21));
                }
                _ => assert_eq!(packets, 10),
            }
        }
    }
}

/// A mobile host has another tunnel after a handover, and the same connection. Packets that were
/// also captured without their tunnel are copies.
#[test]
fn a_connection_goes_on_in_another_tunnel() {
    let key = |at: Duration| if at < MS(200) { 1 } else { 2 };
    let packets = transfer(20);
    let shots: Vec<Shot> =
        packets.iter().map(|(at, _, p)| shot(*at, in_network(Some(key(*at)), p))).collect();
    let twice = packets.iter().zip(&shots).flat_map(|((at, _, p), one)| {
        [one.clone(), shot(*at + Duration::from_micros(50), p.clone())]
    });
    let twice: Vec<Shot> = twice.collect();
    for (shots, copies) in [(shots, 0), (twice, 43)] {
        let (streams, totals) = analyse(&shots);
        assert_eq!((streams.len(), totals.packets.copies), (1, copies));
        assert_eq!(streams[0].ways[0].tcp.unique_bytes, 29_200);
    }
}

/// One capture before a router that sends fragments and one behind it, the first within a tunnel:
/// three packets are lost between them.
#[test]
fn a_comparison_reads_tunnels_and_fragments() {
    let mut packets = transfer(20);
    let transport = Transport::Udp { source_port: 5, destination_port: 6 };
    let datagrams = 0..10u16;
    packets.extend(datagrams.map(|n| (MS(500 + u64::from(n)), 0, written(0, n, transport, 4_000))));
    let lost = [5, 9, 50];
    let mut shots = [Vec::new(), Vec::new()];
    for (number, (at, from, packet)) in packets.iter().enumerate() {
        let seen_at = if *from == 0 { [MS(0), MS(4)] } else { [MS(4), MS(0)] };
        if *from == 0 || !lost.contains(&number) {
            shots[0].push(shot(*at + seen_at[0], in_gre(packet)));
        }
        if *from == 1 || !lost.contains(&number) {
            let pieces = cut(packet, 560).into_iter();
            shots[1].extend(pieces.map(|piece| shot(*at + seen_at[1], piece)));
        }
    }
    shots.iter_mut().for_each(|shots| shots.sort_by_key(|shot| shot.at));
    let report = compared(compare::Config::default(), shots.each_ref().map(Vec::as_slice), &mut ());
    let [tcp, udp] = &report.flows[..] else { panic!("{} flows", report.flows.len()) };
    let [there, back] = &tcp.ways;
    assert_eq!((there.all.crossed, there.all.alone), (20, [2, 0]));
    assert_eq!((back.all.crossed, back.all.alone), (21, [0, 0]));
    assert_eq!((udp.ways[0].all.crossed, udp.ways[0].all.alone), (9, [1, 0]));
    assert_eq!(udp.ways[0].shift.range_ns(), Some((4_000_000, 4_000_000)));
}

#[test]
fn frames_that_are_not_read_are_named() {
    let mut analyzer = Analyzer::new(Config::default());
    let mut streams: Vec<Stream> = Vec::new();
    let arp = [&[2; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    for (link, bytes) in [(1u16, &arp[..]), (147, &arp), (1, &arp)] {
        let link = LinkType::from_number(link);
        let at = Instant::ZERO;
        analyzer.push(Captured { at, link, bytes, original_len: 42 }, &mut streams);
    }
    let totals = analyzer.finish(&mut streams);
    let named: Vec<_> = totals.contents.iter().collect();
    assert_eq!(named, [(Content::EtherType(0x0806), 2), (Content::LinkType(147), 1)]);
}

/// Packets of the sender are captured 30 ms late: each segment stands behind its ACK, and none is
/// sent twice. One that is sent twice is still known.
#[test]
fn a_late_direction_is_no_retransmission() {
    let late = |(at, from, packet)| {
        let delay = if from == 0 { MS(30) } else { MS(0) };
        shot(at + delay, packet)
    };
    let mut shots: Vec<Shot> = transfer(20).into_iter().map(late).collect();
    shots.push(shot(MS(900), segment(0, 99, 100 + 1_460 * 19, 500, false, 1_460)));
    shots.sort_by_key(|shot| shot.at);
    let (streams, _) = analyse(&shots);
    let sender = streams[0].ends.iter().position(|end| end.port() == PORTS[0]).unwrap();
    let tcp = &streams[0].ways[sender].tcp;
    assert_eq!((tcp.unique_bytes, tcp.retransmissions(), tcp.count(Kind::Data)), (29_200, 1, 20));
    assert_eq!((tcp.late, tcp.late_total), (20, MS(20 * 20)));
    assert!(matches!(streams[0].id, StreamId::Tcp(0)));
}

proptest! {
    /// Whatever is lost, doubled or moved: each packet is counted once, and memory is bounded.
    #[test]
    fn any_fragments_are_counted_once(
        picks in prop::collection::vec((0usize..1_000, 0u64..2_000, any::<bool>()), 0..400),
    ) {
        let mut all = Vec::new();
        for id in 0..300u16 {
            let transport = Transport::Udp { source_port: 5, destination_port: 6 };
            let packet = match id % 2 {
                0 => written(0, id, transport, 3_000),
                _ => segment(0, id, u32::from(id) * 3_000, 1, false, 3_000),
            };
            all.extend(cut(&packet, 1_000));
            all.push(in_gre(&cut(&packet, 1_000)[0]));
        }
        let mut at = Duration::ZERO;
        let mut shots = Vec::new();
        for (pick, ms, whole) in picks {
            at += MS(ms);
            let bytes = all[pick % all.len()].clone();
            shots.push(shot(at, bytes.clone()));
            if whole {
                shots.push(shot(at, segment(0, 7, 1, 1, false, 10)));
            }
        }
        let (streams, totals) = analyse(&shots);
        balance(&totals);
        let ways = streams.iter().flat_map(|stream| &stream.ways);
        let packets: u64 = ways.map(|way| way.volume.packets).sum();
        prop_assert_eq!(packets, totals.packets.tcp + totals.packets.udp);
    }
}
