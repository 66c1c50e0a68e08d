//! The segments that have been sent and not acknowledged, in the order of their numbers.

use fairwave_units::Instant;
use fairwave_wire::shake::MOST_BLOCKS;
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// A segment between the first unacknowledged byte and the next new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Offset of its first byte.
    pub(crate) seq: u64,
    /// Sequence numbers it takes, the end of the stream among them.
    pub(crate) len: u32,
    /// Whether the stream ends behind it.
    pub(crate) fin: bool,
    /// It has arrived, by the cumulative acknowledgement or a block.
    pub(crate) delivered: bool,
    /// It is to be sent again.
    pub(crate) lost: bool,
    /// It has been sent on a second path for the sake of the first byte.
    pub(crate) reinjected: bool,
    /// Copies that are neither echoed nor lost.
    pub(crate) flying: u32,
    /// Index of the path of the latest copy.
    pub(crate) path: usize,
    /// Number of the latest copy on that path.
    pub(crate) number: u64,
    /// When the latest copy left.
    pub(crate) at: Instant,
}

impl Sent {
    pub(crate) const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Bytes of payload.
    pub(crate) const fn payload(&self) -> u32 {
        self.len - self.fin as u32
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Where the next new segment begins.
    next: u64,
    /// Segments marked as lost.
    lost: usize,
    /// No segment before this offset is lost.
    lost_from: u64,
    /// Blocks that the last acknowledgement named: all in them is marked.
    known: [(u64, u64); MOST_BLOCKS],
}

impl Scoreboard {
    /// First byte that may be sent again.
    pub(crate) fn una(&self) -> u64 {
        self.segments.front().map_or(self.next, |segment| segment.seq)
    }

    /// First byte that was never sent.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn lost(&self) -> usize {
        self.lost
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (usize, &Sent)> {
        self.segments.iter().enumerate()
    }

    pub(crate) fn push(&mut self, segment: Sent) -> usize {
        debug_assert_eq!(segment.seq, self.next, "segments are sent in order");
        self.next = segment.end();
        self.segments.push_back(segment);
        self.segments.len() - 1
    }

    pub(crate) fn get(&self, index: usize) -> &Sent {
        &self.segments[index]
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Sent {
        &mut self.segments[index]
    }

    /// The segment that begins at `seq`, if it is still here.
    pub(crate) fn find(&self, seq: u64) -> Option<usize> {
        let index = self.segments.partition_point(|segment| segment.seq < seq);
        self.segments.get(index).filter(|segment| segment.seq == seq).map(|_| index)
    }

    /// A new copy has left.
    pub(crate) fn sent_again(&mut self, index: usize, path: usize, number: u64, at: Instant) {
        let segment = &mut self.segments[index];
        self.lost -= usize::from(segment.lost);
        segment.lost = false;
        segment.flying += 1;
        (segment.path, segment.number, segment.at) = (path, number, at);
    }

    /// A copy of the segment at `seq` flies no more.
    pub(crate) fn landed(&mut self, seq: u64) {
        if let Some(index) = self.find(seq) {
            let segment = &mut self.segments[index];
            segment.flying = segment.flying.saturating_sub(1);
        }
    }

    /// Marks the segment as lost, unless it has arrived; whether that is new.
    pub(crate) fn lose(&mut self, index: usize) -> bool {
        let segment = &mut self.segments[index];
        if segment.delivered || segment.lost {
            return false;
        }
        segment.lost = true;
        self.lost_from = self.lost_from.min(segment.seq);
        self.lost += 1;
        true
    }

    /// Marks all that has not arrived; TCP without SACK goes back so.
    pub(crate) fn lose_all(&mut self) {
        (0..self.segments.len()).for_each(|index| {
            self.lose(index);
        });
    }

    /// Lost segments by number, from the first.
    pub(crate) fn lost_segments(&mut self) -> impl Iterator<Item = (usize, &Sent)> {
        let mut first = self.segments.partition_point(|segment| segment.seq < self.lost_from);
        let more = if self.lost > 0 { self.segments.len() } else { first };
        while first < more && !self.segments[first].lost {
            first += 1;
        }
        self.lost_from = self.segments.get(first).map_or(self.next, |segment| segment.seq);
        let end = first.max(more);
        self.segments
            .range(first..end)
            .zip(first..)
            .filter_map(|(segment, index)| segment.lost.then_some((index, segment)))
    }

    /// The first segment from the offset `from` on that has not arrived; moves `from` there, or to
    /// where the next new segment begins.
    pub(crate) fn next_missing(&self, from: &mut u64) -> Option<usize> {
        let first = self.segments.partition_point(|segment| segment.seq < *from);
        let mut rest = self.segments.range(first..).zip(first..);
        let missing = rest.find(|(segment, _)| !segment.delivered);
        *from = missing.map_or(self.next, |(segment, _)| segment.seq);
        missing.map(|(_, index)| index)
    }

    /// The first segment that has not arrived.
    pub(crate) fn first_missing(&self) -> Option<usize> {
        self.segments.iter().position(|segment| !segment.delivered)
    }

    /// Everything below `cumulative` has arrived: forgets it. `arrived` hears of each segment
    /// whose arrival is news.
    pub(crate) fn acknowledge(&mut self, cumulative: u64, mut arrived: impl FnMut(&Sent)) {
        while let Some(front) = self.segments.front().filter(|front| front.end() <= cumulative) {
            if !front.delivered {
                arrived(front);
                self.lost -= usize::from(front.lost);
            }
            self.segments.pop_front();
        }
    }

    /// What lies within `start..end` has arrived; as [`Scoreboard::acknowledge`]. Returns up to
    /// where that was marked: half a segment is none.
    fn sack(&mut self, start: u64, end: u64, mut arrived: impl FnMut(&Sent)) -> u64 {
        let mut at = start.max(self.una());
        while at < end {
            if let Some(known) = self.known.iter().find(|known| known.0 <= at && at < known.1) {
                at = known.1;
                continue;
            }
            let index = self.segments.partition_point(|segment| segment.seq < at);
            let segment = self.segments.get_mut(index).filter(|segment| segment.end() <= end);
            let Some(segment) = segment else { break };
            at = segment.end();
            if !segment.delivered {
                segment.delivered = true;
                self.lost -= usize::from(segment.lost);
                segment.lost = false;
                arrived(segment);
            }
        }
        at
    }

    /// What lies within `blocks` has arrived.
    pub(crate) fn sack_blocks(
        &mut self,
        blocks: impl Iterator<Item = (u64, u64)> + Clone,
        mut arrived: impl FnMut(&Sent),
    ) {
        let mut known = [(0, 0); MOST_BLOCKS];
        for ((start, end), place) in blocks.zip(&mut known) {
            *place = (start, self.sack(start, end, &mut arrived));
        }
        self.known = known;
    }
}
