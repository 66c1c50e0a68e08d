//! A sweep, as JSON and as text.

use super::answer;
use super::cost::{Cost, Speed, SpeedSummary};
use super::run::{RunOfSweep, simulated_s};
use super::summary::jain;
use crate::lints::{Lint, lints};
use crate::means;
use crate::points::{Digest, Point, to_csv};
use crate::results::{self, Totals, read_summary};
use crate::run::{self, Run, Shard, directory_of};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_text::{Table, mbps};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of runs for which each is shown separately.
const MAX_SHOWN: usize = 50;
/// Maximum number of missing runs for which each is named.
const MAX_NAMED: usize = 5;

/// Output of `fairwave sweep --json`.
#[derive(Serialize, JsonSchema)]
pub struct SweepOutput<'a> {
    /// The scenario file.
    scenario: String,
    /// The directory that contains the run directories.
    directory: String,
    /// Every run, by point and then by seed.
    runs: Vec<RunOfSweep>,
    /// Means over the seeds of each point.
    points: &'a [Point],
    /// Results in sentences, which answer the scenario's question.
    answer: Vec<String>,
    /// Warnings for the reader of the results, each with the number of runs that it concerns.
    warnings: &'a [String],
    #[serde(flatten)]
    speed: SpeedSummary,
}

/// The part of a run that is kept in memory; its summary is in its directory.
#[derive(Debug)]
pub struct Line {
    digest: Digest,
    label: String,
    totals: Totals,
    simulated_s: f64,
    frames: u64,
    lints: Vec<Lint>,
}

impl Line {
    /// The line of a run.
    pub fn of(run: Run) -> Self {
        let axes = run.axes.keys().map(|key| format!("{key} = {}", run.axis(key)));
        Self {
            digest: Digest::of(&run),
            label: axes.collect::<Vec<_>>().join(", "),
            simulated_s: simulated_s(&run),
            frames: run.summary.frames,
            lints: lints(&run.summary),
            totals: run.summary.totals,
        }
    }
}

/// A complete sweep.
#[derive(Debug)]
pub struct Sweep<'a> {
    plan: &'a Plan,
    directory: &'a Path,
    lines: Vec<Line>,
    points: Vec<Point>,
    warnings: Vec<String>,
    speed: Speed,
}

impl<'a> Sweep<'a> {
    /// The sweep of `plan` whose run directories are in `directory`. The runs in `kept` were there
    /// before: they had no part in the cost, so the speed is that of the others.
    pub fn new(
        plan: &'a Plan,
        directory: &'a Path,
        lines: Vec<Line>,
        kept: &[bool],
        cost: Cost,
    ) -> Self {
        let is_new = |at: usize| !kept.get(at).copied().unwrap_or(false);
        let new = || lines.iter().enumerate().filter(|(at, _)| is_new(*at)).map(|(_, line)| line);
        let speed = Speed {
            cost,
            simulated_s: new().fold(0.0, |sum, line| sum + line.simulated_s),
            frames: new().map(|line| line.frames).sum(),
        };
        let digests: Vec<Digest> = lines.iter().map(|line| line.digest.clone()).collect();
        let (points, warnings) = (Point::all(&digests), warnings(plan, &lines));
        Self { plan, directory, lines, points, warnings, speed }
    }

    /// Warnings for the reader of the results, each with the number of runs that it concerns.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Means of each point as CSV.
    pub fn csv(&self) -> String {
        to_csv(&self.points)
    }

    /// Tables of flows, points and runs, the answer to the scenario's question, and the speed.
    pub fn text(&self) -> String {
        let tables = of_flows(&self.points) + &whole(&self.points) + &each_run(&self.lines);
        let answer = answer::text(&self.plan.question, &answer::of_points(&self.points));
        let place = self.directory.display();
        format!("{tables}{answer}{}Run directories: {place}\n", self.speed.line())
    }

    /// The sweep of the file `scenario` for JSON, with an empty list of runs.
    pub fn json(&self, scenario: &Path) -> Value {
        json!(SweepOutput {
            scenario: scenario.display().to_string(),
            directory: self.directory.display().to_string(),
            runs: Vec::new(),
            points: &self.points,
            answer: answer::of_points(&self.points),
            warnings: &self.warnings,
            speed: self.speed.summary(),
        })
    }

    /// The runs for JSON, each read back from its directory: all of them at once may not fit into
    /// memory.
    pub fn runs(&self) -> impl Iterator<Item = Result<Value, results::Error>> {
        self.plan.jobs().into_iter().zip(&self.lines).map(|(job, line)| self.run(job, line))
    }

    fn run(&self, job: Job, line: &Line) -> Result<Value, results::Error> {
        let place = directory_of(self.plan, job, self.directory);
        let summary = read_summary(&place)?;
        let axes = self.plan.points[job.point].axes.iter().cloned().collect();
        let run = Run { axes, seed: job.seed, summary, directory: Some(place) };
        let warnings = line.lints.iter().map(|lint| lint.text.clone()).collect();
        Ok(json!(RunOfSweep::new(run, warnings)))
    }
}

