//! Comparison of two sets of runs: differences, their size, and whether they may be chance.

use crate::means::{self, MeanSummary};
use crate::points::{Digest, Point, distinct};
use crate::stats::{Estimate, student_t_p, student_t_quantile};
use schemars::JsonSchema;
use serde::Serialize;

/// One figure at one point, in both sets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Its point of the sweep, in a few words.
    pub point: String,
    /// Name of the figure, which ends in its unit where it has one.
    pub metric: String,
    /// Runs of the point in each set, of which those without the figure are in no mean: transfers
    /// that did not end have no completion time. Simulated runs that are identical count as one.
    pub runs: [usize; 2],
    /// Mean over the runs of the first set.
    #[serde(serialize_with = "means::serialize")]
    #[schemars(with = "MeanSummary")]
    pub first: Estimate,
    /// Mean over the runs of the second set.
    #[serde(serialize_with = "means::serialize")]
    #[schemars(with = "MeanSummary")]
    pub second: Estimate,
    /// The second less the first.
    pub difference: Difference,
}

impl Comparison {
    /// Whether some run of a set does not have the figure.
    pub fn is_partial(&self) -> bool {
        self.first.n < self.runs[0] || self.second.n < self.runs[1]
    }
}

/// A difference of means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its mean.
    #[schemars(extend("unit" = "that of the figure"))]
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; null where one set has less than two runs
    /// that differ, or the difference has no variation.
    #[schemars(extend("unit" = "that of the figure"))]
    pub half_width: Option<f64>,
    /// The probability of a difference at least as large if there were none in truth.
    #[schemars(extend("unit" = "probability"))]
    pub p: Option<f64>,
    /// p corrected for the number of comparisons (Holm, Scand. J. Stat. 6, 1979).
    #[schemars(extend("unit" = "probability"))]
    pub p_holm: Option<f64>,
    /// Whether runs of one seed were compared with each other, which takes the effect of the seed
    /// out of the difference. Otherwise it is Welch's test (Biometrika 34, 1947).
    pub is_paired: bool,
}

impl Difference {
    /// The difference of the values of both sets by seed.
    fn of(first: &[(u64, f64)], second: &[(u64, f64)]) -> Option<Self> {
        let seeds =
            |values: &[(u64, f64)]| values.iter().map(|(seed, _)| *seed).collect::<Vec<_>>();
        if first.len() > 1 && seeds(first) == seeds(second) {
            return Self::paired(first, second);
        }
        let values = |values: &[(u64, f64)]| values.iter().map(|(_, x)| *x).collect::<Vec<_>>();
        Some(Self::welch(Estimate::of(&values(first))?, Estimate::of(&values(second))?))
    }

