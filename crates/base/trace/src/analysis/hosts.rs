//! Detection of hosts whose IP identifications count the packets of all their streams together.
//!
//! RFC 6864 leaves the choice of identifications to the host. Linux counts the packets of each TCP
//! connection, Windows those of the whole host. Two streams of a host in a capture show which it
//! is: with a common counter, a packet of one stream continues the numbers of the other.

use super::table::mix;
use core::net::IpAddr;

/// Number of hosts in the table. A host with the same hash replaces the one before.
const HOSTS: usize = 4_096;
/// Maximum step of a common counter between packets of two streams. Steps are greater than one
/// where other streams are not captured, and after a packet that is cut, which takes a number for
/// each piece.
const NEAR: u16 = 256;
/// Minimum number of such steps before a counter is taken for common.
const STEPS: u32 = 2;

/// Counters of hosts by address.
#[derive(Debug)]
pub(super) struct Hosts {
    hosts: Box<[Host]>,
}

/// The last packet of a host, and the steps from one stream to another.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    address: u32,
    stream: u64,
    id: u16,
    near: u32,
    far: u32,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { hosts: vec![Host::default(); HOSTS].into_boxed_slice() }
    }
}

impl Hosts {
    /// Handles a packet from `source` with the identification `id`, in the stream with the hash
    /// `stream`. Returns whether the counter of the host is known to be common.
    pub(super) fn packet(&mut self, source: IpAddr, id: u32, stream: u64) -> bool {
        let (IpAddr::V4(address), Some(id)) = (source, u16::try_from(id).ok()) else {
            return false;
        };
        let address = address.to_bits();
        let host = &mut self.hosts[place(address)];
        if host.address != address {
            *host = Host { address, stream, id, near: 0, far: 0 };
        }
        // Zero is not a count: many hosts send it in all packets that may not be fragmented.
        if id != 0 {
            host.step(id, stream);
        }
        host.is_common()
    }

    /// Whether the counter of a host is known to be common.
    pub(super) fn is_common(&self, source: IpAddr) -> bool {
        let IpAddr::V4(address) = source else { return false };
        let host = &self.hosts[place(address.to_bits())];
        host.address == address.to_bits() && host.is_common()
    }
}

impl Host {
    fn step(&mut self, id: u16, stream: u64) {
        if self.stream != stream && self.id != 0 {
            match id.wrapping_sub(self.id) {
                // A constant identification, or a copy of the packet.
                0 => {}
                1..=NEAR => self.near = self.near.saturating_add(1),
                _ => self.far = self.far.saturating_add(1),
            }
        }
        (self.stream, self.id) = (stream, id);
    }

    const fn is_common(&self) -> bool {
        self.near >= STEPS && self.near > self.far
    }
}

fn place(address: u32) -> usize {
    mix(address.into()) as usize % HOSTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn is_common(packets: impl IntoIterator<Item = (u16, u64)>) -> bool {
        let mut hosts = Hosts::default();
        for (id, stream) in packets {
            hosts.packet(HOST, id.into(), stream);
        }
        hosts.is_common(HOST)
    }

    #[test]
    fn a_common_counter_goes_on_in_the_other_stream() {
        assert!(is_common((65_500..65_530).map(|n| (n, u64::from(n % 3)))));
        assert!(is_common((0..30u16).map(|n| (n * 7 + 1, u64::from(n / 4)))));
    }

    #[test]
    fn counters_of_each_stream_and_constants_are_not_common() {
        assert!(!is_common((0..60u16).map(|n| (n % 2 * 30_000 + n, u64::from(n % 2)))));
        assert!(!is_common((0..60u16).map(|n| (1, u64::from(n % 2)))));
        assert!(!is_common((0..60u16).map(|n| (0, u64::from(n % 2)))));
        assert!(!is_common((1..60u16).map(|n| (n, 7))));
    }
}
