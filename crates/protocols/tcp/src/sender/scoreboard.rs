//! Outstanding data: one record a segment, with its SACK state (RFC 6675).

mod overdue;

use super::facts::Sent;
use super::rate::{Arrivals, Departure};
use fairwave_units::Instant;
use std::collections::VecDeque;

/// One transmitted segment that is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Stream offset of its first byte.
    pub(crate) start: u64,
    /// Sequence space it takes: payload, and one for a FIN.
    pub(crate) len: u32,
    /// Timestamp value of its last transmission.
    timestamp: u32,
    /// Time of its last transmission.
    sent: Sent,
    /// State of the rate sampler then.
    departure: Departure,
    /// The rate sampler has counted its delivery.
    counted: bool,
    /// It was sent more than once.
    retransmitted: bool,
    /// It was sent more than once with this timestamp: within one tick of the clock.
    ambiguous: bool,
    sacked: bool,
    /// Believed lost: not counted in the pipe as first sent.
    lost: bool,
    /// Retransmitted in this recovery: the retransmission counts in the pipe.
    resent: bool,
}

impl Record {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Returns the number of times that each of its bytes counts in `pipe` (RFC 6675 section 4,
    /// SetPipe).
    fn weight(&self) -> u32 {
        if self.sacked { 0 } else { u32::from(!self.lost) + u32::from(self.resent) }
    }

    /// Its delivery is reported, once: by the ACK number, which is `echoed`, or by a SACK block.
    fn arrive(&mut self, arrivals: &mut Arrivals, echoed: bool) {
        if !core::mem::replace(&mut self.counted, true) {
            arrivals.take(self.len, self.sent, &self.departure);
            if let Some(order) = &mut arrivals.order {
                order.take(self.sent, self.end(), self.timestamp, self.retransmitted, echoed);
            }
        }
    }

    fn awaits_retransmission(&self) -> bool {
        self.lost && !self.resent && !self.sacked
    }
}

/// State that a segment leaves with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RemovedSegment {
    /// Timestamp value, where timestamps are on.
    pub(crate) timestamp: u32,
    /// State of the rate sampler.
    pub(crate) departure: Departure,
}

/// Coverage of a cumulative acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Covered {
    /// Some of it was sent more than once.
    pub(crate) retransmission: bool,
    /// Time at which the last segment that is wholly covered left.
    pub(crate) last_sent: Option<Instant>,
    /// Bytes up to the first segment with the echoed timestamp.
    pub(crate) echo_gap: Option<u32>,
    /// Time at which that segment left; `None` if it left twice with that timestamp.
    pub(crate) echo_sent: Option<Instant>,
}

/// The records of all outstanding segments, contiguous and in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    /// RFC 6675 `pipe` in bytes; without SACK, SND.NXT - SND.UNA until a timeout.
    pipe: u32,
    /// Records that await retransmission.
    lost_pending: u32,
    /// At least RFC 6675 `HighRxt`: nothing below awaits retransmission.
    high_rxt: u64,
    /// End of the highest SACKed segment.
    high_sacked: u64,
    /// Offset below which every segment that is not SACKed is marked lost.
    lost_below: u64,
    /// Blocks of the last ACK: their ranges need not be examined again.
    known: [(u64, u64); 4],
    /// Bytes found to be lost so far, by whatever rule but a timeout.
    lost: u64,
    /// Segments that are SACKed.
    sacked: u32,
    /// Offset below which RACK has settled every original transmission: it arrived, is marked lost,
    /// or was retransmitted.
    settled_below: u64,
    /// Retransmissions in the order in which they left, where RACK is on: when, and where they
    /// end.
    resent: VecDeque<(Sent, u64)>,
    /// Keep that list.
    keeps_resent: bool,
    /// Segments sent so far, retransmissions included.
    transmissions: u64,
    /// A timeout keeps SACK information, unless the peer has reneged.
    keeps_sacks: bool,
}

impl Scoreboard {
    /// Nothing is outstanding. `keeps_sacks` is [`crate::Config::keep_sacks`].
    pub(crate) fn new(keeps_sacks: bool) -> Self {
        Self { keeps_sacks, ..Self::default() }
    }

    pub(crate) fn pipe(&self) -> u32 {
        self.pipe
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost_pending > 0
    }

