//! Frames of every link, and frames that have no packet.

use super::*;
use crate::dot11::{
    self, AckPolicy, Amsdu, Data, Direction, Qos, Sequence, Subframe, Tid, amsdu_frame, data_frame,
};
use crate::ethernet::EtherType;
use crate::radiotap::{Flags, Header};
use crate::soc;
use proptest::prelude::*;

/// What stands for an IP packet: its first byte says version 4.
const PACKET: [u8; 24] = *b"E_packet_behind_headers_";

fn opened(link: u16, header: &[u8]) -> Result<Captured<'static>, Closed> {
    let bytes = [header, &PACKET].concat().leak();
    let len = bytes.len() as u32;
    let frame = open(LinkType::from_number(link), bytes, len)?;
    frame.packets().next().ok_or(Closed::Broken)
}

fn is_packet(found: Result<Captured<'static>, Closed>) -> bool {
    found == Ok(Captured { bytes: &PACKET, wire_len: PACKET.len() as u32 })
}

/// Addresses of Ethernet, then what is given.
fn ethernet(rest: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], rest].concat()
}

/// Header of an 802.11 data frame with QoS control, these fields behind it, and LLC/SNAP.
fn wireless(mesh_control: &[u8]) -> Vec<u8> {
    let is_mesh = !mesh_control.is_empty();
    let mut bytes = vec![0x88, if is_mesh { 0x03 } else { 0x01 }, 44, 0];
    (1..=3).for_each(|host| bytes.extend(Mac::local(host).0));
    bytes.extend([0x10, 0]);
    if is_mesh {
        bytes.extend(Mac::local(4).0);
    }
    bytes.extend([0, u8::from(is_mesh)]);
    bytes.extend(mesh_control);
    bytes.extend([0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0]);
    bytes
}

#[test]
fn headers_of_radios_are_stepped_over() {
    let mut avs = vec![0x80, 0x21, 0x10, 0x01, 0, 0, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8];
    avs.extend(wireless(&[]));
    let mut prism =
        [&0x44u32.to_le_bytes()[..], &24u32.to_le_bytes(), b"wlan0 and so on."].concat();
    prism.extend(wireless(&[]));
    // A field of another kind, then one of 802.11 that says nothing of a check sequence.
    let mut ppi = vec![0, 0, 36, 0, 105, 0, 0, 0, 7, 0, 4, 0, 1, 2, 3, 4, 2, 0, 12, 0];
    ppi.extend([0; 12]);
    ppi.extend([9, 0, 0, 0]);
    ppi.extend(wireless(&[]));
    for (link, header) in [(163, &avs), (119, &avs), (119, &prism), (192, &ppi)] {
        let found = opened(link, header);
        assert!(is_packet(found), "link type {link}: {found:?}");
    }
}

/// Mesh control with no, one and two more addresses, and a frame without it.
#[test]
fn mesh_control_is_stepped_over() {
    for addresses in 0..=2u8 {
        let mut control = vec![addresses, 31, 1, 0, 0, 0];
        control.resize(6 + 6 * usize::from(addresses), 7);
        let found = opened(105, &wireless(&control));
        assert!(is_packet(found), "{addresses} addresses: {found:?}");
    }
    let without = opened(105, &wireless(&[0, 31, 1, 0, 0, 0, 7]));
    assert_eq!(without, Err(Closed::NotIp(Content::Llc(0x001f))));
}

/// The header of PPI says that a check sequence follows the frame, and that it is wrong.
#[test]
fn ppi_tells_of_a_check_sequence() {
    let mut bytes = vec![0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0];
    bytes.extend([0; 10]);
    bytes.extend(wireless(&[]));
    bytes.extend(PACKET);
    bytes.extend([1, 2, 3, 4]);
    let frame = open(LinkType::from_number(192), &bytes, bytes.len() as u32).unwrap();
    assert!(frame.mpdu.unwrap().bad_fcs);
    assert_eq!(frame.packets().next().map(|packet| packet.bytes), Some(&PACKET[..]));
}

