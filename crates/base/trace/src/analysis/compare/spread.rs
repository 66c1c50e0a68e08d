//! Quantiles of numbers that may have any offset, in bounded memory.

/// Buckets of equal width.
const BUCKETS: usize = 2_048;

/// A distribution of signed nanoseconds: count, minimum, mean and maximum are exact, quantiles
/// within about a thousandth of the distance from minimum to maximum, or a microsecond.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    count: u64,
    total: i128,
    range: Option<(i64, i64)>,
    /// Lower bound of the first bucket.
    start: i128,
    /// Width of a bucket, in powers of two.
    bits: u32,
    /// Empty until the first sample.
    buckets: Vec<u32>,
}

impl Spread {
    /// Takes a sample in nanoseconds.
    pub fn add(&mut self, sample: i64) {
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
            self.bits = 10;
            self.start = i128::from(sample) - ((BUCKETS as i128 / 2) << self.bits);
        }
        self.count += 1;
        self.total += i128::from(sample);
        let (minimum, greatest) = self.range.unwrap_or((sample, sample));
        self.range = Some((minimum.min(sample), greatest.max(sample)));
        let bucket = loop {
            match self.bucket(sample) {
                Some(bucket) => break bucket,
                None => self.widen(i128::from(sample) < self.start),
            }
        };
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
    }

    fn bucket(&self, sample: i64) -> Option<usize> {
        let from_start = i128::from(sample) - self.start;
        let bucket = usize::try_from(from_start >> self.bits).ok()?;
        (bucket < BUCKETS).then_some(bucket)
    }

    /// Makes buckets twice as wide, and room below or above.
    fn widen(&mut self, below: bool) {
        let half = BUCKETS / 2;
        let mut merged = vec![0; BUCKETS];
        let shift = if below { half } else { 0 };
        for (index, pair) in self.buckets.chunks(2).enumerate() {
            merged[shift + index] = pair.iter().fold(0u32, |sum, &count| sum.saturating_add(count));
        }
        self.buckets = merged;
        if below {
            self.start -= (BUCKETS as i128) << self.bits;
        }
        self.bits += 1;
    }

    /// Number of samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Minimum and maximum in nanoseconds.
    pub const fn range_ns(&self) -> Option<(i64, i64)> {
        self.range
    }

    /// The mean in nanoseconds.
    pub fn mean_ns(&self) -> Option<i64> {
        let count = i128::from(self.count);
        (count > 0).then(|| (self.total / count) as i64)
    }

    /// The value in nanoseconds that a share `q` (0..=1) of the samples does not exceed.
    pub fn quantile_ns(&self, q: f64) -> Option<i64> {
        let (minimum, greatest) = self.range?;
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).max(1.0);
        let mut below = 0u64;
        for (index, &count) in self.buckets.iter().enumerate() {
            below += u64::from(count);
            if below as f64 >= rank {
                let middle = self.start + ((index as i128) << self.bits) + (1 << (self.bits - 1));
                return Some(middle.clamp(minimum.into(), greatest.into()) as i64);
            }
        }
        Some(greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth_of_the_range(
            offset in -1i64 << 60..1 << 60,
            samples in prop::collection::vec(0i64..1_000_000_000, 1..200),
        ) {
            let mut spread = Spread::default();
            samples.iter().for_each(|sample| spread.add(offset + sample));
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            let (minimum, greatest) = (sorted[0], sorted[sorted.len() - 1]);
            let range = greatest - minimum;
            prop_assert_eq!(spread.range_ns(), Some((offset + minimum, offset + greatest)));
            for q in [0.0, 0.1, 0.5, 0.9, 1.0] {
                let exact = sorted[((q * sorted.len() as f64).ceil() as usize).max(1) - 1];
                let found = spread.quantile_ns(q).unwrap() - offset;
                prop_assert!((found - exact).abs() <= range / 500 + 1_024, "{found} {exact}");
            }
        }

        #[test]
        fn any_numbers_have_a_bucket(samples in prop::collection::vec(any::<i64>(), 1..20)) {
            let mut spread = Spread::default();
            samples.iter().for_each(|&sample| spread.add(sample));
            prop_assert!(spread.quantile_ns(0.5).is_some());
        }
    }
}
