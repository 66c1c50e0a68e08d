//! When the law's rate lets segments go, and whether there were enough to go.

use super::Sender;
use crate::Payload;
use fairwave_cc::Controller;
use fairwave_units::{BitRate, Duration, Instant};

/// Spaces departures by a rate. Nothing is saved up while there is nothing to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// A burst is what the rate gives in this time, at least one segment.
    quantum: Duration,
    /// When the next burst may leave.
    next: Instant,
    /// Bytes that may still join the burst that is leaving.
    left: u32,
}

impl Pacer {
    pub(super) fn new(quantum: Duration) -> Self {
        Self { quantum, next: Instant::ZERO, left: 0 }
    }

    /// When the next segment may leave, if not now.
    fn holds(&self, now: Instant) -> Option<Instant> {
        (self.left == 0 && now < self.next).then_some(self.next)
    }

    /// A segment of `len` bytes leaves: the next burst begins once `rate` has paid for it.
    pub(super) fn sent(&mut self, now: Instant, len: u32, rate: BitRate) {
        if now >= self.next {
            let burst = u128::from(rate.0) * u128::from(self.quantum.as_nanos()) / 8_000_000_000;
            self.left = u32::try_from(burst).unwrap_or(u32::MAX);
        }
        self.left = self.left.saturating_sub(len);
        self.next = self.next.max(now) + rate.time_for(u64::from(len));
    }

    /// The past does not bind: a timeout begins anew.
    pub(super) fn restart(&mut self, now: Instant) {
        self.next = now;
    }
}

impl<P: Payload> Sender<P> {
    pub(super) fn pacing_rate(&self) -> Option<BitRate> {
        self.controller.as_ref().and_then(Controller::pacing_rate)
    }

    /// Whether pacing holds back what is not forced.
    pub(super) fn is_paced(&self, now: Instant) -> bool {
        self.pacing_rate().is_some() && self.pacer.holds(now).is_some()
    }

    /// When pacing lets the next segment go, if that is what holds it back.
    pub(crate) fn pace_deadline(&self, now: Instant) -> Option<Instant> {
        self.pacing_rate()?;
        self.pacer.holds(now).filter(|_| self.has_work())
    }

    /// Before data is written or an ACK taken: whether the application has left the network
    /// idle (draft-cheng-iccrg-delivery-rate-estimation section 3.4): less than a segment waits,
    /// the window has room, and nothing lost waits to be sent again.
    pub(super) fn check_app_limited(&mut self) {
        let waiting = self.end.saturating_sub(self.next);
        if waiting < u64::from(self.smss)
            && !self.board.has_lost()
            && self.controller.as_ref().is_some_and(|c| self.board.pipe() < c.cwnd())
        {
            self.rate.note_app_limited(self.board.pipe());
        }
    }
}
