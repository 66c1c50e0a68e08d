//! A token bucket in integers: the time at which data may go over an uplink.

use fairwave_units::{BitRate, Duration, Instant};

/// Nanoseconds of a byte at one bit per second: levels are in bits times 10^-9.
const BYTE: i128 = 8_000_000_000;
/// Duration of a full bucket at its rate, as a part of a second: 20 ms, several ticks of a timer.
const DEPTH: u64 = 50;
/// Two full packets always fit a bucket that fills at all.
const MIN_DEPTH: u64 = 3_000;

/// Time that data may wait, as in the buffer of a link, and the bytes that may wait at low rates.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
const QUEUE: u64 = 16 * 1_500;

/// Fills at a rate, up to a depth; data that waits is a debt.
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

    /// Returns the time until there are this number of bytes.
    pub(crate) fn wait(&mut self, now: Instant, bytes: u64) -> Duration {
        self.fill(now);
        let missing = u128::try_from(i128::from(bytes) * BYTE - self.level).unwrap_or(0);
        match u128::from(self.rate.0) {
            0 if missing > 0 => Duration::MAX,
            rate => {
                let ns = missing.div_ceil(rate.max(1));
                Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        }
    }

    /// The time that data may wait: 100 ms, or that of 16 full packets.
    pub(crate) fn longest_wait(&self) -> Duration {
        LONGEST_WAIT.max(self.rate.time_for(QUEUE))
    }

    /// Takes this number of bytes, also into debt.
    pub(crate) fn take(&mut self, now: Instant, bytes: u64) {
        self.fill(now);
        self.level -= i128::from(bytes) * BYTE;
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

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn it_fills_at_its_rate() {
        // 100,000 bytes a second: 2,000 in 20 ms, so that it holds two full packets.
        let mut bucket = Bucket::new(BitRate(800_000), at(0));
        let ms = Duration::from_millis;
        assert_eq!(bucket.wait(at(0), 3_000), ms(0));
        assert_eq!(bucket.wait(at(0), 3_100), ms(1));
        bucket.take(at(0), 3_000);
        assert_eq!(bucket.wait(at(0), 1_000), ms(10));
        assert_eq!(bucket.wait(at(10), 1_000), ms(0));
        assert_eq!(bucket.wait(at(5_000), 3_100), ms(1));
    }

    #[test]
    fn data_that_waits_is_a_debt() {
        let mut bucket = Bucket::new(BitRate(800_000), at(0));
        bucket.take(at(0), 13_000);
        assert_eq!(bucket.wait(at(0), 1_000), Duration::from_millis(110));
        assert_eq!(bucket.wait(at(110), 1_000), Duration::ZERO);
    }

    #[test]
    fn a_rate_of_nothing_holds_nothing() {
        let mut bucket = Bucket::new(BitRate(0), at(0));
        assert_eq!(bucket.wait(at(10_000), 1), Duration::MAX);
        bucket.set_rate(at(10_000), BitRate(8_000));
        assert_eq!(bucket.wait(at(10_000), 1), Duration::from_millis(1));
    }
}
