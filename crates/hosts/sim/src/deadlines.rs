//! The event engine: an indexed heap of deadlines.
//!
//! Every source of events is a machine that lives as long as the run, so an event is nothing but
//! a machine's deadline: setting it again moves it, and cancelling takes it out. No event is
//! ever allocated. Deadlines at the same instant are served in the order in which they were set.
//!
//! A deadline that is put off or cancelled keeps its early entry in the heap until that is the
//! first: each ACK puts a retransmission timer off, and few such timers expire.

use fairwave_units::Instant;

/// Place of a machine that has no entry in the heap.
const ABSENT: u32 = u32::MAX;

/// A deadline, and its turn among those of the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    at: Instant,
    order: u64,
}

impl Turn {
    /// The turn of a machine without a deadline, after all others.
    const NEVER: Self = Self { at: Instant::MAX, order: u64::MAX };

    const fn is_set(self) -> bool {
        self.order != Self::NEVER.order
    }

    fn precedes(self, other: Self) -> bool {
        self.at < other.at || (self.at == other.at && self.order < other.order)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    turn: Turn,
    id: u32,
}

/// Deadlines of machines numbered `0..n`.
#[derive(Debug)]
pub struct Deadlines {
    /// The first entry, which is the turn of its machine, and behind it a binary heap whose root
    /// is at 1. Entries in the heap may be earlier than the turns of their machines, and never
    /// later. The first is apart because most machines that act come first again: then one
    /// comparison, with the root, is enough.
    heap: Vec<Entry>,
    /// Place of each machine's entry in the heap.
    place: Vec<u32>,
    /// Each machine's deadline.
    turns: Vec<Turn>,
    order: u64,
}

impl Deadlines {
    /// No deadlines, for `machines` machines.
    pub fn new(machines: usize) -> Self {
        Self {
            heap: Vec::with_capacity(machines),
            place: vec![ABSENT; machines],
            turns: vec![Turn::NEVER; machines],
            order: 0,
        }
    }

    /// Sets, moves or cancels the deadline of machine `id`. Setting the deadline that it
    /// already has keeps its turn.
    pub fn set(&mut self, id: u32, deadline: Option<Instant>) {
        let held = &mut self.turns[id as usize];
        let turn = match deadline {
            Some(at) if at == held.at && held.is_set() => return,
            Some(at) => {
                self.order += 1;
                Turn { at, order: self.order }
            }
            None => Turn::NEVER,
        };
        *held = turn;
        let place = self.place[id as usize];
        if place == 0 && turn.is_set() && self.precedes_root(turn) {
            self.heap[0].turn = turn;
        } else {
            self.move_entry(Entry { turn, id }, place);
        }
    }

    /// The earliest deadline and whose it is; it stays until it is set anew.
    pub fn first(&self) -> Option<(Instant, u32)> {
        let first = self.heap.first()?;
        debug_assert_eq!(first.turn, self.turns[first.id as usize], "machine {}", first.id);
        Some((first.turn.at, first.id))
    }

    /// Moves a machine's entry to the place of its new turn.
    // Not inlined, so that the usual way through `set` stays short.
    #[inline(never)]
    fn move_entry(&mut self, entry: Entry, place: u32) {
        match self.heap.get(place as usize) {
            Some(held) if entry.turn.precedes(held.turn) => self.sift_up(place as usize, entry),
            Some(_) if place == 0 => self.settle(),
            Some(_) => {}
            None if !entry.turn.is_set() => {}
            None => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
        }
    }

    fn precedes_root(&self, turn: Turn) -> bool {
        self.heap.get(1).is_none_or(|root| turn.precedes(root.turn))
    }

    /// Brings entries that are earlier than their turns from the front to their places, until the
    /// first is not.
    fn settle(&mut self) {
        while let Some(Entry { turn: early, id }) = self.heap.first().copied() {
            let turn = self.turns[id as usize];
            if turn == early {
                return;
            }
            if turn.is_set() {
                self.sift_down(Entry { turn, id });
                continue;
            }
            self.place[id as usize] = ABSENT;
            if let Some(last) = self.heap.pop().filter(|_| !self.heap.is_empty()) {
                self.sift_down(last);
            }
        }
    }

    fn put(&mut self, index: usize, entry: Entry) {
        self.heap[index] = entry;
        self.place[entry.id as usize] = index as u32;
    }

    fn sift_up(&mut self, mut index: usize, entry: Entry) {
        while index > 0 {
            let parent = index / 2;
            if !entry.turn.precedes(self.heap[parent].turn) {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, entry);
    }

    /// Puts `entry` in the place of the first, and moves it down from there.
    fn sift_down(&mut self, entry: Entry) {
        let (mut index, mut at) = (0, 1);
        while let Some(mut child) = self.heap.get(at) {
            if let Some(right) = self.heap.get(at + 1)
                // The root has no sibling.
                && at > 1
                && right.turn.precedes(child.turn)
            {
                (child, at) = (right, at + 1);
            }
            if !child.turn.precedes(entry.turn) {
                break;
            }
            self.put(index, *child);
            (index, at) = (at, 2 * at);
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
