//! A token bucket in integers: the data that may go over an uplink now.

use fairwave_units::{BitRate, Instant};

/// Nanoseconds of a byte at one bit per second: levels are in bits times 10^-9.
const BYTE: i128 = 8_000_000_000;
/// Duration of a full bucket at its rate, as a part of a second: 100 ms, which is several
/// round-trip times within a cluster.
const DEPTH: u64 = 10;
/// Two full packets always fit a bucket that fills at all.
const MIN_DEPTH: u64 = 3_000;

/// Fills at a rate, up to a depth; may be in debt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: BitRate,
    level: i128,
    filled: Instant,
}

/// Bytes that a full bucket holds.
pub(crate) fn depth(rate: BitRate) -> u64 {
    if rate.0 == 0 { 0 } else { (rate.0 / 8 / DEPTH).max(MIN_DEPTH) }
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(rate: BitRate, now: Instant) -> Self {
        Self { rate, level: i128::from(depth(rate)) * BYTE, filled: now }
    }

    /// From now on it fills at this rate.
    pub(crate) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.fill(now);
        self.rate = rate;
        self.level = self.level.min(self.full());
    }

    /// Returns whether there are this number of bytes.
    pub(crate) fn has(&mut self, now: Instant, bytes: u64) -> bool {
        self.fill(now);
        self.level >= i128::from(bytes) * BYTE
    }

    /// Takes this number of bytes, into a debt of no more than a full bucket.
    pub(crate) fn take(&mut self, now: Instant, bytes: u64) {
        self.fill(now);
        self.level = (self.level - i128::from(bytes) * BYTE).max(-self.full());
    }

    fn full(&self) -> i128 {
        i128::from(depth(self.rate)) * BYTE
    }

    fn fill(&mut self, now: Instant) {
        let earned = u128::from(self.rate.0) * u128::from(now.since(self.filled).as_nanos());
        let room = (self.full() - self.level).max(0);
        self.level += i128::try_from(earned).unwrap_or(i128::MAX).min(room);
        self.filled = self.filled.max(now);
        debug_assert!(self.level <= self.full(), "{} of {}", self.level, self.full());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn it_fills_at_its_rate() {
        let mut bucket = Bucket::new(BitRate(800_000), at(0));
        assert!(bucket.has(at(0), 10_000) && !bucket.has(at(0), 10_001));
        bucket.take(at(0), 10_000);
        assert!(bucket.has(at(10), 1_000) && !bucket.has(at(10), 1_001));
        assert!(bucket.has(at(100), 10_000) && !bucket.has(at(5_000), 10_001));
    }

    #[test]
    fn a_rate_of_nothing_holds_nothing() {
        let mut bucket = Bucket::new(BitRate(0), at(0));
        assert!(!bucket.has(at(10_000), 1));
        bucket.set_rate(at(10_000), BitRate(8_000));
        assert!(!bucket.has(at(10_000), 1) && bucket.has(at(10_001), 1));
        assert!(bucket.has(at(20_000), MIN_DEPTH) && !bucket.has(at(20_000), MIN_DEPTH + 1));
    }

    #[test]
    fn debt_is_bounded_and_paid_back() {
        let mut bucket = Bucket::new(BitRate(800_000), at(0));
        bucket.take(at(0), u64::MAX / 2);
        assert!(!bucket.has(at(100), 1) && bucket.has(at(101), 100));
    }

    proptest! {
        /// Whatever is asked for and whenever, no span carries more than its share and a bucket.
        #[test]
        fn no_more_than_the_rate(
            rate in prop_oneof![Just(u64::MAX), 0..100_000_000u64],
            asks in prop::collection::vec((0..50_000_000u64, 1..20_000u64), 1..60),
        ) {
            let mut bucket = Bucket::new(BitRate(rate), at(0));
            let (mut now, mut carried) = (at(0), 0);
            for (pause, bytes) in asks {
                now += Duration::from_nanos(pause);
                if bucket.has(now, bytes) {
                    bucket.take(now, bytes);
                    carried += bytes;
                }
                let maximum = u128::from(rate) * u128::from(now.as_nanos()) / 8_000_000_000;
                prop_assert!(u128::from(carried) <= maximum + u128::from(depth(BitRate(rate))));
            }
        }
    }
}
