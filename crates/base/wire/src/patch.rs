//! Changes that routers make in forwarded packets: the ECN field and the window. Checksums are
//! updated incrementally (RFC 1624), so that a wrong checksum stays wrong.

use crate::ip::{self, Part, Transport};
use crate::ipv4::Ecn;

/// Offset of the checksum in an IPv4 header.
const IPV4_SUM: usize = 10;
/// Offset of the window in a TCP header, and of the checksum behind it.
const TCP_WINDOW: usize = 14;
const TCP_SUM: usize = 16;

/// Sets the CE mark ("congestion experienced") of an IPv4 or IPv6 packet (RFC 3168 section 5).
/// Returns `false` without a change if the bytes are no IP packet, or its transport does not use
/// ECN.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 && Ecn::of(packet[1]).is_capable() => {
            set_word(packet, 0, u16::from_be_bytes([packet[0], Ecn::Ce.put(packet[1])]), IPV4_SUM);
            true
        }
        // The traffic class begins in the middle of the first byte, and no checksum covers it.
        Some(6) if packet.len() >= 40 && Ecn::of(packet[1] >> 4).is_capable() => {
            packet[1] |= (Ecn::Ce as u8) << 4;
            true
        }
        _ => false,
    }
}

/// Lowers the window field of an unfragmented TCP segment to `most`, unscaled as on the wire.
/// Returns `false` without a change if the bytes are no such segment, or its window is not larger.
pub fn clamp_window(packet: &mut [u8], max: u16) -> bool {
    let Some(at) = tcp_offset(packet) else { return false };
    let segment = &mut packet[at..];
    let window = u16::from_be_bytes([segment[TCP_WINDOW], segment[TCP_WINDOW + 1]]);
    if window <= max {
        return false;
    }
    set_word(segment, TCP_WINDOW, max, TCP_SUM);
    true
}

/// Returns the offset of the header of a whole TCP segment.
fn tcp_offset(packet: &[u8]) -> Option<usize> {
    let read = ip::parse(packet, 0).ok()?;
    match read.transport {
        Transport::Tcp(_) if read.part() == Part::Whole => {
            Some(read.body.as_ptr().addr() - packet.as_ptr().addr())
        }
        _ => None,
    }
}

/// Writes a word at an even offset and updates the checksum: HC' = ~(~HC + ~m + m'), RFC 1624.
fn set_word(bytes: &mut [u8], at: usize, value: u16, sum_at: usize) {
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (before, sum) = (word(bytes, at), word(bytes, sum_at));
    let total = u32::from(!sum) + u32::from(!before) + u32::from(value);
    let folded = (total & 0xffff) + (total >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
    bytes[sum_at..sum_at + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagram::{self, Datagram};
    use crate::tcp;
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    fn segment(window: u16, tos: u8) -> Datagram {
        Datagram {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            id: 7,
            ttl: 64,
            tos,
            transport: datagram::Transport::Tcp(tcp::Header { window, ..Default::default() }),
            payload_len: 33,
        }
    }

    fn bytes(datagram: &Datagram) -> Vec<u8> {
        let mut out = Vec::new();
        datagram.write(&mut out).expect("it fits");
        out
    }

    proptest! {
        /// A changed packet is byte for byte the packet that was written with the change.
        #[test]
        fn sums_are_those_of_the_changed_packet(window: u16, max: u16, tos: u8) {
            let mut packet = bytes(&segment(window, tos));
            let marked = mark_ce(&mut packet);
            prop_assert_eq!(marked, tos & 3 != 0);
            prop_assert_eq!(clamp_window(&mut packet, max), window > max);
            let tos = if marked { tos | 3 } else { tos };
            prop_assert_eq!(packet, bytes(&segment(window.min(max), tos)));
        }

        #[test]
        fn any_bytes_are_taken(mut packet in prop::collection::vec(any::<u8>(), 0..120)) {
            let len = packet.len();
            mark_ce(&mut packet);
            clamp_window(&mut packet, 10);
            prop_assert_eq!(packet.len(), len);
        }
    }

    #[test]
    fn ipv6_is_marked_in_its_traffic_class() {
        let mut packet = [0u8; 40];
        (packet[0], packet[1]) = (0x60, 0x20);
        assert!(mark_ce(&mut packet), "ECT(0)");
        assert_eq!(packet[..2], [0x60, 0x30]);
        packet[1] = 0x00;
        assert!(!mark_ce(&mut packet), "it does not take part");
    }

    #[test]
    fn a_wrong_sum_stays_wrong() {
        let mut packet = bytes(&segment(900, 2));
        packet[36] ^= 0x40;
        mark_ce(&mut packet);
        clamp_window(&mut packet, 10);
        assert!(datagram::parse(&packet).is_err());
    }
}
