//! The addresses of nodes, and which node an address belongs to.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use fairwave_trace::NodeId;

/// Address of the first node: those of others count up from it, as in the simulator.
const FIRST_V4: u32 = u32::from_be_bytes([10, 0, 0, 1]);
/// Bits of the network part of every IPv4 address.
pub const V4_PREFIX_LEN: u8 = 8;
/// A unique local prefix (RFC 4193); the global ID spells "Fairw".
const V6_PREFIX: u64 = 0xfd46_6169_7277_0000;
/// Bits of the network part of every IPv6 address.
pub const V6_PREFIX_LEN: u8 = 64;

/// The IPv4 address of a node: 10.0.0.1 for the first, counting up.
pub fn v4(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_V4 + node.0)
}

/// The IPv6 address of a node: fd46:6169:7277::1 for the first, counting up.
pub fn v6(node: NodeId) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(V6_PREFIX) << 64 | (u128::from(node.0) + 1))
}

/// The node of an address, if it can be one's. Whether there is such a node is not known here.
pub fn node(address: IpAddr) -> Option<NodeId> {
    let number = match address {
        IpAddr::V4(address) => {
            let number = address.to_bits().checked_sub(FIRST_V4)?;
            (number < (1 << 24) - 2).then_some(number)
        }
        IpAddr::V6(address) => {
            let (prefix, host) = ((address.to_bits() >> 64) as u64, address.to_bits() as u64);
            u32::try_from(host.checked_sub(1)?).ok().filter(|_| prefix == V6_PREFIX)
        }
    };
    number.map(NodeId)
}

/// Whether an address is for many nodes: multicast, broadcast, and the broadcast of the network.
pub fn is_for_many(address: IpAddr) -> bool {
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
    fn some_are_for_many() {
        for address in ["224.0.0.251", "255.255.255.255", "10.255.255.255", "ff02::2"] {
            assert!(is_for_many(address.parse().expect("an address")), "{address}");
        }
        assert!(!is_for_many(v4(NodeId(3)).into()));
    }
}