/// Rates in Mbps, and the A-MPDU, of a frame behind headers of Prism, AVS and PPI.
#[test]
fn rates_of_other_radio_headers_are_known() {
    let item = |did: u32, state: u16, value: u32| {
        [&did.to_le_bytes()[..], &state.to_le_bytes(), &[4, 0], &value.to_le_bytes()].concat()
    };
    let prism = |items: &[Vec<u8>]| {
        let items = items.concat();
        let len = (24 + items.len() as u32).to_le_bytes();
        [&[0x44, 0, 0, 0][..], &len, b"wlan0-----------", &items, &wireless(&[])].concat()
    };
    let avs = |rate: u32, preamble: u8, encoding: u8| {
        let mut bytes = vec![0x80, 0x21, 0x10, 1, 0, 0, 0, 64];
        bytes.resize(32, 0);
        bytes.extend(rate.to_be_bytes());
        bytes.resize(64, 0);
        (bytes[59], bytes[63]) = (preamble, encoding);
        [bytes, wireless(&[])].concat()
    };
    let common = |halves: u8| {
        let head = [2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, halves, 0];
        [&head[..], &[0; 8]].concat()
    };
    let phy = |flags: u8, mcs: u8| {
        let head = [4, 0, 48, 0, flags, 0, 0, 0, 7, 0, 0, 0, 0, mcs];
        [&head[..], &[0; 38]].concat()
    };
    let ppi = |fields: &[u8]| {
        let len = 8 + fields.len() as u8;
        [&[0, 0, len, 0, 105, 0, 0, 0][..], fields, &wireless(&[])].concat()
    };
    let cases = [
        (119, prism(&[item(0x1_0044, 0, 7), item(0x8_0044, 0, 108)]), Some((54.0, 20)), None),
        (119, prism(&[item(0x8041, 0, 11)]), Some((5.5, 192)), None),
        (119, prism(&[item(0x8041, 1, 11)]), None, None),
        (163, avs(110, 1, 1), Some((11.0, 96)), None),
        (163, avs(540, 0, 3), Some((54.0, 20)), None),
        (163, avs(6_000_000, 0, 0), Some((6.0, 20)), None),
        (192, ppi(&common(4)), Some((2.0, 192)), None),
        (192, ppi(&[common(0), phy(0x16, 15)].concat()), Some((300.0, 40)), Some(7)),
        (192, ppi(&phy(0, 7)), Some((65.0, 36)), None),
    ];
    for (link, bytes, rate, ampdu) in cases {
        let sent = transmission(LinkType::from_number(link), &bytes, bytes.len() as u32).unwrap();
        let found =
            sent.rate.map(|rate| (rate.bits.0 as f64 / 1e6, rate.preamble.as_nanos() / 1_000));
        assert_eq!((found, sent.ampdu), (rate, ampdu), "{link}: {bytes:?}");
    }
}

#[test]
fn every_link_leads_to_its_packet() {
    let llc = [0x00, 0x40, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0];
    let pppoe = [0x88, 0x64, 0x11, 0, 0, 1, 0, 26, 0, 0x21];
    let sll2: [u8; 20] = [0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut sll = [0; 16];
    sll[14..].copy_from_slice(&[0x08, 0x00]);
    let mut report = vec![0x88, 0xb5];
    report.extend([0; soc::LEN]);
    report[6..8].copy_from_slice(&[0x08, 0x00]);
    let nflog_le: [u8; 16] = [2, 0, 0, 0, 5, 0, 10, 0, 7, 0, 0, 0, 28, 0, 9, 0];
    let nflog_be: [u8; 8] = [10, 0, 0, 0, 0, 28, 0, 9];
    let cases: [(u16, &[u8]); 39] = [
        // MPLS: one label, two, and a frame of Ethernet with and without a control word.
        (1, &ethernet(&[0x88, 0x47, 0, 1, 0xf1, 64])),
        (1, &ethernet(&[0x88, 0x48, 0, 1, 0xf0, 64, 0, 1, 0xf1, 64])),
        (
            1,
            &ethernet(
                &[&[0x88, 0x47, 0, 1, 0xf1, 64, 0, 0, 0, 9], &ethernet(&[8, 0])[..]].concat(),
            ),
        ),
        (1, &ethernet(&[&[0x88, 0x47, 0, 1, 0xf1, 64], &ethernet(&[0x86, 0xdd])[..]].concat())),
        (1, &ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 25, 0x21])),
        (1, &ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 25, 0x57])),
        (1, &ethernet(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0xf8, 0x08, 0])),
        (9, &[0xff, 0x03, 0x00, 0x21]),
        (9, &[0x00, 0x57]),
        (9, &[0x21]),
        (9, &[0xff, 0x03, 0x02, 0x81, 0, 1, 0xf1, 64]),
        (50, &[0xff, 0x03, 0x00, 0x21]),
        (50, &[0x0f, 0x00, 0x08, 0x00]),
        (51, &[0x11, 0, 0, 1, 0, 26, 0, 0x21]),
        (166, &[0, 0x00, 0x21]),
        (204, &[1, 0xff, 0x03, 0x21]),
        (104, &[0x0f, 0x00, 0x08, 0x00]),
        (104, &[0x8f, 0x00, 0x86, 0xdd]),
        (239, &nflog_le),
        (239, &nflog_be),
        (113, &[&sll[..14], &[0x81, 0x00, 0, 5, 0x08, 0x00]].concat()),
        (1, &ethernet(&report)),
        (1, &ethernet(&[0x08, 0x00])),
        (1, &ethernet(&[0x86, 0xdd])),
        // One tag, two tags, and both kinds of them.
        (1, &ethernet(&[0x81, 0x00, 0, 5, 0x08, 0x00])),
        (1, &ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 6, 0x86, 0xdd])),
        (1, &ethernet(&llc)),
        (1, &ethernet(&pppoe)),
        (101, &[]),
        (228, &[]),
        (229, &[]),
        (12, &[]),
        (14, &[]),
        (113, &sll),
        (276, &sll2),
        // An address family in either byte order, and in network order.
        (0, &2u32.to_le_bytes()),
        (0, &30u32.to_be_bytes()),
        (108, &2u32.to_be_bytes()),
        (108, &24u32.to_be_bytes()),
    ];
    for (link, header) in cases {
        let found = opened(link, header);
        assert!(is_packet(found), "link type {link}, {header:02x?}: {found:?}");
    }
}

