//! Short connections of which each packet is written by hand.

use crate::common::{MS, Shot, analyse};
use fairwave_trace::analysis::{Stream, TcpWay};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::tcp::{Flags, Header, Options};
use std::net::Ipv4Addr;

const PORTS: [u16; 2] = [40_000, 80];

/// Length of a segment with payload.
const PIECE: u32 = 1_000;

/// A packet of one of two hosts, with its header but for the ports, and the length of its payload.
fn packet(at: Duration, from: usize, header: Header, payload_len: u32) -> Shot {
    let (source_port, destination_port) = (PORTS[from], PORTS[1 - from]);
    let transport = Transport::Tcp(Header { source_port, destination_port, ..header });
    let hosts = [1, 2].map(|host| Ipv4Addr::new(192, 0, 2, host));
    let (source, destination) = (hosts[from], hosts[1 - from]);
    let datagram = Datagram { source, destination, id: 0, ttl: 64, tos: 0, transport, payload_len };
    let mut bytes = Vec::new();
    datagram.write(&mut bytes).unwrap();
    let len = bytes.len() as u32;
    Shot { at: Instant::ZERO + at, bytes, len }
}

/// A SYN of the first host, number 99, or the SYN-ACK of the second, number 499.
fn syn(at: Duration, from: usize, window_scale: Option<u8>) -> Shot {
    let flags = Flags { syn: true, ack: from == 1, ..Flags::default() };
    let options = Options { window_scale, ..Options::default() };
    let (seq, ack) = if from == 0 { (Seq32(99), Seq32(0)) } else { (Seq32(499), Seq32(100)) };
    packet(at, from, Header { seq, ack, flags, options, window: 500, ..Header::default() }, 0)
}

/// An ACK with the window field 1000, and perhaps with payload.
fn ack(at: Duration, from: usize, [seq, ack]: [u32; 2], payload_len: u32) -> Shot {
    let flags = Flags { ack: true, ..Flags::default() };
    let (seq, ack) = (Seq32(seq), Seq32(ack));
    packet(at, from, Header { seq, ack, flags, window: 1_000, ..Header::default() }, payload_len)
}

/// The first host's data segment of this number, from 0 on.
fn segment(at: Duration, number: u32) -> Shot {
    ack(at, 0, [100 + number * PIECE, 500], PIECE)
}

/// The second host's acknowledgement of so many segments.
fn acked(at: Duration, count: u32) -> Shot {
    ack(at, 1, [500, 100 + count * PIECE], 0)
}

/// Handshake of 20 ms in which both ends scale their windows.
fn handshake() -> Vec<Shot> {
    vec![syn(MS(0), 0, Some(7)), syn(MS(20), 1, Some(7)), ack(MS(20), 0, [100, 500], 0)]
}

/// The one connection of a capture.
fn only(shots: &[Shot]) -> Stream {
    let (mut streams, _) = analyse(shots);
    assert_eq!(streams.len(), 1);
    streams.remove(0)
}

/// Figures of one host's data.
fn way(stream: &Stream, from: usize) -> &TcpWay {
    let index = stream.ends.iter().position(|end| end.port() == PORTS[from]).unwrap();
    &stream.ways[index].tcp
}

/// RFC 7323 section 2.2: both SYNs must have the option. The window of a SYN is never scaled.
#[test]
fn windows_are_scaled_only_if_both_ends_offer_it() {
    for (offers, windows) in [
        ([Some(7), Some(2)], [128_000, 4_000]),
        ([Some(7), None], [1_000; 2]),
        ([None, Some(7)], [1_000; 2]),
        ([None, None], [1_000; 2]),
    ] {
        let shots = [
            syn(MS(0), 0, offers[0]),
            syn(MS(20), 1, offers[1]),
            ack(MS(20), 0, [100, 500], 0),
            ack(MS(40), 1, [500, 100], 0),
        ];
        let stream = only(&shots);
        let window_max = |from| way(&stream, from).window.map(|(_, maximum)| maximum);
        assert_eq!([0, 1].map(window_max), windows.map(Some), "{offers:?}");
    }
}

/// The clock is set back by a second, in the handshake or between a segment and its ACK.
#[test]
fn a_clock_that_is_set_back_gives_no_round_trip_time() {
    let mut shots = vec![
        syn(MS(2_000), 0, Some(7)),
        syn(MS(2_020), 1, Some(7)),
        ack(MS(1_020), 0, [100, 500], 0),
        segment(MS(1_030), 0),
        acked(MS(1_050), 1),
    ];
    let stream = only(&shots);
    let tcp = way(&stream, 0);
    assert_eq!((tcp.handshake, tcp.rtt.min(), tcp.rtt.count()), (None, Some(MS(20)), 2));
    shots = handshake();
    shots.iter_mut().for_each(|shot| shot.at += MS(2_000));
    shots.extend([segment(MS(2_040), 0), acked(MS(1_060), 1)]);
    shots.extend([segment(MS(1_080), 1), acked(MS(1_100), 2)]);
    let stream = only(&shots);
    let tcp = way(&stream, 0);
    assert_eq!((tcp.handshake, tcp.rtt.min(), tcp.rtt.count()), (Some(MS(20)), Some(MS(20)), 2));
}

/// Near the receiver, behind a loss: the second of four segments comes 100 ms after the others,
/// without timestamps. The ACK of all of them says nothing about the way of the last.
#[test]
fn a_filled_hole_gives_no_round_trip_time() {
    let mut shots = handshake();
    shots.extend([segment(MS(100), 0), acked(MS(101), 1)]);
    shots.extend([segment(MS(102), 2), segment(MS(103), 3)]);
    shots.extend([segment(MS(202), 1), acked(MS(203), 4)]);
    shots.extend([segment(MS(204), 4), acked(MS(206), 5)]);
    let stream = only(&shots);
    let rtt = &way(&stream, 0).rtt;
    // Those of the SYN and of two segments.
    assert_eq!((rtt.count(), rtt.min(), rtt.max()), (3, Some(MS(1)), Some(MS(20))));
}

/// Of an upload of 6 GiB only the ACKs are captured, one for each GiB.
#[test]
fn acks_alone_count_beyond_two_gibibytes() {
    let gib = 1u32 << 30;
    let number = |count: u32| gib.wrapping_mul(count).wrapping_add(100);
    let acks = (0..=6).map(|count| ack(MS(count.into()), 1, [500, number(count)], 0));
    let stream = only(&acks.collect::<Vec<_>>());
    assert_eq!(way(&stream, 0).acked_bytes, 6 << 30);
}
