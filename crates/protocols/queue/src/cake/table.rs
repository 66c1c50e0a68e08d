//! Queues and hosts by hashes, in sets of eight (Linux, `sch_cake`): two flows share a queue only
//! where nine fall into one set.

use crate::FlowKey;

/// Queues of a CAKE.
pub(super) const QUEUES: usize = 1024;
/// Places of a set.
const WAYS: usize = 8;

/// The places of the set of a hash, from its own on.
pub(super) fn places(hash: u64) -> impl Iterator<Item = usize> {
    let own = (hash % QUEUES as u64) as usize;
    let first = own - own % WAYS;
    (0..WAYS).map(move |way| first + (own + way) % WAYS)
}

/// An end of a host's flows.
#[derive(Clone, Copy, Debug)]
struct Side {
    tag: u64,
    /// Flows of the host that keep packets waiting.
    busy: u32,
}

/// Hosts at one end of the flows, with the number of their busy flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    sides: Vec<Side>,
}

impl Hosts {
    /// Makes room for all hosts.
    pub(super) fn make_room(&mut self) {
        self.sides.resize(QUEUES, Side { tag: 0, busy: 0 });
    }

    /// Returns the place of a host by its address. Where the places of its set are all of busy
    /// hosts, it shares one with another. A place that nobody had comes first: Linux takes any
    /// without busy flows, and two hosts that begin at the same time may then share it.
    pub(super) fn place(&mut self, address: u32) -> u16 {
        let hash = FlowKey { source: address, ..FlowKey::default() }.hash();
        let own = places(hash).find(|place| self.sides[*place].tag == hash);
        let unused = || places(hash).find(|place| self.sides[*place].tag == 0);
        let free = || places(hash).find(|place| self.sides[*place].busy == 0);
        let place = own.or_else(unused).or_else(free).unwrap_or((hash % QUEUES as u64) as usize);
        self.sides[place].tag = hash;
        place as u16
    }

    /// Counts a flow of a host that has become busy.
    pub(super) fn add(&mut self, place: u16) {
        self.sides[usize::from(place)].busy += 1;
    }

    /// Counts a flow of a host that is no longer busy.
    pub(super) fn remove(&mut self, place: u16) {
        debug_assert!(self.sides[usize::from(place)].busy > 0, "no busy flow at {place}");
        self.sides[usize::from(place)].busy -= 1;
    }

    /// Busy flows of a host.
    pub(super) fn busy(&self, place: u16) -> u32 {
        self.sides[usize::from(place)].busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_eight_places_and_begins_with_the_hashs_own() {
        let at: Vec<usize> = places(1024 * 77 + 21).collect();
        assert_eq!(at, [21, 22, 23, 16, 17, 18, 19, 20]);
    }

    #[test]
    fn busy_hosts_of_a_set_have_places_of_their_own() {
        let mut hosts = Hosts::default();
        hosts.make_room();
        let set = |address: &u32| {
            let hash = FlowKey { source: *address, ..FlowKey::default() }.hash();
            hash % QUEUES as u64 / WAYS as u64 == 3
        };
        let of_a_set: Vec<u32> = (0..).filter(set).take(9).collect();
        let mut at: Vec<u16> = of_a_set
            .iter()
            .take(8)
            .map(|address| {
                let place = hosts.place(*address);
                hosts.add(place);
                place
            })
            .collect();
        at.sort_unstable();
        assert_eq!(at, (24..32).collect::<Vec<_>>());
        assert_eq!(hosts.place(of_a_set[5]), hosts.place(of_a_set[5]));
        assert!(at.contains(&hosts.place(of_a_set[8])));
    }
}
