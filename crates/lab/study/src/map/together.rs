//! The claims of a map that hold together.

use super::grid::SetUp;
use super::joint::{self, JointSet};
use super::mapped::Mapped;
use super::outcome::Outcome;
use super::request::MapRequest;
use std::collections::{BTreeMap, BTreeSet};

/// The sets of the paper's claims that hold together. A set-up that contradicts an anchor of one
/// of them is none for the others. A claim without a grid was judged in the study's own set-up:
/// it is known to hold there, or everywhere if the paper leaves none of its parameters open.
pub(super) fn sets(ask: &MapRequest<'_>, claims: &[Mapped]) -> Vec<JointSet> {
    let is_ours = |claim: &&Mapped| claim.any().is_some_and(|claim| claim.is_ours);
    let claims: Vec<&Mapped> = claims.iter().filter(|claim| !is_ours(claim)).collect();
    let axes: Vec<Vec<usize>> =
        claims.iter().map(|claim| ask.declared.axes_of_map(&claim.id)).collect();
    let all: Vec<usize> =
        axes.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let grid = ask.declared.grid(ask.quick).of(&all);
    let base = grid.base();
    let outcomes: Vec<BTreeMap<&SetUp, &Outcome>> = claims
        .iter()
        .map(|claim| claim.judged.outcomes.iter().map(|(s, o)| (s, o)).collect())
        .collect();
    let held = |set_up: SetUp| {
        let alone =
            ask.alone.iter().filter(|alone| alone.everywhere || base.as_ref() == Some(&set_up));
        let mut held: BTreeSet<String> = alone.map(|alone| alone.id.clone()).collect();
        for ((claim, axes), outcomes) in claims.iter().zip(&axes).zip(&outcomes) {
            let at = |axis: &usize| all.iter().position(|other| other == axis);
            let own: SetUp = axes.iter().filter_map(|axis| Some(set_up[at(axis)?])).collect();
            match outcomes.get(&own) {
                Some(Outcome::LeftOut(_)) => return None,
                Some(Outcome::Holds) => drop(held.insert(claim.id.clone())),
                _ => {}
            }
        }
        Some((set_up, held))
    };
    let held: Vec<_> = grid.set_ups().filter_map(held).collect();
    joint::sets(&grid, &held)
}
