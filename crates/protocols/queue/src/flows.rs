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
    is_silent: bool,
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
    /// The flow that follows the silent ones.
    first_active: u32,
    /// Flows that are silent.
    silent: usize,
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
            first_active: NONE,
            silent: 0,
            most,
        }
    }

    /// Flows that are not silent.
    pub(crate) fn active(&self) -> usize {
        self.index.len() - self.silent
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
        let known =
            Known { key, value: V::default(), seen, is_silent: false, before: NONE, after: NONE };
        let number = self.known.insert(known);
        self.index.insert(key, number);
        number
    }

    /// Takes the flows that were last seen before `since` as silent until they are seen again.
    /// Their values stay.
    pub(crate) fn mark_silent(&mut self, since: Instant) {
        while self.first_active != NONE {
            let known = self.known.get_mut(self.first_active);
            if known.seen >= since {
                break;
            }
            known.is_silent = true;
            self.silent += 1;
            self.first_active = known.after;
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
        if self.first_active == NONE {
            self.first_active = number;
        }
        let known = self.known.get_mut(number);
        (known.before, known.after) = (before, NONE);
    }

    fn unlink(&mut self, number: u32) {
        let known = self.known.get_mut(number);
        let (before, after) = (known.before, known.after);
        self.silent -= usize::from(core::mem::take(&mut known.is_silent));
        if self.first_active == number {
            self.first_active = after;
        }
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
        assert_eq!((flows.active(), *flows.seen(key(1), at(5))), (2, 10));
        assert_eq!(*flows.seen(key(2), at(6)), 0, "it was forgotten");
    }

    #[test]
    fn silent_flows_do_not_count_and_keep_their_values() {
        let mut flows: Flows<u32> = Flows::new(5);
        for i in 1..=5 {
            *flows.seen(key(i), at(u64::from(i))) = u32::from(i);
        }
        flows.seen(key(1), at(6));
        flows.mark_silent(at(4));
        assert_eq!(flows.active(), 3, "4, 5 and the refreshed 1");
        assert_eq!((*flows.seen(key(2), at(6)), flows.active()), (2, 4));
        flows.mark_silent(at(7));
        assert_eq!(flows.active(), 0);
        assert_eq!((*flows.seen(key(9), at(8)), flows.active()), (0, 1), "in place of 3");
        assert_eq!((*flows.seen(key(3), at(9)), flows.active()), (0, 2), "in place of 4");
        assert_eq!((*flows.seen(key(1), at(9)), flows.active()), (1, 3));
    }
}
