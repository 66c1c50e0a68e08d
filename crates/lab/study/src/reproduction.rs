//! A study that was run: its own set-up, the maps of its claims, and the verdicts of both.

use crate::compared::OriginalSummary;
use crate::definition::Study;
use crate::findings::Findings;
use crate::map::Grid;
use crate::map::joint::{self, JointSet};
use crate::published;
use crate::results::{Effort, Results};
use crate::verdict::{ClaimVerdict, Maps, alone};
use std::collections::BTreeSet;

/// A study that was run.
#[derive(Debug)]
pub struct Reproduction<'a> {
    /// The study.
    pub study: &'a dyn Study,
    /// The runs of its own set-up.
    pub results: Results,
    /// Claims, figures and tables of these runs.
    pub findings: Findings,
    /// The maps of its claims; `None` where no map is declared.
    pub maps: Option<Maps>,
}

impl Reproduction<'_> {
    /// The claims with their verdicts, in the order of the findings.
    pub fn verdicts(&self) -> Vec<ClaimVerdict> {
        let published = |id| published::of(self.study.name(), id);
        let of = |claim| {
            let verdict = ClaimVerdict::of(claim, self.maps.as_ref());
            // A full run finds its verdict without a look at the last one.
            let published = if self.results.quick { published(verdict.id) } else { None };
            verdict.beside_published(published)
        };
        self.findings.claims.iter().map(of).collect()
    }

    /// The largest sets of the paper's claims that one set-up satisfies.
    pub fn joint(&self) -> Vec<JointSet> {
        if let Some(maps) = &self.maps {
            return maps.judged().joint.clone();
        }
        let here: BTreeSet<String> =
            alone(&self.findings.claims, None, &[]).into_iter().map(|alone| alone.id).collect();
        joint::sets(&Grid::default(), &[(Vec::new(), here)])
    }

    /// The figures and tables of the paper beside ours.
    pub fn originals(&self) -> Vec<OriginalSummary> {
        let (exhibits, verdicts) = (&self.findings.exhibits, self.verdicts());
        let originals = self.study.originals().iter();
        originals.map(|original| OriginalSummary::of(original, exhibits, &verdicts)).collect()
    }

    /// Number of claims that the paper makes.
    pub fn papers_claims(&self) -> usize {
        self.findings.claims.iter().filter(|claim| !claim.is_ours).count()
    }

    /// Number of runs, seeds and frames, and simulated time, over all runs.
    pub fn effort(&self) -> Effort {
        let own = self.results.effort();
        match &self.maps {
            Some(maps) => own.and(&maps.effort),
            None => own,
        }
    }
}
