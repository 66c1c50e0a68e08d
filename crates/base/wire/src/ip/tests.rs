//! Whole, cut, fragmented and impossible packets of both versions.

use super::*;
use crate::checksum::Sum;
use crate::datagram;
use crate::tcp;
use crate::tcp::{Flags, Options, Timestamps};
use core::net::Ipv6Addr;
use fairwave_units::Seq32;
use proptest::prelude::*;

fn v4(transport: datagram::Transport, payload_len: u32) -> Vec<u8> {
    let [source, destination] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    let (id, ttl, tos) = (0x1234, 64, 0x03);
    let whole = datagram::Datagram { source, destination, id, ttl, tos, transport, payload_len };
    let mut bytes = Vec::new();
    whole.write(&mut bytes).unwrap();
    bytes
}

fn header() -> tcp::Header {
    tcp::Header {
        source_port: 40_000,
        destination_port: 5_001,
        seq: Seq32(0xffff_fff0),
        ack: Seq32(7),
        flags: Flags { ack: true, psh: true, ..Flags::default() },
        window: 501,
        options: Options {
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..Options::default()
        },
        ..tcp::Header::default()
    }
}

fn segment(packet: Packet<'_>) -> Segment<'_> {
    match packet.transport {
        Transport::Tcp(segment) => segment,
        other => panic!("not TCP: {other:?}"),
    }
}

#[test]
fn a_whole_segment() {
    let mut bytes = v4(datagram::Transport::Tcp(header()), 1_448);
    // Link padding is no payload.
    bytes.extend([0; 6]);
    let packet = parse(&bytes, bytes.len() as u32).unwrap();
    assert_eq!((packet.id, packet.hops, packet.traffic_class), (0x1234, 64, 3));
    assert_eq!((packet.len, packet.part()), (1_500, Part::Whole));
    assert_eq!(packet.checksum(), Checksum::Right);
    let segment = segment(packet);
    assert_eq!((segment.header, segment.payload_len), (header(), 1_448));
    assert_eq!(segment.payload.len(), 1_448);
}

#[test]
fn a_cut_segment_keeps_its_length() {
    let bytes = v4(datagram::Transport::Tcp(header()), 1_448);
    let packet = parse(&bytes[..60], 1_500).unwrap();
    let cut = segment(packet);
    assert_eq!((cut.payload_len, cut.payload.len()), (1_448, 8));
    assert_eq!(packet.checksum(), Checksum::Unknown);
    // Cut within the options: what was before is kept, what is behind is not there.
    let cut = segment(parse(&bytes[..45], 1_500).unwrap());
    assert_eq!((cut.header.options, cut.payload_len), (Options::default(), 1_448));
    // Cut within the fixed part.
    let cut = parse(&bytes[..39], 1_500).unwrap();
    assert_eq!(cut.transport, Transport::Unreadable(PROTOCOL_TCP));
}

#[test]
fn a_total_length_of_zero_means_the_rest_of_the_frame() {
    let mut bytes = v4(datagram::Transport::Tcp(header()), 60_000);
    bytes[2..4].copy_from_slice(&[0, 0]);
    let packet = parse(&bytes[..100], 70_052).unwrap();
    assert_eq!((packet.len, segment(packet).payload_len), (70_052, 70_000));
}

/// A record of 100 bytes may state 4 GiB on the wire.
#[test]
fn a_length_that_no_header_states_is_bounded() {
    let mut bytes = v4(datagram::Transport::Tcp(header()), 60_000);
    bytes[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(parse(&bytes[..100], u32::MAX).unwrap().len, 512 << 10);
    let mut bytes = v6(PROTOCOL_UDP, &UDP);
    bytes[4..6].copy_from_slice(&[0, 0]);
    let packet = parse(&bytes, u32::MAX).unwrap();
    assert_eq!((packet.len, packet.body_len), (512 << 10, (512 << 10) - 40));
}

#[test]
fn sums_are_looked_at_when_asked() {
    let mut bytes = v4(datagram::Transport::Tcp(header()), 100);
    bytes[10] ^= 1;
    bytes[36] ^= 1;
    let packet = parse(&bytes, 152).unwrap();
    assert_eq!(segment(packet).payload_len, 100);
    assert_eq!(packet.checksum(), Checksum::Wrong);
    let udp = datagram::Transport::Udp { source_port: 1, destination_port: 2 };
    let mut bytes = v4(udp, 101);
    assert_eq!(parse(&bytes, 129).unwrap().checksum(), Checksum::Right);
    bytes[26..28].copy_from_slice(&[0, 0]);
    assert_eq!(parse(&bytes, 129).unwrap().checksum(), Checksum::Unknown);
}

#[test]
fn of_fragments_the_first_has_ports() {
    let udp = datagram::Transport::Udp { source_port: 1, destination_port: 2 };
    let mut bytes = v4(udp, 1_000);
    bytes[6..8].copy_from_slice(&0x2000u16.to_be_bytes());
    // The datagram goes on in other fragments: its own length says how far.
    bytes[24..26].copy_from_slice(&3_008u16.to_be_bytes());
    let first = parse(&bytes, 1_028).unwrap();
    assert_eq!((first.part(), first.checksum()), (Part::First, Checksum::Unknown));
    let Transport::Udp(datagram) = first.transport else { panic!("{first:?}") };
    assert_eq!((datagram.payload_len, datagram.payload.len()), (3_000, 1_000));
    assert_eq!(first.fragment, Some(Fragment { offset: 0, len: 1_008, is_last: false }));
    bytes[6..8].copy_from_slice(&0x0080u16.to_be_bytes());
    let later = parse(&bytes, 1_028).unwrap();
    assert_eq!((later.part(), later.transport), (Part::Later, Transport::Other(PROTOCOL_UDP)));
    assert_eq!(later.fragment, Some(Fragment { offset: 1_024, len: 1_008, is_last: true }));
}

#[test]
fn a_first_fragment_stands_for_its_datagram() {
    let mut bytes = v4(datagram::Transport::Tcp(header()), 528);
    bytes[6..8].copy_from_slice(&0x2000u16.to_be_bytes());
    let first = parse(&bytes, 580).unwrap();
    let whole = first.lengthened(1_492);
    assert_eq!((segment(first).payload_len, segment(whole).payload_len), (528, 1_460));
    assert_eq!((whole.len, whole.body_len, whole.body.len()), (1_512, 1_492, 560));
}

/// An IPv6 packet whose next header is `next`, with what follows the fixed header.
fn v6(next: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0x30, 0, 0];
    bytes.extend((rest.len() as u16).to_be_bytes());
    bytes.extend([next, 61]);
    bytes.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).octets());
    bytes.extend(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).octets());
    bytes.extend(rest);
    bytes
}

