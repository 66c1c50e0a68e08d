//! `fairwave run`: one scenario, once.

use super::{flag, option};
use crate::args::{Common, Run as RunArgs};
use crate::clock::{Speed, Stopwatch};
use crate::outcome::Failure;
use crate::printed::RunOutput;
use crate::progress::Progress;
use crate::{output, place, show, stop};
use fairwave_lab::doubts::doubts;
use fairwave_lab::run::{self, Output, Run};
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_units::Duration;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Simulates and shows the results.
pub(crate) fn run(common: &Common, args: &RunArgs) -> Result<(), Failure> {
    let file = file(args);
    let plan = super::load(common, &file, &settings(args))?;
    let job = only_job(common, &plan, &file)?;
    let directory = place::choose(common, &name(args, &file))?;
    let stopwatch = Stopwatch::start();
    let Performed { run, on_sockets, doubts: of_replay } =
        perform(common, args, (&plan, job), directory.path())?;
    let speed = Speed {
        cost: stopwatch.cost(),
        simulated_s: super::simulated_s(&run),
        frames: run.summary.frames,
    };
    let mut warnings = match of_replay.is_some() {
        // A replay has its traffic from the record, so a scenario without flows needs no warning.
        true => plan.points[job.point].scenario.warnings(),
        false => plan.warnings(),
    };
    warnings.extend(doubts(&run.summary).into_iter().map(|doubt| doubt.text));
    warnings.extend(of_replay.into_iter().flatten());
    if common.json {
        let (scenario, speed) = (file.display().to_string(), speed.printed());
        let run = super::printed(run, warnings);
        return Ok(output::print_json(&json!(RunOutput { run, scenario, speed }))?);
    }
    let tables = match on_sockets.is_empty() {
        true => show::summary(&run.summary),
        false => show::tables(&run.summary),
    };
    let place = directory.path().display();
    output::print(&format!("{tables}{}Run directory: {place}\n", speed.line()))?;
    warnings.iter().for_each(|warning| output::warn(warning));
    Ok(())
}

/// Keys that options of the command line set.
fn settings(args: &RunArgs) -> Vec<Override> {
    let pcap = args.pcap.then(|| flag("--pcap", "record.pcap=true"));
    let sample_every = |interval: Duration| {
        option("--sample-every", interval, format!("record.sample_every={interval}"))
    };
    let taps = || option("--tap", args.tap.join(" "), format!("record.taps={:?}", args.tap));
    let taps = (!args.tap.is_empty()).then(taps);
    pcap.into_iter().chain(taps).chain(args.sample_every.map(sample_every)).collect()
}

/// The scenario file; a recorded run has its own in its directory.
fn file(args: &RunArgs) -> PathBuf {
    #[cfg(target_os = "linux")]
    if let Some(recorded) = &args.replay {
        return recorded.join("scenario.toml");
    }
    args.scenario.clone().unwrap_or_default()
}

/// Name for the results.
fn name(args: &RunArgs, file: &Path) -> String {
    #[cfg(target_os = "linux")]
    if let Some(recorded) = &args.replay {
        return format!("{}-replay", super::stem(recorded));
    }
    let _ = args;
    super::stem(file)
}

/// A run, simulated or replayed.
struct Performed {
    run: Run,
    /// Flows without figures, since they ran on sockets when they were recorded.
    on_sockets: Vec<String>,
    /// Warnings about a replay; `None` for a simulation.
    doubts: Option<Vec<String>>,
}

/// Simulates, or replays a recorded run.
fn perform(
    common: &Common,
    args: &RunArgs,
    (plan, job): (&Plan, Job),
    directory: &Path,
) -> Result<Performed, Failure> {
    #[cfg(target_os = "linux")]
    if let Some(recorded) = &args.replay {
        let before = Plan::load(&file(args), &[])?;
        let before = &before.points[0].scenario;
        let directory = Some(directory);
        let replay =
            fairwave_emulator::emulation::Replay { plan, job, recorded, before, directory };
        let repeated = fairwave_emulator::emulation::replay(&replay).map_err(Failure::run)?;
        let fairwave_emulator::emulation::Repeated { run, on_sockets, doubts } = repeated;
        return Ok(Performed { run, on_sockets, doubts: Some(doubts) });
    }
    let _ = args;
    let run = simulate(common, plan, job, directory)?;
    Ok(Performed { run, on_sockets: Vec::new(), doubts: None })
}

/// The single job of a scenario without a sweep, or that of a point with the seed of the command
/// line.
pub(crate) fn only_job(common: &Common, plan: &Plan, file: &Path) -> Result<Job, Failure> {
    let jobs = plan.jobs();
    let is_one = jobs.len() == 1 || (plan.points.len() == 1 && common.seed.is_some());
    if let (true, Some(job)) = (is_one, jobs.first()) {
        return Ok(*job);
    }
    let (file, runs, points) = (file.display(), jobs.len(), plan.points.len());
    let picks = plan.points.iter().take(1).filter(|_| points > 1).flat_map(|point| &point.picks);
    let picks: String = picks.map(|pick| format!(" --set {}", output::quoted(pick))).collect();
    let seed = if plan.seeds > 1 && common.seed.is_none() {
        format!(" --seed {}", jobs.first().map_or(1, |job| job.seed))
    } else {
        String::new()
    };
    let what = format!("its sweep makes {runs} runs of {points} points");
    let one = format!("one of them is `fairwave run {file}{picks}{seed}`");
    Err(Failure::Usage(format!("{file}: {what}; {one}, all are `fairwave sweep {file}`")))
}

fn simulate(common: &Common, plan: &Plan, job: Job, directory: &Path) -> Result<Run, Failure> {
    let whole_s = plan.points[job.point].scenario.duration.as_secs_f64();
    let stop = stop::on(&stop::OF_SIMULATION)?;
    let progress = Progress::new(common);
    let mut at = String::new();
    let mut goes_on = |now: fairwave_units::Instant| {
        let now_s = now.as_nanos() as f64 / 1e9;
        progress.set(now_s / whole_s);
        at = format!("{now_s:.1} of {whole_s:.1} s");
        progress.say(&at);
        !stop.load(Ordering::Relaxed)
    };
    let run = run::execute_while(plan, job, Output::Full(directory), &mut goes_on);
    run.map_err(|error| {
        if !error.is_interruption() {
            return Failure::run(error);
        }
        let directory = directory.display();
        Failure::Run(format!("{error} at {at}; {directory} has no complete run"))
    })
}
