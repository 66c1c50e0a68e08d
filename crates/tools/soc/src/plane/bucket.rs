//! Pacing: the time at which the next frame may leave.

use fairwave_units::{Duration, Instant};

/// Time for which a rate may catch up: the lateness of a wake-up that costs no rate. A virtual
/// machine whose host takes its processors away is late by 2 to 6 ms once in a thousand times.
const SLACK: Duration = Duration::from_millis(10);
/// Minimum catch-up in bytes: two long frames.
const FRAMES: u128 = 2 * 1600;

/// Duration of a byte at 1 bit per second, in nanoseconds.
const BYTE: u128 = 8_000_000_000;

/// A token bucket as a virtual clock: each frame that leaves advances `due` by its transmission
/// time. Times are kept in nanoseconds times the rate, so that there is neither division nor
/// rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Rate in bits per second.
    rate: u128,
    /// Maximum time by which `due` may lag behind the clock.
    slack: u128,
    due: u128,
}

impl Bucket {
    /// Starts with a full bucket.
    pub(super) fn new(rate_bps: u64) -> Self {
        let rate = u128::from(rate_bps.max(1));
        let slack = (u128::from(SLACK.as_nanos()) * rate).max(FRAMES * BYTE);
        Self { rate, slack, due: 0 }
    }

    /// Whether the next frame may leave now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due <= u128::from(now.as_nanos()) * self.rate
    }

    /// Accounts for a frame that leaves, whether it was due or not.
    pub(super) fn take(&mut self, now: Instant, bytes: u32) {
        let earliest = (u128::from(now.as_nanos()) * self.rate).saturating_sub(self.slack);
        self.due = self.due.max(earliest) + u128::from(bytes) * BYTE;
    }

    /// Time at which the next frame may leave.
    pub(super) fn due(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.due.div_ceil(self.rate)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// 1250 bytes at 10 Mbps take 1 ms; 10 ms may be caught up with.
    #[test]
    fn a_rate_is_kept_by_whoever_wakes_late() {
        let mut bucket = Bucket::new(10_000_000);
        let start = 1_000_000_000;
        let mut sent = 0;
        while bucket.is_due(at(start)) {
            bucket.take(at(start), 1250);
            sent += 1;
        }
        assert_eq!((sent, bucket.due()), (11, at(start + 1_000_000)));
        // Wake-ups each 3 ms instead of each 1 ms, for a second.
        for step in 1..=333 {
            let now = at(start + 3_000_000 * step);
            while bucket.is_due(now) {
                bucket.take(now, 1250);
                sent += 1;
            }
        }
        assert_eq!(sent, 11 + 999);
        // After a pause at most 10 ms are caught up with.
        let now = at(5 * start);
        assert!(bucket.is_due(now));
        bucket.take(now, 1250);
        assert_eq!(bucket.due(), at(5 * start - 9_000_000));
    }

    /// 3200 bytes at 1 Mbps take 25.6 ms: at so low a rate, a delay of that length costs nothing.
    #[test]
    fn two_long_frames_may_be_caught_up_with_at_any_rate() {
        let mut bucket = Bucket::new(1_000_000);
        let now = at(1_000_000_000);
        let burst = (0..100).take_while(|_| {
            let is_due = bucket.is_due(now);
            bucket.take(now, 1600);
            is_due
        });
        assert_eq!(burst.count(), 3);
    }

    /// A frame of 64 bytes at 34 Gbps takes 15.06 ns: a thousand take 15059 ns, not 15000.
    #[test]
    fn nothing_is_lost_by_rounding() {
        let mut bucket = Bucket::new(34_000_000_000);
        let now = at(10_000_000);
        (0..1000).for_each(|_| bucket.take(now, 64));
        assert_eq!(bucket.due(), at(15_059));
    }
}
