//! Datagrams: round trips, the payload pattern, and what does not fit.

use super::*;
use crate::ethernet::EtherType;
use crate::testing::hex;
use fairwave_units::Seq32;
use proptest::prelude::*;

fn datagram(transport: Transport, payload_len: u32) -> Datagram {
    Datagram {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 1, 2),
        id: 7,
        ttl: 64,
        tos: 2,
        transport,
        payload_len,
    }
}

fn segment(seq: u32, payload_len: u32) -> Datagram {
    let header = tcp::Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq32(seq),
        flags: tcp::Flags { ack: true, ..tcp::Flags::default() },
        ..tcp::Header::default()
    };
    datagram(Transport::Tcp(header), payload_len)
}

fn written(datagram: &Datagram) -> Vec<u8> {
    let mut out = Vec::new();
    datagram.write(&mut out).unwrap();
    out
}

/// RFC 3168 section 5: only what is ECN-capable may be marked, and the six bits of
/// differentiated services beside the field stay.
#[test]
fn only_capable_datagrams_are_marked() {
    for (tos, marked) in
        [(0b10_1100, None), (0b10_1101, Some(0b10_1111)), (2, Some(3)), (3, Some(3))]
    {
        let mut value = Datagram { tos, ..segment(1, 8) };
        assert_eq!(value.mark_ce(), marked.is_some(), "{tos:#b}");
        assert_eq!(value.tos, marked.unwrap_or(tos), "{tos:#b}");
        assert_eq!(value.ecn() == Ecn::Ce, marked.is_some(), "{tos:#b}");
        let bytes = written(&value);
        assert_eq!(parse(&bytes).unwrap().0.ecn(), value.ecn());
    }
}

#[test]
fn a_segment_in_hex_shows_its_sequence_numbers() {
    let bytes = written(&segment(0x1002, 8));
    assert_eq!(hex(&bytes[40..]), "1000 00001004 0000".replace(' ', ""));
    assert_eq!(
        hex(&bytes[..40]),
        "45020030 00074000 400625bd 0a000001 0a000102 \
         00010002 00001002 00000000 50100000 6ac10000"
            .replace(' ', "")
    );
}

#[test]
fn udp_in_hex() {
    let transport = Transport::Udp { source_port: 3, destination_port: 4 };
    assert_eq!(
        hex(&written(&datagram(transport, 5))),
        "45020021 00074000 401125c1 0a000001 0a000102 00030004 000d eac3 0007000000"
            .replace(' ', "")
    );
}

#[test]
fn the_pattern_continues_over_segments_and_the_wrap() {
    let whole = segment(0xffff_fff8, 20).payload();
    let parts = [segment(0xffff_fff8, 9).payload(), segment(1, 11).payload()].concat();
    assert_eq!(whole, parts);
    assert_eq!(hex(&whole), "fffffff8fffffffc000000000000000400000008");
}

#[test]
fn data_in_a_syn_begins_after_it() {
    let mut syn = segment(0x0fff, 4);
    if let Transport::Tcp(header) = &mut syn.transport {
        header.flags.syn = true;
    }
    assert_eq!(hex(&syn.payload()), "00001000");
}

#[test]
fn a_foreign_payload_is_located() {
    let datagram = segment(0x1000, 8);
    let mut payload = datagram.payload();
    assert_eq!(datagram.first_mismatch(&payload), None);
    assert_eq!(datagram.first_mismatch(&payload[..5]), Some(5));
    payload.push(0);
    assert_eq!(datagram.first_mismatch(&payload), Some(8));
    payload[6] ^= 1;
    assert_eq!(datagram.first_mismatch(&payload), Some(6));
}

#[test]
fn what_does_not_fit_writes_nothing() {
    let mut out = vec![9];
    assert!(segment(0, 65_496).write(&mut out).is_err());
    let mut scaled = segment(0, 0);
    if let Transport::Tcp(header) = &mut scaled.transport {
        header.options.window_scale = Some(15);
    }
    let error = scaled.write(&mut out).unwrap_err().to_string();
    assert_eq!((error.as_str(), out), ("tcp: window scale 15 is above 14", vec![9]));
}

#[test]
fn other_protocols_are_refused() {
    let header = ipv4::Header { protocol: 1, payload_len: 0, ..segment(0, 0).ipv4() };
    let mut out = Vec::new();
    header.write(&mut out).unwrap();
    assert_eq!(parse(&out), Err(Error::Protocol { protocol: 1 }));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        is_tcp: bool, ports: (u16, u16), seq: u32, id: u16, ttl: u8, tos: u8, len in 0u32..1500,
    ) {
        let mut value = if is_tcp {
            segment(seq, len)
        } else {
            datagram(Transport::Udp { source_port: ports.0, destination_port: ports.1 }, len)
        };
        (value.id, value.ttl, value.tos) = (id, ttl, tos);
        let bytes = written(&value);
        prop_assert_eq!(bytes.len() as u32, value.wire_len());
        let (read, payload) = parse(&bytes).unwrap();
        prop_assert_eq!(read, value);
        prop_assert_eq!(read.first_mismatch(payload), None);
    }

    #[test]
    fn a_flipped_bit_is_found(bit in 0usize..48 * 8) {
        let mut bytes = written(&segment(5, 8));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(parse(&bytes).is_err());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }
}

