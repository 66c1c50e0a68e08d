//! Spread of shares: starvation as the paper on access points' buffers defines it, and whether a
//! handful of values falls into two groups.

use super::{mean, std_dev};

/// Below this fraction of the equal share a throughput counts as "near 0 Mbps". The paper gives
/// no number; its examples have 2.9 % and 3.7 % of the equal share. The choice is Fairwave's.
pub const NEAR_ZERO: f64 = 0.05;
/// By how much the upper group's mean must exceed the lower's: a split that matters, not one that
/// is only regular. The choice is Fairwave's.
pub const APART: f64 = 1.5;
/// Above this a bimodality coefficient speaks for two modes: it is the uniform distribution's
/// (SAS/STAT User's Guide, procedure CLUSTER).
pub const TWO_MODES: f64 = 5.0 / 9.0;

/// Upper 5 % points of [`Split::fit`] for 4, 5, ... 12 values of one normal distribution: the test
/// of Engelman and Hartigan (J. Am. Stat. Assoc. 64, 1969), with at least two values in each
/// group. The points are from 400,000 samples each; a test draws them again.
const FIT_OF_ONE_GROUP: [f64; 9] = [0.967, 0.949, 0.928, 0.909, 0.891, 0.876, 0.863, 0.852, 0.842];

/// Whether `shares` are unfair in the sense of Ando, Murase and Oguchi (section 2.1): one is near
/// zero while another one is more than an equal share.
pub fn unfair(shares: &[f64]) -> bool {
    let fair = mean(shares).unwrap_or(0.0);
    super::starved(shares, NEAR_ZERO) > 0 && shares.iter().any(|&x| x > fair)
}

/// The best division of some values into a lower and an upper group of at least two each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Number of values.
    pub n: usize,
    /// Number of terminals in the lower group.
    pub lower: usize,
    /// Mean of the lower group.
    pub low: f64,
    /// Mean of the upper group.
    pub high: f64,
    /// The share of the sum of squares that lies between the groups, the greatest of all
    /// divisions: 1 where each group is all equal.
    pub fit: f64,
}

impl Split {
    /// Divides `values` (the exact 2-means in one dimension); `None` for fewer than four, and
    /// where all are equal.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let centre = mean(&sorted)?;
        let whole: f64 = sorted.iter().map(|v| (v - centre) * (v - centre)).sum();
        if n < 4 || whole <= 0.0 {
            return None;
        }
        let divide = |lower: usize| {
            let low = mean(&sorted[..lower]).unwrap_or(centre);
            let high = mean(&sorted[lower..]).unwrap_or(centre);
            let between = (high - low) * (high - low) * (lower * (n - lower)) as f64 / n as f64;
            Self { n, lower, low, high, fit: between / whole }
        };
        (2..=n - 2).map(divide).max_by(|a, b| a.fit.total_cmp(&b.fit))
    }

    /// Whether the division is sharper than 19 of 20 samples of one normal distribution would
    /// show (`FIT_OF_ONE_GROUP`), and wide enough to matter ([`APART`]). False beyond twelve
    /// values, for which no point is known.
    pub fn is_sharp(&self) -> bool {
        let point = self.n.checked_sub(4).and_then(|i| FIT_OF_ONE_GROUP.get(i));
        point.is_some_and(|&point| self.fit > point) && self.high > APART * self.low
    }
}

