//! Packets of one capture that may still be matched by the other.

use crate::analysis::table::Index;
use fairwave_units::Instant;
use std::collections::VecDeque;

/// A packet that waits for its match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Hash of the fields by which it is matched.
    pub(super) mark: u64,
    /// Hash of all that was captured of a datagram's payload.
    pub(super) content: u64,
    pub(super) at: Instant,
    pub(super) flow: u32,
    pub(super) from: u8,
    pub(super) is_pure_ack: bool,
    /// Whether the other capture has shown it, too.
    pub(super) is_known: bool,
    pub(super) len: u32,
    /// Its number among the packets of its direction in this capture.
    pub(super) order: u64,
}

/// The last packets of a capture, in the order of capture. Matched packets are kept for a while, so
/// that a second copy is distinguished from a new packet.
///
/// Any number of datagrams may be identical. Therefore each index has only the latest of those, and
/// the unmatched ones of a mark are linked from there back.
#[derive(Debug)]
pub(super) struct Pending {
    entries: VecDeque<Waiting>,
    /// Number of packets removed so far, modulo 2^32: the number of the oldest entry.
    gone: u32,
    /// The latest unmatched packet of each mark.
    unmatched: Index,
    /// The latest packet of each mark and content.
    latest: Index,
    window: usize,
}

/// An entry of the list.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    entry: Entry,
    /// Number of the unmatched packet with the same mark before it, which may have been removed.
    older: Option<u32>,
}

impl Entry {
    /// Hash of mark and content.
    const fn both(&self) -> u64 {
        self.mark ^ self.content
    }

    fn is_alike(&self, other: &Self) -> bool {
        (self.mark, self.content) == (other.mark, other.content)
    }
}

impl Pending {
    /// Creates a list with room for `window` packets, at least one.
    pub(super) fn new(window: usize) -> Self {
        let (unmatched, latest) = Default::default();
        let window = window.clamp(1, 1 << 30);
        Self { entries: VecDeque::new(), gone: 0, unmatched, latest, window }
    }

    /// The place of a packet in the list, if it was not removed.
    fn place(&self, number: u32) -> Option<usize> {
        let place = number.wrapping_sub(self.gone) as usize;
        (place < self.entries.len()).then_some(place)
    }

    /// Whether a packet in the list satisfies `is`.
    fn satisfies(&self, number: u32, is: impl Fn(&Entry) -> bool) -> bool {
        self.place(number).is_some_and(|place| is(&self.entries[place].entry))
    }

    /// The number of the latest unmatched packet with this mark.
    fn latest_unmatched(&self, mark: u64) -> Option<u32> {
        self.unmatched.find(mark, |number| self.satisfies(number, |entry| entry.mark == mark))
    }

    /// The number of the latest packet with the same mark and content.
    fn latest_alike(&self, packet: &Entry) -> Option<u32> {
        let is_alike = |number| self.satisfies(number, |entry| entry.is_alike(packet));
        self.latest.find(packet.both(), is_alike)
    }

    /// Finds an unmatched packet with this mark, records it as matched and returns it. Of several,
    /// that is the latest, since earlier ones were more likely lost.
    pub(super) fn know(&mut self, mark: u64) -> Option<Entry> {
        let number = self.latest_unmatched(mark)?;
        let place = self.place(number)?;
        let Waiting { entry, older } = &mut self.entries[place];
        entry.is_known = true;
        let (entry, older) = (*entry, *older);
        self.unmatched.remove(mark, number);
        if let Some(older) = older.filter(|&older| self.place(older).is_some()) {
            self.unmatched.insert(mark, older);
        }
        Some(entry)
    }

    /// Whether the list has a packet with the same mark and content.
    pub(super) fn has(&self, packet: &Entry) -> bool {
        self.latest_alike(packet).is_some()
    }