/// The missing runs of a sweep, or of a part of it, that is continued.
pub fn missing(plan: &Plan, shard: Option<Shard>, directory: &Path) -> String {
    let (all, missing) = (run::jobs_of(plan, shard).len(), run::missing(plan, shard, directory));
    let names = missing
        .iter()
        .take(MAX_NAMED)
        .map(|path| path.strip_prefix(directory).unwrap_or(path).display().to_string());
    let names: Vec<String> = names.collect();
    let (there, more) = (all - missing.len(), missing.len() > names.len());
    let which = match (names.as_slice(), more) {
        ([], _) => String::new(),
        (names, false) => format!(": {}", names.join(", ")),
        (names, true) => format!(": {}, ...", names.join(", ")),
    };
    format!("{there} of {all} runs are there, {} are missing{which}", missing.len())
}

fn warnings(plan: &Plan, lines: &[Line]) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for lint in lines.iter().flat_map(|line| &line.lints) {
        match counted.iter_mut().find(|(known, _)| *known == lint.what) {
            Some((_, times)) => *times += 1,
            None => counted.push((&lint.what, 1)),
        }
    }
    let all = lines.len();
    let of_runs = counted.iter().map(|(what, n)| format!("{what} (in {n} of {all} runs)"));
    plan.warnings().into_iter().chain(of_runs).collect()
}

/// A figure's mean, with the number of runs that measured it where these are not all, and the half
/// width of its interval.
pub fn cells(point: &Point, metric: &str, digits: usize) -> [String; 2] {
    let none = || "-".to_owned();
    let Some(estimate) = point.metric(metric) else { return [none(), none()] };
    let half = estimate.half_width.map_or_else(none, |half| format!("{half:.digits$}"));
    [means::text(estimate, point.samples(), digits), half]
}

/// Each flow at each point.
fn of_flows(points: &[Point]) -> String {
    let heads =
        ["point", "runs", "flow", "Mbps", "+-", "delay ms", "+-", "p99 ms", "+-", "lost %", "+-"];
    let mut table = Table::new("Flows, means over seeds with 95 % intervals", &heads);
    for point in points {
        let flows = point
            .metrics
            .iter()
            .filter_map(|(name, _)| name.strip_prefix("flow.")?.strip_suffix(".goodput_mbps"));
        for flow in flows {
            let of = |name: &str, digits| cells(point, &format!("flow.{flow}.{name}"), digits);
            let row = [
                [point.label(), point.seeds.len().to_string()].to_vec(),
                vec![flow.to_owned()],
                of("goodput_mbps", 3).to_vec(),
                of("delay_mean_ms", 3).to_vec(),
                of("delay_p99_ms", 3).to_vec(),
                of("lost_percent", 2).to_vec(),
            ];
            table.row(row.concat());
        }
    }
    table.render()
}

/// The sum over all flows at each point.
fn whole(points: &[Point]) -> String {
    let heads = ["point", "runs", "Mbps", "+-", "up", "+-", "down", "+-", "Jain", "+-", "starved"];
    let mut table = Table::new("Points, means over seeds with 95 % intervals", &heads);
    for point in points {
        let row = [
            [point.label(), point.seeds.len().to_string()].to_vec(),
            cells(point, "goodput_mbps", 3).to_vec(),
            cells(point, "up_mbps", 3).to_vec(),
            cells(point, "down_mbps", 3).to_vec(),
            cells(point, "jain", 4).to_vec(),
            cells(point, "starved_flows", 1)[..1].to_vec(),
        ];
        table.row(row.concat());
    }
    table.render()
}

/// Each run separately, if there are few.
fn each_run(lines: &[Line]) -> String {
    if lines.len() > MAX_SHOWN {
        return format!("The {} runs one by one: --json\n\n", lines.len());
    }
    let heads = ["point", "seed", "Mbps", "up", "down", "Jain", "starved"];
    let mut table = Table::new("Runs", &heads);
    for Line { digest, label, totals, .. } in lines {
        table.row(vec![
            label.clone(),
            digest.seed.to_string(),
            mbps(totals.goodput_bps),
            mbps(totals.up_bps),
            mbps(totals.down_bps),
            jain(totals.jain),
            totals.starved_flows.to_string(),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_some_runs_lack_names_how_many_have_it() {
        let run = |seed: u64| Digest {
            axes: Vec::new(),
            seed,
            is_simulated: true,
            metrics: [("jain", 1.0), ("flow.up.goodput_mbps", seed as f64), ("down_mbps", 2.5)]
                .into_iter()
                .take(if seed == 1 { 3 } else { 2 })
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        };
        let points = Point::all(&[1, 2, 3].map(run));
        assert_eq!(cells(&points[0], "down_mbps", 1)[0], "2.5 (1 of 3)");
        assert_eq!(cells(&points[0], "flow.up.goodput_mbps", 1)[0], "2.0");
        assert!(whole(&points).contains("2.500 (1 of 3)"));
    }
}