const UDP: [u8; 12] = [0, 53, 0x14, 0xe9, 0, 12, 0, 0, 1, 2, 3, 4];

#[test]
fn extension_headers_are_stepped_over() {
    let hop_by_hop = [60, 0, 5, 2, 0, 0, 1, 0];
    let destination = [51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let authentication = [17, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let rest = [&hop_by_hop[..], &destination, &authentication, &UDP].concat();
    let bytes = v6(0, &rest);
    let packet = parse(&bytes, bytes.len() as u32).unwrap();
    assert_eq!((packet.traffic_class, packet.hops, packet.part()), (3, 61, Part::Whole));
    let Transport::Udp(datagram) = packet.transport else { panic!("{packet:?}") };
    assert_eq!((datagram.source_port, datagram.payload), (53, &UDP[8..]));
}

#[test]
fn fragments_of_version_6_have_their_own_header() {
    for (word, part) in [(1u16, Part::First), (8, Part::Later), (0, Part::Whole)] {
        let mut rest = vec![17, 0];
        rest.extend(word.to_be_bytes());
        rest.extend(0xabcd_0001u32.to_be_bytes());
        rest.extend(UDP);
        let bytes = v6(44, &rest);
        let packet = parse(&bytes, bytes.len() as u32).unwrap();
        assert_eq!((packet.part(), packet.id), (part, 0xabcd_0001));
        let place = Fragment { offset: u32::from(word & 8), len: 12, is_last: word != 1 };
        assert_eq!(packet.fragment, Some(place).filter(|_| part != Part::Whole));
        let has_ports = matches!(packet.transport, Transport::Udp(_));
        assert_eq!(has_ports, part != Part::Later, "{packet:?}");
    }
}

#[test]
fn a_tcp_segment_over_version_6_has_a_sum_over_its_addresses() {
    let mut bytes = Vec::new();
    let pseudo = Pseudo::V4 { source: [0; 4].into(), destination: [0; 4].into() };
    header().write(&mut bytes, pseudo, &[9; 11]).unwrap();
    let packet = v6(PROTOCOL_TCP, &bytes);
    assert_eq!(parse(&packet, packet.len() as u32).unwrap().checksum(), Checksum::Wrong);
    // The writer summed over no addresses: make up for those of this packet.
    let addresses = Sum::default().add(&packet[8..40]).finish();
    let sum = u16::from_be_bytes([bytes[16], bytes[17]]);
    let right =
        !Sum::default().add(&(!sum).to_be_bytes()).add(&(!addresses).to_be_bytes()).finish();
    bytes[16..18].copy_from_slice(&(!right).to_be_bytes());
    let packet = v6(PROTOCOL_TCP, &bytes);
    let parsed = parse(&packet, packet.len() as u32).unwrap();
    assert_eq!(parsed.checksum(), Checksum::Right);
    assert_eq!(segment(parsed).payload_len, 11);
}

#[test]
fn impossible_headers_are_refused() {
    assert_eq!(
        parse(&[], 0),
        Err(Truncated { field: "version", offset: 0, need: 1, have: 0 }.into())
    );
    assert_eq!(parse(&[0x50; 40], 40), Err(Error::Version { version: 5 }));
    assert_eq!(parse(&[0x44; 40], 40), Err(Error::Length { offset: 0, bytes: 16 }));
    let mut bytes = v4(datagram::Transport::Tcp(header()), 0);
    bytes[2..4].copy_from_slice(&19u16.to_be_bytes());
    assert_eq!(parse(&bytes, 52), Err(Error::Length { offset: 2, bytes: 19 }));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(version in 4u8..7, mut bytes: Vec<u8>, wire_len: u32) {
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | *first & 0xf;
        }
        if let Ok(packet) = parse(&bytes, wire_len) {
            packet.checksum();
        }
    }

    #[test]
    fn what_a_receiver_accepts_is_read_alike(payload_len in 0u32..3_000, seq: u32, window: u16) {
        let written = tcp::Header { seq: Seq32(seq), window, ..header() };
        let bytes = v4(datagram::Transport::Tcp(written), payload_len);
        let (strict, payload) = datagram::parse(&bytes).unwrap();
        let packet = parse(&bytes, 0).unwrap();
        prop_assert_eq!(datagram::Transport::Tcp(segment(packet).header), strict.transport);
        prop_assert_eq!(segment(packet).payload, payload);
        prop_assert_eq!(packet.checksum(), Checksum::Right);
    }
}
