//! `fairwave sweep`: every point of a scenario, for every seed.

use crate::args::Common;
use crate::clock::{Speed, Stopwatch};
use crate::outcome::Failure;
use crate::place::Before as PlaceBefore;
use crate::printed::SweepOutput;
use crate::progress::Progress;
use crate::table::{Table, mbps};
use crate::{output, place, show, stop};
use fairwave_lab::doubts::{Doubt, doubts};
use fairwave_lab::points::{Digest, Point, to_csv};
use fairwave_lab::results::{Totals, read_summary};
use fairwave_lab::run::{self, Before, Output, Run, Watch, directory_of};
use fairwave_scenario::plan::Plan;
use fairwave_units::Duration;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Maximum number of runs for which each is shown separately.
const MOST_SHOWN: usize = 50;
/// Maximum number of missing runs for which each is named.
const MOST_NAMED: usize = 5;

/// The part of a run that is kept in memory; its summary is in its directory.
struct Line {
    digest: Digest,
    label: String,
    totals: Totals,
    simulated_s: f64,
    frames: u64,
    doubts: Vec<Doubt>,
}

/// Simulates every run and shows the means of each point.
pub(crate) fn run(common: &Common, file: &Path, csv: bool, resume: bool) -> Result<(), Failure> {
    let plan = super::load(common, file, &[])?;
    let before = if resume { PlaceBefore::Results } else { PlaceBefore::Nothing };
    let directory = place::choose_with(common, &super::stem(file), before);
    let directory = directory.map_err(|failure| interrupted(common, &plan, failure))?;
    if resume && !common.force {
        refuse_to_replace(run::replaced(&plan, directory.path()), directory.path(), "sweep")?;
    }
    if resume && !common.json && !common.quiet {
        say_missing(&plan, directory.path());
    }
    let kept = if resume { run::are_there(&plan, directory.path()) } else { Vec::new() };
    let stopwatch = Stopwatch::start();
    let before = if resume { Before::Resume } else { Before::Rerun };
    let lines = simulate(common, &plan, directory.path(), before)?;
    // Runs read back cost nothing this time, so the speed is that of the new ones.
    let is_new = |at: usize| !kept.get(at).copied().unwrap_or(false);
    let made = || lines.iter().enumerate().filter(|(at, _)| is_new(*at)).map(|(_, line)| line);
    let speed = Speed {
        cost: stopwatch.cost(),
        simulated_s: made().fold(0.0, |sum, line| sum + line.simulated_s),
        frames: made().map(|line| line.frames).sum(),
    };
    let digests: Vec<Digest> = lines.iter().map(|line| line.digest.clone()).collect();
    let points = Point::all(&digests);
    let doubts = warnings(&plan, &lines);
    if common.json {
        let shown = Shown { file, directory: directory.path(), points: &points, doubts: &doubts };
        return shown.print(&plan, &lines, speed);
    }
    if csv {
        output::print_raw(to_csv(&points).as_bytes())?;
    } else {
        let tables = means(&points) + &whole(&points) + &each_run(&lines);
        let place = directory.path().display();
        output::print(&format!("{tables}{}Run directories: {place}\n", speed.line()))?;
    }
    doubts.iter().for_each(|doubt| output::warn(doubt));
    Ok(())
}

/// The error for a refused directory, with the number of this sweep's runs in it.
fn interrupted(common: &Common, plan: &Plan, failure: Failure) -> Failure {
    let (Failure::Usage(text), Some(out)) = (&failure, &common.out) else { return failure };
    let (all, missing) = (plan.jobs().len(), run::missing(plan, out).len());
    if missing == all {
        return failure;
    }
    if missing == 0 {
        return Failure::Usage(format!("{text}; it has all runs of this sweep: see --resume"));
    }
    let there = all - missing;
    Failure::Usage(format!(
        "{text}; it has {there} of the {all} runs of this sweep, and --resume \
                            makes the missing {missing}"
    ))
}

/// The error after a signal, with the number of complete runs.
fn ended(plan: &Plan, directory: &Path) -> Failure {
    let (all, missing) = (plan.jobs().len(), run::missing(plan, directory).len());
    let (there, out) = (all - missing, output::quoted(&directory.display().to_string()));
    Failure::Run(format!(
        "interrupted; {there} of {all} runs are complete, and --out {out} --resume makes the \
         missing {missing}"
    ))
}

/// Refuses to continue `what` in `directory` if that would replace `other`, a complete run of
/// something else.
pub(super) fn refuse_to_replace(
    other: Option<PathBuf>,
    directory: &Path,
    what: &str,
) -> Result<(), Failure> {
    let Some(other) = other else { return Ok(()) };
    let (directory, other) = (directory.display(), other.display());
    let whose = "of other values, seeds or another version of Fairwave";
    let remedy = "give another --out, or --force as well";
    Err(Failure::Usage(format!(
        "{directory} has runs that are none of this {what}, such as {other}: {whose}; --resume \
         would replace them: {remedy}"
    )))
}

