//! `fairwave run`: one scenario, once.

use super::shared::{flag, load, option, stem};
use crate::args::Common;
use crate::clock::Stopwatch;
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::{output, place, stop};
use clap::Args;
use fairwave_lab::lints::lints;
use fairwave_lab::report::answer;
use fairwave_lab::report::cost::Speed;
use fairwave_lab::report::run::{RunOfSweep, RunOutput, simulated_s};
use fairwave_lab::report::summary;
use fairwave_lab::run::{self, Output, Run as Finished};
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_units::Duration;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

const EXAMPLES: &str = "\
Examples:
  fairwave run studies/ack-loss/detail.toml
  fairwave run studies/ack-loss/detail.toml --pcap --sample-every '10 ms' --out out/close
  fairwave run scenarios/ack-loss.toml --set tcp.congestion_control=ack-loss+compound
  fairwave run --replay out/emulated --pcap --set node.ap.queue.discipline=fq-codel";

/// Simulate one scenario and show the results; --set and --seed select a run of a sweep
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The scenario file
    #[cfg_attr(target_os = "linux", arg(required_unless_present = "replay"))]
    #[cfg_attr(not(target_os = "linux"), arg(required = true))]
    pub(super) scenario: Option<PathBuf>,
    /// Instead of a scenario: repeat the emulated run of this directory in virtual time, with the
    /// packets that it recorded (`fairwave emulate --record`)
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "DIR", conflicts_with = "scenario")]
    replay: Option<PathBuf>,
    /// Also write every frame on the air, for Wireshark
    #[arg(long)]
    pcap: bool,
    /// Also write every packet at this node, as tcpdump there would; may be repeated, and
    /// be a pattern such as "pc*" [default: the scenario's record.taps]
    #[arg(long, value_name = "NODE")]
    tap: Vec<String>,
    /// Interval of the recorded series, such as "10 ms" [default: the scenario's]
    #[arg(long, value_name = "DURATION")]
    sample_every: Option<Duration>,
}

/// Simulates and shows the results.
pub(super) fn run(common: &Common, args: &Run) -> Result<(), Failure> {
    let file = file(args);
    let plan = load(common, &file, &settings(args))?;
    let (job, of_seeds) = only_job(common, &plan, &file, "run", &options(args))?;
    let directory = place::choose(common, &name(args, &file))?;
    let stopwatch = Stopwatch::start();
    let Performed { run, on_sockets, lints: of_replay } =
        perform(common, args, &plan, job, directory.path())?;
    let speed = Speed {
        cost: stopwatch.cost(),
        simulated_s: simulated_s(&run),
        frames: run.summary.frames,
    };
    let mut warnings = match of_replay.is_some() {
        // A replay has its traffic from the record, so a scenario without flows needs no warning.
        true => plan.points[job.point].scenario.warnings(),
        false => plan.warnings(),
    };
    warnings.extend(of_seeds);
    warnings.extend(lints(&run.summary).into_iter().map(|lint| lint.text));
    warnings.extend(of_replay.into_iter().flatten());
    let answer = match on_sockets.is_empty() {
        true => answer::of_run(&run.summary),
        false => Vec::new(),
    };
    if common.json {
        let run = RunOfSweep::new(run, warnings);
        let scenario = file.display().to_string();
        let found = RunOutput::new(run, scenario, answer, speed.summary());
        return Ok(output::print_json(&json!(found))?);
    }
    let tables = match on_sockets.is_empty() {
        true => summary::summary(&run.summary) + &answer::text(&plan.question, &answer),
        false => summary::tables(&run.summary),
    };
    let place = directory.path().display();
    output::print(&format!("{tables}{}Run directory: {place}\n", speed.line()))?;
    warnings.iter().for_each(|warning| output::warn(warning));
    Ok(())
}

