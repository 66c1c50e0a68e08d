//! Many durations in constant memory.

use fairwave_units::Duration;

/// Buckets of each power of two: a quantile is off by at most 1/64 of its value.
const PARTS_LOG2: u32 = 6;
const PARTS: u64 = 1 << PARTS_LOG2;
const BUCKETS: usize = (64 - PARTS_LOG2 as usize + 1) << PARTS_LOG2;

/// A log-linear histogram of durations, as HdrHistogram has it. Adding allocates nothing.
#[derive(Clone, Debug)]
pub struct Histogram {
    count: u64,
    sum_ns: u128,
    most_ns: u64,
    buckets: Box<[u64]>,
}

/// What many latenesses came to. Quantiles are the upper ends of their buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: Duration,
    /// Half are not longer.
    pub p50: Duration,
    /// 99 of 100 are not longer.
    pub p99: Duration,
    /// 999 of 1000 are not longer.
    pub p999: Duration,
    /// The longest.
    pub most: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { count: 0, sum_ns: 0, most_ns: 0, buckets: vec![0; BUCKETS].into_boxed_slice() }
    }
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        let ns = duration.as_nanos();
        self.buckets[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.most_ns = self.most_ns.max(ns);
    }

    /// What its durations came to; zeros without any.
    pub fn lateness(&self) -> Lateness {
        let mean = self.sum_ns.checked_div(u128::from(self.count)).unwrap_or(0);
        Lateness {
            count: self.count,
            mean: Duration::from_nanos(mean as u64),
            p50: self.quantile(500),
            p99: self.quantile(990),
            p999: self.quantile(999),
            most: Duration::from_nanos(self.most_ns),
        }
    }

    /// The duration that so many thousandths of all do not exceed.
    fn quantile(&self, thousandths: u64) -> Duration {
        let wanted = u128::from(self.count) * u128::from(thousandths);
        let mut seen = 0;
        for (i, &n) in self.buckets.iter().enumerate() {
            seen += u128::from(n) * 1000;
            if n > 0 && seen >= wanted {
                return Duration::from_nanos(upper(i).min(self.most_ns));
            }
        }
        Duration::from_nanos(self.most_ns)
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let power = ns.ilog2() - PARTS_LOG2;
    (u64::from(power) * PARTS + (ns >> power)) as usize
}

/// Largest value of a bucket.
fn upper(index: usize) -> u64 {
    let index = index as u64;
    if index < PARTS {
        return index;
    }
    let power = index / PARTS - 1;
    ((index % PARTS + PARTS) << power) + ((1 << power) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_in_a_bucket_that_holds_it() {
        for ns in [0, 1, 63, 64, 65, 127, 128, 1_000_000, u64::MAX / 2, u64::MAX] {
            let upper = upper(bucket(ns));
            assert!(upper >= ns && upper - ns <= ns / 64, "{ns}: {upper}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn of_one_to_a_thousand_microseconds_the_quantiles_are_known() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.add(Duration::from_micros(us)));
        let seen = histogram.lateness();
        assert_eq!((seen.count, seen.mean), (1000, Duration::from_nanos(500_500)));
        assert_eq!(seen.most, Duration::from_millis(1));
        for (found, us) in [(seen.p50, 500), (seen.p99, 990), (seen.p999, 999)] {
            let least = Duration::from_micros(us);
            assert!(found >= least && found <= least + Duration::from_micros(us / 64 + 1));
        }
        assert_eq!(Histogram::default().lateness(), Lateness::default());
    }

    proptest! {
        #[test]
        fn no_quantile_is_too_small(mut ns in prop::collection::vec(any::<u64>(), 1..300)) {
            let mut histogram = Histogram::default();
            ns.iter().for_each(|ns| histogram.add(Duration::from_nanos(*ns)));
            ns.sort_unstable();
            let truth = ns[(ns.len() * 99).div_ceil(100) - 1];
            let p99 = histogram.lateness().p99.as_nanos();
            prop_assert!(p99 >= truth && p99 - truth <= truth / 64);
        }
    }
}
