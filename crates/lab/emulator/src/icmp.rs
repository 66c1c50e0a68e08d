//! ICMP errors for packets with unreachable destinations.

use crate::address;
use core::net::IpAddr;
use fairwave_trace::NodeId;
use fairwave_wire::checksum::Sum;
use fairwave_wire::ip::{self, Part};

/// Maximum length of an error over IPv4 (RFC 1812 section 4.3.2.3) and over IPv6 (RFC 4443 section
/// 2.4).
const MAX_V4: usize = 576;
const MAX_V6: usize = 1280;
const V4_HEADERS: usize = 28;
const V6_HEADERS: usize = 48;

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const HOPS: u8 = 64;

/// Writes into `out` the error that the router of node `from` returns for `packet`, whose
/// destination does not exist: destination unreachable (RFC 792, RFC 4443 section 3.1). Returns
/// `false` if no error may be sent (RFC 1122 section 3.2.2): for an ICMP error, a later fragment,
/// or a source that is no single host.
pub(crate) fn unreachable(from: NodeId, packet: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(read) = ip::parse(packet, 0) else { return false };
    let is_error = match (read.transport, read.body.first()) {
        (ip::Transport::Other(ICMP), Some(kind)) => !matches!(kind, 0 | 8 | 13 | 14),
        (ip::Transport::Other(ICMPV6), Some(kind)) => *kind < 128,
        (ip::Transport::Other(ICMP | ICMPV6), None) => true,
        _ => false,
    };
    let nobody = read.source.is_unspecified() || address::is_multicast(read.source);
    if is_error || nobody || read.part() == Part::Later {
        return false;
    }
    out.clear();
    match (read.source, read.destination) {
        (IpAddr::V4(source), IpAddr::V4(_)) => {
            let quoted = &packet[..packet.len().min(MAX_V4 - V4_HEADERS)];
            out.extend([0x45, 0xc0]);
            out.extend(((V4_HEADERS + quoted.len()) as u16).to_be_bytes());
            out.extend([0, 0, 0, 0, HOPS, ICMP, 0, 0]);
            out.extend(address::v4(from).octets());
            out.extend(source.octets());
            let sum = Sum::default().add(out).finish();
            out[10..12].copy_from_slice(&sum.to_be_bytes());
            // Host unreachable.
            out.extend([3, 1, 0, 0, 0, 0, 0, 0]);
            out.extend(quoted);
            let sum = Sum::default().add(&out[20..]).finish();
            out[22..24].copy_from_slice(&sum.to_be_bytes());
        }
        (source, _) => {
            let IpAddr::V6(source) = source else { return false };
            let quoted = &packet[..packet.len().min(MAX_V6 - V6_HEADERS)];
            let len = (8 + quoted.len()) as u16;
            out.extend([0x60, 0, 0, 0]);
            out.extend(len.to_be_bytes());
            out.extend([ICMPV6, HOPS]);
            out.extend(address::v6(from).octets());
            out.extend(source.octets());
            // Address unreachable.
            out.extend([1, 3, 0, 0, 0, 0, 0, 0]);
            out.extend(quoted);
            let pseudo = Sum::default().add(&out[8..40]).add(&[0, ICMPV6]).add(&len.to_be_bytes());
            let sum = pseudo.add(&out[40..]).finish();
            out[42..44].copy_from_slice(&sum.to_be_bytes());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROUTER: NodeId = NodeId(7);

    fn echo_v4(kind: u8, len: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, ICMP, 0, 0];
        packet.extend(address::v4(NodeId(0)).octets());
        packet.extend([192, 0, 2, 1]);
        packet.extend([kind, 0, 0, 0]);
        packet.resize(len, 0x55);
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        packet
    }

    #[test]
    fn an_ipv4_packet_comes_back_in_an_answer_with_right_sums() {
        let (packet, mut out) = (echo_v4(8, 1200), Vec::new());
        assert!(unreachable(ROUTER, &packet, &mut out));
        assert_eq!(out.len(), 576);
        let read = ip::parse(&out, 0).expect("a packet");
        assert_eq!(read.source, IpAddr::V4(address::v4(ROUTER)));
        assert_eq!(read.destination, IpAddr::V4(address::v4(NodeId(0))));
        assert_eq!(Sum::default().add(&out[..20]).finish(), 0);
        assert_eq!(Sum::default().add(&out[20..]).finish(), 0);
        assert_eq!((out[20], out[21], &out[28..]), (3, 1, &packet[..548]));
    }

    #[test]
    fn an_ipv6_packet_comes_back_too() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 9, 17, 64];
        packet.extend(address::v6(NodeId(2)).octets());
        packet.extend([0x20; 16]);
        packet.extend([1, 2, 3, 4, 0, 9, 0, 0, 77]);
        let mut out = Vec::new();
        assert!(unreachable(ROUTER, &packet, &mut out));
        let read = ip::parse(&out, 0).expect("a packet");
        assert_eq!(read.destination, IpAddr::V6(address::v6(NodeId(2))));
        let pseudo = Sum::default().add(&out[8..40]).add(&[0, 58]).add(&out[4..6]);
        assert_eq!(pseudo.add(&out[40..]).finish(), 0);
        assert_eq!(out[48..], packet);
    }

    #[test]
    fn errors_are_not_answered() {
        let mut out = Vec::new();
        assert!(!unreachable(ROUTER, &echo_v4(3, 60), &mut out));
        assert!(unreachable(ROUTER, &echo_v4(0, 60), &mut out));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(packet in prop::collection::vec(any::<u8>(), 0..200)) {
            unreachable(ROUTER, &packet, &mut Vec::new());
        }
    }
}