/// Reports the missing runs of a sweep that is continued.
fn say_missing(plan: &Plan, directory: &Path) {
    let (all, missing) = (plan.jobs().len(), run::missing(plan, directory));
    let names = missing
        .iter()
        .take(MOST_NAMED)
        .map(|path| path.strip_prefix(directory).unwrap_or(path).display().to_string());
    let names: Vec<String> = names.collect();
    let (there, more) = (all - missing.len(), missing.len() > names.len());
    let which = match (names.as_slice(), more) {
        ([], _) => String::new(),
        (names, false) => format!(": {}", names.join(", ")),
        (names, true) => format!(": {}, ...", names.join(", ")),
    };
    output::note(&format!("{there} of {all} runs are there, {} are missing{which}", missing.len()));
}

fn simulate(
    common: &Common,
    plan: &Plan,
    directory: &Path,
    before: Before,
) -> Result<Vec<Line>, Failure> {
    // Points may differ in length, so progress counts simulated time instead of runs.
    let durations = plan.jobs().into_iter().map(|job| plan.points[job.point].scenario.duration);
    let whole_s: f64 = durations.map(Duration::as_secs_f64).sum();
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let progress = Progress::new(common);
    let report = |now: run::Progress| {
        progress.set(now.simulated.as_secs_f64() / whole_s);
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    let output = (Output::Full(directory), before);
    let watch = Watch { progress: &report, stop: &stop };
    let lines = run::sweep_with(plan, common.jobs().get(), output, watch, &line);
    lines.map_err(|error| match error.is_interruption() {
        true => ended(plan, directory),
        false => Failure::run(error),
    })
}

fn line(run: Run) -> Line {
    let axes = run.axes.keys().map(|key| format!("{key} = {}", run.axis(key)));
    Line {
        digest: Digest::of(&run),
        label: axes.collect::<Vec<_>>().join(", "),
        simulated_s: super::simulated_s(&run),
        frames: run.summary.frames,
        doubts: doubts(&run.summary),
        totals: run.summary.totals,
    }
}

/// Warnings for the reader of the results, each with the number of runs that it concerns.
fn warnings(plan: &Plan, lines: &[Line]) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for doubt in lines.iter().flat_map(|line| &line.doubts) {
        match counted.iter_mut().find(|(known, _)| *known == doubt.what) {
            Some((_, times)) => *times += 1,
            None => counted.push((&doubt.what, 1)),
        }
    }
    let all = lines.len();
    let of_runs = counted.iter().map(|(what, n)| format!("{what} (in {n} of {all} runs)"));
    plan.warnings().into_iter().chain(of_runs).collect()
}

/// A figure's mean and the half width of its interval.
pub(crate) fn cells(point: &Point, metric: &str, digits: usize) -> [String; 2] {
    let none = || "-".to_owned();
    let Some(estimate) = point.metric(metric) else { return [none(), none()] };
    let half = estimate.half_width.map_or_else(none, |half| format!("{half:.digits$}"));
    [format!("{:.digits$}", estimate.mean), half]
}

/// Each flow at each point.
fn means(points: &[Point]) -> String {
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
    if lines.len() > MOST_SHOWN {
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
            show::jain(totals.jain),
            totals.starved_flows.to_string(),
        ]);
    }
    table.render()
}

/// A sweep as `--json` shows it.
struct Shown<'a> {
    file: &'a Path,
    directory: &'a Path,
    points: &'a [Point],
    doubts: &'a [String],
}

impl Shown<'_> {
    /// Prints it run by run, each read back from its directory: all of them at once may not fit
    /// into memory.
    fn print(&self, plan: &Plan, lines: &[Line], speed: Speed) -> Result<(), Failure> {
        let value = json!(SweepOutput {
            scenario: self.file.display().to_string(),
            directory: self.directory.display().to_string(),
            runs: Vec::new(),
            points: self.points,
            warnings: self.doubts,
            speed: speed.printed(),
        });
        let mut jobs = plan.jobs().into_iter().zip(lines);
        output::print_json_with(&value, "runs", || {
            let (job, line) = jobs.next()?;
            Some(self.run(plan, job, line))
        })
    }

    fn run(
        &self,
        plan: &Plan,
        job: fairwave_scenario::plan::Job,
        line: &Line,
    ) -> Result<Value, Failure> {
        let place = directory_of(plan, job, self.directory);
        let summary = read_summary(&place).map_err(Failure::run)?;
        let axes = plan.points[job.point].axes.iter().cloned().collect();
        let run = Run { axes, seed: job.seed, summary, directory: Some(place) };
        let warnings = line.doubts.iter().map(|doubt| doubt.text.clone()).collect();
        Ok(json!(super::printed(run, warnings)))
    }
}
