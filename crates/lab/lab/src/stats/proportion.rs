//! Share of trials in which an event happens, with its interval.

use fairwave_units::stats::NORMAL_QUANTILE;

/// A share of trials, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// Trials in which it happened.
    pub hits: usize,
    /// Trials.
    pub n: usize,
    /// The share.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Proportion {
    /// Of `hits` in `n` trials, with the score interval at 95 % (Wilson, J. Am. Stat.
    /// Assoc. 22, 1927), which has a width for none and for all too; `None` of no trials.
    pub fn of(hits: usize, n: usize) -> Option<Self> {
        if n == 0 || hits > n {
            return None;
        }
        let (share, trials) = (hits as f64 / n as f64, n as f64);
        let z = NORMAL_QUANTILE;
        let square = z * z / trials;
        let centre = share + square / 2.0;
        let half = z * (share * (1.0 - share) / trials + square / (4.0 * trials)).sqrt();
        // At none and at all one end is the share itself, which rounding must not miss.
        let low = if hits == 0 { 0.0 } else { (centre - half) / (1.0 + square) };
        let high = if hits == n { 1.0 } else { (centre + half) / (1.0 + square) };
        Some(Self { hits, n, share, low, high })
    }

    /// The share of the trials for which `happened` holds.
    pub fn among<T>(trials: &[T], happened: impl Fn(&T) -> bool) -> Option<Self> {
        Self::of(trials.iter().filter(|trial| happened(trial)).count(), trials.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_by_hand() {
        // z = 1.959964, z^2 = 3.841459. For 0 of 10: up to z^2 / (10 + z^2) = 0.277533.
        let none = Proportion::of(0, 10).unwrap();
        assert!(none.low.abs() < 1e-12 && (none.high - 0.277_533).abs() < 1e-6);
        // For 5 of 10: 0.5 -+ (1.959964 * sqrt(0.025 + 0.00960365)) / 1.384146.
        let half = Proportion::of(5, 10).unwrap();
        assert!((half.low - 0.236_593).abs() < 1e-5, "{half:?}");
        assert!((half.low + half.high - 1.0).abs() < 1e-12);
        let all = Proportion::of(10, 10).unwrap();
        assert!((all.low - (1.0 - none.high)).abs() < 1e-12 && all.high == 1.0);
    }

    #[test]
    fn no_trials_have_no_share() {
        assert_eq!(Proportion::of(0, 0), None);
        assert_eq!(Proportion::of(3, 2), None);
        let even = Proportion::among(&[1, 2, 3, 4], |n| n % 2 == 0).unwrap();
        assert_eq!((even.hits, even.n, even.share), (2, 4, 0.5));
    }
}
