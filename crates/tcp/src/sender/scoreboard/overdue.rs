//! What is overdue by RACK (RFC 8985 section 6.2 step 5).

use super::{Record, Scoreboard};
use fairwave_units::{Duration, Instant};

/// What has arrived, and how long after its departure a segment sent before that is overdue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The time.
    pub(crate) now: Instant,
    /// Departure and end of the segment sent last of those that have arrived.
    pub(crate) newest: (Instant, u64),
    /// RACK.rtt + RACK.reo_wnd.
    pub(crate) allowance: Duration,
}

/// How a segment stands.
enum Standing {
    /// It left after what has arrived: nothing is known.
    Later,
    /// It will be overdue at this time.
    Waits(Instant),
    Overdue,
}

impl Due {
    fn judge(&self, sent: Instant, end: u64) -> Standing {
        let at = sent + self.allowance;
        if (sent, end) >= self.newest {
            Standing::Later
        } else if at > self.now {
            Standing::Waits(at)
        } else {
            Standing::Overdue
        }
    }
}

impl Record {
    /// Takes it as lost, whatever it counted for in the pipe; by how much less that is.
    fn lose(&mut self) -> u32 {
        let before = self.weight() * self.len;
        self.lost = true;
        self.resent = false;
        before
    }
}

impl Scoreboard {
    /// Marks what is overdue; when the last of the others will be.
    pub(crate) fn mark_overdue(&mut self, due: &Due) -> Option<Instant> {
        let originals = self.mark_originals(due);
        originals.max(self.mark_retransmissions(due))
    }

    /// Originals leave in the order of their numbers, so the walk ends at the first that left
    /// after what has arrived.
    fn mark_originals(&mut self, due: &Due) -> Option<Instant> {
        let first = self.index_of(self.settled_below);
        let (mut waits, mut pending, mut gone, mut lost) = (None, 0, 0, 0);
        let mut settled_below = self.settled_below;
        for record in self.records.range_mut(first..) {
            if !(record.sacked || record.lost || record.retransmitted) {
                match due.judge(record.sent, record.end()) {
                    Standing::Later => break,
                    Standing::Waits(at) => waits = Some(at),
                    Standing::Overdue => {
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
                match due.judge(sent, end) {
                    Standing::Later => break,
                    Standing::Waits(at) => {
                        waits = Some(at);
                        break;
                    }
                    Standing::Overdue => self.lose_again(index),
                }
            }
            self.resent.pop_front();
        }
        waits
    }

    /// The record of the retransmission that left at `sent` and ends at `end`, unless it has
    /// arrived, was cut, sent once more, or is lost already.
    fn find_resent(&self, sent: Instant, end: u64) -> Option<usize> {
        let index = self.records.partition_point(|r| r.end() < end);
        let record = self.records.get(index)?;
        let same = record.end() == end && record.sent == sent;
        (same && !record.sacked && !record.awaits_retransmission()).then_some(index)
    }

    fn lose_again(&mut self, index: usize) {
        let record = &mut self.records[index];
        self.lost += u64::from(record.len);
        self.pipe -= record.lose();
        self.lost_pending += 1;
        self.high_rxt = self.high_rxt.min(record.start);
    }
}