/// The simulator copies datagrams: DCCP must not make those of TCP larger. Its options alone may
/// take 1008 bytes, which is why they are kept aside.
#[test]
fn dccp_takes_no_more_room_than_tcp() {
    assert_eq!(size_of::<Transport>(), size_of::<tcp::Header>());
    assert!(size_of::<dccp::Header>() <= 40, "{}", size_of::<dccp::Header>());
}

#[test]
fn dccp_options_are_written_or_padded() {
    let header = dccp::Header {
        source_port: 1,
        destination_port: 2,
        ccval: 3,
        coverage: 0,
        seq: dccp::Seq48::new(0x1_0007),
        short: false,
        kind: dccp::Kind::DataAck { ack: dccp::Seq48::new(9) },
        options_words: 2,
    };
    let value = datagram(Transport::Dccp(header), 6);
    assert_eq!(value.wire_len(), 20 + 24 + 8 + 6);
    let mut options = dccp::Options::new();
    options.push(dccp::Value::Timestamp(5)).unwrap();
    let mut bytes = Vec::new();
    let contents = Contents::Options(options);
    assert!(contents.fit(&value));
    value.write_with(Some(&contents), &mut bytes).unwrap();
    assert_eq!(hex(&bytes[44..52]), "2906000000050000");
    assert_eq!(hex(&bytes[52..]), "000700000007", "the pattern begins at the number");
    for bytes in [bytes, written(&value)] {
        let (read, payload) = parse(&bytes).unwrap();
        assert_eq!((read, read.first_mismatch(payload)), (value, None));
    }
}

#[test]
fn a_payload_is_written_piece_by_piece_and_never_another_packets() {
    let transport = Transport::Udp { source_port: 3, destination_port: 4 };
    let value = datagram(transport, 12);
    let pieces = vec![
        Piece::Bytes(b"abc".to_vec()),
        Piece::Pattern { position: 0xffff_fffe, len: 7 },
        Piece::Bytes(b"xy".to_vec()),
    ];
    let contents = Contents::Payload(pieces);
    assert!(contents.fit(&value));
    let mut bytes = Vec::new();
    value.write_with(Some(&contents), &mut bytes).unwrap();
    let (read, payload) = parse(&bytes).unwrap();
    assert_eq!(read, value);
    assert_eq!(hex(payload), "616263 fffc 00000000 00 7879".replace(' ', ""));
    let shorter = Datagram { payload_len: 11, ..value };
    assert!(!contents.fit(&shorter));
    let refused = shorter.write_with(Some(&contents), &mut bytes);
    assert_eq!(refused, Err(Error::Contents { len: 12, payload_len: 11 }));
    assert_eq!(bytes.len(), 40, "nothing is appended");
}

/// A real segment with an option that we do not write, over IPv6: its own bytes come out, with
/// the mark and the window that queues left on its datagram.
#[test]
fn a_whole_packet_is_written_as_queues_left_it() {
    let header = tcp::Header { window: 900, ..tcp::Header::default() };
    let stand_in = Datagram { tos: 2, ..datagram(Transport::Tcp(header), 32) };
    let mut packet = vec![0x60, 0x20, 0, 0, 0, 32, 6, 64];
    packet.extend([0xfd; 32]);
    packet.extend(&written(&stand_in)[20..40]);
    packet[40 + 12] = 6 << 4;
    packet.extend([30, 4, 1, 2]);
    packet.extend(b"data is.");
    let contents = Contents::Packet(packet.clone());
    assert!(contents.fit(&stand_in));
    assert!(!contents.fit(&Datagram { payload_len: 31, ..stand_in }));
    assert_eq!(contents.ether_type(), EtherType::IPV6);
    let mut bytes = Vec::new();
    stand_in.write_with(Some(&contents), &mut bytes).unwrap();
    assert_eq!(bytes, packet);

    let mut left = stand_in;
    assert!(left.mark_ce());
    left.transport = Transport::Tcp(tcp::Header { window: 5, ..header });
    bytes.clear();
    left.write_with(Some(&contents), &mut bytes).unwrap();
    let changed: Vec<_> = (0..packet.len()).filter(|&at| bytes[at] != packet[at]).collect();
    assert_eq!((bytes[1], &bytes[54..56]), (0x30, &[0, 5][..]));
    assert_eq!(changed, [1, 54, 55, 56, 57], "the mark, the window, the sum");
}
