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

/// The root of a sweep, for which [`directory_of`] names the run directory `place`, or `place`
/// itself. Names that a user gave to directories stay.
pub fn root_of<'p>(place: &'p Path, axes: &[(String, String)], seed: u64) -> &'p Path {
    let name = |place: &'p Path| place.file_name().and_then(|name| name.to_str());
    let above = |place: &'p Path, is_ours: bool| place.parent().filter(|_| is_ours);
    let is_seed = name(place) == Some(&format!("seed-{seed}"));
    let point = above(place, is_seed).unwrap_or(place);
    let is_label = name(point).is_some_and(|name| Point::is_label(name, axes));
    above(point, is_label).unwrap_or(point)
}

/// Origin of the numbers of a job, on this machine, if these nodes are tapped.
pub(super) fn provenance(plan: &Plan, job: Job, world: &World, tapped: &[NodeId]) -> Meta {
    let axes = plan.points[job.point].axes.iter().cloned().collect();
    let names = tapped.iter().map(|id| &world.nodes[id.0 as usize].name);
    let taps = names.map(|name| (name.clone(), results::tap_file(name))).collect();
    let question = plan.question.clone();
    Meta { question, taps, point: job.point, ..Meta::here(Seed(job.seed), axes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "duration = \"1 s\"\n\
        node = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }]\n\
        link = [{ ends = [\"a\", \"b\"] }]\n\
        flow = [{ name = \"up\", from = \"a\", to = \"b\" }]\n\
        sweep.seeds = 2\n";

    #[test]
    fn the_root_of_a_sweep_is_found_from_each_run() {
        let swept = "sweep.\"tcp.congestion_control\" = [\"reno\", \"cubic\"]\n\
            sweep.duration = [\"1 s\", \"2 s\"]\n";
        for sweep in ["", swept] {
            let plan = Plan::parse("s", &format!("{SCENARIO}{sweep}"), &[]);
            let plan = plan.unwrap_or_else(|error| panic!("{error}"));
            let root = Path::new("out/seed-1/queue=20");
            for job in plan.jobs() {
                let place = directory_of(&plan, job, root);
                let mut axes = plan.points[job.point].axes.clone();
                axes.sort();
                assert_eq!(root_of(&place, &axes, job.seed), root, "{}", place.display());
            }
        }
    }

    #[test]
    fn directories_of_other_names_are_roots() {
        let axes = [("node.ap.queue".to_owned(), "20 packets".to_owned())];
        for (place, axes, seed) in [
            ("g/queue=20", &[][..], 1),
            ("g/queue=250_packets", &axes[..], 1),
            ("g/seed-2", &[][..], 1),
            ("", &[][..], 1),
        ] {
            assert_eq!(root_of(Path::new(place), axes, seed), Path::new(place));
        }
    }
}
