//! Real packets and what stands for them.

use super::*;
use fairwave_units::Seq32;
use fairwave_wire::checksum::Sum;
use fairwave_wire::tcp::{Flags, Header, Timestamps};
use proptest::prelude::*;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(4);

fn header() -> Header {
    let flags = Flags { ack: true, ..Flags::default() };
    let mut header = Header {
        source_port: 40_000,
        destination_port: 5201,
        seq: Seq32(77),
        ack: Seq32(99),
        flags,
        window: 500,
        ..Header::default()
    };
    header.options.timestamps = Some(Timestamps { value: 1, echo: 2 });
    header
}

fn datagram(transport: Transport, payload_len: u32) -> Datagram {
    let (source, destination) = (address::v4(A), address::v4(B));
    Datagram { source, destination, id: 0, ttl: 64, tos: 0, transport, payload_len }
}

fn written(datagram: &Datagram) -> Vec<u8> {
    let mut out = Vec::new();
    datagram.write(&mut out).expect("it fits");
    out
}

fn described(bytes: &[u8]) -> Description {
    describe(bytes, bytes.len() as u32).expect("an IP packet")
}

/// An IPv6 packet: base header, and what it carries.
fn v6(next: u8, traffic_class: u8, body: &[u8]) -> Vec<u8> {
    let word = 6 << 28 | u32::from(traffic_class) << 20;
    let mut out = word.to_be_bytes().to_vec();
    out.extend((body.len() as u16).to_be_bytes());
    out.extend([next, 64]);
    out.extend(address::v6(A).octets());
    out.extend(address::v6(B).octets());
    out.extend(body);
    out
}

/// An IPv4 packet of any protocol, with this word of flags and fragment offset.
fn v4(protocol: u8, fragment: u16, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x45, 0];
    out.extend((20 + body.len() as u16).to_be_bytes());
    out.extend([0, 9]);
    out.extend(fragment.to_be_bytes());
    out.extend([64, protocol, 0, 0]);
    out.extend(address::v4(A).octets());
    out.extend(address::v4(B).octets());
    let sum = Sum::default().add(&out).finish();
    out[10..12].copy_from_slice(&sum.to_be_bytes());
    out.extend(body);
    out
}

#[test]
fn a_segment_is_its_own_datagram() {
    for payload_len in [0, 1448] {
        let truth = Datagram { tos: 0x0a, ..datagram(Transport::Tcp(header()), payload_len) };
        let seen = described(&written(&truth));
        assert_eq!(seen.datagram, truth);
        assert_eq!(seen.source, IpAddr::V4(address::v4(A)));
        assert_eq!(seen.destination, IpAddr::V4(address::v4(B)));
    }
}

#[test]
fn a_udp_datagram_is_its_own() {
    let truth = datagram(Transport::Udp { source_port: 1, destination_port: 2 }, 1200);
    assert_eq!(described(&written(&truth)).datagram, truth);
}

