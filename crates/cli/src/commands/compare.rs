//! `fairwave compare`: whether two sets of runs differ by more than chance.

use crate::args::{Common, Compare};
use crate::outcome::Failure;
use crate::output;
use fairwave_lab::compare::{Comparison, compare};
use fairwave_lab::points::Digest;
use fairwave_lab::report::compare::{CompareOutput, table};
use fairwave_units::several;
use serde_json::json;
use std::path::Path;

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

/// Compares every figure that both sets have, or only the named ones.
pub(crate) fn run(common: &Common, asked: &Compare) -> Result<(), Failure> {
    let (first, second) = (super::digests(&asked.first)?, super::digests(&asked.second)?);
    let is_wanted = |name: &str| match asked.metric.as_slice() {
        [] => USUAL.iter().any(|usual| name.ends_with(usual)),
        wanted => wanted.iter().any(|known| known == name),
    };
    let found = compare(&first, &second, &is_wanted);
    if found.is_empty() {
        return Err(nothing(asked, &first));
    }
    if common.json {
        let [first, second] = [&asked.first, &asked.second].map(|path| path.display().to_string());
        let value = CompareOutput { first, second, comparisons: found };
        return Ok(output::print_json(&json!(value))?);
    }
    output::print(&(table(&found).render() + &sides(asked, [&first, &second], &found)))?;
    if found.iter().all(|one| one.difference.p.is_none()) {
        output::warn("one run says nothing about chance: compare at least two seeds of each");
    }
    Ok(())
}

/// Describes the two sets of runs and the method of comparison.
fn sides(asked: &Compare, runs: [&[Digest]; 2], found: &[Comparison]) -> String {
    let side = |name: &str, path: &Path, runs: &[Digest]| {
        let path = output::printable(&path.display().to_string());
        format!("{name}: {path}, {}\n", several(runs.len(), "run"))
    };
    let paired = found.iter().filter(|one| one.difference.is_paired).count();
    let test = match (paired, found.iter().any(|one| one.difference.p.is_some())) {
        (_, false) => "",
        (0, true) => "Welch's test\n",
        (paired, true) if paired == found.len() => "Runs of one seed in pairs: Student's t test\n",
        (_, true) => "Runs of one seed in pairs: Student's t test; where seeds differ, Welch's\n",
    };
    side("first", &asked.first, runs[0]) + &side("second", &asked.second, runs[1]) + test
}

fn nothing(asked: &Compare, first: &[Digest]) -> Failure {
    let [a, b]: [&Path; 2] = [&asked.first, &asked.second];
    let known: Vec<&str> =
        first.iter().take(1).flat_map(|run| &run.metrics).map(|m| &*m.0).collect();
    let (a, b, known) = (a.display(), b.display(), known.join(", "));
    Failure::Usage(format!("{a} and {b} have no point and figure in common; figures are: {known}"))
}
