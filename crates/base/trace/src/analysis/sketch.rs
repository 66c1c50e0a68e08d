//! Quantiles in bounded memory.

use fairwave_units::Duration;

/// Buckets of a power of two: a bucket is at most a sixteenth of its value wide.
const PER_OCTAVE: u64 = 16;
/// Times below this are one bucket: 2^10 ns, about a microsecond.
const LOWEST_BITS: u32 = 10;
/// Times of 2^37 ns (137 s) and above are one bucket.
const HIGHEST_BITS: u32 = 37;
const BUCKETS: usize = ((HIGHEST_BITS - LOWEST_BITS) as u64 * PER_OCTAVE) as usize + 2;

/// A distribution of times: count, minimum, mean and maximum are exact, quantiles within a
/// sixteenth of their value (a thirty-second to either side).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles {
    count: u64,
    total_ns: u128,
    min: Option<Duration>,
    max: Option<Duration>,
    /// Empty until the first sample.
    buckets: Vec<u32>,
}

impl Quantiles {
    /// Takes a sample.
    pub fn add(&mut self, sample: Duration) {
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
        }
        self.count += 1;
        self.total_ns += u128::from(sample.as_nanos());
        self.min = Some(self.min.map_or(sample, |min| min.min(sample)));
        self.max = Some(self.max.map_or(sample, |max| max.max(sample)));
        let bucket = &mut self.buckets[bucket(sample.as_nanos())];
        *bucket = bucket.saturating_add(1);
    }

    /// Number of samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The least.
    pub const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The greatest.
    pub const fn max(&self) -> Option<Duration> {
        self.max
    }

    /// The mean.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.total_ns.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(mean as u64))
    }

    /// The value that a share `q` (0..=1) of the samples does not exceed; none without samples.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let (min, max) = (self.min?, self.max?);
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).max(1.0);
        let mut below = 0u64;
        for (index, &count) in self.buckets.iter().enumerate() {
            below += u64::from(count);
            if below as f64 >= rank {
                let value = Duration::from_nanos(middle(index));
                return Some(value.clamp(min, max));
            }
        }
        Some(max)
    }
}

fn bucket(nanos: u64) -> usize {
    let Some(octave) = nanos.checked_ilog2().and_then(|bits| bits.checked_sub(LOWEST_BITS)) else {
        return 0;
    };
    if octave + LOWEST_BITS >= HIGHEST_BITS {
        return BUCKETS - 1;
    }
    let within = (nanos >> (octave + LOWEST_BITS - 4)) % PER_OCTAVE;
    (u64::from(octave) * PER_OCTAVE + within) as usize + 1
}

/// The value in the middle of a bucket, in nanoseconds.
fn middle(index: usize) -> u64 {
    match index {
        0 => 1 << (LOWEST_BITS - 1),
        _ if index == BUCKETS - 1 => 1 << HIGHEST_BITS,
        _ => {
            let (octave, within) =
                ((index as u64 - 1) / PER_OCTAVE, (index as u64 - 1) % PER_OCTAVE);
            let width = 1u64 << (octave + u64::from(LOWEST_BITS) - 4);
            (PER_OCTAVE + within) * width + width / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_milliseconds_one_by_one() {
        let mut sketch = Quantiles::default();
        assert_eq!((sketch.mean(), sketch.quantile(0.5)), (None, None));
        (1..=100).for_each(|ms| sketch.add(Duration::from_millis(ms)));
        assert_eq!(sketch.mean(), Some(Duration::from_micros(50_500)));
        assert_eq!(sketch.min(), Some(Duration::from_millis(1)));
        assert_eq!(sketch.max(), Some(Duration::from_millis(100)));
        for (q, ms) in [(0.5, 50.0), (0.9, 90.0), (0.99, 99.0)] {
            let found = sketch.quantile(q).unwrap().as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 1.0 / 16.0, "{q}: {found} ms");
        }
    }

    proptest! {
        #[test]
        fn a_bucket_is_a_sixteenth_wide(nanos in 1024u64..1 << 37) {
            let found = middle(bucket(nanos));
            prop_assert!(found.abs_diff(nanos) * 32 <= nanos + 32, "{nanos} became {found}");
        }

        #[test]
        fn any_time_has_a_bucket(nanos: u64) {
            prop_assert!(bucket(nanos) < BUCKETS);
        }
    }
}
