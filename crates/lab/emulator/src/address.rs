//! Addresses of nodes, and the node of an address.
//!
//! A node that sends over several paths of the scenario has an IPv4 address for each of them, which
//! encodes the node that the path passes. Packets from and to it take that path, so that the path
//! follows from the packet's bytes alone and a record needs no further field.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use fairwave_trace::NodeId;

/// Address of the first node: the other nodes have the following addresses, as in the simulator.
const FIRST_V4: u32 = u32::from_be_bytes([10, 0, 0, 1]);
/// Length of the network prefix of all IPv4 addresses in bits.
pub const V4_PREFIX_LEN: u8 = 8;
/// First address of paths, 10.128.0.0. It is followed by 11 bits with the node's number, and 12
/// bits with the number of the node that the path passes.
const FIRST_PATH: u32 = u32::from_be_bytes([10, 128, 0, 0]);
/// Bits of the number of the node that a path passes.
const VIA_BITS: u32 = 12;
/// Maximum numbers of nodes that have paths, and of nodes that paths pass. One more of the latter
/// would give the broadcast address of the network.
const MAX_PATHS: (u32, u32) = (1 << 11, (1 << VIA_BITS) - 1);
/// A unique local prefix (RFC 4193); the global ID spells "Fairw".
const V6_PREFIX: u64 = 0xfd46_6169_7277_0000;
/// Length of the network prefix of all IPv6 addresses in bits.
pub const V6_PREFIX_LEN: u8 = 64;

/// The IPv4 address of a node: 10.0.0.1 for the first, counting up.
pub fn v4(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_V4 + node.0)
}

/// The IPv6 address of a node: fd46:6169:7277::1 for the first, counting up.
pub fn v6(node: NodeId) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(V6_PREFIX) << 64 | (u128::from(node.0) + 1))
}

/// The IPv4 address of `node` on its path through `via`; `None` for nodes after the first 2048, and
/// for paths through nodes after the first 4095.
pub fn on_path(node: NodeId, via: NodeId) -> Option<Ipv4Addr> {
    let fits = node.0 < MAX_PATHS.0 && via.0 < MAX_PATHS.1;
    fits.then(|| Ipv4Addr::from(FIRST_PATH | node.0 << VIA_BITS | via.0))
}

/// The node and the node that its path passes, for an address of [`on_path`]. Only flows give nodes
/// such addresses; elsewhere they are usual ones of private networks.
pub fn path(address: IpAddr) -> Option<(NodeId, NodeId)> {
    let IpAddr::V4(address) = address else { return None };
    let is_path = address.to_bits() & 0xff80_0000 == FIRST_PATH && !is_multicast(address.into());
    let number = address.to_bits() ^ FIRST_PATH;
    let (node, via) = (number >> VIA_BITS, number & ((1 << VIA_BITS) - 1));
    (is_path && via < MAX_PATHS.1).then_some((NodeId(node), NodeId(via)))
}

/// The node of an address, if it has the form of one. The node may not exist.
pub fn node(address: IpAddr) -> Option<NodeId> {
    if let Some((node, _)) = path(address) {
        return Some(node);
    }
    let number = match address {
        IpAddr::V4(address) => {
            let number = address.to_bits().checked_sub(FIRST_V4)?;
            (number < FIRST_PATH - FIRST_V4).then_some(number)
        }
        IpAddr::V6(address) => {
            let (prefix, host) = ((address.to_bits() >> 64) as u64, address.to_bits() as u64);
            u32::try_from(host.checked_sub(1)?).ok().filter(|_| prefix == V6_PREFIX)
        }
    };
    number.map(NodeId)
}

/// Whether an address has several receivers: multicast, broadcast, and the broadcast of the
/// network.
pub fn is_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let all = Ipv4Addr::from(FIRST_V4 | 0x00ff_ffff);
            address.is_multicast() || address.is_broadcast() || address == all
        }
        IpAddr::V6(address) => address.is_multicast(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_node() {
        for node in [0, 1, 255, 70_000].map(NodeId) {
            assert_eq!(super::node(v4(node).into()), Some(node));
            assert_eq!(super::node(v6(node).into()), Some(node));
        }
        assert_eq!(v4(NodeId(255)), Ipv4Addr::new(10, 0, 1, 0));
        assert_eq!(v6(NodeId(15)).to_string(), "fd46:6169:7277::10");
    }

    #[test]
    fn others_belong_to_no_node() {
        for address in ["10.0.0.0", "10.255.255.255", "11.0.0.1", "192.0.2.1", "2001:db8::1"] {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(node(address), None, "{address}");
        }
        assert_eq!(node("fd46:6169:7277::".parse().expect("an address")), None);
    }

    #[test]
    fn an_address_of_a_path_leads_to_its_node_and_the_one_that_it_passes() {
        let max = (NodeId(2047), NodeId(4094));
        for (node, passed) in [(NodeId(0), NodeId(0)), (NodeId(3), NodeId(5)), max] {
            let address = IpAddr::V4(on_path(node, passed).expect("it has one"));
            assert_eq!(super::node(address), Some(node));
            assert_eq!(path(address), Some((node, passed)));
        }
        let address = on_path(NodeId(3), NodeId(5)).expect("it has one");
        assert_eq!(address, Ipv4Addr::new(10, 128, 48, 5));
        assert_eq!([v4(NodeId(1)).into(), v6(NodeId(0)).into()].map(path), [None; 2]);
        assert_eq!(on_path(NodeId(2048), NodeId(0)), None);
        assert_eq!(on_path(NodeId(0), NodeId(4095)), None);
    }

    #[test]
    fn some_are_multicast() {
        for address in ["224.0.0.251", "255.255.255.255", "10.255.255.255", "ff02::2"] {
            assert!(is_multicast(address.parse().expect("an address")), "{address}");
        }
        assert!(!is_multicast(v4(NodeId(3)).into()));
    }
}
