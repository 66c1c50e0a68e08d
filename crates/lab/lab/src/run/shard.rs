//! Parts of sweeps, for several machines.

use fairwave_scenario::plan::{Job, Plan};
use std::fmt;
use std::str::FromStr;

/// A part of a sweep's runs, for one of several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The number of parts.
    pub(crate) of: usize,
}

impl Shard {
    /// Its form in `--shard`.
    pub fn argument(self) -> String {
        format!("{}/{}", self.number, self.of)
    }

    /// Whether the run at this place of the sweep belongs to it. Runs are dealt out in turn, so
    /// that each part has runs of all points.
    const fn has(self, place: usize) -> bool {
        place % self.of == self.number - 1
    }
}

/// The runs of a plan that are in a part of them, or all of them.
pub fn jobs_of(plan: &Plan, shard: Option<Shard>) -> Vec<Job> {
    dealt(plan.jobs(), shard)
}

/// Those of `jobs` that are in a part of them.
pub(super) fn dealt(jobs: Vec<Job>, shard: Option<Shard>) -> Vec<Job> {
    let places = jobs.into_iter().enumerate();
    let own = places.filter(|(place, _)| shard.is_none_or(|shard| shard.has(*place)));
    own.map(|(_, job)| job).collect()
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `3/64`, the third of 64 parts.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some((number.trim().parse().ok()?, of.trim().parse::<usize>().ok()?))
        });
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some((number, of)) => Err(format!("there is no part {number} of {of}; the first is 1")),
            None => Err(format!("{text:?} is not N/OF, such as 3/64")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}
