//! Ethernet frames, for ends that are interfaces of the machine.
//!
//! The world carries IP packets. If a frame contains one, its Ethernet header is stored and
//! restored at the other end. Any other frame (ARP, PPPoE, unusual padding) becomes the payload of
//! an IPv4 packet between the two nodes (EtherIP, RFC 3378), so that records and captures contain
//! all of it; in the world it is 36 bytes longer than on the air.

use crate::address;
use crate::offload::{Gso, Header};
use crate::packet::Endpoints;
use fairwave_wire::ethernet::{self, EtherType};
use fairwave_wire::ip;
use fairwave_wire::ipv4;

/// Protocol number of EtherIP, and its header: version 3, the other bits reserved.
const PROTOCOL_ETHERIP: u8 = 97;
const ETHERIP: [u8; 2] = [0x30, 0];
/// Number of bytes before a frame that is the payload of a packet.
const OUTER_LEN: usize = ipv4::HEADER_LEN + ETHERIP.len();

/// Conversion of a packet's bytes when it leaves the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Front {
    /// They are written unchanged.
    #[default]
    Nothing,
    /// They are written after this Ethernet header.
    Ethernet([u8; ethernet::HEADER_LEN]),
    /// The payload of the packet is written, which is the frame.
    EtherIp,
}

impl Front {
    /// The link-layer header to write, and the part of the packet that follows it.
    pub(crate) fn parts<'a>(&'a self, packet: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        match self {
            Self::Nothing => (&[], packet),
            Self::Ethernet(header) => (header, packet),
            Self::EtherIp => (&[], packet.get(OUTER_LEN..).unwrap_or_default()),
        }
    }
}

/// Splits a frame into its conversion, the packet to divide and complete, and the virtio header of
/// that packet. `header` is that of the frame.
pub(crate) fn part(header: Header, frame: &[u8]) -> (Front, Header, &[u8]) {
    let whole = (Front::EtherIp, header, frame);
    let Some((front, body)) = frame.split_first_chunk() else { return whole };
    let shift = ethernet::HEADER_LEN as u16;
    let start = header.checksum_start.checked_sub(shift);
    let Some(body) = ip_packet(front, body) else { return whole };
    let Some(checksum_start) = start.or((!header.needs_checksum).then_some(0)) else {
        return whole;
    };
    let header_len = header.header_len.saturating_sub(shift);
    (Front::Ethernet(*front), Header { header_len, checksum_start, ..header }, body)
}

/// The IP packet of a frame without the padding of short frames; `None` if there is none, or if it
/// is truncated.
fn ip_packet<'a>(front: &[u8; ethernet::HEADER_LEN], body: &'a [u8]) -> Option<&'a [u8]> {
    let number = EtherType::new(u16::from_be_bytes([front[12], front[13]]))?;
    let version = match number {
        EtherType::IPV4 => 4,
        EtherType::IPV6 => 6,
        _ => return None,
    };
    let packet = ip::parse(body, 0).ok().filter(|_| body[0] >> 4 == version)?;
    body.get(..packet.len as usize)
}

/// Replaces the frame in `bytes` by the packet that contains it; `false` if it is too long.
pub(crate) fn wrap(bytes: &mut Vec<u8>, ends: Endpoints) -> bool {
    let header = ipv4::Header {
        source: address::v4(ends.source),
        destination: address::v4(ends.destination),
        id: 0,
        dont_fragment: true,
        ttl: 64,
        tos: 0,
        protocol: PROTOCOL_ETHERIP,
        payload_len: (ETHERIP.len() + bytes.len()) as u32,
    };
    let mut outer = Vec::with_capacity(OUTER_LEN);
    if header.write(&mut outer).is_err() {
        return false;
    }
    outer.extend(ETHERIP);
    bytes.splice(0..0, outer);
    true
}

/// Whether a frame can only be carried as payload although it needs to be divided.
pub(crate) fn cannot_be_cut(front: Front, header: &Header) -> bool {
    front == Front::EtherIp && header.gso != Gso::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_trace::NodeId;
    use fairwave_wire::datagram::{Datagram, Transport};

    const ENDS: Endpoints = Endpoints { source: NodeId(0), destination: NodeId(1) };

    fn ethernet(number: u16, body: &[u8]) -> Vec<u8> {
        [&[2; 6][..], &[4; 6], &number.to_be_bytes(), body].concat()
    }

    fn datagram(payload_len: u32) -> Vec<u8> {
        let transport = Transport::Udp { source_port: 1, destination_port: 2 };
        let (source, destination) = (address::v4(ENDS.source), address::v4(ENDS.destination));
        let datagram =
            Datagram { source, destination, id: 1, ttl: 64, tos: 0, transport, payload_len };
        let mut bytes = Vec::new();
        datagram.write(&mut bytes).expect("it fits");
        bytes
    }

    #[test]
    fn a_packet_loses_its_padding_and_its_checksum_is_counted_from_the_packet() {
        let packet = datagram(4);
        let mut frame = ethernet(0x0800, &packet);
        let front = *frame.first_chunk().expect("a header");
        frame.resize(60, 0);
        let header = Header { needs_checksum: true, checksum_start: 34, ..Header::default() };
        let expected = Header { checksum_start: 20, ..header };
        assert_eq!(part(header, &frame), (Front::Ethernet(front), expected, &packet[..]));
        assert_eq!(Front::Ethernet(front).parts(&packet), (&front[..], &packet[..]));
    }

    #[test]
    fn what_is_no_whole_packet_of_its_kind_stays_a_frame() {
        let cut = datagram(40);
        for (number, body) in
            [(0x0806, &datagram(4)[..]), (0x86dd, &datagram(4)), (0x0800, &cut[..30])]
        {
            let frame = ethernet(number, body);
            assert_eq!(part(Header::default(), &frame).0, Front::EtherIp, "{number:x}");
        }
        assert_eq!(part(Header::default(), &[1; 13]).0, Front::EtherIp);
    }

    #[test]
    fn a_frame_comes_out_of_the_packet_that_carried_it() {
        let frame = ethernet(0x0806, &[7; 28]);
        let mut bytes = frame.clone();
        assert!(wrap(&mut bytes, ENDS));
        let (header, body) = ipv4::parse(&bytes).expect("a packet with a right checksum");
        assert_eq!((header.protocol, body.len()), (97, 2 + frame.len()));
        assert_eq!(Front::EtherIp.parts(&bytes), (&[][..], &frame[..]));
        assert!(!wrap(&mut vec![0; 65_514], ENDS), "65535 less 22 is the most");
    }
}
