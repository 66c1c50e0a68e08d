//! Packets of one capture that may still be matched by the other.

use crate::analysis::table::Index;
use fairwave_units::Instant;
use std::cell::Cell;
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
#[derive(Debug)]
pub(super) struct Pending {
    entries: VecDeque<Entry>,
    /// Number of packets removed so far, modulo 2^32: the number of the oldest entry.
    gone: u32,
    index: Index,
    window: usize,
}

impl Pending {
    /// Creates a list with room for `window` packets, at least one.
    pub(super) fn new(window: usize) -> Self {
        let window = window.clamp(1, 1 << 30);
        Self { entries: VecDeque::new(), gone: 0, index: Index::default(), window }
    }

    fn entry(&self, number: u32) -> &Entry {
        &self.entries[number.wrapping_sub(self.gone) as usize]
    }

    /// Finds an unmatched packet with this mark, records it as matched and returns it. Of several,
    /// that is the latest, since earlier ones were more likely lost.
    pub(super) fn know(&mut self, mark: u64) -> Option<Entry> {
        let latest = Cell::new(None);
        self.index.find(mark, |number| {
            let entry = self.entry(number);
            let age = number.wrapping_sub(self.gone);
            if entry.mark == mark && !entry.is_known && latest.get().is_none_or(|l| l < age) {
                latest.set(Some(age));
            }
            false
        });
        let entry = self.entries.get_mut(latest.get()? as usize)?;
        entry.is_known = true;
        Some(*entry)
    }

    /// Whether the list has a packet with the same mark and content.
    pub(super) fn has(&self, packet: &Entry) -> bool {
        let Entry { mark, content, .. } = *packet;
        let is_alike = |other: &Entry| (other.mark, other.content) == (mark, content);
        self.index.find(mark, |number| is_alike(self.entry(number))).is_some()
    }

    /// Adds a packet. If there was no room, removes and returns the oldest.
    pub(super) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let oldest = if self.entries.len() >= self.window { self.pop() } else { None };
        let number = self.gone.wrapping_add(self.entries.len() as u32);
        self.index.insert(entry.mark, number);
        self.entries.push_back(entry);
        oldest
    }

    /// Removes and returns the oldest packet.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let entry = *self.entries.front()?;
        self.index.remove(entry.mark, self.gone);
        self.entries.pop_front();
        self.gone = self.gone.wrapping_add(1);
        Some(entry)
    }

    /// Removes and returns the oldest packet if it satisfies `is`.
    pub(super) fn pop_if(&mut self, is: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let is_due = self.entries.front().is_some_and(is);
        if is_due { self.pop() } else { None }
    }
}
