//! Statistics over runs and over flows, with their edge cases defined.
//!
//! Nothing here panics on few values: a mean of nothing is `None`, and a confidence interval of
//! fewer than two values has no width that could be stated. Means and their intervals are those of
//! [`fairwave_units::stats`].

mod groups;
mod proportion;

pub use fairwave_units::stats::{
    CONFIDENCE, Estimate, mean, std_dev, student_t_p, student_t_quantile,
};
pub use groups::{APART, NEAR_ZERO, Split, TWO_MODES, bimodality, unfair};
pub use proportion::Proportion;

/// Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984): (sum x)^2 / (n sum x^2), from
/// 1/n (one has all) to 1 (all equal). `None` where there is nothing to share: 0 / 0.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Number of shares below `fraction` of the fair share, which is the mean. None if all are zero:
/// then no flow is worse off than the others.
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
    fn few_values_are_defined() {
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
        assert_eq!(jain(&[0.0, 0.0]), None);
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
