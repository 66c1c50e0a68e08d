//! A matrix, as JSON and as text.

use crate::emulation::kernel_release;
use crate::emulation::matrix::{FIGURES, Findings, Grid, Left, Running};
use fairwave_lab::points::Point;
use fairwave_lab::report::sweep::cells;
use fairwave_text::Table;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Output of `fairwave matrix --json`.
#[derive(Serialize, JsonSchema)]
pub struct MatrixOutput<'a> {
    /// The scenario file.
    scenario: String,
    /// The directory that contains the run directories.
    directory: String,
    /// The page with table and heat maps.
    page: String,
    /// Release of the kernel that provides the congestion control algorithms.
    kernel: String,
    /// Means over the valid runs of each point. The axes are `host` (`kernel` or `simulator`),
    /// `algorithm`, `company` and those of the scenario's sweep.
    points: &'a [Point],
    /// Runs that were late twice, and are therefore excluded from the means.
    left_out: &'a [Left],
    /// Number of runs that were late once and were repeated.
    repeated: usize,
    /// Warnings for the reader of the results.
    warnings: Vec<String>,
}

impl<'a> MatrixOutput<'a> {
    /// Findings about the file `scenario`, with their directory and their page.
    pub fn new(
        findings: &'a Findings,
        scenario: String,
        directory: &Path,
        page: &Path,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            scenario,
            directory: directory.display().to_string(),
            page: page.display().to_string(),
            kernel: kernel_release(),
            points: &findings.points,
            left_out: &findings.left_out,
            repeated: findings.repeated,
            warnings,
        }
    }
}

impl Findings {
    /// The means of each point, and the runs that do not count, for a terminal.
    pub fn text(&self) -> String {
        table(self) + &left_out(self)
    }

    /// Reason why results are missing, if runs were late twice.
    pub fn lateness(&self) -> Option<String> {
        let first = self.left_out.first()?;
        let (runs, why) = (self.left_out.len(), &first.why);
        let at = format!("{}, seed {}", first.point, first.seed);
        Some(format!("late twice, and not counted: {runs} of the runs; at {at}: {why}"))
    }
}

/// The work before the first run, in words.
pub fn ahead(running: &Running<'_>, grid: &Grid) -> String {
    let (runs, lasts) = running.ahead(&grid.kernel);
    format!("runs in real time: {runs}, at least {}", spoken(lasts))
}

/// A time in words.
fn spoken(time: Duration) -> String {
    let seconds = time.as_nanos().div_ceil(1_000_000_000);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// The means of each point. Figures without any measurement have no column, and a matrix with one
/// run of each point has no intervals.
fn table(findings: &Findings) -> String {
    let points = &findings.points;
    let estimates = |name: &str| points.iter().filter_map(|p| p.metric(name)).collect::<Vec<_>>();
    let figures = FIGURES.iter().filter(|figure| !estimates(figure.name).is_empty());
    let figures: Vec<_> = figures.collect();
    let has_intervals = points.iter().any(|point| point.seeds.len() > 1);
    let (columns, title) = match has_intervals {
        true => (2, "Means with 95 % intervals"),
        false => (1, "One run of each point"),
    };
    let axes = points.first().map(|point| point.axes.iter());
    let keys = axes.into_iter().flatten().map(|(key, _)| key.rsplit('.').next().unwrap_or(key));
    let named = figures.iter().flat_map(|figure| [figure.head, "+-"].into_iter().take(columns));
    let heads: Vec<&str> = keys.chain(["runs"]).chain(named).collect();
    let mut table = Table::new(title, &heads);
    for point in points {
        let axes = point.axes.iter().map(|(_, value)| value.clone());
        let runs = [point.seeds.len().to_string()];
        let cells = figures
            .iter()
            .flat_map(|figure| cells(point, figure.name, figure.digits).into_iter().take(columns));
        table.row(axes.chain(runs).chain(cells).collect());
    }
    table.render()
}

fn left_out(findings: &Findings) -> String {
    let mut table =
        Table::new("Runs that were late twice and do not count", &["point", "seed", "why"]);
    for left in &findings.left_out {
        table.row(vec![left.point.clone(), left.seed.to_string(), left.why.clone()]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_minutes_and_whole_seconds() {
        assert_eq!(spoken(Duration::from_millis(4_100)), "5 s");
        assert_eq!(spoken(Duration::from_secs(130)), "2 min 10 s");
    }
}
