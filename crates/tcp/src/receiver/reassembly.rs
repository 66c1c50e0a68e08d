//! Data that arrived out of order, and the SACK blocks that describe it (RFC 2018).

use crate::Payload;
use std::collections::VecDeque;

/// Out-of-order data beyond RCV.NXT.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly<P> {
    /// By position, without overlap.
    chunks: VecDeque<(u64, P)>,
    /// What `chunks` cover, joined, the range that changed last first.
    ranges: Vec<(u64, u64)>,
}

impl<P> Default for Reassembly<P> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), ranges: Vec::new() }
    }
}

impl<P: Payload> Reassembly<P> {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Ranges held, most recently changed first.
    pub(crate) fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Keeps what of `data`, which begins at `start`, is not held yet.
    pub(crate) fn insert(&mut self, start: u64, data: &P) {
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

    /// Adds a range, joined with what it touches, in front.
    fn join(&mut self, mut start: u64, mut end: u64) {
        self.ranges.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                start = start.min(s);
                end = end.max(e);
            }
            !touches
        });
        self.ranges.insert(0, (start, end));
    }

    /// The first chunk if it begins at or before `next`, without what lies below `next`.
    pub(crate) fn pop(&mut self, next: u64) -> Option<P> {
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
    pub(crate) fn forget(&mut self, next: u64) {
        self.ranges.retain(|&(_, end)| end > next);
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
        let mut held = Reassembly::default();
        for (start, len) in [(100, 10), (200, 10), (300, 10), (110, 10)] {
            held.insert(start, &crate::Virtual(len));
        }
        assert_eq!(held.ranges(), [(100, 120), (300, 310), (200, 210)]);
        held.insert(120, &crate::Virtual(80));
        assert_eq!(held.ranges(), [(100, 210), (300, 310)]);
    }

    proptest! {
        /// Whatever the order and overlap of arrival, the stream comes out whole.
        #[test]
        fn any_cover_of_the_stream_reassembles(
            mut pieces in prop::collection::vec((0usize..190, 1usize..30), 0..40),
        ) {
            let stream: Vec<u8> = (0..200u8).collect();
            pieces.extend((0..20).map(|i| (i * 10, 10)));
            let mut held = Reassembly::default();
            for (start, len) in pieces {
                let end = (start + len).min(200);
                held.insert(start as u64, &Bytes::copy_from_slice(&stream[start..end]));
            }
            prop_assert_eq!(held.ranges(), &[(0, 200)]);
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
