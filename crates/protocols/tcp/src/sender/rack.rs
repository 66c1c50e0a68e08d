//! Losses found by time (RFC 8985 section 6): a segment that left well before one that has arrived
//! is lost.

use super::facts::Sent;
use fairwave_units::{Duration, Instant, Seq32};

/// Recoveries without a D-SACK after which the reordering window shrinks again.
const REO_WND_PERSIST: u32 = 16;

/// RACK's questions to the segments that one ACK newly reports (RFC 8985 section 6.2, steps 2 and
/// 3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    now: Instant,
    /// The timestamp that the ACK echoes.
    echo: Option<u32>,
    /// Tick of the clock behind timestamps.
    tick: Duration,
    /// Minimum round-trip time so far.
    min_rtt: Option<Duration>,
    /// RACK.fack before this ACK.
    fack: u64,
    highest: u64,
    reordered: bool,
    newest: Option<Sent>,
}

impl Order {
    /// A segment arrived that ends at `end`, was last sent at `sent` with `timestamp`, and was or
    /// was not `retransmitted`.
    ///
    /// `echoed`: the ACK acknowledges it cumulatively, so that the echo may be about it.
    pub(super) fn take(
        &mut self,
        sent: Sent,
        end: u64,
        timestamp: u32,
        retransmitted: bool,
        echoed: bool,
    ) {
        self.highest = self.highest.max(end);
        // A retransmission below RACK.fack repairs a gap. Only an original that arrives there was
        // overtaken.
        self.reordered |= end < self.fack && !retransmitted;
        // Its departure would be taken for that of the retransmission, and all that left between
        // the two would look overdue.
        let timestamp = echoed.then_some(timestamp);
        if retransmitted && self.is_of_the_original(sent.at, timestamp) {
            return;
        }
        self.newest = self.newest.max(Some(sent));
    }

    /// Step 2: whether it was the first transmission, not the last, that arrived.
    ///
    /// The echo decides where it is about the segment. Behind a gap it is that of the segment
    /// before the gap (RFC 7323 section 4.3), and says nothing. The round-trip time of an echoed
    /// retransmission is itself a sample of the minimum, which step 1 takes before step 2 compares:
    /// a path that got faster does not make it the original.
    fn is_of_the_original(&self, sent: Instant, timestamp: Option<u32>) -> bool {
        if let Some((echo, timestamp)) = self.echo.zip(timestamp) {
            if Seq32(echo).before(Seq32(timestamp)) {
                return true;
            }
            // Within one tick of the clock both transmissions have the same timestamp.
            if self.min_rtt.is_some_and(|minimum| minimum >= self.tick) {
                return false;
            }
        }
        self.min_rtt.is_some_and(|minimum| self.now.since(sent) < minimum)
    }
}

/// The state of RFC 8985 section 5.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Tick of the clock behind timestamps.
    tick: Duration,
    /// RACK.xmit_ts, in the order of transmissions: the segment sent last of those that have
    /// arrived.
    newest: Option<Sent>,
    /// RACK.rtt: its round-trip time.
    rtt: Duration,
    /// RACK.fack: end of the highest segment that has arrived.
    fack: u64,
    reordering_seen: bool,
    /// RACK.reo_wnd_mult and RACK.reo_wnd_persist.
    multiple: u32,
    persist: u32,
    /// RACK.dsack_round.
    dsack_round: Option<u64>,
    /// Time at which the reordering timer expires.
    timer: Option<Instant>,
}

impl Rack {
    pub(super) const fn new(tick: Duration) -> Self {
        Self {
            tick,
            newest: None,
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            multiple: 1,
            persist: REO_WND_PERSIST,
            dsack_round: None,
            timer: None,
        }
    }

    /// Returns the questions to the segments that an ACK reports.
    pub(super) fn order(
        &self,
        now: Instant,
        echo: Option<u32>,
        minimum: Option<Duration>,
    ) -> Order {
        let Self { fack, newest, tick, .. } = *self;
        let highest = fack;
        Order { now, echo, tick, min_rtt: minimum, fack, highest, reordered: false, newest }
    }

    /// Section 6.2 steps 2 and 3.
    pub(super) fn update(&mut self, order: &Order) {
        debug_assert!(order.highest >= self.fack, "RACK.fack moves back");
        debug_assert!(order.newest >= self.newest, "RACK.xmit_ts moves back");
        if order.newest != self.newest {
            self.newest = order.newest;
            self.rtt = order.newest.map_or(self.rtt, |sent| order.now.since(sent.at));
        }
        self.fack = order.highest;
        self.reordering_seen |= order.reordered;
    }

    /// Section 6.2 step 4: a D-SACK widens the window once a round.
    pub(super) fn note_dsack(&mut self, dsack: bool, una: u64, next: u64) {
        // One late delivery may cause a whole window of needless retransmissions, and a D-SACK for
        // each: they widen it once.
        self.dsack_round = self.dsack_round.filter(|round| una < *round);
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.multiple += 1;
            self.persist = REO_WND_PERSIST;
        }
    }

    /// Section 6.2 step 4: a recovery ended.
    pub(super) fn note_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// Time at which the reordering timer expires.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(super) fn set_timer(&mut self, at: Option<Instant>) {
        self.timer = at;
    }

    /// Returns the time after its departure at which a segment is overdue, once a later one has
    /// arrived: the sum of RACK.rtt and RACK.reo_wnd (section 6.2 step 4). A loss is `likely` if a
    /// recovery is in progress, or as many segments are SACKed as duplicate ACKs mean a loss: then
    /// there is no reason to wait where no reordering was seen.
    pub(super) fn allowance(
        &self,
        likely: bool,
        minimum: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        if likely && !self.reordering_seen {
            return self.rtt;
        }
        // A quarter of the least round trip: paths that reorder by more are rare, and a D-SACK,
        // which shows one, widens it.
        let window = minimum.unwrap_or(Duration::ZERO) * u64::from(self.multiple) / 4;
        // At most SRTT: D-SACKs would otherwise widen it without end, and delay every repair.
        self.rtt + window.min(srtt.unwrap_or(window))
    }

    /// Returns the questions to segments that have not arrived, with that allowance; `None` before
    /// anything has arrived.
    pub(super) fn due(&self, now: Instant, allowance: Duration) -> Option<Due> {
        self.newest.map(|newest| Due { now, newest, allowance })
    }
}

/// The newest arrived segment, and the time after its departure at which an earlier one is overdue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The time.
    pub(crate) now: Instant,
    /// The segment sent last of those that have arrived.
    pub(crate) newest: Sent,
    /// RACK.rtt + RACK.reo_wnd.
    pub(crate) allowance: Duration,
}

/// State of a segment.
pub(super) enum SegmentState {
    /// It left after the newest arrived segment: nothing is known.
    Later,
    /// It will be overdue at this time.
    Waits(Instant),
    /// It is overdue.
    Overdue,
}

impl Due {
    /// Returns the state of a segment that was last `sent` then.
    pub(super) fn judge(&self, sent: Sent) -> SegmentState {
        let at = sent.at + self.allowance;
        // By order of departure, not by time: several leave in one nanosecond here.
        if sent >= self.newest {
            SegmentState::Later
        } else if at > self.now {
            SegmentState::Waits(at)
        } else {
            SegmentState::Overdue
        }
    }
}
