//! Joint consistency: which claims of a paper one and the same set-up satisfies.

use super::grid::{Grid, SetUp};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A set of claims that hold together and that no larger set contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JointSet {
    /// Identifiers of the claims.
    pub claims: Vec<String>,
    /// Number of set-ups in which exactly these hold.
    pub setups: usize,
    /// One of them, as keys and labels: the one that differs from the study's own on the fewest
    /// axes.
    pub setup: BTreeMap<String, String>,
}

/// A claim without a grid that holds in the study's own set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Its identifier.
    pub id: String,
    /// Whether the paper leaves none of its parameters open, so that it holds in every set-up.
    pub everywhere: bool,
}

/// The maximal sets of claims that hold together, the largest first. `held` has for each set-up of
/// the grid that contradicts no anchor the claims that hold there.
pub fn sets(grid: &Grid, held: &[(SetUp, BTreeSet<String>)]) -> Vec<JointSet> {
    let mut of: BTreeMap<&BTreeSet<String>, Vec<&SetUp>> = BTreeMap::new();
    for (set_up, claims) in held.iter().filter(|(_, claims)| !claims.is_empty()) {
        of.entry(claims).or_default().push(set_up);
    }
    let is_within = |a: &BTreeSet<String>, b: &BTreeSet<String>| a != b && a.is_subset(b);
    let maximal = of.iter().filter(|(a, _)| !of.keys().any(|b| is_within(a, b)));
    let mut sets: Vec<JointSet> = maximal
        .map(|(claims, set_ups)| {
            let nearest = set_ups.iter().min_by_key(|set_up| grid.distance_from_base(set_up));
            let labels = nearest.into_iter().flat_map(|set_up| grid.labels(set_up));
            JointSet {
                claims: claims.iter().cloned().collect(),
                setups: set_ups.len(),
                setup: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            }
        })
        .collect();
    sets.sort_by_key(|set| core::cmp::Reverse(set.claims.len()));
    sets
}
