//! The event engine: an indexed heap of deadlines.
//!
//! Every source of events is a machine that lives as long as the run, so an event is nothing but
//! a machine's deadline: setting it again moves it, and cancelling takes it out. No event is
//! ever allocated. Deadlines at the same instant are served in the order in which they were set.

use fairwave_units::Instant;

/// Place of a machine that has no deadline.
const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    order: u64,
    id: u32,
}

impl Entry {
    fn precedes(&self, other: &Self) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

/// Deadlines of machines numbered `0..n`.
#[derive(Debug)]
pub struct Deadlines {
    heap: Vec<Entry>,
    /// Place of each machine's entry in the heap.
    place: Vec<u32>,
    order: u64,
}

impl Deadlines {
    /// No deadlines, for `machines` machines.
    pub fn new(machines: usize) -> Self {
        Self { heap: Vec::with_capacity(machines), place: vec![ABSENT; machines], order: 0 }
    }

    /// Sets, moves or cancels the deadline of machine `id`. Setting the deadline that it
    /// already has keeps its turn.
    pub fn set(&mut self, id: u32, deadline: Option<Instant>) {
        let place = self.place[id as usize];
        match deadline {
            None if place != ABSENT => self.remove(place as usize),
            None => {}
            Some(at) if place == ABSENT => {
                let entry = self.entry(at, id);
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            Some(at) if self.heap[place as usize].at == at => {}
            Some(at) => {
                let entry = self.entry(at, id);
                self.replace(place as usize, entry);
            }
        }
    }

    /// The earliest deadline and whose it is; it stays until it is set anew.
    pub fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().map(|entry| (entry.at, entry.id))
    }

    fn entry(&mut self, at: Instant, id: u32) -> Entry {
        self.order += 1;
        Entry { at, order: self.order, id }
    }

    fn remove(&mut self, index: usize) {
        self.place[self.heap[index].id as usize] = ABSENT;
        if let Some(last) = self.heap.pop().filter(|_| index < self.heap.len()) {
            self.replace(index, last);
        }
    }

    /// Puts `entry` in the place of the one at `index`.
    fn replace(&mut self, index: usize, entry: Entry) {
        if index > 0 && entry.precedes(&self.heap[(index - 1) / 2]) {
            self.sift_up(index, entry);
        } else {
            self.sift_down(index, entry);
        }
    }

    fn put(&mut self, index: usize, entry: Entry) {
        self.heap[index] = entry;
        self.place[entry.id as usize] = index as u32;
    }

    fn sift_up(&mut self, mut index: usize, entry: Entry) {
        while index > 0 {
            let parent = (index - 1) / 2;
            if !entry.precedes(&self.heap[parent]) {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, entry);
    }

    fn sift_down(&mut self, mut index: usize, entry: Entry) {
        loop {
            let left = 2 * index + 1;
            let Some(mut child) = self.heap.get(left).copied() else { break };
            let mut at = left;
            if let Some(right) = self.heap.get(left + 1).filter(|r| r.precedes(&child)) {
                (child, at) = (*right, left + 1);
            }
            if !child.precedes(&entry) {
                break;
            }
            self.put(index, child);
            index = at;
        }
        self.put(index, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn equal_deadlines_are_served_in_the_order_they_were_set() {
        let mut deadlines = Deadlines::new(3);
        for id in [2, 0, 1] {
            deadlines.set(id, Some(at(5)));
        }
        deadlines.set(2, Some(at(5)));
        let mut served = Vec::new();
        while let Some((_, id)) = deadlines.first() {
            served.push(id);
            deadlines.set(id, None);
        }
        assert_eq!(served, [2, 0, 1]);
    }

    proptest! {
        /// Comparison with a plain list searched for its smallest element.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..300)
        ) {
            let mut deadlines = Deadlines::new(20);
            let mut list: Vec<(u64, u64, u32)> = Vec::new();
            for (order, (id, when)) in steps.into_iter().enumerate() {
                let held = list.iter().position(|e| e.2 == id);
                if when.is_none() || held.is_none_or(|i| Some(list[i].0) != when) {
                    if let Some(i) = held { list.remove(i); }
                    if let Some(when) = when { list.push((when, order as u64, id)); }
                }
                deadlines.set(id, when.map(at));
                let minimum = list.iter().min().map(|e| (at(e.0), e.2));
                prop_assert_eq!(deadlines.first(), minimum);
            }
        }
    }
}
