//! The addresses that transport checksums cover: the pseudo-headers of IPv4 (RFC 9293
//! section 3.1) and of IPv6 (RFC 8200 section 8.1).

use crate::checksum::Sum;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Source and destination address of a packet, for the checksum of its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// Of an IPv4 packet.
    V4 {
        /// Source address.
        source: Ipv4Addr,
        /// Destination address.
        destination: Ipv4Addr,
    },
    /// Of an IPv6 packet.
    V6 {
        /// Source address.
        source: Ipv6Addr,
        /// The final destination, also where a routing header names others before it.
        destination: Ipv6Addr,
    },
}

impl Pseudo {
    /// That of a packet between two addresses. An IPv6 address that stands for one of IPv4
    /// (`::ffff:192.0.2.1`) counts as the latter: its packets are of IPv4. `None` if the two are
    /// of different families.
    pub fn between(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source.to_canonical(), destination.to_canonical()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            _ => None,
        }
    }

    /// Begins the sum over a transport segment of `len` bytes.
    pub(crate) fn sum(&self, protocol: u8, len: usize) -> Sum {
        let addresses = match self {
            Self::V4 { source, destination } => {
                Sum::default().add(&source.octets()).add(&destination.octets())
            }
            Self::V6 { source, destination } => {
                Sum::default().add(&source.octets()).add(&destination.octets())
            }
        };
        // IPv4 has a length of 16 bits before the protocol and IPv6 one of 32: the words are the
        // same, and their order does not matter.
        addresses.add(&[0, protocol]).add(&(len as u32).to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computed on paper: the eight words of each address are 0x2001, 0x0db8, five of zero and the
    /// last; the protocol is 33 and the length 5, so
    /// 0x2001 * 2 + 0x0db8 * 2 + 1 + 2 + 0x21 + 5 = 0x5b9b.
    #[test]
    fn the_words_of_an_ipv6_pseudo_header_add_up() {
        let [source, destination] =
            ["2001:db8::1", "2001:db8::2"].map(|text| text.parse::<IpAddr>().unwrap());
        let pseudo = Pseudo::between(source, destination).unwrap();
        assert_eq!(pseudo.sum(33, 5).finish(), !0x5b9b);
    }

    #[test]
    fn mapped_addresses_are_of_ipv4_and_families_do_not_mix() {
        let [mapped, four, six] = ["::ffff:192.0.2.1", "192.0.2.1", "2001:db8::1"]
            .map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!(Pseudo::between(mapped, four), Pseudo::between(four, four));
        assert!(matches!(Pseudo::between(mapped, mapped), Some(Pseudo::V4 { .. })));
        assert_eq!(Pseudo::between(four, six), None);
    }

    proptest! {
        /// RFC 8200 section 8.1 draws it: addresses, a length of 32 bits, 24 zeros, the protocol.
        #[test]
        fn an_ipv6_pseudo_header_is_that_of_the_rfc(
            source: [u8; 16], destination: [u8; 16], protocol: u8, len in 0u32..70_000,
        ) {
            let (length, next) = (len.to_be_bytes(), [0, 0, 0, protocol]);
            let drawn = [&source[..], &destination, &length, &next].concat();
            let pseudo = Pseudo::V6 { source: source.into(), destination: destination.into() };
            let sum = pseudo.sum(protocol, len as usize).finish();
            prop_assert_eq!(sum, Sum::default().add(&drawn).finish());
        }
    }
}
