//! A finished run, and its directory.

use crate::results::{self, Meta, Summary};
use fairwave_scenario::plan::{Job, Plan, Point};
use fairwave_sim::world::World;
use fairwave_trace::NodeId;
use fairwave_units::Seed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A finished run: its point of the sweep, and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Sweep axes and their values.
    pub axes: BTreeMap<String, String>,
    /// Its seed.
    pub seed: u64,
    /// Its results.
    pub summary: Summary,
    /// Its run directory, if one was written.
    pub directory: Option<PathBuf>,
}

impl Run {
    /// The capture of a tapped node, if a run directory was written.
    pub fn tap(&self, node: &str) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join(results::tap_file(node)))
    }

    /// The value of a sweep axis as text, without the quotes of TOML; empty where there is none.
    pub fn axis(&self, key: &str) -> &str {
        self.axes.get(key).map_or("", |value| value.trim_matches('"'))
    }
}

/// The run directory of `job` under `root`: one directory for each point, unless there is but one,
/// and in it one for each seed.
pub fn directory_of(plan: &Plan, job: Job, root: &Path) -> PathBuf {
    let Point { label, axes, .. } = &plan.points[job.point];
    debug_assert!(!label.is_empty() || axes.is_empty(), "points without labels: {axes:?}");
    // With an empty label it is the root itself.
    root.join(label).join(format!("seed-{}", job.seed))
}

/// Origin of the numbers of a job, on this machine, if these nodes are tapped.
pub(super) fn provenance(plan: &Plan, job: Job, world: &World, tapped: &[NodeId]) -> Meta {
    let axes = plan.points[job.point].axes.iter().cloned().collect();
    let names = tapped.iter().map(|id| &world.nodes[id.0 as usize].name);
    let taps = names.map(|name| (name.clone(), results::tap_file(name))).collect();
    let question = plan.question.clone();
    Meta { question, taps, point: job.point, ..Meta::here(Seed(job.seed), axes) }
}
