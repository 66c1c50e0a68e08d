//! Data that arrived out of order, and the SACK blocks that describe it (RFC 2018).

use crate::{Payload, Store};
use std::collections::VecDeque;

/// Neighbouring chunks are joined into chunks of up to this number of bytes.
const GATHERED: u32 = 4096;

/// Out-of-order data beyond RCV.NXT.
#[derive(Clone, Debug)]
pub struct Reassembly<P> {
    /// By position, without overlap.
    chunks: VecDeque<(u64, P)>,
    /// Maximum number of chunks kept: a flood of tiny ones must not cost many times the buffer.
    most: usize,
    /// Ranges of `chunks`, joined, by position.
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
    /// Number of its last change.
    changed: u64,
}

fn end_of<P: Payload>(chunk: &(u64, P)) -> u64 {
    chunk.0 + u64::from(chunk.1.len())
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

    /// Whether it takes no more chunks than there are, unless some can be joined.
    pub fn is_full(&self) -> bool {
        self.chunks.len() >= self.most
    }

    /// Returns the held ranges, the most recently changed first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.recent.iter().rev().map(|r| (r.start, r.end))
    }

    /// The first part of `start..end` that is held.
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|r| r.end <= start);
        let range = self.ranges.get(first).filter(|r| r.start < end)?;
        Some((range.start.max(start), range.end.min(end)))
    }

    /// Returns the end of the last held range.
    pub fn end(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.end)
    }

    /// Keeps the part of `data`, which begins at `start`, that is not held yet; nothing of it, and
    /// returns false, if there are too many chunks already.
    pub fn insert(&mut self, start: u64, data: &P) -> bool {
        debug_assert!(data.len() > 0, "nothing to keep at {start}");
        let end = start + u64::from(data.len());
        if self.is_full() {
            self.gather();
        }
        let mut first = self.chunks.partition_point(|chunk| end_of(chunk) <= start);
        let mut from = start;
        if let Some(chunk) = self.chunks.get(first).filter(|chunk| chunk.0 < start) {
            from = end_of(chunk);
            first += 1;
        }
        // What it covers wholly it replaces, so that it is one chunk itself.
        let covered = self.chunks.range(first..).take_while(|chunk| end_of(chunk) <= end).count();
        let last = first + covered;
        let to = self.chunks.get(last).map_or(end, |chunk| chunk.0.min(end));
        if from < to {
            if covered == 0 && self.is_full() {
                return false;
            }
            let piece = data.slice((from - start) as u32, (to - start) as u32);
            if covered == 0 {
                self.chunks.insert(first, (from, piece));
            } else {
                self.chunks[first] = (from, piece);
                self.chunks.drain(first + 1..last);
            }
        }
        self.join(start, end);
        debug_assert!(self.chunks.len() <= self.most, "{} chunks", self.chunks.len());
        debug_assert_eq!(self.ranges.len(), self.recent.len(), "ranges by place and by change");
        true
    }

    /// Counts `at` as held: the number that the end of a stream takes, for which there is no data.
    pub fn insert_end(&mut self, at: u64) {
        self.join(at, at + 1);
    }

    /// Joins small chunks that touch, where that makes room for a quarter of the maximum or more:
    /// so it is seldom done, whatever comes.
    fn gather(&mut self) {
        if self.chunks.len() < self.ranges.len() + self.most / 2 {
            return;
        }
        let mut kept = 0;
        let mut next = 0;
        while next < self.chunks.len() {
            let (start, first) = self.chunks[next].clone();
            next += 1;
            let mut len = first.len();
            let mut joined = P::Store::default();
            while let Some((at, chunk)) = self.chunks.get(next)
                && *at == start + u64::from(len)
                && len + chunk.len() <= GATHERED
            {
                if joined.is_empty() {
                    joined.push(first.clone());
                }
                len += chunk.len();
                joined.push(chunk.clone());
                next += 1;
            }
            let chunk = if joined.is_empty() { first } else { joined.copy(0, len) };
            self.chunks[kept] = (start, chunk);
            kept += 1;
        }
        self.chunks.truncate(kept);
    }

    /// Adds a range, joined with the ranges that it touches, as the most recent.
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

    /// Takes the first chunk if it begins at or before `next`, without its part below `next`.
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
        let kept = (0..10_000).filter(|i| held.insert(2 * i + 1, &crate::Virtual(1))).count();
        assert_eq!((held.chunks.len(), held.ranges().count(), kept), (64, 64, 64));
        // What is held already, or covers what is, needs no room.
        assert!(held.insert(1, &crate::Virtual(1)) && held.insert(3, &crate::Virtual(19)));
        assert_eq!((held.chunks.len(), held.ranges().next()), (55, Some((3, 22))));
        // What it leaves out comes again in order.
        assert_eq!(held.pop(1), Some(crate::Virtual(1)));
    }

    /// Tiny pieces in a row are no reason to refuse anything: they are joined.
    #[test]
    fn crumbs_in_a_row_are_all_kept() {
        let mut held = Reassembly::new(64);
        for n in 0..10_000u64 {
            assert!(held.insert(1 + 2 * n, &Bytes::copy_from_slice(&[n as u8, !n as u8])), "{n}");
        }
        assert!(held.ranges().eq([(1, 20_001)]));
        assert!(held.insert(0, &Bytes::from_static(b"x")));
        let mut out = Vec::new();
        while let Some(piece) = held.pop(out.len() as u64) {
            out.extend_from_slice(&piece);
        }
        let crumb = |n: usize| [n as u8, !n as u8];
        assert!(out.len() == 20_001 && out[1..].chunks(2).enumerate().all(|(n, c)| c == crumb(n)));
    }

    proptest! {
        /// Whatever the order and overlap of arrival, the stream comes out whole.
        #[test]
        fn any_cover_of_the_stream_reassembles(
            most in prop_oneof![2..20usize, Just(1_000)],
            mut pieces in prop::collection::vec((0usize..190, 1usize..30), 0..40),
        ) {
            let stream: Vec<u8> = (0..200u8).collect();
            pieces.extend((0..20).map(|i| (i * 10, 10)));
            // There is room for what covers all.
            pieces.extend((most < 20).then_some((0, 200)));
            let mut held = Reassembly::new(most);
            for (start, len) in pieces {
                let end = (start + len).min(200);
                held.insert(start as u64, &Bytes::copy_from_slice(&stream[start..end]));
                let apart = held.chunks.iter().zip(held.chunks.iter().skip(1));
                prop_assert!(held.chunks.len() <= most);
                prop_assert!(apart.into_iter().all(|(one, next)| end_of(one) <= next.0));
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