    /// Adds a packet. If there was no room, removes and returns the oldest.
    pub(super) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let oldest = if self.entries.len() >= self.window { self.pop() } else { None };
        let number = self.gone.wrapping_add(self.entries.len() as u32);
        let alike = self.latest_alike(&entry);
        replace(&mut self.latest, entry.both(), alike, number);
        let older = self.latest_unmatched(entry.mark);
        if !entry.is_known {
            replace(&mut self.unmatched, entry.mark, older, number);
        }
        self.entries.push_back(Waiting { entry, older });
        oldest
    }

    /// Removes and returns the oldest packet.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let Waiting { entry, .. } = *self.entries.front()?;
        self.unmatched.remove(entry.mark, self.gone);
        self.latest.remove(entry.both(), self.gone);
        self.entries.pop_front();
        self.gone = self.gone.wrapping_add(1);
        Some(entry)
    }

    /// Removes and returns the oldest packet if it satisfies `is`.
    pub(super) fn pop_if(&mut self, is: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let is_due = self.entries.front().is_some_and(|oldest| is(&oldest.entry));
        if is_due { self.pop() } else { None }
    }
}

/// Puts a number in the place of another one under the same hash, if there is one.
fn replace(index: &mut Index, hash: u64, before: Option<u32>, number: u32) {
    if let Some(before) = before {
        index.remove(hash, before);
    }
    index.insert(hash, number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn entry(mark: u64, content: u64, order: u64) -> Entry {
        let (at, flow, from, len) = (Instant::ZERO, 0, 0, 100);
        let (is_pure_ack, is_known) = (false, false);
        Entry { mark: mark << 32, content, at, flow, from, is_pure_ack, is_known, len, order }
    }

    /// Numbers under a hash, each of which a search looks at.
    fn candidates(index: &Index, hash: u64) -> usize {
        let count = Cell::new(0);
        index.find(hash, |_| {
            count.set(count.get() + 1);
            false
        });
        count.get()
    }

    #[test]
    fn identical_datagrams_do_not_slow_each_other_down() {
        let mut pending = Pending::new(1_000);
        for order in 0..3_000 {
            pending.push(entry(7, 0, order));
            let hash = entry(7, 0, order).mark;
            assert_eq!(candidates(&pending.unmatched, hash), 1);
            assert_eq!(candidates(&pending.latest, hash), 1);
        }
        let known = (0..1_001).map(|_| pending.know(entry(7, 0, 0).mark).map(|one| one.order));
        assert!(known.eq((2_000..3_000).rev().map(Some).chain([None])));
        assert!(pending.has(&entry(7, 0, 0)));
    }

    proptest! {
        /// Beside a list that is searched from its end.
        #[test]
        fn the_latest_unmatched_packet_is_found(
            steps in prop::collection::vec((0u8..4, 0u64..3, 0u64..2, any::<bool>()), 0..200),
        ) {
            let mut pending = Pending::new(12);
            let mut model: VecDeque<Entry> = VecDeque::new();
            for (order, (action, mark, content, is_known)) in steps.into_iter().enumerate() {
                let packet = Entry { is_known, ..entry(mark, content, order as u64) };
                match action {
                    0 => {
                        let found = pending.pop().map(|entry| entry.order);
                        prop_assert_eq!(found, model.pop_front().map(|entry| entry.order));
                    }
                    1 => {
                        let is = |one: &&mut Entry| one.mark == packet.mark && !one.is_known;
                        let latest = model.iter_mut().rev().find(is);
                        let expected = latest.map(|entry| {
                            entry.is_known = true;
                            entry.order
                        });
                        let found = pending.know(packet.mark).map(|entry| entry.order);
                        prop_assert_eq!(found, expected);
                    }
                    _ => {
                        let has = model.iter().any(|one| one.is_alike(&packet));
                        prop_assert_eq!(pending.has(&packet), has);
                        let oldest = if model.len() == 12 { model.pop_front() } else { None };
                        model.push_back(packet);
                        let found = pending.push(packet).map(|entry| entry.order);
                        prop_assert_eq!(found, oldest.map(|entry| entry.order));
                    }
                }
            }
        }
    }
}
