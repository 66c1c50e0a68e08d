//! The segments that have been sent and not acknowledged, in the order of their numbers.

use crate::marks::Marks;
use fairwave_units::Instant;
use fairwave_wire::shake::MAX_BLOCKS;
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
    /// It has been sent on a second path for the sake of the first byte, and was not lost since.
    pub(crate) reinjected: bool,
    /// More than one copy has left.
    pub(crate) repeated: bool,
    /// Copies that are neither echoed nor lost.
    pub(crate) in_flight: u32,
    /// Index of the path of the latest copy.
    pub(crate) path: usize,
    /// Number of the latest copy on that path; zero before the first has left.
    pub(crate) number: u64,
    /// Time at which the latest copy left.
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
    /// Number of earlier segments: the place of the first one.
    first: u64,
    /// Position of the next new segment.
    next: u64,
    /// Segments marked as lost, and their places.
    lost: usize,
    lost_at: Marks,
    /// Places of missing segments. Neither is searched one by one: a peer chooses how far they are
    /// from each other, and asks with every message.
    missing_at: Marks,
    /// Blocks that the last acknowledgement named: all in them is marked.
    known: [(u64, u64); MAX_BLOCKS],
    looked_at: u64,
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

    /// Frees the segments: none is sent again.
    pub(crate) fn discard(&mut self) {
        let (next, looked_at) = (self.next, self.looked_at);
        *self = Self { next, looked_at, ..Self::default() };
    }

    pub(crate) fn push(&mut self, segment: Sent) -> usize {
        debug_assert_eq!(segment.seq, self.next, "segments are sent in order");
        self.next = segment.end();
        self.missing_at.set(self.first + self.segments.len() as u64);
        self.segments.push_back(segment);
        self.segments.len() - 1
    }

    /// Cuts the segments of more than `max` bytes that have not arrived. The parts are lost; a copy
    /// in flight counts for the first of them alone.
    pub(crate) fn cut(&mut self, max: u32) {
        let is_long = |segment: &Sent| !segment.delivered && segment.payload() > max;
        if !self.segments.iter().any(is_long) {
            return;
        }
        let (una, looked_at) = (self.una(), self.looked_at);
        let segments = std::mem::take(&mut self.segments);
        *self = Self { next: una, looked_at, ..Self::default() };
        for segment in segments {
            let is_lost = segment.lost || is_long(&segment);
            let mut rest = segment;
            while is_long(&rest) {
                self.enter(Sent { len: max, fin: false, ..rest }, is_lost);
                let (seq, len) = (rest.seq + u64::from(max), rest.len - max);
                rest = Sent { seq, len, repeated: true, in_flight: 0, number: 0, ..rest };
            }
            self.enter(rest, is_lost);
        }
        self.check();
    }

    /// Appends a segment of before.
    fn enter(&mut self, segment: Sent, is_lost: bool) {
        let index = self.push(Sent { lost: false, ..segment });
        if segment.delivered {
            self.missing_at.clear(self.first + index as u64);
        } else if is_lost {
            self.lose(index);
        }
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

    /// A copy has left, and another stays the one that counts.
    pub(crate) fn copied(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        segment.repeated |= segment.number > 0;
        segment.in_flight += 1;
    }

    /// A new copy has left, the one that counts from now on.
    pub(crate) fn note_resent(&mut self, index: usize, path: usize, number: u64, at: Instant) {
        self.copied(index);
        let segment = &mut self.segments[index];
        if segment.lost {
            segment.lost = false;
            self.lost -= 1;
            self.lost_at.clear(self.first + index as u64);
        }
        (segment.path, segment.number, segment.at) = (path, number, at);
    }

    /// Removes a copy of the segment at `seq` from the copies in flight.
    pub(crate) fn landed(&mut self, seq: u64) {
        if let Some(index) = self.find(seq) {
            let segment = &mut self.segments[index];
            debug_assert!(segment.in_flight > 0, "no copy of {seq} is in flight");
            segment.in_flight = segment.in_flight.saturating_sub(1);
        }
    }

    /// Marks the segment as lost, unless it has arrived; whether that is new.
    pub(crate) fn lose(&mut self, index: usize) -> bool {
        let segment = &mut self.segments[index];
        if segment.delivered || segment.lost {
            return false;
        }
        (segment.lost, segment.reinjected) = (true, false);
        self.lost += 1;
        self.lost_at.set(self.first + index as u64);
        debug_assert!(self.lost <= self.segments.len(), "{} lost", self.lost);
        true
    }

    /// Marks all that has not arrived; TCP without SACK goes back so.
    pub(crate) fn lose_all(&mut self) {
        self.lose_where(|_| true);
    }

    /// Marks the segments of `which` that have not arrived.
    pub(crate) fn lose_where(&mut self, which: impl Fn(&Sent) -> bool) {
        let mut from = 0;
        while let Some(index) = self.missing_from(from) {
            if which(self.get(index)) {
                self.lose(index);
            }
            from = index + 1;
        }
    }

    /// Lost segments by number, from the first.
    pub(crate) fn lost_segments(&self) -> impl Iterator<Item = (usize, &Sent)> {
        let next = |from: u64| if self.lost > 0 { self.lost_at.next(from) } else { None };
        let places = core::iter::successors(next(self.first), move |place| next(place + 1));
        places.map(|place| (place - self.first) as usize).map(|index| (index, self.get(index)))
    }

    /// Segments that have not arrived by number, from the first.
    pub(crate) fn missing_segments(&self) -> impl Iterator<Item = (usize, &Sent)> {
        let next = |from: u64| self.missing_at.next(from);
        let places = core::iter::successors(next(self.first), move |place| next(place + 1));
        places.map(|place| (place - self.first) as usize).map(|index| (index, self.get(index)))
    }

    /// The first segment from `index` on that has not arrived.
    fn missing_from(&self, index: usize) -> Option<usize> {
        let place = self.missing_at.next(self.first + index as u64)?;
        Some((place - self.first) as usize)
    }

    /// The first segment from the offset `from` on that has not arrived; moves `from` there, or to
    /// where the next new segment begins.
    pub(crate) fn next_missing(&self, from: &mut u64) -> Option<usize> {
        let first = self.segments.partition_point(|segment| segment.seq < *from);
        let missing = self.missing_from(first);
        *from = missing.map_or(self.next, |index| self.segments[index].seq);
        missing
    }

    /// The first segment that has not arrived.
    pub(crate) fn first_missing(&self) -> Option<usize> {
        self.missing_from(0)
    }

    /// Segments looked at so far because a block may cover them.
    pub(crate) fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Forgets everything below `cumulative`, which has arrived. `arrived` gets each segment whose
    /// arrival is new.
    pub(crate) fn acknowledge(&mut self, cumulative: u64, mut arrived: impl FnMut(&Sent)) {
        while let Some(front) = self.segments.front().filter(|front| front.end() <= cumulative) {
            if !front.delivered {
                arrived(front);
                self.missing_at.clear(self.first);
            }
            if front.lost {
                self.lost -= 1;
                self.lost_at.clear(self.first);
            }
            self.segments.pop_front();
            self.first += 1;
        }
        self.missing_at.forget(self.first);
        self.lost_at.forget(self.first);
        self.check();
    }

    fn check(&self) {
        let (una, next, lost) = (self.una(), self.next, self.lost);
        debug_assert!(una <= next, "{una} > {next}");
        debug_assert!(lost <= self.segments.len(), "{lost} of {} lost", self.segments.len());
        debug_assert_eq!(lost > 0, self.lost_at.next(self.first).is_some(), "{lost} lost");
        let last = self.segments.back().map_or(next, Sent::end);
        debug_assert_eq!(last, next, "the end of the last segment");
        let is_missing = |index: usize| self.segments.get(index).is_some_and(|s| !s.delivered);
        debug_assert!(self.first_missing().is_none_or(is_missing), "what is missing has arrived");
    }

    /// Marks the segments within `start..end` as arrived; as [`Scoreboard::acknowledge`]. Returns
    /// the end of the marks: half a segment is none.
    fn sack(&mut self, start: u64, end: u64, mut arrived: impl FnMut(&Sent)) -> u64 {
        let known = self.known.iter().find(|known| known.0 <= start && start < known.1);
        let start = known.map_or(start, |known| known.1);
        if start >= end {
            return end;
        }
        let mut from = self.segments.partition_point(|segment| segment.seq < start);
        while let Some(index) = self.missing_from(from) {
            self.looked_at += 1;
            let segment = &mut self.segments[index];
            if segment.end() > end {
                return segment.seq.min(end);
            }
            segment.delivered = true;
            self.missing_at.clear(self.first + index as u64);
            if segment.lost {
                segment.lost = false;
                self.lost -= 1;
                self.lost_at.clear(self.first + index as u64);
            }
            arrived(segment);
            from = index + 1;
        }
        end
    }

    /// Marks the segments within `blocks` as arrived.
    pub(crate) fn sack_blocks(
        &mut self,
        blocks: impl Iterator<Item = (u64, u64)> + Clone,
        mut arrived: impl FnMut(&Sent),
    ) {
        let mut known = [(0, 0); MAX_BLOCKS];
        for ((start, end), place) in blocks.zip(&mut known) {
            *place = (start, self.sack(start, end, &mut arrived));
        }
        self.known = known;
        self.check();
    }
}
