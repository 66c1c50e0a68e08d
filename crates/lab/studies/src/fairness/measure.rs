//! Measures of a run.

use super::experiments::{ACKS, LINUX, MIXES, QUEUE, XP};
use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Proportion, Split};
use fairwave_study::Results;

/// ACKs count as overflowing from this share of dropped ones on.
pub(super) const OVERFLOWS: f64 = 0.01;

/// A window of 64 KB in segments of 1460 bytes.
pub(super) const WINDOW_SEGMENTS: f64 = 65_536.0 / 1460.0;

pub(super) fn terminals(run: &Run) -> usize {
    run.summary.flows.len()
}

/// The runs of `experiment` at these axes with a number of terminals in `counts`.
pub(super) fn with_terminals<'r>(
    results: &'r Results,
    experiment: &str,
    axes: &[(&str, &str)],
    counts: core::ops::RangeInclusive<usize>,
) -> Vec<&'r Run> {
    let mut runs = results.select(experiment, axes);
    runs.retain(|run| counts.contains(&terminals(run)));
    runs
}

/// The runs of all mixes with a number of terminals in `counts`, whose host acknowledges every
/// segment or every second.
pub(super) fn mixes<'r>(
    results: &'r Results,
    queue: &str,
    every_segment: bool,
    counts: core::ops::RangeInclusive<usize>,
) -> Vec<&'r Run> {
    let mut runs = with_terminals(results, MIXES, &[(QUEUE, queue)], counts);
    runs.retain(|run| acknowledges_all(run) == every_segment);
    runs
}

/// Whether the host acknowledges every segment.
pub(super) fn acknowledges_all(run: &Run) -> bool {
    run.axis(ACKS) == "off"
}

/// Whether the run is unfair as section 2.1 of the paper defines it.
pub(super) fn is_unfair(run: &Run) -> bool {
    stats::unfair(&run.summary.goodputs())
}

/// Whether the terminals fall into two groups.
pub(super) fn is_split(run: &Run) -> bool {
    Split::of(&run.summary.goodputs()).is_some_and(|split| split.is_sharp())
}

/// Number of unfair runs.
pub(super) fn unfair(runs: &[&Run]) -> Option<Proportion> {
    Proportion::among(runs, |run| is_unfair(run))
}

/// Number of runs that are split without being unfair: "though not as far as unfairness".
pub(super) fn polarized(runs: &[&Run]) -> Option<Proportion> {
    Proportion::among(runs, |run| is_split(run) && !is_unfair(run))
}

/// Number of runs that are split.
pub(super) fn split(runs: &[&Run]) -> Option<Proportion> {
    Proportion::among(runs, |run| is_split(run))
}

/// The worst terminal's goodput as a share of the equal share.
pub(super) fn worst_share(run: &Run) -> f64 {
    let rates = run.summary.goodputs();
    let equal = stats::mean(&rates).unwrap_or(0.0);
    let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
    if equal > 0.0 { worst / equal } else { 1.0 }
}

/// Sarle's coefficient of all terminals of all runs, each as a share of its run's equal share.
pub(super) fn pooled_bimodality(runs: &[&Run]) -> Option<f64> {
    let shares = |run: &&Run| {
        let rates = run.summary.goodputs();
        let equal = stats::mean(&rates).unwrap_or(0.0).max(1.0);
        rates.into_iter().map(move |rate| rate / equal).collect::<Vec<_>>()
    };
    stats::bimodality(&runs.iter().flat_map(shares).collect::<Vec<_>>())
}

/// Mean goodput in Mbps of the flows whose name begins with `stack`.
pub(super) fn of_stack(run: &Run, stack: &str) -> f64 {
    let of = run.summary.flows.iter().filter(|flow| flow.name.starts_with(stack));
    stats::mean(&of.map(|flow| flow.goodput_bps as f64 / 1e6).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Packets in an axis value such as `255 packets`.
pub(super) fn packets(queue: &str) -> f64 {
    queue.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Segments for each ACK, of the value of the axis on delayed ACKs.
pub(super) fn segments_per_ack(acks: &str) -> f64 {
    if acks == "off" { 1.0 } else { 2.0 }
}

/// The number of terminals from which on their windows of ACKs are more than the buffer holds:
/// n W / b > B (the boundary of the first two regions of Pilosof et al., INFOCOM 2003, for
/// uploads alone).
pub(super) fn onset(queue: &str, acks: &str) -> f64 {
    packets(queue) * segments_per_ack(acks) / WINDOW_SEGMENTS
}

/// The terminal whose upload a flow is.
pub(super) fn terminal(flow: &FlowSummary) -> &str {
    flow.name.split('-').next_back().unwrap_or_default()
}

/// Numbers of terminals of each stack of a run, in words.
pub(super) fn mix(run: &Run) -> String {
    format!("{} Linux, {} XP", run.axis(LINUX), run.axis(XP))
}