#[test]
fn a_protocol_is_named_with_its_number() {
    let names = [
        (Content::EtherType(0x0806), "ether type 0x0806 ARP"),
        (Content::EtherType(0x1234), "ether type 0x1234"),
        (Content::LinkType(197), "link type 197 ERF"),
        (Content::Ip(47), "IP protocol 47 GRE"),
        (Content::Ppp(0xc021), "PPP protocol 0xc021 LCP"),
        (Content::Llc(0x4242), "LLC 0x4242 STP"),
        (Content::Family(300), "address family 300"),
    ];
    names.into_iter().for_each(|(content, name)| assert_eq!(content.to_string(), name));
}

#[test]
fn what_has_no_packet_says_why() {
    let other = |link, header: &[u8], content| {
        assert_eq!(opened(link, header), Err(Closed::NotIp(content)));
    };
    other(1, &ethernet(&[0x08, 0x06]), Content::EtherType(0x0806));
    other(1, &ethernet(&[0, 38, 0x42, 0x42, 3, 0, 0, 0]), Content::Llc(0x4242));
    other(1, &ethernet(&[0x88, 0x47, 0, 1, 0xf1, 64, 0x10, 1]), Content::EtherType(0x8847));
    other(1, &ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 25, 0xc0, 0x21]), Content::Ppp(0xc021));
    other(9, &[0xff, 0x03, 0x80, 0x21], Content::Ppp(0x8021));
    other(104, &[0x8f, 0x00, 0x80, 0x35], Content::EtherType(0x8035));
    other(108, &23u32.to_be_bytes(), Content::Family(23));
    other(239, &[3, 0, 0, 0], Content::Family(3));
    assert_eq!(opened(147, &[]), Err(Closed::Unsupported(147)));
    let ppi_in_ppi = [0, 0, 8, 0, 192, 0, 0, 0];
    assert_eq!(opened(192, &ppi_in_ppi), Err(Closed::Unsupported(192)));
    assert_eq!(opened(119, &[0x44, 0, 0, 0, 0, 0, 0, 0x80]), Err(Closed::Broken));
    assert_eq!(opened(163, &[0x80, 0x21, 0x10, 1, 0, 0, 0, 4]), Err(Closed::Broken));
    assert_eq!(opened(239, &[2, 0, 0, 0, 3, 0, 9, 0]), Err(Closed::Broken));
    let cut = open(LinkType::Ethernet, &[0; 13], 60);
    assert!(matches!(cut, Err(Closed::Truncated(_))), "{cut:?}");
}

#[test]
fn a_cut_frame_keeps_its_length_on_the_wire() {
    let bytes = [ethernet(&[0x81, 0x00, 0, 5, 0x08, 0x00]), PACKET.to_vec()].concat();
    let frame = open(LinkType::Ethernet, &bytes, 1_518).unwrap();
    let packet = frame.packets().next().unwrap();
    assert_eq!((packet.bytes, packet.wire_len), (&PACKET[..], 1_500));
    assert_eq!(frame.addresses, Some([Mac::local(1), Mac::local(2)]));
}

/// A data frame as our own writer makes it.
fn data(retry: bool, qos: Option<Qos>) -> Vec<u8> {
    let header = Data {
        direction: Direction::ToAp,
        retry,
        duration_us: 44,
        bssid: Mac::local(1),
        source: Mac::local(2),
        destination: Mac::local(3),
        sequence: Sequence::new(77),
        qos,
        ether_type: EtherType::IPV4,
    };
    let mut bytes = Vec::new();
    data_frame(&header, &datagram(100).into(), &mut bytes).unwrap();
    bytes
}