    fn paired(first: &[(u64, f64)], second: &[(u64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b.1 - a.1).collect();
        let Estimate { n, mean, std_dev, half_width } = Estimate::of(&differences)?;
        let p = p_value(mean, std_dev / (n as f64).sqrt(), n - 1);
        let half_width = half_width.filter(|_| p.is_some());
        Some(Self { mean, half_width, p, p_holm: None, is_paired: true })
    }

    fn welch(first: Estimate, second: Estimate) -> Self {
        let mean = second.mean - first.mean;
        let none = Self { mean, half_width: None, p: None, p_holm: None, is_paired: false };
        if first.n < 2 || second.n < 2 {
            return none;
        }
        let variance = |of: &Estimate| of.std_dev * of.std_dev / of.n as f64;
        let (a, b) = (variance(&first), variance(&second));
        let error = (a + b).sqrt();
        let terms = a * a / (first.n - 1) as f64 + b * b / (second.n - 1) as f64;
        // Rounded down: the test then rather finds no difference.
        let freedom = if terms > 0.0 { (a + b) * (a + b) / terms } else { 1.0 };
        let freedom = (freedom as usize).max(1);
        let Some(p) = p_value(mean, error, freedom) else { return none };
        Self { half_width: Some(student_t_quantile(freedom) * error), p: Some(p), ..none }
    }

    /// Whether the corrected p is below 5 %.
    pub fn is_significant(&self) -> bool {
        self.p_holm.is_some_and(|p| p < 0.05)
    }
}

/// p of a mean with its standard error. `None` for a difference without variation, of which the t
/// test knows nothing.
fn p_value(mean: f64, error: f64, freedom: usize) -> Option<f64> {
    match (mean == 0.0, error > 0.0) {
        (true, _) => Some(1.0),
        (false, false) => None,
        (false, true) => Some(student_t_p(mean / error, freedom)),
    }
}

/// Compares the points that both sets have, or the only point of each, in every figure that
/// `is_wanted`.
pub fn compare(
    first: &[Digest],
    second: &[Digest],
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<Comparison> {
    let points = [first, second].map(Point::all);
    let are_single = points.iter().all(|points| points.len() == 1);
    let mut list = Vec::new();
    for a in &points[0] {
        let matches = |b: &&Point| are_single || a.axes == b.axes;
        let Some(b) = points[1].iter().find(matches) else { continue };
        let named = a.metrics.iter().filter(|(name, _)| is_wanted(name));
        list.extend(named.filter_map(|(name, estimate)| {
            let values = |runs, point: &Point| by_seed(runs, point, name);
            Some(Comparison {
                point: if a.axes == b.axes { a.label() } else { String::new() },
                metric: name.clone(),
                runs: [a.samples(), b.samples()],
                first: *estimate,
                second: *b.metric(name)?,
                difference: Difference::of(&values(first, a), &values(second, b))?,
            })
        }));
    }
    correct(&mut list);
    list
}

fn by_seed(runs: &[Digest], point: &Point, metric: &str) -> Vec<(u64, f64)> {
    let runs: Vec<&Digest> = runs.iter().filter(|run| run.axes == point.axes).collect();
    let runs = distinct(&runs).iter();
    let mut values: Vec<_> = runs.filter_map(|run| Some((run.seed, run.metric(metric)?))).collect();
    values.sort_by_key(|(seed, _)| *seed);
    values
}

/// Holm's correction: the smallest of m values of p counts m times, the next m - 1 times ...
fn correct(list: &mut [Comparison]) {
    let mut order: Vec<(usize, f64)> =
        list.iter().enumerate().filter_map(|(i, one)| Some((i, one.difference.p?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut minimum: f64 = 0.0;
    for (rank, (i, p)) in order.iter().enumerate() {
        minimum = minimum.max(p * (order.len() - rank) as f64).min(1.0);
        list[*i].difference.p_holm = Some(minimum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[(u64, f64)]) -> Vec<Digest> {
        let run = |&(seed, value): &(u64, f64)| Digest {
            axes: Vec::new(),
            seed,
            is_simulated: true,
            metrics: vec![("x".to_owned(), value), ("y".to_owned(), 1.0)],
        };
        values.iter().map(run).collect()
    }

    /// Differences 1, 2, 3 have the mean 2 and s = 1, so t = 2 sqrt(3) = 3.4641 with two degrees of
    /// freedom, p = 1 - t / sqrt(t^2 + 2) = 0.074180.
    #[test]
    fn runs_of_the_same_seeds_are_compared_in_pairs() {
        let first = runs(&[(1, 10.0), (2, 20.0), (3, 30.0)]);
        let second = runs(&[(3, 33.0), (1, 11.0), (2, 22.0)]);
        let found = compare(&first, &second, &|name| name == "x");
        let Difference { mean, p, is_paired, .. } = found[0].difference;
        assert!(is_paired && (mean - 2.0).abs() < 1e-12);
        assert!((p.unwrap() - 0.074_180).abs() < 1e-6, "{p:?}");
        assert!(!found[0].difference.is_significant());
    }

    /// Means 2 and 12, s^2 = 1 and 4, n = 3: se = sqrt(5/3), t = 7.746. Welch's degrees are
    /// (5/3)^2 / ((1/9 + 16/9) / 2) = 2.94, rounded to 2: p = 1 - t / sqrt(t^2 + 2) = 0.0163.
    #[test]
    fn runs_of_other_seeds_are_compared_by_welchs_test() {
        let first = runs(&[(1, 1.0), (2, 2.0), (3, 3.0)]);
        let second = runs(&[(4, 10.0), (5, 12.0), (6, 14.0)]);
        let found = compare(&first, &second, &|_| true);
        let Difference { mean, p, is_paired, p_holm, .. } = found[0].difference;
        assert!(!is_paired && mean == 10.0);
        assert!((p.unwrap() - 0.016_26).abs() < 1e-4, "{p:?}");
        assert!((p_holm.unwrap() - 2.0 * p.unwrap()).abs() < 1e-12, "of two figures");
        assert!(found[0].difference.is_significant());
        assert_eq!(found[1].difference.p, Some(1.0), "what is equal differs by nothing");
    }

    #[test]
    fn one_run_says_nothing_about_chance() {
        let found = compare(&runs(&[(1, 1.0)]), &runs(&[(1, 2.0)]), &|name| name == "x");
        let Difference { mean, p, half_width, .. } = found[0].difference;
        assert_eq!((mean, p, half_width), (1.0, None, None));
        assert!(!found[0].difference.is_significant());
    }

    /// Nothing in such a run depends on its seed: five of them are one sample.
    #[test]
    fn identical_runs_are_one_sample() {
        let first = runs(&[(1, 5.0), (2, 5.0), (3, 5.0)]);
        let second = runs(&[(1, 6.0), (2, 6.0), (3, 6.0)]);
        let found = compare(&first, &second, &|name| name == "x");
        let Difference { mean, p, half_width, .. } = found[0].difference;
        assert_eq!((mean, p, half_width), (1.0, None, None));
        assert_eq!((found[0].first.n, found[0].first.half_width), (1, None));
        let measured = |runs: &[Digest]| -> Vec<Digest> {
            runs.iter().map(|run| Digest { is_simulated: false, ..run.clone() }).collect()
        };
        let found = compare(&measured(&first), &measured(&second), &|name| name == "x");
        assert_eq!(found[0].first.n, 3, "measurements that agree are samples");
        let one_differs = runs(&[(1, 5.0), (2, 5.5), (3, 5.0)]);
        assert_eq!(compare(&one_differs, &second, &|name| name == "x")[0].first.n, 3);
    }

    /// The t test divides by the deviation of the differences.
    #[test]
    fn a_difference_without_variation_is_not_tested() {
        let first = runs(&[(1, 5.0), (2, 7.0), (3, 9.0)]);
        let second = runs(&[(1, 6.0), (2, 8.0), (3, 10.0)]);
        let difference = compare(&first, &second, &|name| name == "x")[0].difference;
        assert_eq!((difference.mean, difference.p, difference.half_width), (1.0, None, None));
    }
}