/// An option that Fairwave does not know (MPTCP, 12 bytes) makes an ACK longer; filters take it
/// for data.
#[test]
fn unknown_options_count_as_payload() {
    let mut bytes = written(&datagram(Transport::Tcp(header()), 0));
    bytes[20 + 12] = ((32 + 12) / 4) << 4;
    bytes.extend([30, 12, 0x20, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let len = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    let seen = described(&bytes).datagram;
    assert_eq!((seen.wire_len(), seen.payload_len), (u32::from(len), 12));
    assert_eq!(seen.transport, Transport::Tcp(header()));
}

/// Timestamps and a SACK block without padding take 20 bytes, and 24 as we would write them. With
/// one byte of data this must not pass for a pure ACK.
#[test]
fn data_behind_tight_options_is_no_pure_ack() {
    let mut options = vec![8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 10];
    options.extend([0, 0, 1, 0, 0, 0, 2, 0]);
    let mut segment = written(&datagram(Transport::Tcp(Header::default()), 0))[20..].to_vec();
    segment[12] = ((20 + 20) / 4) << 4;
    segment.extend(options);
    segment.push(0xaa);
    let seen = described(&v4(6, 0, &segment)).datagram;
    assert_eq!(seen.wire_len(), 61);
    assert!(matches!(seen.transport, Transport::Udp { .. }), "{seen:?}");
}

#[test]
fn ipv6_has_its_length_its_ports_and_its_marks() {
    let segment = &written(&datagram(Transport::Tcp(header()), 100))[20..];
    let bytes = v6(6, 0xba, segment);
    let seen = described(&bytes);
    assert_eq!(seen.datagram.wire_len() as usize, bytes.len());
    assert_eq!(seen.datagram.transport, Transport::Tcp(header()));
    assert_eq!((seen.datagram.source, seen.datagram.destination), (address::v4(A), address::v4(B)));
    assert_eq!(seen.category, AccessCategory::Voice, "EF");
    let mut marked = seen.datagram;
    assert!(marked.mark_ce());
    let mut after = bytes;
    apply(&marked, &mut after);
    assert_eq!(described(&after).datagram.tos, 0xbb);
}

#[test]
fn fragments_of_a_packet_are_one_flow() {
    let whole =
        &written(&datagram(Transport::Udp { source_port: 1, destination_port: 2 }, 64))[20..];
    let first = described(&v4(17, 0x2000, &whole[..40])).datagram;
    let later = described(&v4(17, 5, &whole[40..])).datagram;
    assert_eq!(first.transport, later.transport);
    assert_eq!((first.wire_len(), later.wire_len()), (60, 52));
}

#[test]
fn an_echo_is_told_from_others_by_its_identifier() {
    let echo = |kind: u8, id: u8| described(&v4(1, 0, &[kind, 0, 0, 0, 0, id, 0, 1])).datagram;
    assert_eq!(echo(8, 3).transport.ports(), (1, 3));
    assert_eq!(echo(0, 3).transport.ports(), (1, 3));
    assert_eq!(echo(3, 3).transport.ports(), (1, 0), "an error has none");
}

#[test]
fn a_length_that_is_not_that_of_the_packet_is_refused() {
    let mut bytes = written(&datagram(Transport::Tcp(header()), 10));
    bytes.push(0);
    let refused = describe(&bytes, bytes.len() as u32);
    assert_eq!(refused, Err(Error::Length { stated: 62, len: 63 }));
    assert!(describe(&[], 0).is_err());
}

/// RFC 8325 section 4.3, figure 1, row by row.
#[test]
fn code_points_have_the_categories_of_rfc_8325() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    let rows = [
        (vec![48, 56, 46, 44], Voice),
        (vec![40, 34, 36, 38, 32, 26, 28, 30, 24], Video),
        (vec![18, 20, 22, 16, 10, 12, 14, 0], BestEffort),
        (vec![8, 1], Background),
        (vec![63, 2, 33], BestEffort),
    ];
    for (dscp, expected) in rows.iter().flat_map(|(list, ac)| list.iter().map(move |d| (*d, *ac))) {
        assert_eq!(category(dscp << 2 | 1), expected, "DSCP {dscp}");
    }
}

#[test]
fn a_clamped_window_reaches_the_bytes() {
    let truth = datagram(Transport::Tcp(Header { window: 900, ..header() }), 0);
    let mut bytes = written(&truth);
    let clamped = datagram(Transport::Tcp(Header { window: 50, ..header() }), 0);
    apply(&clamped, &mut bytes);
    assert_eq!(bytes, written(&clamped));
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(seen) = describe(&bytes, bytes.len() as u32) {
            prop_assert!(seen.datagram.wire_len() as usize >= bytes.len());
            let mut bytes = bytes.clone();
            apply(&seen.datagram, &mut bytes);
        }
    }

    /// The head of a packet gives the description of the whole.
    #[test]
    fn a_head_is_enough(payload_len in 0u32..2000, tos: u8, is_v6: bool) {
        let value = Datagram { tos, ..datagram(Transport::Tcp(header()), payload_len) };
        let mut bytes = written(&value);
        if is_v6 {
            bytes = v6(6, tos, &bytes[20..]);
        }
        let head = &bytes[..bytes.len().min(HEAD_LEN)];
        let len = bytes.len() as u32;
        prop_assert_eq!(describe(head, len), describe(&bytes, len));
        prop_assert_eq!(described(&bytes).datagram.wire_len(), len);
    }
}
