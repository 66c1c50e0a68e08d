//! The current recovery: fast recovery (RFC 6675, RFC 6582), or the one after a timeout (RFC 6298
//! section 5).

use super::prr::{Progress, Prr};
use crate::ReductionBound;

/// Fast recovery under way.
#[derive(Clone, Copy, Debug)]
struct Fast {
    /// RecoveryPoint (RFC 6675), `recover` (RFC 6582): acknowledging this ends it.
    point: u64,
    /// A partial ACK has restarted the retransmission timer.
    restarted: bool,
}

/// Data that was outstanding at a timeout is being retransmitted.
#[derive(Clone, Copy, Debug)]
struct Timeout {
    /// SND.NXT at the timeout: acknowledging this ends it.
    point: u64,
    /// SND.UNA at the timeout: the segment that the timer was for.
    head: u64,
    /// Timeouts in a row for that segment.
    backoff: u32,
}

/// Current reaction to losses. Fast recovery and the recovery from a timeout exclude each other.
#[derive(Debug)]
pub(super) struct Episode {
    fast: Option<Fast>,
    timeout: Option<Timeout>,
    /// Signs of loss up to here belong to an older loss (RFC 6582 section 3.2 step 1).
    guard: Option<u64>,
    /// Window inflation by duplicate ACKs, without SACK (RFC 5681 section 3.2, RFC 6582).
    inflation: i64,
    /// Proportional rate reduction is wanted, with this bound.
    prr_bound: Option<ReductionBound>,
    /// That of the fast recovery under way.
    prr: Option<Prr>,
    /// The first outstanding segment leaves, whatever the window.
    retransmit_head: bool,
    /// The first lost segment leaves, whatever the window.
    retransmit_lost: bool,
    fast_recoveries: u64,
    timeouts: u64,
}

impl Episode {
    pub(super) fn new(prr_bound: Option<ReductionBound>) -> Self {
        Self {
            fast: None,
            timeout: None,
            guard: None,
            inflation: 0,
            prr_bound,
            prr: None,
            retransmit_head: false,
            retransmit_lost: false,
            fast_recoveries: 0,
            timeouts: 0,
        }
    }

    pub(super) fn is_fast(&self) -> bool {
        self.fast.is_some()
    }

    pub(super) fn is_timeout(&self) -> bool {
        self.timeout.is_some()
    }

