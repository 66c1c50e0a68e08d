//! The runs of a study: simulated, or read back from their directories.

#[cfg(test)]
mod tests;

use crate::definition::{Error, Study};
use crate::experiment::Experiment;
use crate::incomplete::Incomplete;
use crate::results::Results;
use fairwave_lab::run::{self, Before, Kept, Output, Run, SweepOptions, Watch};
use fairwave_lab::store::Store;
use fairwave_scenario::Diagnostics;
use fairwave_scenario::plan::{Job, Override, Plan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An experiment with its plan.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// Its points and seeds.
    pub plan: Plan,
    /// Tables of a run directory that the study reads; `None`: all.
    pub tables: Option<&'static [&'static str]>,
    /// Points that are run, by their indices; `None`: all.
    pub points: Option<Vec<usize>>,
}

impl Planned {
    /// The plans of `experiments`, or smaller ones, with `more` settings.
    ///
    /// # Errors
    /// A scenario or a setting that is wrong.
    pub fn all(
        experiments: &'static [Experiment],
        quick: bool,
        more: &[Override],
    ) -> Result<Vec<Self>, Diagnostics> {
        let planned = |experiment: &'static Experiment| {
            let plan = experiment.plan_with(quick, more)?;
            Ok(Self { experiment, plan, tables: None, points: None })
        };
        experiments.iter().map(planned).collect()
    }

    /// Its runs, point by point.
    pub fn jobs(&self) -> Vec<Job> {
        self.plan.jobs_of(self.points.as_deref())
    }

    /// Files that its runs write into `directory`.
    pub fn output<'a>(&self, directory: &'a Path) -> Output<'a> {
        match (self.experiment.series, self.tables) {
            (true, None) => Output::Full(directory),
            (true, Some(tables)) => Output::Tables(directory, tables),
            (false, _) => Output::Summary(directory),
        }
    }
}

/// Simulates every experiment of `study`, on `workers` threads. Run directories go under `root`.
/// Runs that the store has, if there is one, are not made again. `watch` gets the progress over all
/// experiments.
///
/// # Errors
/// A scenario that is wrong, a run that fails, or a stop by `watch`.
pub fn simulate(
    study: &dyn Study,
    quick: bool,
    workers: usize,
    root: &Path,
    store: Option<&Store>,
    watch: Watch<'_>,
) -> Result<Results, Error> {
    let mut plans = Planned::all(study.experiments(), quick, &[])?;
    plans.iter_mut().for_each(|planned| planned.tables = study.tables());
    let runs = simulate_plans(&plans, workers, root, store, watch)?;
    Ok(Results { quick, runs, ..Results::default() })
}

/// Simulates `plans`, as [`simulate`] does those of a study; returns the runs by experiment.
///
/// # Errors
/// A run that fails, or a stop by `watch`.
pub fn simulate_plans(
    plans: &[Planned],
    workers: usize,
    root: &Path,
    store: Option<&Store>,
    watch: Watch<'_>,
) -> Result<BTreeMap<String, Vec<Run>>, Error> {
    let directories: Vec<PathBuf> =
        plans.iter().map(|planned| root.join(planned.experiment.name)).collect();
    let sweeps = plans.iter().zip(&directories).map(|(planned, directory)| {
        let output = planned.output(directory);
        let points = planned.points.as_deref();
        (&planned.plan, SweepOptions { store, points, ..(output, Before::Rerun).into() })
    });
    let sweeps: Vec<_> = sweeps.collect();
    let runs = run::sweep_all(&sweeps, workers, watch, &|run| run)?;
    let names = plans.iter().map(|planned| planned.experiment.name.to_owned());
    Ok(names.zip(runs).collect())
}

/// Reads the runs of `study` back from the directories that [`simulate`] left under `root`.
///
/// # Errors
/// A scenario that is wrong, a run of the study's plan that is missing or was made by another
/// scenario, or a directory that cannot be read. All such runs are named together.
pub fn read_back(study: &dyn Study, quick: bool, root: &Path) -> Result<Results, Error> {
    let mut results = Results { quick, ..Results::default() };
    let mut incomplete = Incomplete { root: root.to_owned(), ..Incomplete::default() };
    for Planned { experiment, plan, .. } in Planned::all(study.experiments(), quick, &[])? {
        let runs = read_plan(&plan, &root.join(experiment.name), &mut incomplete)?;
        results.runs.insert(experiment.name.to_owned(), runs);
    }
    if incomplete.is_empty() { Ok(results) } else { Err(incomplete.into()) }
}

/// Reads every run of `planned` back from under `root`, or from the store.
///
/// # Errors
/// As [`read_back`].
pub(crate) fn kept(
    planned: &Planned,
    root: &Path,
    store: Option<&Store>,
) -> Result<Vec<Run>, Error> {
    let plan = &planned.plan;
    let mut incomplete = Incomplete { root: root.to_owned(), ..Incomplete::default() };
    let (output, before) = (Output::Nothing, Before::Rerun);
    let how = SweepOptions { store, ..(output, before).into() };
    let mut runs = Vec::new();
    for job in planned.jobs() {
        let place = run::directory_of(plan, job, root);
        // A directory may have series, which the claims may ask for.
        let there = match run::kept(plan, job, &place)? {
            Kept::Run(run) => Some(*run),
            Kept::Missing | Kept::Other => how.there(plan, job, &place)?,
        };
        match there {
            Some(run) => runs.push(run),
            None => runs.extend(read_run(plan, job, &place, &mut incomplete)?),
        }
    }
    if incomplete.is_empty() { Ok(runs) } else { Err(incomplete.into()) }
}

fn read_plan(plan: &Plan, root: &Path, incomplete: &mut Incomplete) -> Result<Vec<Run>, Error> {
    let runs = plan.jobs().into_iter().map(|job| {
        let place = run::directory_of(plan, job, root);
        read_run(plan, job, &place, incomplete)
    });
    let runs: Result<Vec<Option<Run>>, Error> = runs.collect();
    Ok(runs?.into_iter().flatten().collect())
}

/// One run of a plan, if its directory is there, complete, and of the plan's scenario.
fn read_run(
    plan: &Plan,
    job: Job,
    place: &Path,
    incomplete: &mut Incomplete,
) -> Result<Option<Run>, Error> {
    let name = place.strip_prefix(&incomplete.root).unwrap_or(place).to_owned();
    match run::kept(plan, job, place)? {
        Kept::Run(run) => return Ok(Some(*run)),
        Kept::Missing => incomplete.missing.push(name),
        Kept::Other => incomplete.other.push(name),
    }
    Ok(None)
}
