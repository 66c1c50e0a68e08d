//! Contents of the packets of one end beside their lengths, while they are in flight.
//!
//! The simulated network carries lengths. The data that a machine needs of a packet on arrival
//! waits here, by the number of the datagram, until that arrives or is dropped. So the store is as
//! large as the flow's share of queues and links, however much that is.
//!
//! A radio that drops a frame does not know whether it arrived. Such a packet is kept in doubt,
//! unless it has been seen further on its way; of those in doubt the oldest are forgotten. A packet
//! in doubt that arrives has been held back behind a missing frame, and that is a window at most.

use fairwave_trace::NodeId;
use std::collections::VecDeque;

/// Packets in doubt. A receiver holds back 256 frames at most (802.11-2020 clause 10.25.6).
const MAX_IN_DOUBT: usize = 1_024;

#[derive(Debug)]
struct Entry<T> {
    number: u32,
    /// Place at which it was seen last.
    at: NodeId,
    in_doubt: bool,
    item: T,
}

/// Contents in flight from one end, by the number of the datagram.
#[derive(Debug)]
pub(super) struct Carried<T> {
    /// In the order of their numbers, which may go around.
    entries: VecDeque<Entry<T>>,
    /// Numbers of those in doubt, the oldest first; some may have come since.
    in_doubt: VecDeque<u32>,
}

impl<T> Default for Carried<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), in_doubt: VecDeque::new() }
    }
}

impl<T> Carried<T> {
    /// The datagram with this number, greater than all before it, leaves `node`.
    pub(super) fn push(&mut self, number: u32, node: NodeId, item: T) {
        debug_assert!(
            self.entries.back().is_none_or(|last| number.wrapping_sub(last.number) < 1 << 31),
            "datagram {number} is not after the last one"
        );
        self.entries.push_back(Entry { number, at: node, in_doubt: false, item });
    }

    /// Contents of the datagram that was pushed last, if it is in flight.
    pub(super) fn newest(&self) -> Option<&T> {
        self.entries.back().map(|entry| &entry.item)
    }

    /// Contents of the datagram, which has arrived.
    pub(super) fn take(&mut self, number: u32) -> Option<T> {
        let place = self.place(number)?;
        self.entries.remove(place).map(|entry| entry.item)
    }

    fn place(&self, number: u32) -> Option<usize> {
        let first = self.entries.front()?.number;
        let ahead = |number: u32| number.wrapping_sub(first);
        let target = ahead(number);
        // Most come in the order in which they went.
        if target == 0 {
            return Some(0);
        }
        self.entries.binary_search_by_key(&target, |entry| ahead(entry.number)).ok()
    }
}

/// Reports of the network about a datagram in flight.
pub(crate) trait UnderWay {
    /// It is at `node`, and is forwarded from there.
    fn passes(&mut self, number: u32, node: NodeId);

    /// It will not come.
    fn dropped(&mut self, number: u32);

    /// The radio of `node` is done with it, and does not know whether it has arrived.
    fn given_up(&mut self, number: u32, node: NodeId);
}

impl<T> UnderWay for Carried<T> {
    fn passes(&mut self, number: u32, node: NodeId) {
        if let Some(place) = self.place(number) {
            let entry = &mut self.entries[place];
            (entry.at, entry.in_doubt) = (node, false);
        }
    }

    fn dropped(&mut self, number: u32) {
        drop(self.take(number));
    }

    fn given_up(&mut self, number: u32, node: NodeId) {
        let Some(place) = self.place(number) else { return };
        let entry = &mut self.entries[place];
        if entry.at != node || entry.in_doubt {
            return;
        }
        entry.in_doubt = true;
        self.in_doubt.push_back(number);
        if self.in_doubt.len() > MAX_IN_DOUBT
            && let Some(oldest) = self.in_doubt.pop_front()
            && let Some(place) = self.place(oldest)
            && self.entries[place].in_doubt
        {
            self.entries.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const HERE: NodeId = NodeId(1);
    const THERE: NodeId = NodeId(2);

    fn filled(numbers: impl Iterator<Item = u32>) -> Carried<u32> {
        let mut carried = Carried::default();
        numbers.for_each(|number| carried.push(number, HERE, number));
        carried
    }

    /// A queue of a hundred thousand packets forgets none of them.
    #[test]
    fn however_much_is_under_way_it_is_kept() {
        let mut carried = filled(0..100_000);
        assert!((0..100_000).all(|number| carried.take(number) == Some(number)));
        assert!(carried.entries.is_empty());
    }

    #[test]
    fn numbers_go_around() {
        let context = || (0..10).map(|n: u32| n.wrapping_sub(5));
        let mut carried = filled(context());
        assert_eq!(carried.newest(), Some(&4));
        carried.dropped(u32::MAX);
        let came: Vec<_> = context().rev().filter_map(|number| carried.take(number)).collect();
        assert_eq!(came.len(), 9);
        assert!(!came.contains(&u32::MAX));
    }

    /// Handles a packet that a radio drops and that may have arrived: seen further on, it is in
    /// flight; held back by the receiver, it comes later; else it is forgotten in the end.
    #[test]
    fn what_was_given_up_may_still_come() {
        let mut carried = filled(0..4);
        carried.passes(0, THERE);
        carried.given_up(0, HERE);
        carried.given_up(1, HERE);
        carried.given_up(2, HERE);
        carried.passes(2, THERE);
        assert_eq!(carried.take(1), Some(1));
        for number in 4..4 + 2 * MAX_IN_DOUBT as u32 {
            carried.push(number, HERE, number);
            carried.given_up(number, HERE);
        }
        assert_eq!(
            [0, 2, 3, 4].map(|number| carried.take(number)),
            [Some(0), Some(2), Some(3), None]
        );
        assert_eq!(carried.entries.len(), MAX_IN_DOUBT);
        assert_eq!(carried.in_doubt.len(), MAX_IN_DOUBT);
    }

    proptest! {
        /// Against a map: whatever goes, moves, comes and is dropped in whatever order.
        #[test]
        fn a_map_says_the_same(
            first: u32,
            steps in proptest::collection::vec((0u8..5, 0u32..40), 1..300),
        ) {
            let (mut carried, mut map) = (Carried::default(), BTreeMap::new());
            let mut next = first;
            for (step, back) in steps {
                let number = next.wrapping_sub(back);
                match step {
                    0 | 1 => {
                        carried.push(next, HERE, next);
                        map.insert(next, next);
                        next = next.wrapping_add(1);
                    }
                    2 => prop_assert_eq!(carried.take(number), map.remove(&number)),
                    3 => {
                        carried.dropped(number);
                        map.remove(&number);
                    }
                    _ => carried.given_up(number, HERE),
                }
                prop_assert_eq!(carried.entries.len(), map.len());
            }
        }
    }
}
