//! Definition of a study, and the reasons for which it may fail.

use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::findings::Findings;
use crate::incomplete::Incomplete;
use crate::map::file::{self, Source};
use crate::originals::Original;
use crate::results::Results;
use fairwave_capture::file as capture;
use fairwave_lab::run;
use fairwave_lab::{plot, results};
use fairwave_scenario::Diagnostics;

/// A paper's experiments and claims.
pub trait Study: std::fmt::Debug + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Authors, title, where it appeared.
    fn paper(&self) -> &'static str;
    /// Statement of the paper in a few sentences.
    fn statement(&self) -> &'static str;
    /// Experiments that are run.
    fn experiments(&self) -> &'static [Experiment];
    /// Experiments that run in real time with the sockets of a kernel. They have the names that the
    /// claims know, and scenarios whose flows the kernel carries.
    fn emulated(&self) -> &'static [Experiment] {
        &[]
    }
    /// Number of runs of an experiment that go at the same time with the sockets of a kernel: more
    /// than one where they take hardly any of a processor.
    fn emulated_at_once(&self, _experiment: &str) -> usize {
        1
    }
    /// Parts that do not run in real time, and the reasons, in sentences.
    fn not_emulated(&self) -> &'static [&'static str];
    /// Parts of the paper's set-up that are not modelled, or had to be assumed.
    fn limits(&self) -> &'static [&'static str];
    /// Claims that no figure shows, by identifier, each with a sentence that names the place of its
    /// numbers.
    fn without_figure(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Figures and tables of the paper, in its order.
    fn originals(&self) -> &'static [Original];
    /// Judges the claims and draws the figures, from results and run directories alone.
    ///
    /// # Errors
    /// A run directory that cannot be read.
    fn evaluate(&self, results: &Results) -> Result<Findings, Error>;
    /// The claims alone, where they cost less than all that [`Study::evaluate`] finds: a map judges
    /// them hundreds of times.
    ///
    /// # Errors
    /// A run directory that cannot be read.
    fn claims(&self, results: &Results) -> Result<Vec<Claim>, Error> {
        Ok(self.evaluate(results)?.claims)
    }
    /// The grid over the parameters that the paper leaves open, if one is declared.
    fn map(&self) -> Option<Source<'static>> {
        None
    }
    /// The files of a run directory that it reads, where an experiment keeps its series, captures
    /// apart: no other table is written. `None`: every table.
    fn tables(&self) -> Option<&'static [&'static str]> {
        None
    }
    /// Values that anchors of the map may ask for, by name. The names do not depend on the runs.
    fn quantities(&self, _results: &Results) -> Vec<(&'static str, Option<f64>)> {
        Vec::new()
    }
}

/// Reason for which a study could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Diagnostics),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] run::Error),
    /// A run directory or report could not be written or read.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A directory does not hold the runs of the study.
    #[error(transparent)]
    Incomplete(#[from] Incomplete),
    /// A capture of a run could not be read.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// A figure could not be drawn.
    #[error(transparent)]
    Plot(#[from] plot::Error),
    /// A map is declared wrongly.
    #[error(transparent)]
    Map(#[from] file::Error),
}

/// Returns the findings of `study` in `results`. Its claims come first, then questions of ours.
///
/// # Errors
/// A run directory that cannot be read.
pub fn evaluate(study: &dyn Study, results: &Results) -> Result<Findings, Error> {
    let mut findings = study.evaluate(results)?;
    findings.claims.sort_by_key(|claim| claim.is_ours);
    Ok(findings)
}