    /// Bytes found to be lost so far, by whatever rule but a timeout.
    pub(crate) fn bytes_lost(&self) -> u64 {
        self.lost
    }

    /// Segments outstanding.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Segments that are SACKed (RACK.segs_sacked).
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked
    }

    /// RACK is on: retransmissions are remembered in their order.
    pub(crate) fn keep_resent(&mut self) {
        self.keeps_resent = true;
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }

    /// Asserts the invariants after every fact: the records cover SND.UNA..SND.NXT, and the counts
    /// are of them.
    pub(crate) fn check(&self, una: u64, next: u64) {
        let span = self.records.front().zip(self.records.back());
        let span = span.map_or((next, next), |(first, last)| (first.start, last.end()));
        debug_assert_eq!(span, (una, next), "what the records cover");
        // A segment that was not marked lost and was retransmitted all the same, because it was
        // speculated on or the loss was undone, is in flight twice.
        let maximum = 2 * (next - una);
        debug_assert!(u64::from(self.pipe) <= maximum, "pipe {} > {maximum}", self.pipe);
        let named = self.sacked as usize + self.lost_pending as usize;
        debug_assert!(named <= self.records.len(), "{named} segments SACKed or pending");
        debug_assert!(self.high_sacked <= next.max(self.high_rxt), "SACKed beyond SND.NXT");
    }

    /// Asserts the running sums where every record is walked over anyway.
    fn check_sums(&self) {
        let pipe = || self.records.iter().map(|r| r.weight() * r.len).sum::<u32>();
        debug_assert_eq!(self.pipe, pipe(), "pipe");
        let sacked = || self.records.iter().filter(|r| r.sacked).count();
        debug_assert_eq!(self.sacked as usize, sacked(), "segments SACKed");
        let pending = || self.records.iter().filter(|r| r.awaits_retransmission()).count();
        debug_assert_eq!(self.lost_pending as usize, pending(), "segments to retransmit");
    }

    /// Whether the first outstanding segment is believed lost.
    pub(crate) fn head_is_lost(&self) -> bool {
        self.records.front().is_some_and(|r| r.lost)
    }

    /// Whether the peer has dropped data that it had reported: it would have acknowledged a
    /// SACKed segment at SND.UNA. Only asked where SACK information is kept.
    pub(crate) fn is_reneged(&self) -> bool {
        self.keeps_sacks && self.records.front().is_some_and(|r| r.sacked)
    }

    /// A segment leaves: its place in the order of transmissions.
    fn number(&mut self, at: Instant) -> Sent {
        self.transmissions += 1;
        Sent { at, number: self.transmissions }
    }

    /// A new segment leaves.
    pub(crate) fn push(&mut self, start: u64, len: u32, now: Instant, left: RemovedSegment) {
        debug_assert!(len > 0, "a segment without sequence space");
        let sent = self.number(now);
        self.records.push_back(Record {
            start,
            len,
            timestamp: left.timestamp,
            sent,
            departure: left.departure,
            counted: false,
            retransmitted: false,
            ambiguous: false,
            sacked: false,
            lost: false,
            resent: false,
        });
        self.pipe += len;
    }

    /// The segment at `index` leaves again. `in_pipe`: as part of SACK or timeout recovery, so
    /// that the copy counts as in flight.
    pub(crate) fn resend(
        &mut self,
        index: usize,
        now: Instant,
        left: RemovedSegment,
        in_pipe: bool,
    ) {
        let sent = self.number(now);
        let Some(record) = self.records.get_mut(index) else { return };
        record.sent = sent;
        record.ambiguous = record.timestamp == left.timestamp;
        record.timestamp = left.timestamp;
        record.departure = left.departure;
        record.retransmitted = true;
        if self.keeps_resent {
            self.resent.push_back((sent, record.end()));
        }
        if !in_pipe {
            return;
        }
        if record.awaits_retransmission() {
            self.lost_pending -= 1;
        }
        if !record.resent && !record.sacked {
            record.resent = true;
            self.pipe += record.len;
        }
        self.high_rxt = self.high_rxt.max(record.end());
    }

    /// Drops the records below `una`; `echo` is the timestamp that the ACK echoes. `arrivals`
    /// receives the segments that were not reported before.
    pub(crate) fn acknowledge(
        &mut self,
        una: u64,
        echo: Option<u32>,
        arrivals: &mut Arrivals,
    ) -> Covered {
        let mut covered = Covered::default();
        let old = self.records.front().map_or(una, |r| r.start);
        while let Some(record) = self.records.front_mut().filter(|r| r.start < una) {
            covered.retransmission |= record.retransmitted;
            if covered.echo_gap.is_none() && echo == Some(record.timestamp) {
                covered.echo_gap = Some((record.start - old) as u32);
                covered.echo_sent = (!record.ambiguous).then_some(record.sent.at);
            }
            let weight = record.weight();
            if record.end() > una {
                let cut = (una - record.start) as u32;
                record.start = una;
                record.len -= cut;
                self.pipe -= weight * cut;
                break;
            }
            self.pipe -= weight * record.len;
            record.arrive(arrivals, true);
            self.sacked -= u32::from(record.sacked);
            self.lost_pending -= u32::from(record.awaits_retransmission());
            covered.last_sent = Some(record.sent.at);
            self.records.pop_front();
        }
        self.high_rxt = self.high_rxt.max(una);
        self.high_sacked = self.high_sacked.max(una);
        self.lost_below = self.lost_below.max(una);
        covered
    }

    /// Takes the blocks of an ACK (RFC 6675 section 4, Update): bytes newly covered.
    pub(crate) fn sack(&mut self, blocks: &[(u64, u64)], arrivals: &mut Arrivals) -> u32 {
        let mut newly = 0;
        for &(left, right) in blocks {
            let seen = self.known.iter().find(|k| k.0 <= left && left < k.1);
            // A segment across the seen block's right edge was not covered by it.
            let seen = seen.map_or(0, |k| self.records.partition_point(|r| r.end() <= k.1));
            newly += self.sack_range(seen.max(self.index_of(left)), right, arrivals);
        }
        self.known = [(0, 0); 4];
        for (known, block) in self.known.iter_mut().zip(blocks) {
            *known = *block;
        }
        newly
    }

    /// Takes the segments from index `first` on that end by `right` as SACKed.
    fn sack_range(&mut self, first: usize, right: u64, arrivals: &mut Arrivals) -> u32 {
        let mut newly = 0;
        for record in self.records.range_mut(first..).take_while(|r| r.end() <= right) {
            if record.sacked {
                continue;
            }
            self.pipe -= record.weight() * record.len;
            self.lost_pending -= u32::from(record.awaits_retransmission());
            record.sacked = true;
            self.sacked += 1;
            record.arrive(arrivals, false);
            newly += record.len;
            self.high_sacked = self.high_sacked.max(record.end());
        }
        newly
    }

    /// Index of the first record that begins at or after `offset`.
    fn index_of(&self, offset: u64) -> usize {
        self.records.partition_point(|r| r.start < offset)
    }

    /// Marks the segments that RFC 6675 section 4 IsLost calls lost: below `threshold` separate
    /// SACKed runs, or below more than `threshold - 1` segments' worth of SACKed bytes.
    pub(crate) fn mark_lost(&mut self, threshold: u32, smss: u32) {
        let limit = threshold.saturating_sub(1) * smss;
        let (mut runs, mut bytes, mut above) = (0, 0, false);
        let mut boundary = None;
        let top = self.index_of(self.high_sacked);
        for record in self.records.range(..top).rev() {
            if record.start < self.lost_below {
                break;
            }
            if record.sacked {
                bytes += record.len;
                runs += u32::from(!above);
            }
            above = record.sacked;
            if bytes > limit || runs >= threshold {
                boundary = Some(record.start);
                break;
            }
        }
        if let Some(boundary) = boundary {
            self.mark_lost_below(boundary);
        }
    }

    fn mark_lost_below(&mut self, boundary: u64) {
        let first = self.index_of(self.lost_below);
        for record in self.records.range_mut(first..).take_while(|r| r.start < boundary) {
            if !record.sacked && !record.lost {
                record.lost = true;
                self.lost += u64::from(record.len);
                self.pipe -= record.len;
                self.lost_pending += u32::from(!record.resent);
            }
        }
        self.lost_below = boundary;
    }

    /// Marks the first outstanding segment lost, whatever SACK says.
    pub(crate) fn mark_head_lost(&mut self) {
        if let Some(head) = self.records.front_mut().filter(|r| !r.lost && !r.sacked) {
            head.lost = true;
            self.lost += u64::from(head.len);
            self.pipe -= head.len;
            self.lost_pending += u32::from(!head.resent);
        }
    }

    /// Counts the first outstanding segment as lost where there is no SACK: the pipe is all that is
    /// outstanding then, and no segment is marked.
    pub(crate) fn count_head_lost(&mut self) {
        self.lost += self.records.front().map_or(0, |head| u64::from(head.len));
    }

    /// A recovery begins with HighRxt = HighACK (RFC 6675 section 5, step 4.2): a segment
    /// retransmitted in an earlier one counts as sent once.
    pub(crate) fn begin_recovery(&mut self) {
        self.high_rxt = self.records.front().map_or(self.high_rxt, |r| r.start);
        for record in self.records.iter_mut().filter(|r| r.resent) {
            let before = record.weight();
            record.resent = false;
            self.pipe -= (before - record.weight()) * record.len;
            self.lost_pending += u32::from(record.awaits_retransmission());
        }
        self.check_sums();
    }

    /// NextSeg rule 1: the first lost segment that was not sent again.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        if self.lost_pending == 0 {
            return None;
        }
        let first = self.skip_handled();
        (first..self.records.len()).find(|&i| self.records[i].awaits_retransmission())
    }

    /// Moves `high_rxt` past SACKed and retransmitted segments, which stay so until it is reset:
    /// each record is examined once in a recovery. Returns its index then.
    fn skip_handled(&mut self) -> usize {
        let first = self.index_of(self.high_rxt);
        let settled = self.records.range(first..).take_while(|r| r.sacked || r.resent).count();
        if let Some(last) = (first + settled).checked_sub(1).filter(|_| settled > 0) {
            self.high_rxt = self.records[last].end();
        }
        first + settled
    }

    /// NextSeg rule 3: the first segment below the highest SACKed one, SACKed or lost not.
    pub(crate) fn next_speculative(&mut self) -> Option<usize> {
        let first = self.skip_handled();
        self.records.get(first).filter(|r| r.start < self.high_sacked).map(|_| first)
    }

    /// Handles an expired retransmission timer: every segment that is not SACKed is lost unless it
    /// left after `recent` (RFC 8985 section 6.3). Returns the bytes that were SACKed. They count
    /// as lost too where SACK information is not kept, since the receiver may have dropped them
    /// after its report (RFC 2018 section 8), and where it has.
    pub(crate) fn timeout(&mut self, recent: Option<Instant>) -> u32 {
        let forgets = !self.keeps_sacks || self.is_reneged();
        let (mut sacked, mut pipe, mut pending) = (0, 0, 0);
        for (index, record) in self.records.iter_mut().enumerate() {
            sacked += u32::from(record.sacked) * record.len;
            // The timer was for the first segment, which is lost whatever RACK says of its age.
            let old = index == 0 || recent.is_none_or(|at| record.sent.at <= at);
            record.lost = record.sacked || old;
            record.sacked &= !forgets;
            record.resent = false;
            pipe += record.weight() * record.len;
            pending += u32::from(record.awaits_retransmission());
        }
        (self.pipe, self.lost_pending) = (pipe, pending);
        self.rewind();
        if forgets {
            (self.sacked, self.high_sacked, self.known) = (0, self.high_rxt, [(0, 0); 4]);
        }
        if recent.is_none() {
            self.lost_below = self.records.back().map_or(self.lost_below, Record::end);
        }
        self.check_sums();
        sacked
    }

    /// Every record is to be looked at again.
    fn rewind(&mut self) {
        self.high_rxt = self.records.front().map_or(self.high_rxt, |r| r.start);
        self.lost_below = self.high_rxt;
        self.settled_below = self.high_rxt;
        if self.keeps_resent {
            let resent = self.records.iter().filter(|r| r.retransmitted);
            self.resent.clear();
            self.resent.extend(resent.map(|r| (r.sent, r.end())));
            self.resent.make_contiguous().sort_unstable();
        }
    }

    /// Undoes loss marks (RFC 4015): the segments are in flight, and retransmitted ones twice.
    pub(crate) fn undo(&mut self) {
        for record in self.records.iter_mut().filter(|r| r.lost) {
            record.lost = false;
            if !record.sacked {
                self.pipe += record.len;
            }
        }
        self.lost_pending = 0;
        self.rewind();
        self.check_sums();
    }
}

#[cfg(test)]
mod tests;
