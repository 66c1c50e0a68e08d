//! `fairwave sweep`: every point of a scenario, for every seed.

use super::shared::{load, stem};
use crate::args::Common;
use crate::clock::Stopwatch;
use crate::outcome::Failure;
use crate::place::Before as PlaceBefore;
use crate::progress::Progress;
use crate::{output, place, stop};
use clap::Args;
use fairwave_lab::merge;
use fairwave_lab::report::sweep::{self, Line};
use fairwave_lab::run::{self, Before, Output, Shard, SweepOptions, Watch};
use fairwave_scenario::plan::Plan;
use fairwave_units::{Duration, several};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  fairwave sweep scenarios/ack-loss.toml
  fairwave sweep scenarios/ack-loss.toml --jobs 2 --out out/sweep --json
  fairwave sweep scenarios/ack-loss.toml --out out/sweep --resume
  fairwave sweep scenarios/ack-loss.toml --csv
  fairwave sweep scenarios/ack-loss.toml --out out/part-3 --shard 3/64

Means and intervals are over the seeds of a point: Student's t, 95 %. An interval needs two seeds.
--force removes the runs in --out that do not belong to this sweep.
SIGINT (Ctrl-C) or SIGTERM ends the sweep after the runs under way, which --resume keeps; a second
signal ends it at once.";

/// Simulate every point of a scenario's sweep, for every seed
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sweep {
    /// The scenario file
    scenario: PathBuf,
    /// Print the means of each point as CSV, with 95 % confidence intervals
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Continue the sweep that was interrupted in --out: only make the runs that are missing
    /// there; complete runs of other seeds stay, and do not count in the means that are shown
    #[arg(long)]
    resume: bool,
    /// Make one of several parts of the runs alone, on one of several machines, such as 3/64;
    /// `fairwave merge` joins their directories
    #[arg(long, value_name = "N/OF", requires = "out", conflicts_with_all = ["json", "csv"])]
    shard: Option<Shard>,
}

/// Simulates every run and shows the means of each point.
pub(super) fn run(common: &Common, args: &Sweep) -> Result<(), Failure> {
    let plan = load(common, &args.scenario, &[])?;
    let before = if args.resume { PlaceBefore::Results } else { PlaceBefore::Nothing };
    let directory = place::choose_with(common, &stem(&args.scenario), before);
    let directory = directory.map_err(|failure| interrupted(common, &plan, args.shard, failure))?;
    if args.resume && !common.force {
        refuse_to_replace(run::replaced(&plan, directory.path()), directory.path(), "sweep")?;
    }
    if args.resume && !common.json && !common.quiet {
        output::note(&sweep::missing(&plan, args.shard, directory.path()));
    }
    if common.force {
        merge::forget(directory.path()).map_err(Failure::run)?;
        let removed = run::remove_others(&plan, directory.path()).map_err(Failure::run)?;
        if removed > 0 && !common.json && !common.quiet {
            output::note(&format!("{} of another sweep removed", several(removed as u64, "run")));
        }
    }
    let kept = if args.resume { run::complete_runs(&plan, directory.path()) } else { Vec::new() };
    let stopwatch = Stopwatch::start();
    let before = if args.resume { Before::Resume } else { Before::Rerun };
    let lines = simulate(common, &plan, directory.path(), before, args.shard)?;
    if let Some(shard) = args.shard {
        let (made, all, place) = (lines.len(), plan.jobs().len(), directory.path().display());
        merge::record(&plan, shard, directory.path()).map_err(Failure::run)?;
        let text = format!("Part {shard}: {made} of {all} runs, in {place}\n");
        return Ok(output::print(&text)?);
    }
    let sweep = sweep::Sweep::new(&plan, directory.path(), lines, &kept, stopwatch.cost());
    if common.json {
        let mut runs = sweep.runs().map(|run| run.map_err(Failure::run));
        return output::print_json_with(&sweep.json(&args.scenario), "runs", || runs.next());
    }
    match args.csv {
        true => output::print_raw(sweep.csv().as_bytes())?,
        false => output::print(&sweep.text())?,
    }
    sweep.warnings().iter().for_each(|warning| output::warn(warning));
    Ok(())
}

/// The error for a refused directory, with the number of this sweep's runs in it.
fn interrupted(common: &Common, plan: &Plan, shard: Option<Shard>, failure: Failure) -> Failure {
    let (Failure::Usage(text), Some(out)) = (&failure, &common.out) else { return failure };
    // Nothing can be resumed while another process makes it.
    if fairwave_lab::place::Place::claim(out).is_err() {
        return failure;
    }
    let Extent { all, missing, which, option } = Extent::of(plan, shard, out);
    if missing == all {
        return failure;
    }
    if missing == 0 {
        return Failure::Usage(format!("{text}; it has all runs of this {which}: see --resume"));
    }
    let there = all - missing;
    Failure::Usage(format!(
        "{text}; it has {there} of the {all} runs of this {which}, and {option}--resume makes the \
         missing {missing}"
    ))
}

/// Size of a sweep, or of the part of it that is made.
struct Extent {
    all: usize,
    missing: usize,
    /// Its name: sweep or part.
    which: &'static str,
    /// Option that chooses the part, with a blank.
    option: String,
}

impl Extent {
    fn of(plan: &Plan, shard: Option<Shard>, directory: &Path) -> Self {
        let all = run::jobs_of(plan, shard).len();
        let missing = run::missing(plan, shard, directory).len();
        let which = if shard.is_some() { "part" } else { "sweep" };
        let option = shard.map(|shard| format!("--shard {} ", shard.argument()));
        Self { all, missing, which, option: option.unwrap_or_default() }
    }
}

/// The error after a signal, with the number of complete runs.
fn ended(plan: &Plan, shard: Option<Shard>, directory: &Path) -> Failure {
    let Extent { all, missing, option, .. } = Extent::of(plan, shard, directory);
    let (there, out) = (all - missing, output::quoted(&directory.display().to_string()));
    Failure::Run(format!(
        "interrupted; {there} of {all} runs are complete, and --out {out} {option}--resume makes \
         the missing {missing}"
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
    let why = run::none_of(what, directory, &other);
    let remedy = "give another --out, or --force as well";
    Err(Failure::Usage(format!("{why}; --resume would replace them: {remedy}")))
}

fn simulate(
    common: &Common,
    plan: &Plan,
    directory: &Path,
    before: Before,
    shard: Option<Shard>,
) -> Result<Vec<Line>, Failure> {
    // Points may differ in length, so progress counts simulated time instead of runs.
    let jobs = run::jobs_of(plan, shard).into_iter();
    let durations = jobs.map(|job| plan.points[job.point].scenario.duration);
    let whole_s: f64 = durations.map(Duration::as_secs_f64).sum();
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let progress = Progress::new(common);
    let report = |now: run::Progress| {
        progress.set(now.simulated.as_secs_f64() / whole_s);
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    let how = SweepOptions { shard, ..SweepOptions::from((Output::Full(directory), before)) };
    let watch = Watch { progress: &report, stop: &stop };
    let lines = run::sweep_with(plan, common.jobs().get(), how, watch, &Line::of);
    lines.map_err(|error| match error.is_interruption() {
        true => ended(plan, shard, directory),
        false => Failure::run(error),
    })
}
