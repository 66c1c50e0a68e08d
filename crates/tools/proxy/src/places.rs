//! Limits on the number of clients served at once, in total and for each host.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Maximum share of all places for clients of one remote host, in quarters. The rest remains free
/// for other hosts.
const QUARTERS_OF_ONE: usize = 3;
/// Bits of an IPv6 address that identify a host, which may have all addresses of a prefix (RFC 7934
/// section 3).
const PREFIX_BITS: u32 = 64;

/// The places of clients; a client has one from the moment when it is accepted.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    taken: usize,
    by_host: BTreeMap<IpAddr, usize>,
}

/// Returns the address that identifies the client's host.
pub(crate) fn host(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(six) => {
            let prefix = u128::from(six) & (u128::MAX << (128 - PREFIX_BITS));
            Ipv6Addr::from(prefix).into()
        }
    }
}

impl Places {
    /// Creates a number of free places.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, taken: 0, by_host: BTreeMap::new() }
    }

    /// Takes a place if one is free for this client. Clients of this host may take all places.
    pub(crate) fn take(&mut self, client: IpAddr) -> bool {
        if self.taken >= self.most {
            return false;
        }
        let own = self.by_host.entry(host(client)).or_default();
        let of_one = (self.most * QUARTERS_OF_ONE).div_ceil(4);
        if *own >= of_one && !client.is_loopback() {
            return false;
        }
        *own += 1;
        self.taken += 1;
        true
    }

    /// Returns a place.
    pub(crate) fn give(&mut self, client: IpAddr) {
        self.taken -= 1;
        let host = host(client);
        match self.by_host.get_mut(&host) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.by_host.remove(&host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> IpAddr {
        address.parse().expect("an address")
    }

    #[test]
    fn a_host_leaves_a_quarter_to_others() {
        let mut places = Places::new(8);
        let [one, other] = [at("192.0.2.1"), at("192.0.2.2")];
        assert!((0..6).all(|_| places.take(one)));
        assert!(!places.take(one));
        assert!(places.take(other) && places.take(other));
        assert!(!places.take(other), "all are taken");
        places.give(one);
        assert!(places.take(other) && !places.take(one));
        (0..5).for_each(|_| places.give(one));
        (0..3).for_each(|_| places.give(other));
        assert_eq!((places.taken, places.by_host.len()), (0, 0));
    }

    #[test]
    fn this_host_may_take_all_and_addresses_of_a_prefix_are_one_host() {
        let mut places = Places::new(4);
        assert!((0..4).all(|_| places.take(at("127.0.0.1"))));
        let mut places = Places::new(4);
        assert!(places.take(at("2001:db8::1")) && places.take(at("2001:db8::2")));
        assert!(places.take(at("2001:db8::3")) && !places.take(at("2001:db8::4")));
        assert!(places.take(at("2001:db8:0:1::1")));
        let mut single = Places::new(1);
        assert!(single.take(at("192.0.2.1")), "the only place may be anybody's");
    }
}
