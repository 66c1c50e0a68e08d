//! Losses found by time (RFC 8985 section 6): what left well before something that has arrived
//! is lost.

use super::Sender;
use super::scoreboard::Due;
use crate::Payload;
use fairwave_units::{Duration, Instant, Seq32};

/// Recoveries without a D-SACK after which the reordering window shrinks again.
const REO_WND_PERSIST: u32 = 16;

/// What RACK asks of the segments that one ACK newly reports (RFC 8985 section 6.2, steps 2 and
/// 3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    now: Instant,
    /// The timestamp that the ACK echoes.
    echo: Option<u32>,
    /// Least round-trip time so far.
    least_rtt: Option<Duration>,
    /// RACK.fack before this ACK.
    fack: u64,
    highest: u64,
    reordered: bool,
    newest: Option<(Instant, u64)>,
}

impl Order {
    /// A segment arrived that ends at `end`, was last sent at `sent` with `timestamp`, and was or
    /// was not `retransmitted`.
    pub(super) fn take(&mut self, sent: Instant, end: u64, timestamp: u32, retransmitted: bool) {
        self.highest = self.highest.max(end);
        self.reordered |= end < self.fack && !retransmitted;
        if retransmitted && self.is_of_the_original(sent, timestamp) {
            return;
        }
        self.newest = self.newest.max(Some((sent, end)));
    }

    /// Step 2: whether it was the first transmission, not the last, that arrived.
    fn is_of_the_original(&self, sent: Instant, timestamp: u32) -> bool {
        let echoes_earlier = self.echo.is_some_and(|echo| Seq32(echo).before(Seq32(timestamp)));
        let too_soon = self.least_rtt.is_some_and(|least| self.now.since(sent) < least);
        echoes_earlier || too_soon
    }
}

/// The state of RFC 8985 section 5.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: the segment sent last of those that have arrived.
    newest: Option<(Instant, u64)>,
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
    /// When the reordering timer expires.
    pub(super) timer: Option<Instant>,
}

impl Rack {
    pub(super) const fn new() -> Self {
        Self {
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

    /// What to ask of the segments that an ACK reports.
    pub(super) fn order(&self, now: Instant, echo: Option<u32>, least: Option<Duration>) -> Order {
        let (fack, newest) = (self.fack, self.newest);
        let highest = fack;
        Order { now, echo, least_rtt: least, fack, highest, reordered: false, newest }
    }

    /// Section 6.2 steps 2 and 3.
    fn update(&mut self, order: &Order) {
        if order.newest != self.newest {
            self.newest = order.newest;
            self.rtt = order.newest.map_or(self.rtt, |(sent, _)| order.now.since(sent));
        }
        self.fack = order.highest;
        self.reordering_seen |= order.reordered;
    }

    /// Section 6.2 step 4: a D-SACK widens the window once a round.
    fn note_dsack(&mut self, dsack: bool, una: u64, next: u64) {
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
}

impl<P: Payload> Sender<P> {
    /// Takes what an ACK reports, and marks what that shows to be lost.
    pub(super) fn rack_on_ack(&mut self, now: Instant, order: Option<Order>, dsack: bool) {
        let (una, next) = (self.una, self.next);
        if let (Some(rack), Some(order)) = (&mut self.rack, order) {
            rack.update(&order);
            rack.note_dsack(dsack, una, next);
            self.rack_detect(now);
        }
    }

    /// RACK.reo_wnd (section 6.2 step 4).
    fn reordering_window(&self, rack: &Rack) -> Duration {
        let recovers = self.fast.is_some() || self.rto_point.is_some();
        let sure = recovers || self.board.sacked_segments() >= self.threshold;
        if sure && !rack.reordering_seen {
            return Duration::ZERO;
        }
        let least = self.rtt.least().unwrap_or(Duration::ZERO);
        let window = least * u64::from(rack.multiple) / 4;
        window.min(self.rtt.srtt().unwrap_or(window))
    }

    /// How long after its departure a segment is overdue, once a later one has arrived.
    pub(super) fn rack_allowance(&self) -> Option<Duration> {
        self.rack.as_ref().map(|rack| rack.rtt + self.reordering_window(rack))
    }

    /// Section 6.2 step 5: marks what is overdue, and sets the timer for what will be.
    fn rack_detect(&mut self, now: Instant) {
        let Some(allowance) = self.rack_allowance() else { return };
        let Some(rack) = &mut self.rack else { return };
        rack.timer =
            rack.newest.and_then(|newest| self.board.mark_overdue(&Due { now, newest, allowance }));
    }

    /// The reordering timer expired (section 6.3); whether a recovery begins.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) -> bool {
        self.rack_detect(now);
        let began = self.detect_loss(now);
        self.reduce(0);
        began
    }
}
