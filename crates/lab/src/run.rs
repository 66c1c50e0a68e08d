//! Running jobs: one into a summary and, if wanted, a run directory; many over worker threads.
//!
//! Runs are independent and serial within: the number of workers changes nothing but the time
//! it takes.

mod done;
mod kept;
mod stored;

pub use done::{Run, directory_of};
pub use kept::{Kept, are_there, kept, missing, replaced};

use crate::results::{
    self, EmulationSummary, Names, Recorder, RunDirectory, Stretches, Summary, Wanted,
};
use crate::store::Store;
use fairwave_scenario::Record;
use fairwave_scenario::plan::{Job, Plan};
use fairwave_sim::Outcome;
use fairwave_sim::world::World;
use fairwave_trace::{Kind, NodeId, Sample, Sink};
use fairwave_units::{Duration, Instant};
use fairwave_wire::datagram::{Contents, Datagram};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Why a run failed; the message names the seed, unless all runs were ended together.
#[derive(Debug, thiserror::Error)]
#[error("{}", said(*.seed, .axes, .cause))]
pub struct Error {
    /// The run's seed.
    pub seed: u64,
    /// Where it is in its sweep.
    pub axes: Vec<(String, String)>,
    /// What happened.
    #[source]
    pub cause: Cause,
}

/// What stopped a run.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The simulator refused the world.
    #[error(transparent)]
    Simulator(#[from] fairwave_sim::Error),
    /// The results could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// The worker threads could not be started.
    #[error("no worker threads: {0}")]
    Workers(#[from] rayon::ThreadPoolBuildError),
    /// Somebody ended it.
    #[error("interrupted")]
    Interrupted,
    /// Another host than the simulator could not run the world.
    #[error(transparent)]
    Host(#[from] Box<dyn std::error::Error + Send + Sync>),
}

fn said(seed: u64, axes: &[(String, String)], cause: &Cause) -> String {
    if matches!(cause, Cause::Interrupted) {
        return cause.to_string();
    }
    let list: Vec<String> = axes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let at = if list.is_empty() { String::new() } else { format!(" at {}", list.join(", ")) };
    format!("run with seed {seed}{at}: {cause}")
}

impl Error {
    /// Whether nothing went wrong but somebody ended the run or its sweep.
    pub const fn is_interruption(&self) -> bool {
        matches!(self.cause, Cause::Interrupted)
    }

    const fn interrupted() -> Self {
        Self { seed: 0, axes: Vec::new(), cause: Cause::Interrupted }
    }
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Jobs done.
    pub done: usize,
    /// Jobs in all.
    pub total: usize,
    /// Simulated time so far, over all jobs.
    pub simulated: Duration,
}

/// What a sweep tells, and hears, while it lasts.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Hears how far the sweep is.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Once it is true, no further run is begun. Those under way are completed.
    pub stop: &'a AtomicBool,
}

/// Hands each sample to those who want it.
struct Tee<'a> {
    stretches: &'a mut Stretches,
    recorder: Option<&'a mut Recorder>,
}

impl Sink for Tee<'_> {
    fn wants(&self, kind: Kind) -> bool {
        self.stretches.wants(kind) || self.recorder.as_ref().is_some_and(|r| r.wants(kind))
    }

    fn taps(&self, node: NodeId) -> bool {
        self.recorder.as_ref().is_some_and(|r| r.taps(node))
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note_contents(datagram, contents);
        }
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        self.stretches.record(at, sample);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(at, sample);
        }
    }
}

/// Whether and where runs leave their directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// Nowhere.
    Nothing,
    /// Scenario, provenance and summary only: for large sweeps.
    Summary(&'a Path),
    /// Everything that the scenario asks for.
    Full(&'a Path),
}

impl<'a> Output<'a> {
    fn path(self) -> Option<&'a Path> {
        match self {
            Self::Nothing => None,
            Self::Summary(path) | Self::Full(path) => Some(path),
        }
    }

    const fn is_full(self) -> bool {
        matches!(self, Self::Full(_))
    }

    fn at(self, path: &'a Path) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Summary(_) => Self::Summary(path),
            Self::Full(_) => Self::Full(path),
        }
    }

    fn wanted(self, record: &Record, taps: Vec<NodeId>) -> Wanted {
        match self {
            Self::Nothing | Self::Summary(_) => Wanted::default(),
            Self::Full(_) => Wanted {
                series: true,
                drops: record.drops,
                capture: record.pcap,
                taps,
                snap_len: record.snap_length,
            },
        }
    }
}

