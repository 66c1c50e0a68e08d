//! Time at which the algorithm's rate lets segments leave.

use fairwave_units::{BitRate, Duration, Instant};

/// Spaces departures by a rate. Nothing is saved up while there is nothing to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// A burst is the rate's data in this time, at least one segment.
    quantum: Duration,
    /// Time at which the next burst may leave.
    next: Instant,
    /// Bytes that may still join the burst that is leaving.
    left: u32,
}

impl Pacer {
    pub(super) fn new(quantum: Duration) -> Self {
        Self { quantum, next: Instant::ZERO, left: 0 }
    }

    /// Time at which the next segment may leave, if not now.
    pub(super) fn holds(&self, now: Instant) -> Option<Instant> {
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
