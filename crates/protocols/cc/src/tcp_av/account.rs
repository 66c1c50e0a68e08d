//! Debt to a target rate: the accumulated difference between it and the delivered data.

use fairwave_units::{Duration, Instant};

/// Nanobits in a byte, the unit of a rate in bits per second over nanoseconds.
pub(super) const NANOBITS: i128 = 8_000_000_000;

/// D, in billionths of a bit, so that a rate times a time is exact.
#[derive(Clone, Debug)]
pub(super) struct Account {
    rate: i128,
    /// D stays within this, either way.
    most: i128,
    owed: i128,
    /// The last ACK and the data delivered by then; `None` while time does not count.
    last: Option<(Instant, u64)>,
}

impl Account {
    /// Nothing is owed at first, and never more than `rate` bits per second bring in `horizon`.
    pub(super) fn new(rate: u64, horizon: Duration) -> Self {
        let rate = i128::from(rate);
        let most = rate.saturating_mul(i128::from(horizon.as_nanos()));
        Self { rate, most, owed: 0, last: None }
    }

    /// Takes an ACK: this number of bytes was delivered since the connection began.
    pub(super) fn note(&mut self, now: Instant, delivered: u64) {
        if let Some((at, before)) = self.last {
            let due = self.rate.saturating_mul(i128::from(now.since(at).as_nanos()));
            let brought = i128::from(delivered.saturating_sub(before)) * NANOBITS;
            let owed = self.owed.saturating_add(due).saturating_sub(brought);
            self.owed = owed.clamp(-self.most, self.most);
        }
        self.last = Some((now, delivered));
    }

    /// Returns the rate in bits per second that repays the debt in `time`.
    pub(super) fn owed_over(&self, time: Duration) -> i128 {
        self.owed / i128::from(time.as_nanos().max(1))
    }

    /// More was delivered than the target asks for.
    pub(super) fn is_ahead(&self) -> bool {
        self.owed < 0
    }

    /// Time does not count until the next ACK.
    pub(super) fn pause(&mut self) {
        self.last = None;
    }

    pub(super) fn forgive(&mut self) {
        self.owed = 0;
    }

    /// Returns the debt in whole bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> i128 {
        self.owed / NANOBITS
    }
}
