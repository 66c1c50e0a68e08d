//! Limits of ACKs that answer suspicious segments.

use fairwave_units::{Duration, Instant};

/// Time for which a limit counts (RFC 5961 section 7).
const PERIOD: Duration = Duration::from_secs(5);

/// ACKs in the current period, which begins with the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckLimit {
    since: Option<Instant>,
    sent: u32,
}

impl AckLimit {
    /// Counts an ACK; false if that would be more than `max` in the period.
    pub(super) fn admit(&mut self, now: Instant, max: u32) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= PERIOD) {
            *self = Self { since: Some(now), sent: 0 };
        }
        let is_admitted = self.sent < max;
        self.sent += u32::from(is_admitted);
        is_admitted
    }
}
