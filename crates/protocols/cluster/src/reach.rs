//! Servers that a borrower may name.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefixes of IPv4 that are no hosts of the Internet (the IANA registry of special-purpose
/// addresses, RFC 6890; multicast, RFC 5771; and the reserved last sixteenth with the broadcast
/// address, RFC 1112 section 4).
const SPECIAL_V4: [Ipv4Net; 14] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// Global unicast addresses of IPv6 (RFC 4291 section 2.4): all others are refused.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0], 3);

/// Prefixes among them that are no hosts of the Internet, or that tunnels map to an address of
/// IPv4, which could be a private one: IETF protocols with Teredo (RFC 2928), documentation
/// (RFC 3849) and 6to4 (RFC 3056).
const SPECIAL_V6: [Ipv6Net; 3] =
    [v6([0x2001, 0], 23), v6([0x2001, 0xdb8], 32), v6([0x2002, 0], 16)];

const fn v4([a, b, c, d]: [u8; 4], len: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), len)
}

const fn v6([a, b]: [u16; 2], len: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), len)
}

/// Servers that a borrower may name: hosts of the Internet outside the lender's own networks, and
/// the prefixes that the lender allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Prefixes that the lender allows, whatever else they are.
    pub allow: Vec<IpNet>,
    /// The lender's own networks.
    pub own: Vec<IpNet>,
}

impl Reach {
    /// Whether a borrower may name this address. An address of IPv4 that is mapped into IPv6 counts
    /// as that of IPv4.
    #[must_use]
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let holds = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&address));
        holds(&self.allow) || (is_of_the_internet(address) && !holds(&self.own))
    }
}

fn is_of_the_internet(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address) && !SPECIAL_V6.iter().any(|net| net.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(reach: &Reach, address: &str) -> bool {
        reach.admits(address.parse().unwrap())
    }

    #[test]
    fn only_hosts_of_the_internet_outside_the_own_networks_are_reached() {
        let own = vec!["8.8.4.0/24".parse().unwrap(), "2a00:1::/64".parse().unwrap()];
        let reach = Reach { own, allow: Vec::new() };
        for good in ["1.1.1.1", "172.32.0.1", "2a00:2::1", "::ffff:1.1.1.1"] {
            assert!(admits(&reach, good), "{good}");
        }
        for bad in [
            "0.0.0.0",
            "10.1.2.3",
            "100.127.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "172.31.255.255",
            "192.168.1.1",
            "224.0.0.251",
            "239.255.255.250",
            "255.255.255.255",
            "8.8.4.4",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "ff02::fb",
            "2a00:1::99",
            "::ffff:192.168.1.1",
            "::192.168.1.1",
            "64:ff9b::c0a8:101",
            "2002:c0a8:101::1",
            "2001:0:1::1",
        ] {
            assert!(!admits(&reach, bad), "{bad}");
        }
    }

    #[test]
    fn an_allowed_prefix_is_reached_whatever_it_is_and_no_address_beside_it() {
        let allow = vec!["10.9.0.0/16".parse().unwrap(), "fd00:9::/32".parse().unwrap()];
        let reach = Reach { own: vec!["10.9.1.0/24".parse().unwrap()], allow };
        for good in ["10.9.0.1", "10.9.1.1", "fd00:9::1", "::ffff:10.9.0.1"] {
            assert!(admits(&reach, good), "{good}");
        }
        assert!(!admits(&reach, "10.8.0.1") && !admits(&reach, "fd00:8::1"));
    }
}
