//! Cutting and joining, against RFC arithmetic and against each other.

use super::*;
use crate::address;
use fairwave_trace::NodeId;
use fairwave_units::Seq32;
use fairwave_wire::checksum::Sum;
use fairwave_wire::datagram::{self, Datagram, Transport};
use fairwave_wire::ip::{self, Checksum};
use fairwave_wire::tcp::{self, Flags, Timestamps};
use proptest::prelude::*;

/// A large segment as a kernel hands it over: the checksum field holds the pseudo header's sum.
fn large(payload_len: u32, flags: Flags, is_v6: bool) -> Vec<u8> {
    let mut header = tcp::Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq32(u32::MAX - 999),
        ack: Seq32(5),
        flags: Flags { ack: true, ..flags },
        window: 77,
        ..tcp::Header::default()
    };
    header.options.timestamps = Some(Timestamps { value: 3, echo: 4 });
    let (source, destination) = (address::v4(NodeId(0)), address::v4(NodeId(1)));
    let transport = Transport::Tcp(header);
    let value =
        Datagram { source, destination, id: 0xffff, ttl: 64, tos: 2, transport, payload_len };
    let mut frame = Vec::new();
    value.write(&mut frame).expect("it fits");
    if is_v6 {
        let segment = frame.split_off(20);
        frame = vec![0x60, 0x20, 0, 0];
        frame.extend((segment.len() as u16).to_be_bytes());
        frame.extend([6, 64]);
        frame.extend(address::v6(NodeId(0)).octets());
        frame.extend(address::v6(NodeId(1)).octets());
        frame.extend(segment);
    }
    let at = if is_v6 { 40 } else { 20 };
    unfinish(&mut frame, at, at + 16, 6);
    frame
}

/// Leaves a checksum unfinished.
fn unfinish(frame: &mut [u8], start: usize, field: usize, protocol: u8) {
    let addresses = if frame[0] >> 4 == 6 { 8..40 } else { 12..20 };
    let len = (frame.len() - start) as u32;
    let pseudo = Sum::default().add(&frame[addresses]).add(&[0, protocol]).add(&len.to_be_bytes());
    frame[field..field + 2].copy_from_slice(&(!pseudo.finish()).to_be_bytes());
}

fn header(gso: Gso, gso_size: u16, start: u16, offset: u16) -> Header {
    let (checksum_start, checksum_offset) = (start, offset);
    let needs_checksum = true;
    Header { needs_checksum, gso, gso_size, checksum_start, checksum_offset, ..Header::default() }
}

fn tso(gso_size: u16, is_v6: bool) -> Header {
    if is_v6 { header(Gso::Tcp6, gso_size, 40, 16) } else { header(Gso::Tcp4, gso_size, 20, 16) }
}

fn cut(header: &Header, frame: &[u8]) -> Vec<Vec<u8>> {
    let mut segments = Segments::new(header, frame).expect("it can be cut");
    let expected = segments.left();
    let (mut out, mut packet) = (Vec::new(), vec![9; 9]);
    while segments.next_into(&mut packet) {
        out.push(packet.clone());
    }
    assert_eq!(out.len(), expected);
    out
}

fn udp(payload_len: u32) -> Vec<u8> {
    let (source, destination) = (address::v4(NodeId(0)), address::v4(NodeId(1)));
    let transport = Transport::Udp { source_port: 7, destination_port: 8 };
    let value = Datagram { source, destination, id: 40, ttl: 64, tos: 0, transport, payload_len };
    let mut frame = Vec::new();
    value.write(&mut frame).expect("it fits");
    frame
}

/// RFC 1071's sum of a UDP datagram, by a second way: what our own writer computes.
#[test]
fn an_unfinished_checksum_is_finished() {
    let whole = udp(33);
    let mut frame = whole.clone();
    unfinish(&mut frame, 20, 26, 17);
    assert_ne!(frame, whole);
    assert_eq!(cut(&header(Gso::None, 0, 20, 6), &frame), [whole]);
}

