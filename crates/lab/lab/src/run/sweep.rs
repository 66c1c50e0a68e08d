//! Sweeps: the jobs of plans over worker threads.

use super::done::{Run, directory_of};
use super::shard::{Shard, dealt};
use super::{Error, Output, execute_while, kept, stored};
use crate::store::Store;
use fairwave_scenario::plan::{Job, Plan};
use fairwave_units::{Duration, Instant};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Jobs done.
    pub done: usize,
    /// Jobs in all.
    pub total: usize,
    /// Simulated time so far, over all jobs.
    pub simulated: Duration,
}

/// Progress reports of a sweep, and the stop request that it checks.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Receiver of progress reports.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Once it is true, no further run is begun. Those under way are completed, unless
    /// [`SweepOptions::end`] ends them.
    pub stop: &'a AtomicBool,
}

/// Treatment of complete runs that exist already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// They are made again.
    Rerun,
    /// They are read, if this version of Fairwave made them by this scenario.
    Resume,
}

/// Place of the runs of a sweep, and sources of runs that need not be made.
#[derive(Clone, Copy, Debug)]
pub struct SweepOptions<'a> {
    /// Whether and where runs leave their directories.
    pub output: Output<'a>,
    /// Treatment of runs that are complete there.
    pub before: Before,
    /// Store of results. A run that it has is not made again.
    pub store: Option<&'a Store>,
    /// Points of the plan that are run, by their indices; `None`: all.
    pub points: Option<&'a [usize]>,
    /// Part of the runs of these points that is made; `None`: all.
    pub shard: Option<Shard>,
    /// Request to end the runs under way, which then are interrupted; `None`: they are completed.
    pub end: Option<&'a AtomicBool>,
}

impl<'a> From<(Output<'a>, Before)> for SweepOptions<'a> {
    fn from(pair: (Output<'a>, Before)) -> Self {
        let (output, before) = pair;
        Self { output, before, store: None, points: None, shard: None, end: None }
    }
}

impl SweepOptions<'_> {
    /// The run of a job that exists already; its directory is `place`.
    ///
    /// # Errors
    /// A stored run that cannot be written into the directory, and [`super::Cause::Interrupted`] if
    /// the store's source has ended.
    pub fn there(&self, plan: &Plan, job: Job, place: &Path) -> Result<Option<Run>, Error> {
        let resumed = match self.before {
            Before::Resume => kept::resumed(plan, job, place),
            Before::Rerun => None,
        };
        let (None, Some(store)) = (&resumed, self.store_of(plan, job)) else { return Ok(resumed) };
        let place = self.output.path().map(|_| place);
        let stored = stored::stored(store, plan, job, place, self.output.series().as_deref());
        match stored {
            Ok(None) if store.has_ended() => Err(Error::interrupted()),
            _ => stored.map_err(|cause| {
                let axes = plan.points[job.point].axes.clone();
                Error { seed: job.seed, axes, cause: cause.into() }
            }),
        }
    }

    /// The store for the run of a job. It holds none whose algorithm comes from outside: it knows
    /// runs by the text of the scenario, which does not have that.
    fn store_of(&self, plan: &Plan, job: Job) -> Option<&Store> {
        self.store.filter(|_| !plan.points[job.point].scenario.has_own_algorithms())
    }

    /// The run of a job: the existing one, or one that is made now.
    ///
    /// # Errors
    /// A run that fails or is ended, or a directory that cannot be written.
    pub fn run(
        &self,
        plan: &Plan,
        job: Job,
        progress: &mut dyn FnMut(Instant),
    ) -> Result<Run, Error> {
        let root = self.output.path();
        let place = root.map(|root| directory_of(plan, job, root)).unwrap_or_default();
        match self.there(plan, job, &place)? {
            Some(run) => {
                progress(Instant::from_nanos(run.summary.simulated_ns));
                Ok(run)
            }
            None => self.made(plan, job, &place, progress),
        }
    }

    /// The run of a job, whose directory is `place`, made now.
    fn made(
        &self,
        plan: &Plan,
        job: Job,
        place: &Path,
        progress: &mut dyn FnMut(Instant),
    ) -> Result<Run, Error> {
        let mut goes_on = |now| {
            progress(now);
            self.end.is_none_or(|end| !end.load(Ordering::Relaxed))
        };
        let run = execute_while(plan, job, self.output.at(place), &mut goes_on)?;
        if let Some(store) = self.store_of(plan, job) {
            stored::keep(store, plan, job, &run, self.output.series().as_deref());
        }
        Ok(run)
    }
}

