//! Round-trip time and timeout, as TCP has them (RFC 6298), without TCP's minimum timeout of a
//! second (RFC 4341 section 5).

use crate::wait::Wait;
use fairwave_units::{Duration, Instant};

/// Minimum timeout: that of acknowledgements that are delayed by 200 ms (RFC 4340 section 11.3).
/// The RFC names none; with less, every delayed acknowledgement would look like a timeout.
const MIN: Duration = Duration::from_millis(400);
const MAX: Duration = Duration::from_secs(64);
/// Before the first sample (RFC 6298 section 2.1).
const FIRST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rto {
    /// Smoothed time, and mean deviation.
    smoothed: Option<(Duration, Duration)>,
    /// Doublings since the last sample.
    backoff: u32,
    wait: Wait,
}

impl Rto {
    pub(super) fn sample(&mut self, now: Instant, rtt: Duration) {
        self.backoff = 0;
        let weight = self.smoothed.map_or(1.0, |_| 1.0 / 8.0);
        self.wait.arrived(now, weight);
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((mean, deviation)) => {
                ((mean * 7 + rtt) / 8, (deviation * 3 + mean.abs_diff(rtt)) / 4)
            }
        });
    }

    /// The host runs. The time for which feedback has waited for that is part of the round trip.
    pub(super) fn act(&mut self, now: Instant) {
        let waited = Duration::from_secs_f64(self.wait.end(now));
        self.smoothed = self.smoothed.map(|(mean, deviation)| (mean + waited, deviation));
    }

    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(10);
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        self.smoothed.map(|(mean, _)| mean)
    }

    pub(super) fn timeout(&self) -> Duration {
        let base = self.smoothed.map_or(FIRST, |(mean, deviation)| (mean + deviation * 4).max(MIN));
        (base * (1 << self.backoff)).min(MAX)
    }
}