/// CRC32c bit by bit (RFC 9260 appendix A), as a receiver computes it.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let shift = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        (0..8).fold(crc ^ u32::from(*byte), shift)
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn an_unfinished_checksum_of_sctp_is_a_crc() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283, "the usual check value");
    // Of SCTP only the place of its checksum counts.
    let mut frame = udp(33);
    frame[9] = 132;
    frame[28..32].fill(7);
    let [packet] = &cut(&header(Gso::None, 0, 20, 8), &frame)[..] else { panic!("one packet") };
    frame[28..32].fill(0);
    let crc = crc32c(&frame[20..]).to_le_bytes();
    assert_eq!(
        (&packet[..28], &packet[28..32], &packet[32..]),
        (&frame[..28], &crc[..], &frame[32..])
    );
    let outside = Segments::new(&header(Gso::None, 0, 51, 8), &frame);
    assert!(matches!(outside, Err(Error::Checksum { .. })), "four bytes from 59 on of 61");
}

#[test]
fn a_packet_that_is_whole_stays_as_it_is() {
    assert_eq!(cut(&Header::default(), &udp(33)), [udp(33)]);
}

/// 3000 bytes at 1400: numbers go on over the wrap of 32 and 16 bits; CWR is on the first segment
/// alone, PSH and FIN on the last, ECE on all.
#[test]
fn a_segment_is_cut_as_a_card_cuts_it() {
    let flags = Flags { psh: true, fin: true, cwr: true, ece: true, ..Flags::default() };
    let parts = cut(&tso(1400, false), &large(3000, flags, false));
    let read: Vec<_> =
        parts.iter().map(|part| datagram::parse(part).expect("right sums").0).collect();
    let headers: Vec<_> = read
        .iter()
        .map(|datagram| match datagram.transport {
            Transport::Tcp(header) => header,
            _ => panic!("a segment"),
        })
        .collect();
    let lens: Vec<_> = read.iter().map(|datagram| (datagram.payload_len, datagram.id)).collect();
    assert_eq!(lens, [(1400, 0xffff), (1400, 0), (200, 1)]);
    let seqs: Vec<_> = headers.iter().map(|header| header.seq).collect();
    assert_eq!(seqs, [Seq32(u32::MAX - 999), Seq32(400), Seq32(1800)]);
    let marks: Vec<_> =
        headers.iter().map(|header| header.flags).map(|f| (f.cwr, f.psh, f.fin)).collect();
    assert_eq!(marks, [(true, false, false), (false, false, false), (false, true, true)]);
    assert!(headers.iter().all(|header| header.flags.ece && header.flags.ack));
    assert!(headers.iter().all(|header| header.options.timestamps.is_some()));
}

#[test]
fn udp_is_cut_into_datagrams() {
    let mut frame = udp(2500);
    unfinish(&mut frame, 20, 26, 17);
    let parts = cut(&header(Gso::Udp, 1000, 20, 6), &frame);
    let read: Vec<_> =
        parts.iter().map(|part| datagram::parse(part).expect("right sums").0).collect();
    let lens: Vec<_> = read.iter().map(|datagram| (datagram.payload_len, datagram.id)).collect();
    assert_eq!(lens, [(1000, 40), (1000, 41), (500, 42)]);
}

/// RFC 791 section 3.1: offsets in units of eight bytes, the same identification, MF on all but
/// the last. Together they are the datagram with its checksum.
#[test]
fn udp_is_cut_into_fragments() {
    let (whole, mut frame) = (udp(2500), udp(2500));
    unfinish(&mut frame, 20, 26, 17);
    let parts = cut(&header(Gso::Fragments, 1005, 20, 6), &frame);
    let words: Vec<_> = parts.iter().map(|part| u16::from_be_bytes([part[6], part[7]])).collect();
    assert_eq!(words, [0x2000, 0x2000 | 125, 250]);
    assert!(parts.iter().all(|part| Sum::default().add(&part[..20]).finish() == 0));
    assert!(parts.iter().all(|part| part[4..6] == whole[4..6]));
    let bodies: Vec<u8> = parts.iter().flat_map(|part| part[20..].to_vec()).collect();
    assert_eq!(bodies, whole[20..]);
}

