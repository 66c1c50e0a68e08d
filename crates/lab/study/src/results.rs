//! The runs that a study is judged by.

use crate::cache::RunCache;
use fairwave_lab::run::Run;
use fairwave_units::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// The runs of every experiment, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Whether this was the quick form.
    pub quick: bool,
    /// The runs.
    pub runs: BTreeMap<String, Vec<Run>>,
    /// Measurements read from their directories.
    pub cache: RunCache,
}

impl Results {
    /// The runs of `experiment` with these values on their axes, in the order of seeds.
    pub fn select(&self, experiment: &str, axes: &[(&str, &str)]) -> Vec<&Run> {
        let of = self.runs.get(experiment).map_or(&[][..], Vec::as_slice);
        of.iter().filter(|run| axes.iter().all(|(key, value)| run.axis(key) == *value)).collect()
    }

    /// The values of an axis, in the order of the plan.
    pub fn axis(&self, experiment: &str, key: &str) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for run in self.runs.get(experiment).map_or(&[][..], Vec::as_slice) {
            if !values.iter().any(|value| value == run.axis(key)) {
                values.push(run.axis(key).to_owned());
            }
        }
        values
    }

    /// Returns number of runs, seeds, frames and simulated time over all runs.
    pub fn effort(&self) -> Effort {
        let all = || self.runs.values().flatten();
        Effort {
            runs: all().count(),
            seeds: all().map(|run| run.seed).collect(),
            simulated: Duration::from_nanos(all().map(|run| run.summary.simulated_ns).sum()),
            frames: all().map(|run| run.summary.frames).sum(),
        }
    }
}

/// Totals over the runs of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of runs.
    pub runs: usize,
    /// Their seeds.
    pub seeds: BTreeSet<u64>,
    /// Simulated time.
    pub simulated: Duration,
    /// Frames on the air.
    pub frames: u64,
}

impl Effort {
    /// This and another, which have no run in common.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let nanos = self.simulated.as_nanos() + other.simulated.as_nanos();
        Self {
            runs: self.runs + other.runs,
            seeds: self.seeds.union(&other.seeds).copied().collect(),
            simulated: Duration::from_nanos(nanos),
            frames: self.frames + other.frames,
        }
    }

    /// Simulated time in whole seconds.
    pub fn simulated_s(&self) -> u64 {
        self.simulated.as_nanos() / 1_000_000_000
    }

    /// The seeds as a list for people.
    pub fn listed_seeds(&self) -> String {
        self.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    }
}
