//! Runs with directories of an earlier process: complete ones need not be made again.

use super::done::{Run, directory_of, root_of};
use super::shard::{Shard, jobs_of};
use crate::results::{self, Meta, is_damaged, read_meta, read_scenario, read_summary};
use fairwave_scenario::plan::{Job, Plan};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Contents of the directory of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// No complete run.
    Missing,
    /// A complete run of another scenario, seed or place in a sweep.
    Other,
    /// The run.
    Run(Box<Run>),
}

/// Reads the contents of `place`, the directory of `job`.
///
/// # Errors
/// A file there that cannot be read.
pub fn kept(plan: &Plan, job: Job, place: &Path) -> Result<Kept, results::Error> {
    // The summary is written last, so that its presence means a complete directory.
    if !place.join("summary.json").exists() {
        return Ok(Kept::Missing);
    }
    let meta = read_meta(place)?;
    let axes: BTreeMap<String, String> = plan.points[job.point].axes.iter().cloned().collect();
    let is_planned = meta.seed.0 == job.seed
        && meta.axes == axes
        && read_scenario(place)? == plan.scenario(job).to_toml();
    if !is_planned {
        return Ok(Kept::Other);
    }
    let summary = read_summary(place)?;
    let directory = Some(place.to_owned());
    Ok(Kept::Run(Box::new(Run { axes, seed: job.seed, summary, directory })))
}

/// The run of `job` in `place`, if this version of Fairwave completed it. An algorithm from outside
/// may have changed since: its runs are none.
pub(super) fn resumed(plan: &Plan, job: Job, place: &Path) -> Option<Run> {
    of_this_version(plan, job, place).filter(|_| !has_own_algorithms(plan, job))
}

/// The run of `job` in `place`, if this version of Fairwave completed it, with any algorithms.
fn of_this_version(plan: &Plan, job: Job, place: &Path) -> Option<Run> {
    let here = Meta::here(fairwave_units::Seed(job.seed), BTreeMap::new());
    let meta = read_meta(place).ok()?;
    let is_ours = meta.fairwave_version == here.fairwave_version
        && meta.schema_version == here.schema_version;
    match kept(plan, job, place) {
        Ok(Kept::Run(run)) if is_ours => Some(*run),
        _ => None,
    }
}

fn has_own_algorithms(plan: &Plan, job: Job) -> bool {
    plan.points[job.point].scenario.has_own_algorithms()
}

/// Whether each run of `plan`, in the order of its jobs, is complete under `root`.
pub fn complete_runs(plan: &Plan, root: &Path) -> Vec<bool> {
    let is_there = |job: Job| resumed(plan, job, &directory_of(plan, job, root)).is_some();
    plan.jobs().into_iter().map(is_there).collect()
}

/// The directories under `root` of the runs of `plan`, or of a part of them, that are not complete.
pub fn missing(plan: &Plan, shard: Option<Shard>, root: &Path) -> Vec<PathBuf> {
    let places = jobs_of(plan, shard).into_iter().map(|job| (job, directory_of(plan, job, root)));
    let missing = places.filter(|(job, place)| resumed(plan, *job, place).is_none());
    missing.map(|(_, place)| place).collect()
}

/// A directory under `root` in which a run of `plan` would replace a complete run of another
/// scenario or seed, or of another version of Fairwave. Runs of its own with algorithms from
/// outside are made again each time, and replace nothing else; a damaged run counts as missing.
pub fn replaced(plan: &Plan, root: &Path) -> Option<PathBuf> {
    let places = plan.jobs().into_iter().map(|job| (job, directory_of(plan, job, root)));
    let is_other = |(job, place): &(Job, PathBuf)| {
        place.join("summary.json").exists()
            && of_this_version(plan, *job, place).is_none()
            && !is_damaged(place)
    };
    places.into_iter().find(is_other).map(|(_, place)| place)
}

/// Removes the complete runs of other sweeps from `root`, and the directories of their points that
/// are empty then: means over the runs below `root` would mix them with those of `plan`. Runs in
/// directories that no sweep names so stay. Returns how many were removed.
///
/// # Errors
/// A directory that cannot be read, or a file of a run that cannot be removed.
pub fn remove_others(plan: &Plan, root: &Path) -> Result<usize, results::Error> {
    let planned: BTreeMap<PathBuf, Job> =
        plan.jobs().into_iter().map(|job| (directory_of(plan, job, root), job)).collect();
    let mut removed = 0;
    for place in results::run_directories(root)? {
        let is_planned = planned
            .get(&place)
            .is_some_and(|job| matches!(kept(plan, *job, &place), Ok(Kept::Run(_))));
        if is_planned || !is_of_sweep(&place, root) {
            continue;
        }
        results::remove_run(&place)?;
        if let Some(point) = place.parent().filter(|point| *point != root) {
            // An error only means that something else is there.
            let _ = fs::remove_dir(point);
        }
        removed += 1;
    }
    Ok(removed)
}

/// Whether `place` is where a sweep with the directory `root` would have its run.
fn is_of_sweep(place: &Path, root: &Path) -> bool {
    let (Ok(below), Ok(meta)) = (place.strip_prefix(root), read_meta(place)) else { return false };
    let axes: Vec<(String, String)> = meta.axes.into_iter().collect();
    let is_seed = below.file_name() == Some(format!("seed-{}", meta.seed.0).as_ref());
    is_seed && root_of(below, &axes, meta.seed.0).as_os_str().is_empty()
}

/// Reason not to continue `what` in `directory`: it has `other`, a complete run of something else.
pub fn none_of(what: &str, directory: &Path, other: &Path) -> String {
    let (directory, other) = (directory.display(), other.display());
    let whose = "of other values, seeds or another version of Fairwave";
    format!("{directory} has runs that do not belong to this {what}, such as {other}: {whose}")
}
