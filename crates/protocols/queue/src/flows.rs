//! State of flows: up to a maximum number, beyond which the flow silent for longest is forgotten.

use crate::FlowKey;
use crate::slab::{NONE, Slab};
use fairwave_units::Instant;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
struct Known<V> {
    key: FlowKey,
    value: V,
    seen: Instant,
    /// The neighbours in the order in which flows were last seen.
    before: u32,
    after: u32,
}

/// Values by flow. Looking one up costs O(log n).
#[derive(Clone, Debug)]
pub(crate) struct Flows<V> {
    index: BTreeMap<FlowKey, u32>,
    known: Slab<Known<V>>,
    longest_silent: u32,
    latest: u32,
    most: usize,
}

impl<V: Default> Flows<V> {
    /// A table for at most `most` flows, which is one or more.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            index: BTreeMap::new(),
            known: Slab::new(),
            longest_silent: NONE,
            latest: NONE,
            most,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// The value of a flow that is seen now; the default of a new one.
    pub(crate) fn seen(&mut self, key: FlowKey, now: Instant) -> &mut V {
        let number = match self.index.get(&key) {
            Some(&number) => {
                self.unlink(number);
                number
            }
            None => self.insert(key, now),
        };
        self.link_latest(number);
        let known = self.known.get_mut(number);
        known.seen = now;
        &mut known.value
    }

    fn insert(&mut self, key: FlowKey, seen: Instant) -> u32 {
        if self.index.len() >= self.most {
            self.forget(self.longest_silent);
        }
        let known = Known { key, value: V::default(), seen, before: NONE, after: NONE };
        let number = self.known.insert(known);
        self.index.insert(key, number);
        number
    }

    /// Forgets the flows that were last seen before `since`.
    pub(crate) fn forget_silent(&mut self, since: Instant) {
        while self.longest_silent != NONE && self.known.get(self.longest_silent).seen < since {
            self.forget(self.longest_silent);
        }
    }

    fn forget(&mut self, number: u32) {
        self.unlink(number);
        let known = self.known.remove(number);
        self.index.remove(&known.key);
    }

    fn link_latest(&mut self, number: u32) {
        let before = self.latest;
        match before {
            NONE => self.longest_silent = number,
            before => self.known.get_mut(before).after = number,
        }
        self.latest = number;
        let known = self.known.get_mut(number);
        (known.before, known.after) = (before, NONE);
    }

    fn unlink(&mut self, number: u32) {
        let &Known { before, after, .. } = self.known.get(number);
        match before {
            NONE => self.longest_silent = after,
            before => self.known.get_mut(before).after = after,
        }
        match after {
            NONE => self.latest = before,
            after => self.known.get_mut(after).before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(source_port: u16) -> FlowKey {
        FlowKey { source: 1, destination: 2, source_port, destination_port: 80, protocol: 6 }
    }

    const fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn the_longest_silent_flow_gives_way() {
        let mut flows: Flows<u32> = Flows::new(2);
        *flows.seen(key(1), at(1)) = 10;
        *flows.seen(key(2), at(2)) = 20;
        assert_eq!(*flows.seen(key(1), at(3)), 10);
        *flows.seen(key(3), at(4)) = 30;
        assert_eq!((flows.len(), *flows.seen(key(1), at(5))), (2, 10));
        assert_eq!(*flows.seen(key(2), at(6)), 0, "it was forgotten");
    }

    #[test]
    fn silence_ends_a_flow() {
        let mut flows: Flows<u32> = Flows::new(10);
        for i in 1..=5 {
            flows.seen(key(i), at(u64::from(i)));
        }
        flows.seen(key(1), at(6));
        flows.forget_silent(at(4));
        assert_eq!(flows.len(), 3, "4, 5 and the refreshed 1");
        flows.forget_silent(at(7));
        assert_eq!(flows.len(), 0);
        assert_eq!(*flows.seen(key(9), at(8)), 0);
    }
}
