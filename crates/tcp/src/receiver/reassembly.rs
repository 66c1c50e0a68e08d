//! Data that arrived out of order, and the SACK blocks that describe it (RFC 2018).

use crate::Payload;
use std::collections::VecDeque;

/// Out-of-order data beyond RCV.NXT.
#[derive(Clone, Debug)]
pub struct Reassembly<P> {
    /// By position, without overlap.
    chunks: VecDeque<(u64, P)>,
    /// Most chunks kept: a flood of tiny ones must not cost many times the buffer.
    most: usize,
    /// What `chunks` cover, joined, by position.
    ranges: VecDeque<Range>,
    /// The same by when they changed, latest last.
    recent: VecDeque<Range>,
    /// Changes so far.
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// The number of the change that made it what it is.
    changed: u64,
}

impl<P: Payload> Reassembly<P> {
    /// Holds nothing yet, and never more than `most` chunks.
    pub fn new(most: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            most,
            ranges: VecDeque::new(),
            recent: VecDeque::new(),
            changes: 0,
        }
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether it takes no more chunks.
    pub fn is_full(&self) -> bool {
        self.chunks.len() >= self.most
    }

    /// Ranges held, most recently changed first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.recent.iter().rev().map(|r| (r.start, r.end))
    }

    /// The first part of `start..end` that is held.
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|r| r.end <= start);
        let range = self.ranges.get(first).filter(|r| r.start < end)?;
        Some((range.start.max(start), range.end.min(end)))
    }

    /// Keeps what of `data`, which begins at `start`, is not held yet; nothing of it if there
    /// are too many chunks already.
    pub fn insert(&mut self, start: u64, data: &P) {
        if self.is_full() {
            return;
        }
        let end = start + u64::from(data.len());
        let mut at = start;
        let mut index = self.chunks.partition_point(|(s, c)| s + u64::from(c.len()) <= start);
        while at < end {
            let next = self.chunks.get(index).map(|(s, c)| (*s, s + u64::from(c.len())));
            let gap_end = next.map_or(end, |(s, _)| s.min(end));
            if at < gap_end {
                let piece = data.slice((at - start) as u32, (gap_end - start) as u32);
                self.chunks.insert(index, (at, piece));
                index += 1;
            }
            at = next.map_or(end, |(_, e)| e);
            index += 1;
        }
        self.join(start, end);
    }

    /// Adds a range, joined with what it touches, as the most recent.
    fn join(&mut self, mut start: u64, mut end: u64) {
        let first = self.ranges.partition_point(|r| r.end < start);
        let mut last = first;
        while let Some(range) = self.ranges.get(last).filter(|r| r.start <= end) {
            (start, end) = (start.min(range.start), end.max(range.end));
            let changed = range.changed;
            self.forget_change(changed);
            last += 1;
        }
        self.changes += 1;
        let joined = Range { start, end, changed: self.changes };
        if first < last {
            self.ranges[first] = joined;
            self.ranges.drain(first + 1..last);
        } else {
            self.ranges.insert(first, joined);
        }
        self.recent.push_back(joined);
    }

    fn forget_change(&mut self, changed: u64) {
        let index = self.recent.partition_point(|r| r.changed < changed);
        self.recent.remove(index);
    }

    /// The first chunk if it begins at or before `next`, without what lies below `next`.
    pub fn pop(&mut self, next: u64) -> Option<P> {
        while self.chunks.front().is_some_and(|(s, _)| *s <= next) {
            let (start, data) = self.chunks.pop_front()?;
            let skip = next - start;
            if skip < u64::from(data.len()) {
                return Some(data.slice(skip as u32, data.len()));
            }
        }
        None
    }

    /// RCV.NXT is `next` now: forgets the ranges below.
    pub fn forget(&mut self, next: u64) {
        while let Some(range) = self.ranges.front().filter(|r| r.end <= next) {
            let changed = range.changed;
            self.forget_change(changed);
            self.ranges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    /// RFC 2018 section 4: the first block holds the segment that triggered the ACK.
    #[test]
    fn the_latest_range_comes_first() {
        let mut held = Reassembly::new(1_000);
        for (start, len) in [(100, 10), (200, 10), (300, 10), (110, 10)] {
            held.insert(start, &crate::Virtual(len));
        }
        assert!(held.ranges().eq([(100, 120), (300, 310), (200, 210)]));
        held.insert(120, &crate::Virtual(80));
        assert!(held.ranges().eq([(100, 210), (300, 310)]));
        held.forget(210);
        assert!(held.ranges().eq([(300, 310)]));
    }

    /// A peer that sends every other byte pays for it alone.
    #[test]
    fn a_flood_of_crumbs_is_bounded() {
        let mut held = Reassembly::new(64);
        (0..10_000).for_each(|i| held.insert(2 * i + 1, &crate::Virtual(1)));
        assert_eq!((held.chunks.len(), held.ranges().count()), (64, 64));
        // What it leaves out comes again in order.
        assert_eq!(held.pop(1), Some(crate::Virtual(1)));
    }

    proptest! {
        /// Whatever the order and overlap of arrival, the stream comes out whole.
        #[test]
        fn any_cover_of_the_stream_reassembles(
            mut pieces in prop::collection::vec((0usize..190, 1usize..30), 0..40),
        ) {
            let stream: Vec<u8> = (0..200u8).collect();
            pieces.extend((0..20).map(|i| (i * 10, 10)));
            let mut held = Reassembly::new(1_000);
            for (start, len) in pieces {
                let end = (start + len).min(200);
                held.insert(start as u64, &Bytes::copy_from_slice(&stream[start..end]));
            }
            prop_assert!(held.ranges().eq([(0, 200)]));
            let mut out = Vec::new();
            while let Some(piece) = held.pop(out.len() as u64) {
                out.extend_from_slice(&piece);
            }
            held.forget(out.len() as u64);
            prop_assert!(held.is_empty());
            prop_assert_eq!(out, stream);
        }
    }
}