#[test]
fn nonsense_is_refused() {
    let frame = large(3000, Flags::default(), false);
    let refused =
        |header: Header, frame: &[u8]| Segments::new(&header, frame).map(|_| ()).unwrap_err();
    assert_eq!(refused(tso(0, false), &frame), Error::Size(0));
    assert_eq!(refused(tso(1400, true), &frame), Error::Mismatch(Gso::Tcp6));
    let outside = header(Gso::None, 0, 4000, 16);
    assert_eq!(refused(outside, &frame), Error::Checksum { start: 4000, offset: 16, len: 3052 });
    let unknown = Header { gso: Gso::Other(9), ..Header::default() };
    assert_eq!(refused(unknown, &frame), Error::Unknown(Gso::Other(9)));
    let mismatch = Header { gso: Gso::Udp, gso_size: 100, ..Header::default() };
    assert_eq!(refused(mismatch, &frame), Error::Mismatch(Gso::Udp));
}

/// The layout of `struct virtio_net_hdr` (virtio 1.2 section 5.1.6).
#[test]
fn the_header_has_the_layout_of_virtio() {
    let header = Header { header_len: 52, ..tso(1400, false) };
    let mut expected = vec![1, 1];
    for word in [52u16, 1400, 20, 16] {
        expected.extend(word.to_ne_bytes());
    }
    assert_eq!(header.bytes()[..], expected);
    expected.push(0x45);
    let (read, rest) = Header::parse(&expected).expect("it is whole");
    assert_eq!((read, rest), (header, &[0x45][..]));
    assert_eq!(Header::parse(&expected[..9]), None);
    expected[1] = 0x84;
    assert_eq!(Header::parse(&expected).expect("whole").0.gso, Gso::Tcp6, "with the bit for CWR");
}

fn joined(packets: &[Vec<u8>]) -> (Header, Vec<u8>) {
    let mut joiner = Joiner::default();
    for packet in packets {
        assert!(joiner.offer(packet, true));
    }
    let (header, bytes) = joiner.take();
    (header, bytes.to_vec())
}

/// What makes a segment another one ends what can be joined.
#[test]
fn only_segments_that_say_the_same_are_joined() {
    let parts = cut(&tso(1000, false), &large(3000, Flags::default(), false));
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut joiner = Joiner::default();
        assert!(joiner.offer(&parts[0], true));
        let mut next = parts[1].clone();
        change(&mut next);
        !joiner.offer(&next, true)
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|packet| packet[1] |= 3), "a mark");
    assert!(refused(&|packet| packet[20 + 7] ^= 1), "another sequence number");
    assert!(refused(&|packet| packet[20 + 13] |= 1), "FIN");
    assert!(refused(&|packet| packet[20 + 15] ^= 1), "another window");
    assert!(refused(&|packet| packet[20 + 25] ^= 1), "another timestamp");
    assert!(refused(&|packet| packet[5] ^= 4), "another identification");
    assert!(refused(&|packet| packet.push(0)), "padding");
    assert!(refused(&|packet| *packet = udp(100)));
    let mut joiner = Joiner::default();
    assert!(joiner.offer(&udp(10), true) && !joiner.offer(&udp(11), true), "it is longer");
    let (header, packet) = joiner.take();
    assert_eq!((header.gso, header.needs_checksum, packet), (Gso::None, false, &*udp(10)));
    assert!(joiner.is_empty());
}

/// Datagrams as a kernel hands them over at once (USO) are joined again; where the other kernel
/// cannot cut them they stay apart.
#[test]
fn datagrams_are_joined_where_that_is_wanted() {
    let mut frame = udp(2500);
    unfinish(&mut frame, 20, 26, 17);
    let header = Header { header_len: 28, ..header(Gso::Udp, 1000, 20, 6) };
    let parts = cut(&header, &frame);
    assert_eq!(joined(&parts), (header, frame));
    let mut joiner = Joiner::default();
    assert!(joiner.offer(&parts[0], false) && !joiner.offer(&parts[1], false));
    let mut joiner = Joiner::default();
    assert!(joiner.offer(&parts[2], true));
    assert!(!joiner.offer(&parts[0], true), "what is longer, and earlier");
    let mut other_port = parts[1].clone();
    other_port[21] ^= 1;
    let mut without_sum = parts[1].clone();
    without_sum[26..28].fill(0);
    for other in [other_port, without_sum, parts[2].clone()] {
        let mut joiner = Joiner::default();
        assert!(joiner.offer(&parts[0], true) && !joiner.offer(&other, true));
    }
}

