//! A comparison of two sets of runs, as JSON and as text.

use super::refusal::Refusal;
use crate::compare::{Comparison, compare};
use crate::points::Digest;
use crate::{means, nearest};
use fairwave_text::{Table, printable};
use fairwave_units::several;
use schemars::JsonSchema;
use serde::Serialize;

/// Figures that are compared if none is named.
const USUAL: [&str; 8] = [
    "goodput_mbps",
    "up_mbps",
    "down_mbps",
    "jain",
    ".delay_mean_ms",
    ".delay_p99_ms",
    ".lost_percent",
    ".completion_ms",
];

/// Output of `fairwave compare --json` and `fairwave fairness --compare A B --json`.
#[derive(Serialize, JsonSchema)]
pub struct CompareOutput {
    /// Location of the first runs.
    pub first: String,
    /// Location of the second runs.
    pub second: String,
    /// Every figure at every point that both sets have.
    pub comparisons: Vec<Comparison>,
}

impl CompareOutput {
    /// Compares the figures `wanted` of two sets of runs, or the usual ones if none is wanted. The
    /// sets are named by their locations.
    pub fn new(
        names: [String; 2],
        sets: [&[Digest]; 2],
        wanted: &[String],
    ) -> Result<Self, Refusal> {
        let ([first, second], [a, b]) = (names, sets);
        let is_wanted = |name: &str| match wanted {
            [] => USUAL.iter().any(|usual| name.ends_with(usual)),
            wanted => wanted.iter().any(|known| known == name),
        };
        let comparisons = compare(a, b, &is_wanted);
        let is_found = |name: &&String| comparisons.iter().any(|one| one.metric == **name);
        let missing = wanted.iter().find(|name| !is_found(name));
        if missing.is_none() && !comparisons.is_empty() {
            return Ok(Self { first, second, comparisons });
        }
        let known: Vec<&str> =
            a.iter().take(1).flat_map(|run| &run.metrics).map(|(name, _)| &**name).collect();
        // Without a wanted figure, the points differ: any figure is as near as another.
        let requested = missing.map_or("goodput_mbps", String::as_str);
        let known = nearest::listed(requested, known.into_iter());
        let figure = missing.map_or_else(String::new, |name| format!(" {name:?}"));
        Err(Refusal::Request(format!(
            "{first} and {second} have no point and figure{figure} in common; of figures, {known}"
        )))
    }

    /// The differences, then the two sets with their numbers of runs and the method of comparison.
    pub fn text(&self, runs: [usize; 2]) -> String {
        let side = |name: &str, path: &str, runs: usize| {
            format!("{name}: {}, {}\n", printable(path), several(runs, "run"))
        };
        let found = &self.comparisons;
        let paired = found.iter().filter(|one| one.difference.is_paired).count();
        let test = match (paired, self.is_tested()) {
            (_, false) => "",
            (0, true) => "Welch's test\n",
            (paired, true) if paired == found.len() => {
                "Runs of one seed in pairs: Student's t test\n"
            }
            (_, true) => {
                "Runs of one seed in pairs: Student's t test; where seeds differ, Welch's\n"
            }
        };
        let sides = side("first", &self.first, runs[0]) + &side("second", &self.second, runs[1]);
        let partial = match found.iter().any(Comparison::is_partial) {
            true => {
                "(n of runs): the other runs have no such figure, as of a transfer without end\n"
            }
            false => "",
        };
        table(found).render() + &sides + partial + test
    }

    /// Whether at least one difference could be tested: each set needs two seeds for that.
    pub fn is_tested(&self) -> bool {
        self.comparisons.iter().any(|one| one.difference.p.is_some())
    }
}

/// A table of the differences, one row each.
pub fn table(found: &[Comparison]) -> Table {
    let heads =
        ["point", "figure", "first", "second", "difference", "+-", "p", "p (Holm)", "differs"];
    let mut table = Table::new("Differences of means with 95 % intervals", &heads);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for one in found {
        let difference = &one.difference;
        let p = |p: Option<f64>| or_dash(p.map(|p| format!("{p:.4}")));
        let differs = match difference.p_holm {
            None => "-",
            Some(_) if difference.is_significant() => "yes",
            Some(_) => "no",
        };
        table.row(vec![
            one.point.clone(),
            one.metric.clone(),
            means::text(&one.first, one.runs[0], 4),
            means::text(&one.second, one.runs[1], 4),
            format!("{:+.4}", difference.mean),
            or_dash(difference.half_width.map(|half| format!("{half:.4}"))),
            p(difference.p),
            p(difference.p_holm),
            differs.to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seeds; the transfer ends in all of them, or in the first alone.
    fn runs(all_end: bool) -> Vec<Digest> {
        let run = |seed: u64| {
            let completion = ("flow.up.completion_ms".to_owned(), 100.0 + seed as f64);
            let goodput = ("goodput_mbps".to_owned(), seed as f64);
            let ends = all_end || seed == 1;
            Digest {
                axes: Vec::new(),
                seed,
                is_simulated: true,
                metrics: [goodput].into_iter().chain(ends.then_some(completion)).collect(),
            }
        };
        (1..=10).map(run).collect()
    }

    #[test]
    fn a_mean_over_some_of_the_runs_says_so() {
        let of = |sets: [&[Digest]; 2]| {
            let names = ["a", "b"].map(str::to_owned);
            CompareOutput::new(names, sets, &[]).expect("they are alike").text([10, 10])
        };
        let (all, one) = (runs(true), runs(false));
        let text = of([&all, &one]);
        assert!(text.contains("101.0000 (1 of 10)") && text.contains("(n of runs)"), "{text}");
        assert_eq!(text.matches("of 10)").count(), 1, "{text}");
        assert!(!of([&all, &all]).contains("of 10)"), "all runs have all figures");
    }
}
