//! A comparison of two sets of runs, as JSON and as text.

use crate::compare::Comparison;
use fairwave_text::Table;
use schemars::JsonSchema;
use serde::Serialize;

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
            format!("{:.4}", one.first.mean),
            format!("{:.4}", one.second.mean),
            format!("{:+.4}", difference.mean),
            or_dash(difference.half_width.map(|half| format!("{half:.4}"))),
            p(difference.p),
            p(difference.p_holm),
            differs.to_owned(),
        ]);
    }
    table
}
