//! Many durations in constant memory: their number, mean, extremes and quantiles.

use crate::outcome::Times;
use fairwave_units::Duration;

/// Buckets of each power of two: a quantile is off by at most 1/16 of its value.
const PARTS_LOG2: u32 = 4;
const PARTS: u64 = 1 << PARTS_LOG2;
/// Buckets for all durations: the first powers share theirs.
const BUCKETS: usize = ((64 - PARTS_LOG2 as usize) + 1) << PARTS_LOG2;

/// A log-linear histogram, as HdrHistogram has it. It takes its memory with the first duration.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    count: u64,
    sum_ns: u128,
    least: u64,
    most: u64,
    buckets: Vec<u64>,
}

impl Spread {
    /// Adds one.
    pub fn add(&mut self, duration: Duration) {
        let ns = duration.as_nanos();
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        if self.count == 0 {
            (self.least, self.most) = (ns, ns);
        }
        self.buckets[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        (self.least, self.most) = (self.least.min(ns), self.most.max(ns));
    }

    /// Forgets what it has.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// What the durations came to; `None` without any.
    pub fn times(&self) -> Option<Times> {
        if self.count == 0 {
            return None;
        }
        let mean = self.sum_ns / u128::from(self.count);
        Some(Times {
            count: self.count,
            mean: Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)),
            least: Duration::from_nanos(self.least),
            median: self.quantile(1, 2),
            p95: self.quantile(19, 20),
            p99: self.quantile(99, 100),
            most: Duration::from_nanos(self.most),
        })
    }

    /// The duration that `numerator / denominator` of all do not exceed: its bucket's middle.
    fn quantile(&self, numerator: u64, denominator: u64) -> Duration {
        let wanted = u128::from(self.count) * u128::from(numerator);
        let mut seen = 0;
        for (i, &n) in self.buckets.iter().enumerate() {
            seen += u128::from(n) * u128::from(denominator);
            if n > 0 && seen >= wanted {
                let (from, width) = bounds(i);
                let middle = from + (width - 1) / 2;
                return Duration::from_nanos(middle.clamp(self.least, self.most));
            }
        }
        Duration::from_nanos(self.most)
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let power = ns.ilog2() - PARTS_LOG2;
    (u64::from(power) * PARTS + (ns >> power)) as usize
}

/// Least value of a bucket, and how many values it has.
fn bounds(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < PARTS {
        return (index, 1);
    }
    let power = index / PARTS - 1;
    ((index % PARTS + PARTS) << power, 1 << power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_in_its_bucket() {
        let powers = (0..64).flat_map(|i| [(1u64 << i) - 1, 1 << i, (1 << i) + (1 << i) / 3]);
        for ns in powers.chain([u64::MAX]) {
            let (from, width) = bounds(bucket(ns));
            assert!(ns >= from && ns - from < width, "{ns}: {from} + {width}");
            assert!(width == 1 || width <= from / PARTS, "{ns}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_thousand_durations_have_their_quantiles() {
        let mut spread = Spread::default();
        (1..=1000).for_each(|ms| spread.add(Duration::from_millis(ms)));
        let times = spread.times().expect("there are some");
        assert_eq!((times.count, times.mean), (1000, Duration::from_micros(500_500)));
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(1));
        assert_eq!((times.least, times.most), (least, most));
        for (got, ms) in [(times.median, 500.0), (times.p95, 950.0), (times.p99, 990.0)] {
            assert!((got.as_secs_f64() * 1e3 / ms - 1.0).abs() < 1.0 / 16.0, "{got} for {ms}");
        }
    }

    #[test]
    fn no_duration_is_no_answer() {
        let mut spread = Spread::default();
        assert_eq!(spread.times(), None);
        spread.add(Duration::ZERO);
        assert_eq!(spread.times().map(|t| (t.median, t.most)), Some(Default::default()));
        spread.restart();
        assert_eq!(spread.times(), None);
    }
}
