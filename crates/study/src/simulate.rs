//! The runs of a study: simulated, or read back from their directories.

#[cfg(test)]
mod tests;

use crate::definition::{Error, Study};
use crate::experiment::Experiment;
use crate::results::Results;
use crate::unfit::Unfit;
use fairwave_lab::run::{self, Kept, Output, Progress, Run};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_units::Duration;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Every experiment of `study` with its plan.
fn plans(study: &dyn Study, quick: bool) -> Result<Vec<(&'static Experiment, Plan)>, Error> {
    let planned = |experiment: &'static Experiment| Ok((experiment, experiment.plan(quick)?));
    study.experiments().iter().map(planned).collect()
}

/// Runs every experiment of `study` on `workers` threads; run directories go under `root`.
/// `progress` counts over all experiments.
///
/// # Errors
/// When a scenario is wrong or a run fails.
pub fn simulate(
    study: &dyn Study,
    quick: bool,
    workers: usize,
    root: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Results, Error> {
    let plans = plans(study, quick)?;
    let total = plans.iter().map(|(_, plan)| plan.jobs().len()).sum();
    let mut results = Results { quick, runs: BTreeMap::new() };
    let mut before = Progress { done: 0, total, simulated: Duration::ZERO };
    for (experiment, plan) in plans {
        let directory = root.join(experiment.name);
        let output = match experiment.series {
            true => Output::Full(&directory),
            false => Output::Summary(&directory),
        };
        let base = before;
        let last = Mutex::new(base);
        let report = |now: Progress| {
            let sum = Progress {
                done: base.done + now.done,
                total,
                simulated: base.simulated + now.simulated,
            };
            if let Ok(mut last) = last.lock() {
                *last = sum;
            }
            progress(sum);
        };
        let runs = run::sweep(&plan, workers, output, &report)?;
        before = last.into_inner().unwrap_or(base);
        before.done = base.done + runs.len();
        results.runs.insert(experiment.name.to_owned(), runs);
    }
    Ok(results)
}

/// Reads the runs of `study` back from the directories that [`simulate`] left under `root`.
///
/// # Errors
/// When a scenario is wrong, a run of the study's plan is missing or was made by another
/// scenario, or a directory cannot be read. All such runs are named together.
pub fn read_back(study: &dyn Study, quick: bool, root: &Path) -> Result<Results, Error> {
    let mut results = Results { quick, runs: BTreeMap::new() };
    let mut unfit = Unfit { root: root.to_owned(), ..Unfit::default() };
    for (experiment, plan) in plans(study, quick)? {
        let directory = root.join(experiment.name);
        let runs = plan.jobs().into_iter().map(|job| {
            let place = run::directory_of(&plan, job, &directory);
            read_run(&plan, job, &place, &mut unfit)
        });
        let runs: Result<Vec<Option<Run>>, Error> = runs.collect();
        results.runs.insert(experiment.name.to_owned(), runs?.into_iter().flatten().collect());
    }
    if unfit.is_empty() { Ok(results) } else { Err(unfit.into()) }
}

/// One run of a plan, if its directory is there, complete, and of the plan's scenario.
fn read_run(plan: &Plan, job: Job, place: &Path, unfit: &mut Unfit) -> Result<Option<Run>, Error> {
    let name = place.strip_prefix(&unfit.root).unwrap_or(place).to_owned();
    match run::kept(plan, job, place)? {
        Kept::Run(run) => return Ok(Some(*run)),
        Kept::Missing => unfit.missing.push(name),
        Kept::Other => unfit.other.push(name),
    }
    Ok(None)
}
