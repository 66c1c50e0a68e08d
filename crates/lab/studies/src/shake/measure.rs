//! Results of transfers, and verdicts with and without lost acknowledgements.

use super::experiments::{TRANSFER, VARIANT};
use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::measure::over;
use fairwave_study::{Claim, Condition, Criterion, Evidence, Results, Tested};

/// Whether a path loses acknowledgements as it loses data. The paper does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    /// A path loses packets both ways.
    Lost,
    /// It loses data towards the server only.
    Kept,
}

impl Acks {
    pub(super) const ALL: [Self; 2] = [Self::Lost, Self::Kept];

    /// Name of the variant under these circumstances.
    pub(super) fn of(self, variant: &str) -> String {
        match self {
            Self::Lost => variant.to_owned(),
            Self::Kept => format!("{variant}, acks kept"),
        }
    }
}

/// The runs of a variant of an experiment, by seed.
pub(super) fn of<'r>(results: &'r Results, experiment: &str, variant: &str) -> Vec<&'r Run> {
    results.select(experiment, &[(VARIANT, variant)])
}

/// The transfer of a run.
pub(super) fn transfer(run: &Run) -> Option<&FlowSummary> {
    run.summary.flows.iter().find(|flow| flow.name == TRANSFER)
}

/// Seconds from the start of the transfer to its last byte. A transfer that did not end counts with
/// the run's length; [`unfinished`] counts these.
pub(super) fn seconds(run: &Run) -> f64 {
    let ended = transfer(run).and_then(|flow| flow.completion_ns);
    ended.unwrap_or(run.summary.simulated_ns) as f64 / 1e9
}

/// Number of runs whose transfer did not end.
pub(super) fn unfinished(runs: &[&Run]) -> usize {
    let open = |run: &&&Run| transfer(run).is_none_or(|flow| flow.completion_ns.is_none());
    runs.iter().filter(open).count()
}

/// Goodput of the transfer after the warm-up, in Mbps.
pub(super) fn mbps(run: &Run) -> f64 {
    transfer(run).map_or(f64::NAN, |flow| flow.goodput_bps as f64 / 1e6)
}

pub(super) fn mean(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.mean)
}

/// Judges a claim where acknowledgements are lost too; the verdict without such losses is written
/// beside it.
pub(super) fn judge(
    criterion: Criterion<'_>,
    measure: impl Fn(Acks) -> Tested,
    note: String,
) -> Claim {
    let circumstances = "Judged where a path loses packets both ways; acks_kept_* are the same \
                         where it loses data only";
    let (lost, kept) = (measure(Acks::Lost), measure(Acks::Kept));
    Claim::judge_beside(criterion, lost, "acks_kept", kept, circumstances, note)
}

/// A counter of the transfer, over runs.
pub(super) fn counter(runs: &[&Run], value: fn(&FlowSummary) -> u64) -> Option<Estimate> {
    over(runs, |run| transfer(run).map_or(f64::NAN, |flow| value(flow) as f64))
}

/// Puts in how many transfers did not end, of which there may be none.
pub(super) fn all_end(evidence: &mut Evidence, all: &[Vec<&Run>]) -> Condition {
    if all.iter().all(Vec::is_empty) {
        return evidence.number("unfinished", None).below(1.0);
    }
    let open: usize = all.iter().map(|runs| unfinished(runs)).sum();
    evidence.count("unfinished", open).below(1.0)
}