/// Keys that options of the command line set.
fn settings(args: &Run) -> Vec<Override> {
    let pcap = args.pcap.then(|| flag("--pcap", "record.pcap=true"));
    let sample_every = |interval: Duration| {
        option("--sample-every", interval, format!("record.sample_every={interval}"))
    };
    let taps = || option("--tap", args.tap.join(" "), format!("record.taps={:?}", args.tap));
    let taps = (!args.tap.is_empty()).then(taps);
    pcap.into_iter().chain(taps).chain(args.sample_every.map(sample_every)).collect()
}

/// Options of the command line besides common ones, as they were written.
fn options(args: &Run) -> String {
    let pcap = args.pcap.then(|| " --pcap".to_owned());
    let taps = args.tap.iter().map(|tap| format!(" --tap {}", output::quoted(tap)));
    let every = args.sample_every.map(|interval| interval.to_string());
    let every = every.map(|interval| format!(" --sample-every {}", output::quoted(&interval)));
    pcap.into_iter().chain(taps).chain(every).collect()
}

/// The scenario file; a recorded run has its own in its directory.
fn file(args: &Run) -> PathBuf {
    #[cfg(target_os = "linux")]
    if let Some(recorded) = &args.replay {
        return recorded.join("scenario.toml");
    }
    args.scenario.clone().unwrap_or_default()
}

/// Name for the results.
fn name(args: &Run, file: &Path) -> String {
    #[cfg(target_os = "linux")]
    if let Some(recorded) = &args.replay {
        return format!("{}-replay", stem(recorded));
    }
    let _ = args;
    stem(file)
}

/// A run, simulated or replayed.
struct Performed {
    run: Finished,
    /// Flows without figures, since they ran on sockets when they were recorded.
    on_sockets: Vec<String>,
    /// Warnings about a replay; `None` for a simulation.
    lints: Option<Vec<String>>,
}

/// Simulates, or replays a recorded run.
fn perform(
    common: &Common,
    args: &Run,
    plan: &Plan,
    job: Job,
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
        let fairwave_emulator::emulation::Repeated { run, on_sockets, lints } = repeated;
        return Ok(Performed { run, on_sockets, lints: Some(lints) });
    }
    let _ = args;
    let run = simulate(common, plan, job, directory)?;
    Ok(Performed { run, on_sockets: Vec::new(), lints: None })
}

/// The job of a scenario with one point: that of its first seed, or of the command line's. With it
/// a warning, if the scenario has further seeds and the command line names none.
/// Messages name the command, with the options of its own.
pub(super) fn only_job(
    common: &Common,
    plan: &Plan,
    file: &Path,
    command: &str,
    own: &str,
) -> Result<(Job, Option<String>), Failure> {
    let jobs = plan.jobs();
    let quoted = output::quoted(&file.display().to_string());
    let set = common.set.iter().map(|setting| format!(" --set {}", output::quoted(setting)));
    let seed = common.seed.iter().map(|seed| format!(" --seed {seed}"));
    let given = format!("{quoted}{}", set.chain(seed).collect::<String>());
    if let (1, Some(job)) = (plan.points.len(), jobs.first()) {
        let (seeds, seed) = (plan.seeds, job.seed);
        let further = seeds > 1 && common.seed.is_none();
        let warning = further.then(|| {
            format!(
                "this is the run of seed {seed} alone; `fairwave sweep {given}` makes those of all \
                 {seeds} seeds"
            )
        });
        return Ok((*job, warning));
    }
    let (file, runs, points) = (file.display(), jobs.len(), plan.points.len());
    let picks = plan.points.iter().take(1).flat_map(|point| &point.picks);
    let picks = picks.filter(|pick| !common.set.contains(pick));
    let picks: String = picks.map(|pick| format!(" --set {}", output::quoted(pick))).collect();
    let what = format!("its sweep makes {runs} runs of {points} points");
    let one = format!("one of them is `fairwave {command} {given}{own}{picks}`");
    Err(Failure::Usage(format!("{file}: {what}; {one}, all are `fairwave sweep {given}`")))
}

fn simulate(common: &Common, plan: &Plan, job: Job, directory: &Path) -> Result<Finished, Failure> {
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