fn datagram(payload_len: u32) -> crate::datagram::Datagram {
    let [source, destination] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(core::net::Ipv4Addr::from);
    let transport = crate::datagram::Transport::Udp { source_port: 1, destination_port: 2 };
    crate::datagram::Datagram {
        source,
        destination,
        id: 7,
        ttl: 64,
        tos: 0,
        transport,
        payload_len,
    }
}

fn qos(tid: u8) -> Qos {
    Qos { tid: Tid::new(tid).unwrap(), ack_policy: AckPolicy::Normal }
}

#[test]
fn a_data_frame_of_the_air_names_itself() {
    for (tid, retry) in [(None, false), (Some(5), true)] {
        let bytes = data(retry, tid.map(qos));
        let frame = open(LinkType::Other(105), &bytes, bytes.len() as u32).unwrap();
        let mpdu = frame.mpdu.unwrap();
        assert_eq!((mpdu.receiver, mpdu.transmitter), (Mac::local(1), Mac::local(2)));
        assert_eq!((mpdu.sequence, mpdu.tid, mpdu.retry), (77, tid, retry));
        let packet = frame.packets().next().unwrap();
        assert_eq!(packet.bytes[0], 0x45);
    }
}

#[test]
fn radiotap_tells_of_a_check_sequence() {
    let frame = data(false, None);
    for (flags, bad) in
        [(Flags::FCS_PRESENT, false), (Flags::FCS_PRESENT.with(Flags::BAD_FCS), true)]
    {
        let mut bytes = Vec::new();
        Header { flags: Some(flags), ..Header::default() }.write(&mut bytes);
        bytes.extend(&frame);
        let opened = open(LinkType::Radiotap, &bytes, bytes.len() as u32).unwrap();
        assert_eq!(opened.mpdu.unwrap().bad_fcs, bad);
        // IPv4, UDP and payload, without the check sequence.
        let packet = opened.packets().next().unwrap();
        assert_eq!((packet.bytes.len(), packet.wire_len), (128, 128));
    }
}

#[test]
fn an_amsdu_has_all_its_packets() {
    let header = Amsdu {
        direction: Direction::FromAp,
        retry: false,
        duration_us: 0,
        bssid: Mac::local(1),
        station: Mac::local(2),
        sequence: Sequence::new(9),
        qos: qos(0),
    };
    let subframe = |source| Subframe {
        destination: Mac::local(2),
        source: Mac::local(source),
        ether_type: EtherType::IPV4,
    };
    // Lengths that need padding and one that does not.
    let parts =
        [(subframe(5), datagram(33)), (subframe(6), datagram(50)), (subframe(7), datagram(1))];
    let mut bytes = Vec::new();
    let payloads = parts.into_iter().map(|(head, part)| (head, part.into()));
    amsdu_frame(&header, payloads, &mut bytes).unwrap();
    let frame = open(LinkType::Other(105), &bytes, bytes.len() as u32).unwrap();
    let found: Vec<_> = frame.packets().map(|packet| packet.wire_len).collect();
    assert_eq!(found, [8 + 20 + 33, 8 + 20 + 50, 8 + 20 + 1]);
    // Cut in the second one: it is still there, and the third is not.
    let frame =
        open(LinkType::Other(105), &bytes[..26 + 14 + 8 + 61 + 1 + 14 + 8 + 20], 500).unwrap();
    let found: Vec<_> =
        frame.packets().map(|packet| (packet.bytes.len(), packet.wire_len)).collect();
    assert_eq!(found, [(61, 61), (20, 78)]);
}

#[test]
fn frames_without_payload_are_control() {
    let ack = dot11::Frame::Ack { receiver: Mac::local(1), duration_us: 0 };
    let mut bytes = Vec::new();
    ack.write(&mut bytes);
    assert_eq!(open(LinkType::Other(105), &bytes, 14), Err(Closed::Control));
    let mut null = data(false, None);
    null[0] = 0x48;
    assert_eq!(open(LinkType::Other(105), &null, 24), Err(Closed::Control));
    let mut protected = data(false, None);
    protected[1] |= 0x40;
    assert_eq!(open(LinkType::Other(105), &protected, 200), Err(Closed::Encrypted));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(
        link in prop::sample::select(vec![
            0u16, 1, 9, 12, 14, 50, 51, 101, 104, 105, 108, 113, 119, 127, 163, 166, 192, 204, 228,
            229, 239, 276,
        ]),
        bytes: Vec<u8>,
        original_len: u32,
    ) {
        let _ = transmission(LinkType::from_number(link), &bytes, original_len);
        if let Ok(frame) = open(LinkType::from_number(link), &bytes, original_len) {
            for packet in frame.packets() {
                let _ = crate::ip::parse(packet.bytes, packet.wire_len);
            }
        }
    }
}