/// RFC 6864 section 4.1. Linux numbers no datagrams of sockets that are not connected.
#[test]
fn an_identification_counts_only_where_fragments_may_come() {
    let numbered = |fragments: u8| {
        let mut datagram = udp(1000);
        datagram[6] = fragments;
        datagram
    };
    for (fragments, joins) in [(0x40, true), (0, false)] {
        let mut joiner = Joiner::default();
        assert!(joiner.offer(&numbered(fragments), true));
        assert_eq!(joiner.offer(&numbered(fragments), true), joins);
        assert_eq!(joiner.offer(&numbered(fragments), true), joins, "the third, too");
        let counted = if joins { 3 } else { 1 };
        assert_eq!(joiner.count(), counted);
    }
}

#[test]
fn a_short_segment_or_psh_ends_what_is_joined() {
    let parts =
        cut(&tso(1000, false), &large(2500, Flags { psh: true, ..Flags::default() }, false));
    let more = cut(&tso(1000, false), &large(4000, Flags::default(), false));
    let mut joiner = Joiner::default();
    assert!(parts.iter().all(|part| joiner.offer(part, true)));
    assert!(!joiner.offer(&more[3], true));
    assert_eq!(joiner.count(), 3);
}

proptest! {
    /// Segments are right, and joined again they are what was cut.
    #[test]
    fn cut_and_joined_a_segment_is_itself(
        payload_len in 1u32..20_000,
        size in 500u16..3000,
        psh: bool,
        is_v6: bool,
    ) {
        let frame = large(payload_len, Flags { psh, ..Flags::default() }, is_v6);
        let header = tso(size, is_v6);
        let parts = cut(&header, &frame);
        prop_assert_eq!(parts.len(), (payload_len as usize).div_ceil(usize::from(size)));
        for part in &parts {
            let read = ip::parse(part, 0).expect("a packet");
            prop_assert_eq!(read.len as usize, part.len());
            prop_assert_eq!(read.checksum(), Checksum::Right);
        }
        let (again, bytes) = joined(&parts);
        if parts.len() > 1 {
            prop_assert_eq!(bytes, frame);
            let header_len = if is_v6 { 72 } else { 52 };
            prop_assert_eq!(again, Header { header_len, ..header });
        } else {
            prop_assert_eq!(&bytes, &parts[0]);
            prop_assert!(again.is_verified);
        }
    }

    #[test]
    fn any_frame_is_taken(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let Some((header, frame)) = Header::parse(&bytes) else { return Ok(()) };
        if let Ok(mut segments) = Segments::new(&header, frame) {
            let mut packet = Vec::new();
            let mut joiner = Joiner::default();
            for _ in 0..20 {
                if segments.next_into(&mut packet) && !joiner.offer(&packet, true) {
                    joiner.take();
                }
            }
        }
    }

    /// The header of a frame may say anything of a segment that is right.
    #[test]
    fn any_header_is_taken(
            head: [u8; HEADER_LEN],
            is_v6: bool,
            flip in any::<prop::sample::Index>(),
        ) {
        let mut frame = large(3000, Flags::default(), is_v6);
        let at = flip.index(80);
        frame[at] = !frame[at];
        let (header, _) = Header::parse(&head).expect("it is whole");
        if let Ok(mut segments) = Segments::new(&header, &frame) {
            let (mut packet, mut count) = (Vec::new(), 0);
            while segments.next_into(&mut packet) {
                count += 1;
            }
            prop_assert!(count <= 3100);
        }
    }
}
