//! Segments overdue by RACK (RFC 8985 section 6.2 step 5).

use super::super::facts::Sent;
use super::super::rack::{Due, SegmentState};
use super::{Record, Scoreboard};
use fairwave_units::Instant;

impl Record {
    /// Marks the segment as lost. Returns the bytes by which `pipe` shrinks.
    fn lose(&mut self) -> u32 {
        let before = self.weight() * self.len;
        self.lost = true;
        self.resent = false;
        before
    }
}

impl Scoreboard {
    /// Marks overdue segments as lost. Returns when the last of the others will be overdue.
    pub(crate) fn mark_overdue(&mut self, due: &Due) -> Option<Instant> {
        let originals = self.mark_originals(due);
        originals.max(self.mark_retransmissions(due))
    }

    /// Originals leave in the order of their numbers, so the walk ends at the first that left after
    /// the newest arrived segment.
    fn mark_originals(&mut self, due: &Due) -> Option<Instant> {
        let first = self.index_of(self.settled_below);
        let (mut waits, mut pending, mut gone, mut lost) = (None, 0, 0, 0);
        let mut settled_below = self.settled_below;
        for record in self.records.range_mut(first..) {
            if !(record.sacked || record.lost || record.retransmitted) {
                match due.judge(record.sent) {
                    SegmentState::Later => break,
                    SegmentState::Waits(at) => waits = Some(at),
                    SegmentState::Overdue => {
                        lost += u64::from(record.len);
                        gone += record.lose();
                        pending += 1;
                        self.high_rxt = self.high_rxt.min(record.start);
                    }
                }
            }
            if waits.is_none() {
                settled_below = record.end();
            }
        }
        self.settled_below = settled_below;
        self.pipe -= gone;
        self.lost_pending += pending;
        self.lost += lost;
        waits
    }

    fn mark_retransmissions(&mut self, due: &Due) -> Option<Instant> {
        let mut waits = None;
        while let Some(&(sent, end)) = self.resent.front() {
            if let Some(index) = self.find_resent(sent, end) {
                match due.judge(sent) {
                    SegmentState::Later => break,
                    SegmentState::Waits(at) => {
                        waits = Some(at);
                        break;
                    }
                    SegmentState::Overdue => self.mark_lost_again(index),
                }
            }
            self.resent.pop_front();
        }
        waits
    }

    /// The record of the retransmission that was `sent` then and ends at `end`, unless it has
    /// arrived, was cut, sent once more, or is lost already.
    fn find_resent(&self, sent: Sent, end: u64) -> Option<usize> {
        let index = self.records.partition_point(|r| r.end() < end);
        let record = self.records.get(index)?;
        let same = record.end() == end && record.sent == sent;
        (same && !record.sacked && !record.awaits_retransmission()).then_some(index)
    }

    fn mark_lost_again(&mut self, index: usize) {
        let record = &mut self.records[index];
        self.lost += u64::from(record.len);
        self.pipe -= record.lose();
        self.lost_pending += 1;
        self.high_rxt = self.high_rxt.min(record.start);
    }
}
