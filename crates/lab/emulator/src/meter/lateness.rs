//! Statistics of lateness.

use fairwave_sim::{Spread, Times};
use fairwave_units::Duration;

/// Statistics of lateness. Quantiles are accurate within 0.4 %, as those of a [`Spread`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Number of samples.
    pub count: u64,
    /// Mean.
    pub mean: Duration,
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// 99.9th percentile.
    pub p999: Duration,
    /// Maximum.
    pub most: Duration,
}

impl Lateness {
    /// Statistics of the durations in `spread`; zeros without any.
    pub fn of(spread: &Spread) -> Self {
        spread.times().map_or_else(Self::default, Self::from)
    }
}

impl From<Times> for Lateness {
    fn from(times: Times) -> Self {
        Self {
            count: times.count,
            mean: times.mean,
            p50: times.median,
            p99: times.p99,
            p999: times.p999,
            most: times.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_not_late() {
        let mut spread = Spread::with_room();
        assert_eq!(Lateness::of(&spread), Lateness::default());
        spread.add(Duration::from_micros(7));
        let seen = Lateness::of(&spread);
        let all = [seen.mean, seen.p50, seen.p99, seen.p999, seen.most];
        assert_eq!((seen.count, all), (1, [Duration::from_micros(7); 5]));
    }
}
