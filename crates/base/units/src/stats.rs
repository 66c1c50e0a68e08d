//! A mean with its confidence interval: the one place where an interval is computed, for machines
//! and for reports over runs. Interarrival jitter.

use crate::{Duration, math};
use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};
use serde::Serialize;

/// The confidence level of every interval in tables, figures and verdicts.
pub const CONFIDENCE: f64 = 0.95;

/// The two-sided quantile of the standard normal distribution at [`CONFIDENCE`].
pub const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054_2;

/// Mean, spread and confidence interval of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Number of values.
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

/// Interarrival jitter (RFC 3550 section 6.4.1), in integers as in appendix A.8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// In sixteenths of a nanosecond.
    sixteenths: u64,
}

impl Jitter {
    /// Adds the difference between the transit times of two packets.
    pub fn add(&mut self, difference: Duration) {
        let kept = self.sixteenths - (self.sixteenths.saturating_add(8) >> 4);
        // A peer may send any time.
        self.sixteenths = kept.saturating_add(difference.as_nanos());
    }

    /// The estimate.
    pub const fn value(self) -> Duration {
        Duration::from_nanos(self.sixteenths >> 4)
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

/// The two-sided quantile of Student's t distribution at [`CONFIDENCE`], for one degree of freedom
/// or more.
pub fn student_t_quantile(degrees_of_freedom: usize) -> f64 {
    // With t = sqrt(n) tan(theta) the distribution of |t| is an elementary function of theta that
    // rises from 0 to 1, so bisection finds the quantile to the last bit that it can.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return (degrees_of_freedom as f64).sqrt() * math::sin(low) / math::cos(low);
        }
        match within(middle, degrees_of_freedom) < CONFIDENCE {
            true => low = middle,
            false => high = middle,
        }
    }
}

/// The probability that Student's t is at least as far from zero as `t`, for one degree of freedom
/// or more: the p-value of a two-sided test.
pub fn student_t_p(t: f64, degrees_of_freedom: usize) -> f64 {
    let scale = (degrees_of_freedom as f64).sqrt();
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return (1.0 - within(low, degrees_of_freedom)).clamp(0.0, 1.0);
        }
        match scale * math::sin(middle) < t.abs() * math::cos(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
}

/// The probability that |t| is at most sqrt(n) tan(theta) for n degrees of freedom: Abramowitz and
/// Stegun, Handbook of Mathematical Functions, 26.7.3 (odd n) and 26.7.4 (even n).
fn within(theta: f64, degrees_of_freedom: usize) -> f64 {
    let (sin, cos) = (math::sin(theta), math::cos(theta));
    let square = cos * cos;
    let is_odd = degrees_of_freedom % 2 == 1;
    // Terms of the sum: cos, 2/3 cos^3, 2*4/(3*5) cos^5 ... for odd n from 3 on,
    // 1, 1/2 cos^2, 1*3/(2*4) cos^4 ... for even n.
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = 0.0;
    for k in (if is_odd { 3 } else { 2 }..=degrees_of_freedom).step_by(2) {
        sum += term;
        let k = k as f64;
        term *= square * (k - 1.0) / k;
    }
    if is_odd { FRAC_2_PI * (theta + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() < tolerance
    }

    #[test]
    fn an_interval_matches_the_printed_t_table() {
        // t(0.975), from 1 degree of freedom on.
        let printed = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (20, 2.086),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
        ];
        for (freedom, t) in printed {
            assert!(close(student_t_quantile(freedom), t, 5e-4), "{freedom}");
        }
        assert!(close(student_t_quantile(100_000), NORMAL_QUANTILE, 1e-4));
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let estimate = Estimate::of(&values).unwrap();
        assert!(close(estimate.mean, 5.5, 1e-12));
        assert!(close(estimate.std_dev, 3.027_650_354_097_492, 1e-12));
        assert!(close(estimate.half_width.unwrap(), 2.165_850, 1e-5));
        assert!(close(estimate.low(), 3.334_150, 1e-5));
    }

    /// The quantile at 95 % leaves 5 %; t = 1 with one degree of freedom leaves a half (Cauchy).
    #[test]
    fn a_p_value_is_what_the_quantile_leaves() {
        for freedom in [1, 2, 7, 30] {
            let p = student_t_p(-student_t_quantile(freedom), freedom);
            assert!(close(p, 0.05, 1e-9), "{freedom}: {p}");
        }
        assert!(close(student_t_p(1.0, 1), 0.5, 1e-12));
        assert!(close(student_t_p(0.0, 3), 1.0, 1e-12));
        assert!(student_t_p(f64::INFINITY, 4) < 1e-12);
    }

    /// From closed forms: tan(0.95 pi / 2) for one degree, 0.95 sqrt(2 / (1 - 0.95^2)) for two.
    #[test]
    fn few_degrees_of_freedom_have_closed_forms() {
        let one = 0.95 * FRAC_PI_2;
        assert!(close(student_t_quantile(1), math::sin(one) / math::cos(one), 1e-9));
        let two = 0.95 * (2.0_f64 / (1.0 - 0.95 * 0.95)).sqrt();
        assert!(close(student_t_quantile(2), two, 1e-9));
    }

    #[test]
    fn few_values_are_defined() {
        assert_eq!(Estimate::of(&[]), None);
        let one = Estimate::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.std_dev, one.half_width), (3.0, 0.0, None));
        assert_eq!((one.low(), one.high()), (3.0, 3.0));
    }
}
