//! A claim over its grid, as a map found it.

use super::grid::Grid;
use super::judge::Judged;
use super::outcome::Outcome;
use crate::claim::Claim;

/// A claim in one set-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Outcome of the claim.
    pub outcome: Outcome,
    /// Outcome of the conditions on direction alone.
    pub direction: Outcome,
    /// Number of seeds that it took.
    pub seeds: u64,
    /// Whether its verdict depends on a single seed, so that another one may change it.
    pub is_open: bool,
    /// The claim as it was judged there; `None` where the set-up is left out.
    pub claim: Option<Claim>,
}

/// A claim over its grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// Its identifier.
    pub id: String,
    /// Its grid: the axes that change its runs, and those of its anchors.
    pub grid: Grid,
    /// Its visits, in the order of [`Grid::set_ups`].
    pub visits: Vec<Visit>,
    /// The whole claim over the grid.
    pub judged: Judged,
    /// Its direction alone; `None` where no condition is about magnitude.
    pub direction: Option<Judged>,
}

impl Mapped {
    /// The set-up of the study's own scenario files.
    pub fn base(&self) -> Option<&Visit> {
        let base = self.grid.base()?;
        let at = self.judged.outcomes.iter().position(|(set_up, _)| *set_up == base)?;
        self.visits.get(at)
    }

    /// The claim as it was judged in some set-up; `None` if all are left out.
    pub fn any(&self) -> Option<&Claim> {
        self.visits.iter().find_map(|visit| visit.claim.as_ref())
    }
}