/// Runs every job of `plan` on `workers` threads (at least one). Results are in the order of the
/// jobs. The directory of `output` is the root of the runs' directories (see [`directory_of`]).
///
/// # Errors
/// The first of the failed runs in the order of the jobs. After a failure no further run begins.
pub fn sweep(
    plan: &Plan,
    workers: usize,
    output: Output<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<Run>, Error> {
    let watch = Watch { progress, stop: &AtomicBool::new(false) };
    sweep_with(plan, workers, (output, Before::Rerun), watch, &|run| run)
}

/// Runs every job as [`sweep`] does, with the result of `reduce` for each run: a sweep of many runs
/// need not hold all of their summaries.
///
/// # Errors
/// As [`sweep`], and [`super::Cause::Interrupted`] where `watch` ended it before its last run.
pub fn sweep_with<'a, T: Send>(
    plan: &Plan,
    workers: usize,
    how: impl Into<SweepOptions<'a>>,
    watch: Watch<'_>,
    reduce: &(dyn Fn(Run) -> T + Sync),
) -> Result<Vec<T>, Error> {
    let mut made = sweep_all(&[(plan, how.into())], workers, watch, reduce)?;
    Ok(made.pop().unwrap_or_default())
}

/// Runs every job of several plans at once; results are in the order of the plans and their jobs.
///
/// The longest runs are begun first, whatever plan they are of, so that the workers end at about
/// the same time. Where a store has a source of results, a failed run does not end the others.
///
/// # Errors
/// As [`sweep_with`], in the order of the plans.
pub fn sweep_all<T: Send>(
    sweeps: &[(&Plan, SweepOptions<'_>)],
    workers: usize,
    watch: Watch<'_>,
    reduce: &(dyn Fn(Run) -> T + Sync),
) -> Result<Vec<Vec<T>>, Error> {
    let of_plan = |(at, (plan, how)): (usize, &(&Plan, SweepOptions<'_>))| {
        let jobs = dealt(plan.jobs_of(how.points), how.shard);
        jobs.into_iter().map(move |job| (at, job)).collect::<Vec<_>>()
    };
    let jobs: Vec<(usize, Job)> = sweeps.iter().enumerate().flat_map(of_plan).collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers.clamp(1, jobs.len().max(1)))
        .build()
        .map_err(|e| Error { seed: 0, axes: Vec::new(), cause: e.into() })?;
    let meter = Meter::new(jobs.len(), watch.progress);
    let failed = AtomicBool::new(false);
    let has_source = sweeps.iter().any(|(_, how)| how.store.is_some_and(Store::has_source));
    let one = |number: usize| {
        if failed.load(Ordering::Relaxed) || watch.stop.load(Ordering::Relaxed) {
            return None;
        }
        let (at, job) = jobs[number];
        let (plan, how) = &sweeps[at];
        let result = how.run(plan, job, &mut meter.of_one_run());
        failed.fetch_or(result.is_err() && !has_source, Ordering::Relaxed);
        meter.finished();
        Some((number, result.map(reduce)))
    };
    // An iterator that is shared, not split: the next job is begun by whoever is free.
    let order = longest_first(sweeps, &jobs);
    let results = || order.into_iter().par_bridge().filter_map(one).collect();
    let mut results: Vec<(usize, Result<T, Error>)> = pool.install(results);
    results.sort_by_key(|(number, _)| *number);
    let mut made: Vec<Vec<T>> = sweeps.iter().map(|_| Vec::new()).collect();
    let done = results.len();
    for (number, result) in results {
        made[jobs[number].0].push(result?);
    }
    if done < jobs.len() { Err(Error::interrupted()) } else { Ok(made) }
}

/// The jobs by their numbers, those first that will take longest: the simulated time, for each
/// flow. Among equals the order stays.
fn longest_first(sweeps: &[(&Plan, SweepOptions<'_>)], jobs: &[(usize, Job)]) -> Vec<usize> {
    let work = |plan: &Plan, point: usize| {
        let scenario = &plan.points[point].scenario;
        let flows = scenario.to_world(scenario.seed).flows.len() as u64;
        u128::from(scenario.duration.as_nanos()) * u128::from(1 + flows)
    };
    let of_plan = |(plan, _): &(&Plan, SweepOptions<'_>)| {
        (0..plan.points.len()).map(|point| work(plan, point)).collect::<Vec<_>>()
    };
    let works: Vec<Vec<u128>> = sweeps.iter().map(of_plan).collect();
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|number| {
        let (at, job) = jobs[*number];
        Reverse(works[at][job.point])
    });
    order
}

/// Sum of the progress of all workers, for the callback.
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

    /// Takes one run's virtual time at each call, and adds the time since the last call.
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