/// Runs one job. `output` names the run's own directory.
///
/// # Errors
/// When the simulator refuses the world or the directory cannot be written.
pub fn execute(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    progress: &mut dyn FnMut(Instant),
) -> Result<Run, Error> {
    let mut goes_on = |now| {
        progress(now);
        true
    };
    execute_while(plan, job, output, &mut goes_on)
}

/// The same until `goes_on`, which hears the virtual time, says that it is enough. Such a run
/// leaves no summary.
///
/// # Errors
/// As [`execute`], and [`Cause::Interrupted`].
pub fn execute_while(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    goes_on: &mut dyn FnMut(Instant) -> bool,
) -> Result<Run, Error> {
    let mut simulator = |world: &World, sink: &mut dyn Sink| {
        let outcome = fairwave_sim::run_while(world, sink, goes_on)?.ok_or(Cause::Interrupted)?;
        Ok(Hosted { outcome, emulation: None, untold: Vec::new() })
    };
    execute_on(plan, job, output, &mut simulator)
}

/// What a host made of a world.
#[derive(Debug)]
pub struct Hosted {
    /// What the run came to.
    pub outcome: Outcome,
    /// What an emulator has to say beside that.
    pub emulation: Option<EmulationSummary>,
    /// Names of flows of which the host has no figures: the summary leaves them out.
    pub untold: Vec<String>,
}

/// What runs a world and shows it to a sink.
pub type Host<'a> = dyn FnMut(&World, &mut dyn Sink) -> Result<Hosted, Cause> + 'a;

/// Runs one job on a host of the caller's. `output` names the run's own directory.
///
/// # Errors
/// When the host fails or the directory cannot be written.
pub fn execute_on(
    plan: &Plan,
    job: Job,
    output: Output<'_>,
    run: &mut Host<'_>,
) -> Result<Run, Error> {
    let axes = &plan.points[job.point].axes;
    host(plan, job, output, run).map_err(|cause| Error {
        seed: job.seed,
        axes: axes.clone(),
        cause,
    })
}

fn host(plan: &Plan, job: Job, output: Output<'_>, run: &mut Host<'_>) -> Result<Run, Cause> {
    let scenario = plan.scenario(job);
    let world = scenario.to_world(job.seed);
    let names = Names::of(&world);
    let axes: BTreeMap<String, String> = plan.points[job.point].axes.iter().cloned().collect();
    let wanted = output.wanted(&scenario.record, scenario.tapped());
    let meta = done::provenance(plan, job, &world, &wanted.taps);
    let open = |path| RunDirectory::create(path, &meta, &scenario.to_toml());
    let opened = output.path().map(open).transpose()?;
    let mut recorder = opened.as_ref().map(|d| d.recorder(&world, &wanted)).transpose()?;
    let mut stretches = Stretches::new(&names);
    let mut tee = Tee { stretches: &mut stretches, recorder: recorder.as_mut() };
    let Hosted { outcome, emulation, untold } = run(&world, &mut tee)?;
    let summary = Summary { emulation, ..Summary::new(&names, &outcome, &stretches) };
    let summary = if untold.is_empty() { summary } else { summary.without_flows(&untold) };
    if let Some(recorder) = recorder {
        recorder.finish()?;
    }
    if let Some(opened) = opened {
        opened.summary(&summary)?;
    }
    Ok(Run { axes, seed: job.seed, summary, directory: output.path().map(Path::to_owned) })
}

/// What becomes of complete runs that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// They are run anew.
    Rerun,
    /// They are read, if this version of Fairwave made them by this scenario.
    Resume,
}

/// Where the runs of a sweep go, and whence those are taken that need not be made.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Whether and where runs leave their directories.
    pub output: Output<'a>,
    /// What becomes of runs that are complete there.
    pub before: Before,
    /// Where results are kept for later: what it has is not run.
    pub store: Option<&'a Store>,
}

impl<'a> From<(Output<'a>, Before)> for How<'a> {
    fn from((output, before): (Output<'a>, Before)) -> Self {
        Self { output, before, store: None }
    }
}