/// Sarle's bimodality coefficient of a sample (SAS/STAT User's Guide, procedure CLUSTER; Pfister
/// et al., Frontiers in Psychology 4:700, 2013), from bias-corrected skewness and kurtosis;
/// above [`TWO_MODES`] for two modes. `None` for fewer than four values or no spread.
///
/// It is for samples, not for a handful: three values of 1 and three of 5 have 0.34.
pub fn bimodality(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let (centre, spread) = (mean(values)?, std_dev(values));
    if values.len() < 4 || spread <= 0.0 {
        return None;
    }
    let standard = |v: &f64| (v - centre) / spread;
    let cubes: f64 = values.iter().map(standard).map(|z| z * z * z).sum();
    let fourths: f64 = values.iter().map(standard).map(|z| z * z * z * z).sum();
    let skew = n / ((n - 1.0) * (n - 2.0)) * cubes;
    let correction = 3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0));
    let kurtosis = n * (n + 1.0) / ((n - 1.0) * (n - 2.0) * (n - 3.0)) * fourths - correction;
    Some((skew * skew + 1.0) / (kurtosis + correction))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::{Seed, math};

    #[test]
    fn unfair_needs_one_near_zero_and_one_above_its_share() {
        // Equal share 5: 0.143 is 2.9 % of it, 0.3 is 6 %.
        assert!(unfair(&[8.8, 6.0, 5.0, 5.057, 0.143]));
        assert!(!unfair(&[8.8, 6.0, 5.0, 4.9, 0.3]));
        assert!(!unfair(&[0.0, 0.0]), "nobody has more than anybody");
        assert!(!unfair(&[]));
    }

    #[test]
    fn the_best_split_is_found_by_hand() {
        // Means 1 and 5; between: 16 * 9/6 = 24; within: 0.02 * 2 = 0.04.
        let split = Split::of(&[5.1, 0.9, 5.0, 1.0, 4.9, 1.1]).unwrap();
        assert_eq!((split.n, split.lower), (6, 3));
        assert!((split.low - 1.0).abs() < 1e-12 && (split.high - 5.0).abs() < 1e-12);
        assert!((split.fit - 24.0 / 24.04).abs() < 1e-12);
        assert!(split.is_sharp());
    }

    #[test]
    fn what_is_not_two_groups_is_not_sharp() {
        assert_eq!(Split::of(&[1.0, 1.0, 5.0]), None, "too few");
        assert_eq!(Split::of(&[2.0; 6]), None, "no spread");
        let evenly: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!(!Split::of(&evenly).unwrap().is_sharp());
        let one_starves = [0.0, 4.0, 4.5, 5.0, 5.5, 6.0];
        assert!(!Split::of(&one_starves).unwrap().is_sharp(), "one is no group");
        let near = [4.0, 4.01, 4.02, 5.0, 5.01, 5.02];
        let near = Split::of(&near).unwrap();
        assert!(near.fit > 0.99 && !near.is_sharp(), "regular, but too small a difference");
        let many: Vec<f64> = (0..13).map(|i| f64::from(i / 7)).collect();
        assert!(!Split::of(&many).unwrap().is_sharp());
    }

    /// Standard normal numbers (Box and Muller).
    fn normal(stream: &mut fairwave_units::Stream) -> f64 {
        let radius = (-2.0 * math::ln(1.0 - stream.unit())).sqrt();
        radius * math::cos(core::f64::consts::TAU * stream.unit())
    }

    #[test]
    fn one_normal_group_looks_sharp_once_in_twenty() {
        let mut stream = Seed(7).stream("groups/normal");
        for (i, &point) in FIT_OF_ONE_GROUP.iter().enumerate() {
            let samples = 8000;
            let above = (0..samples)
                .filter(|_| {
                    let values: Vec<f64> = (0..i + 4).map(|_| normal(&mut stream)).collect();
                    Split::of(&values).is_some_and(|split| split.fit > point)
                })
                .count();
            // Four standard deviations of a share of 0.05 of 8000 are 0.0097.
            let share = above as f64 / f64::from(samples);
            assert!((share - 0.05).abs() < 0.0115, "{} values: {share}", i + 4);
        }
    }

    #[test]
    fn the_bimodality_coefficient_by_hand() {
        // 1, 1, 1, 5, 5, 5: no skew; the plain kurtosis is 1, its unbiased excess -10/3 and the
        // denominator -10/3 + 25/4.
        let few = bimodality(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0]).unwrap();
        assert!((few - 1.0 / (25.0 / 4.0 - 10.0 / 3.0)).abs() < 1e-12);
        let two: Vec<f64> = (0..60).map(|i| f64::from(i % 2) + f64::from(i) * 1e-3).collect();
        assert!(bimodality(&two).unwrap() > TWO_MODES);
        let mut stream = Seed(8).stream("groups/coefficient");
        let one: Vec<f64> = (0..600).map(|_| normal(&mut stream)).collect();
        assert!((bimodality(&one).unwrap() - 1.0 / 3.0).abs() < 0.1, "a normal sample has 1/3");
        assert_eq!(bimodality(&[1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(bimodality(&[1.0, 2.0, 3.0]), None);
    }
}
