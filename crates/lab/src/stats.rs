//! Statistics over runs and over flows, with their edge cases defined.
//!
//! Nothing here panics on few values: a mean of nothing is `None`, and a confidence interval of
//! fewer than two values has no width that could be stated.

mod groups;
mod proportion;

pub use groups::{APART, NEAR_ZERO, Split, TWO_MODES, bimodality, unfair};
pub use proportion::Proportion;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence level of every interval in tables and figures.
pub const CONFIDENCE: f64 = 0.95;

/// Mean, spread and confidence interval of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// How many values.
    pub n: usize,
    /// Their arithmetic mean.
    pub mean: f64,
    /// Their standard deviation (n - 1 in the denominator); zero for one value.
    pub std_dev: f64,
    /// Half the width of Student's t confidence interval of the mean, at [`CONFIDENCE`]; `None`
    /// for one value, which says nothing about spread.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The estimate from `values`; `None` for none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let n = values.len();
        let std_dev = std_dev(values);
        let half_width = (n >= 2).then(|| student_t_quantile(n - 1) * std_dev / (n as f64).sqrt());
        Some(Self { n, mean, std_dev, half_width })
    }

    /// Lower end of the interval; the mean where there is no interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width.unwrap_or(0.0)
    }

    /// Upper end of the interval; the mean where there is no interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width.unwrap_or(0.0)
    }
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with n - 1 in the denominator; zero for fewer than two values.
pub fn std_dev(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    if values.len() < 2 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The two-sided quantile of Student's t distribution at [`CONFIDENCE`].
fn student_t_quantile(degrees_of_freedom: usize) -> f64 {
    let t = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64)
        .expect("at least one degree of freedom: Estimate::of asks from two values on");
    t.inverse_cdf(0.5 + CONFIDENCE / 2.0)
}

/// Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984): (sum x)^2 / (n sum x^2), from
/// 1/n (one has all) to 1 (all equal). `None` of nothing; 1 where all are zero, which is equal.
pub fn jain(shares: &[f64]) -> Option<f64> {
    if shares.is_empty() {
        return None;
    }
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 {
        return Some(1.0);
    }
    Some(sum * sum / (shares.len() as f64 * squares))
}

/// How many shares lie below `fraction` of the fair share, which is the mean. None where all
/// are zero: then nobody is worse off than the others.
pub fn starved(shares: &[f64], fraction: f64) -> usize {
    let threshold = mean(shares).unwrap_or(0.0) * fraction;
    shares.iter().filter(|&&x| x < threshold).count()
}

/// The `q` quantile (0..=1), interpolated linearly between order statistics (type 7 of Hyndman
/// and Fan, 1996). `None` of nothing.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() < tolerance
    }

    #[test]
    fn an_interval_matches_the_printed_t_table() {
        // t(0.975) is 12.706, 4.303 and 2.262 for 1, 2 and 9 degrees of freedom.
        for (freedom, t) in [(1, 12.706), (2, 4.303), (9, 2.262)] {
            assert!(close(student_t_quantile(freedom), t, 5e-4), "{freedom}");
        }
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = Estimate::of(&values).unwrap();
        assert!(close(estimate.mean, 5.5, 1e-12));
        assert!(close(estimate.std_dev, 3.027_650_354_097_492, 1e-12));
        assert!(close(estimate.half_width.unwrap(), 2.165_850, 1e-5));
        assert!(close(estimate.low(), 3.334_150, 1e-5));
    }

    #[test]
    fn few_values_are_defined() {
        assert_eq!(Estimate::of(&[]), None);
        let one = Estimate::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.std_dev, one.half_width), (3.0, 0.0, None));
        assert_eq!((one.low(), one.high()), (3.0, 3.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7.0], 0.9), Some(7.0));
        assert_eq!(jain(&[]), None);
        assert_eq!(starved(&[], 0.1), 0);
    }

    #[test]
    fn jain_runs_from_one_nth_to_one() {
        assert!(close(jain(&[2.0; 8]).unwrap(), 1.0, 1e-12));
        assert!(close(jain(&[5.0, 0.0, 0.0, 0.0]).unwrap(), 0.25, 1e-12));
        assert!(close(jain(&[1.0, 2.0, 3.0]).unwrap(), 36.0 / 42.0, 1e-12));
        assert_eq!(jain(&[0.0, 0.0]), Some(1.0));
    }

    #[test]
    fn starvation_is_relative_to_the_fair_share() {
        assert_eq!(starved(&[1.0, 1.0, 0.05], 0.1), 1);
        assert_eq!(starved(&[1.0, 1.0, 0.07], 0.1), 0);
        assert_eq!(starved(&[0.0, 0.0], 0.1), 0);
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
    }
}