impl How<'_> {
    /// The run of a job that is there already; its directory is `place`.
    ///
    /// # Errors
    /// When what the store has cannot be written into the directory.
    pub fn there(&self, plan: &Plan, job: Job, place: &Path) -> Result<Option<Run>, Error> {
        let resumed = match self.before {
            Before::Resume => kept::resumed(plan, job, place),
            Before::Rerun => None,
        };
        let (None, Some(store)) = (&resumed, self.store) else { return Ok(resumed) };
        let place = self.output.path().map(|_| place);
        stored::stored(store, (plan, job), place, self.output.is_full()).map_err(|cause| {
            let axes = plan.points[job.point].axes.clone();
            Error { seed: job.seed, axes, cause: cause.into() }
        })
    }

    /// The run of a job, whose directory is `place`, made now.
    fn made(
        &self,
        (plan, job): (&Plan, Job),
        place: &Path,
        progress: &mut dyn FnMut(Instant),
    ) -> Result<Run, Error> {
        let run = execute(plan, job, self.output.at(place), progress)?;
        if let Some(store) = self.store {
            stored::keep(store, (plan, job), &run, self.output.is_full());
        }
        Ok(run)
    }
}

/// Runs every job of `plan` on `workers` threads (at least one). Results are in the order of
/// the jobs. The directory of `output` is the root of the
/// runs' directories (see [`directory_of`]).
///
/// # Errors
/// Of the runs that failed, the first in the order of the jobs. After a failure no further run
/// is begun.
pub fn sweep(
    plan: &Plan,
    workers: usize,
    output: Output<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<Run>, Error> {
    let watch = Watch { progress, stop: &AtomicBool::new(false) };
    sweep_with(plan, workers, (output, Before::Rerun), watch, &|run| run)
}

/// The same, with what `reduce` leaves of each run: a sweep of many runs need not hold all of
/// their summaries.
///
/// # Errors
/// As [`sweep`], and [`Cause::Interrupted`] where `watch` ended it before its last run.
pub fn sweep_with<'a, T: Send>(
    plan: &Plan,
    workers: usize,
    how: impl Into<How<'a>>,
    watch: Watch<'_>,
    reduce: &(dyn Fn(Run) -> T + Sync),
) -> Result<Vec<T>, Error> {
    let how = how.into();
    let jobs = plan.jobs();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers.clamp(1, jobs.len().max(1)))
        .build()
        .map_err(|e| Error { seed: 0, axes: Vec::new(), cause: e.into() })?;
    let meter = Meter::new(jobs.len(), watch.progress);
    let failed = AtomicBool::new(false);
    let one = |job: &Job| {
        if failed.load(Ordering::Relaxed) || watch.stop.load(Ordering::Relaxed) {
            return None;
        }
        let root = how.output.path();
        let path = root.map(|root| directory_of(plan, *job, root)).unwrap_or_default();
        let mut of_one_run = meter.of_one_run();
        let result = match how.there(plan, *job, &path) {
            Ok(Some(run)) => {
                of_one_run(Instant::from_nanos(run.summary.simulated_ns));
                Ok(run)
            }
            Ok(None) => how.made((plan, *job), &path, &mut of_one_run),
            Err(error) => Err(error),
        };
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        meter.finished();
        Some(result.map(reduce))
    };
    let results: Vec<_> = pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect());
    let made: Vec<T> = results.into_iter().flatten().collect::<Result<_, _>>()?;
    if made.len() < jobs.len() { Err(Error::interrupted()) } else { Ok(made) }
}

/// Counts what all workers have done, for the progress callback.
struct Meter<'a> {
    total: usize,
    done: AtomicUsize,
    simulated_ns: AtomicU64,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Meter<'a> {
    fn new(total: usize, report: &'a (dyn Fn(Progress) + Sync)) -> Self {
        Self { total, done: AtomicUsize::new(0), simulated_ns: AtomicU64::new(0), report }
    }

    /// Hears one run's virtual time, and adds what has passed since it heard last.
    fn of_one_run(&self) -> impl FnMut(Instant) {
        let mut last = Instant::ZERO;
        move |now| {
            self.simulated_ns.fetch_add(now.since(last).as_nanos(), Ordering::Relaxed);
            last = now;
            self.say();
        }
    }

    fn finished(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.say();
    }

    fn say(&self) {
        (self.report)(Progress {
            done: self.done.load(Ordering::Relaxed),
            total: self.total,
            simulated: Duration::from_nanos(self.simulated_ns.load(Ordering::Relaxed)),
        });
    }
}
