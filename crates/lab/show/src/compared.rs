//! The page of a comparison of two sets of runs.

use crate::page::{Content, Kind, Page};
use fairwave_lab::compare::Comparison;
use fairwave_lab::report::compare::CompareOutput;
use fairwave_units::several;

/// The page of a comparison; `runs` are the numbers of runs of both sets.
pub fn of_comparison(found: &CompareOutput, runs: [usize; 2]) -> Page {
    let CompareOutput { first, second, comparisons } = found;
    let mut content = Content::new(Kind::Comparison);
    content.comparisons.clone_from(comparisons);
    let facts = [(first, runs[0]), (second, runs[1])];
    let facts = facts.map(|(name, runs)| format!("{name}: {}", several(runs as u64, "run")));
    Page {
        heading: format!("Does {second} differ from {first} by more than chance?"),
        answer: answer(found),
        facts: facts.into(),
        content,
        tables: Vec::new(),
    }
}

/// Number of figures that differ, and the largest difference relative to the first mean.
fn answer(found: &CompareOutput) -> Vec<String> {
    if !found.is_tested() {
        let text = "Not testable: each side needs at least two different runs.";
        return vec![text.to_owned()];
    }
    let all = found.comparisons.len();
    let mut differ: Vec<&Comparison> =
        found.comparisons.iter().filter(|one| one.difference.is_significant()).collect();
    differ.sort_by(|a, b| relative(b).total_cmp(&relative(a)));
    let Some(most) = differ.first() else {
        return vec![format!("No difference is shown in {} (p below 0.05, Holm).", figures(all))];
    };
    let name = match most.point.as_str() {
        "" => most.metric.clone(),
        point => format!("{} at {point}", most.metric),
    };
    let count = differ.len();
    vec![format!(
        "{count} of {} differ (p below 0.05, Holm). Most of all {name}: {:.4} against {:.4}.",
        figures(all),
        most.second.mean,
        most.first.mean
    )]
}

fn figures(count: usize) -> String {
    several(count as u64, "figure")
}

/// Size of a difference as a share of the first mean.
fn relative(one: &Comparison) -> f64 {
    (one.difference.mean / one.first.mean).abs()
}