    /// Whether losses are being repaired, for whatever reason.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_fast() || self.is_timeout()
    }

    /// Whether an acknowledgement of `una` leaves data unacknowledged that timed out.
    pub(super) fn is_partial(&self, una: u64) -> bool {
        self.timeout.is_some_and(|timeout| una < timeout.point)
    }

    /// Entries into fast recovery so far.
    pub(super) fn fast_recoveries(&self) -> u64 {
        self.fast_recoveries
    }

    /// Timeouts so far.
    pub(super) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Whether a sign of loss is none of an older loss: one reaction a window (RFC 6582 section
    /// 3.2 steps 1 and 4, RFC 6675 section 5.1).
    pub(super) fn passes_guard(&self, una: u64, sack: bool) -> bool {
        // Without SACK, duplicates at the guard itself may come from retransmissions of before it.
        self.guard.is_none_or(|guard| una > guard || (sack && una == guard))
    }

    /// Signs of loss for data below `next` mean nothing new.
    pub(super) fn set_guard(&mut self, next: u64) {
        self.guard = Some(next);
    }

    /// Fast recovery begins, until `point` is acknowledged. The fast retransmit is the first
    /// segment that is marked lost (`marked`), or the first outstanding one.
    pub(super) fn begin_fast(&mut self, point: u64, marked: bool) {
        self.fast = Some(Fast { point, restarted: false });
        self.retransmit_lost = marked;
        self.retransmit_head = !marked;
        self.fast_recoveries += 1;
        self.check();
    }

    /// Spreads the reduction over the ACKs of this recovery, if that is wanted; `flight` bytes
    /// are outstanding (RFC 6937).
    pub(super) fn begin_prr(&mut self, flight: u32) {
        self.prr = self.prr_bound.map(|_| Prr::new(flight));
        self.check();
    }

    /// The duplicate ACKs so far stand for this many bytes that have left the network (RFC 5681
    /// section 3.2 step 3).
    pub(super) fn begin_inflation(&mut self, bytes: i64) {
        self.inflation = bytes;
        self.check();
    }

    /// One more duplicate ACK without SACK: a segment of `smss` bytes has left the network.
    pub(super) fn inflate(&mut self, smss: u32) {
        if self.is_fast() {
            self.inflation += i64::from(smss);
        }
    }

    /// Handles a partial ACK of `acked` bytes without SACK (RFC 6582 section 3.2 step 3): the next
    /// segment is lost too, and the window deflates by the data that has left the network.
    pub(super) fn deflate(&mut self, acked: u32, smss: u32) {
        self.retransmit_head = true;
        self.inflation -= i64::from(acked);
        // The retransmission that this lets out takes the place of a segment that has left.
        if acked >= smss {
            self.inflation += i64::from(smss);
        }
        self.check();
    }

    /// An ACK without SACK moved SND.UNA to `una`: whether it is partial, and not the first such
    /// of this recovery. NewReno's impatient variant restarts the retransmission timer at the
    /// first alone (RFC 6582 section 4).
    pub(super) fn is_later_partial(&mut self, una: u64) -> bool {
        let partial = self.fast.as_mut().filter(|fast| una < fast.point);
        partial.is_some_and(|fast| core::mem::replace(&mut fast.restarted, true))
    }

    /// Whether acknowledging `una` ends fast recovery.
    pub(super) fn reaches_point(&self, una: u64) -> bool {
        self.fast.is_some_and(|fast| una >= fast.point)
    }

    pub(super) fn end_fast(&mut self) {
        self.fast = None;
        self.prr = None;
        self.inflation = 0;
    }

    /// A timeout of the segment at SND.UNA `una`, at SND.NXT `next`: it replaces fast recovery.
    /// Timeouts in a row for this segment.
    pub(super) fn begin_timeout(&mut self, una: u64, next: u64) -> u32 {
        self.end_fast();
        let before = self.timeout.filter(|before| before.head == una);
        let backoff = before.map_or(1, |before| before.backoff + 1);
        self.timeout = Some(Timeout { point: next, head: una, backoff });
        self.guard = Some(next);
        // What was marked before is judged anew: the first outstanding segment is the one that the
        // timer was for.
        self.retransmit_lost = false;
        self.retransmit_head = true;
        self.timeouts += 1;
        self.check();
        backoff
    }

    /// Whether acknowledging `una` ends the recovery from a timeout; it does so.
    pub(super) fn end_timeout(&mut self, una: u64) -> bool {
        let ends = self.timeout.is_some_and(|timeout| una >= timeout.point);
        if ends {
            self.timeout = None;
        }
        ends
    }

    /// The recovery was needless. Whether it was fast recovery.
    pub(super) fn undo(&mut self, sack: bool) -> bool {
        let was_fast = self.is_fast();
        // No reduction is left that a further loss in this window could belong to. Without SACK
        // the guard stays: needless retransmissions cause duplicate ACKs that look like a loss.
        self.guard = self.guard.filter(|_| !sack);
        self.end_fast();
        self.timeout = None;
        self.retransmit_head = false;
        was_fast
    }

    /// The first outstanding segment leaves again, whatever the window.
    pub(super) fn force_head(&mut self) {
        self.retransmit_head = true;
    }

    /// Nothing is outstanding any more.
    pub(super) fn forget_head(&mut self) {
        self.retransmit_head = false;
    }

    pub(super) fn forces_head(&self) -> bool {
        self.retransmit_head
    }

    /// Whether the first lost segment leaves whatever the window; it is about to.
    pub(super) fn take_lost(&mut self) -> bool {
        core::mem::take(&mut self.retransmit_lost)
    }

    /// Returns the maximum data in flight, in bytes, before bounds: the window of the recovery, or
    /// `cwnd`.
    pub(super) fn window(&self, cwnd: u32) -> i64 {
        i64::from(self.prr.map_or(cwnd, |prr| prr.window())) + self.inflation
    }

    /// Whether the reduction of the window is spread over ACKs.
    pub(super) fn is_in_proportion(&self) -> bool {
        self.prr.is_some()
    }

    /// Spreads the reduction (RFC 6937), if that is under way.
    pub(super) fn reduce(&mut self, ack: &Progress) {
        if let (Some(prr), Some(bound)) = (&mut self.prr, self.prr_bound) {
            prr.on_ack(ack, bound);
        }
    }

    /// A segment of `len` bytes leaves.
    pub(super) fn note_sent(&mut self, len: u32) {
        if let Some(prr) = &mut self.prr {
            prr.sent(len);
        }
    }

    fn check(&self) {
        debug_assert!(!(self.is_fast() && self.is_timeout()), "two recoveries at once: {self:?}");
        debug_assert!(self.is_fast() || self.prr.is_none(), "PRR outside recovery: {self:?}");
        debug_assert!(self.is_fast() || self.inflation == 0, "inflation outside: {self:?}");
        debug_assert!(self.prr.is_none() || self.inflation == 0, "reduced twice: {self:?}");
    }
}
