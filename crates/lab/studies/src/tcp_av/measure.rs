//! Measures of the runs: effective bandwidth, targets, and the share of intervals that reach them.

use super::experiments::{BUFFER, DELAY, EFFECTIVE, FIRST, QUEUE, TARGET};
use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_lab::target;
use fairwave_study::Results;
use fairwave_units::BitRate;

pub(super) use fairwave_study::measure::{ack_drop_share, over, show};

/// EB: the largest goodput of a flow alone, over all runs of that experiment with this delay, or
/// with any.
pub(super) fn effective(results: &Results, delay: Option<&str>) -> Option<BitRate> {
    let axes: Vec<_> = delay.map(|delay| (DELAY, delay)).into_iter().collect();
    let runs = results.select(EFFECTIVE, &axes);
    runs.iter().map(|run| BitRate(run.summary.totals.goodput_bps)).max()
}

/// The flow with a target, or in its place; of several the first.
pub(super) fn first(run: &Run) -> Option<&FlowSummary> {
    run.summary.flows.iter().find(|flow| flow.name.starts_with(FIRST))
}

/// Its goodput in Mbps.
pub(super) fn first_mbps(run: &Run) -> f64 {
    first(run).map_or(0.0, |flow| flow.goodput_bps as f64 / 1e6)
}

/// The mean of the flows that are not it, in Mbps; datagrams in the background aside.
pub(super) fn others_mbps(run: &Run) -> f64 {
    let others = run.summary.flows.iter().filter(|f| f.name.starts_with("reno"));
    let rates: Vec<f64> = others.map(|flow| flow.goodput_bps as f64 / 1e6).collect();
    fairwave_lab::stats::mean(&rates).unwrap_or(0.0)
}

/// AVR of it for a target, with a tolerance; not a number where nothing was measured.
pub(super) fn avr(run: &Run, target: BitRate, tolerance: f64) -> f64 {
    let bins = first(run).map_or(&[][..], |flow| &flow.bins_bps);
    target::achievement(bins, target, tolerance).unwrap_or(f64::NAN)
}

/// AVR over runs.
pub(super) fn avr_over(runs: &[&Run], target: BitRate, tolerance: f64) -> Option<Estimate> {
    over(runs, |run| avr(run, target, tolerance))
}

/// The lowest bin after the first, in Mbps, as a mean over runs.
pub(super) fn lowest_bin(run: &Run) -> f64 {
    let bins = first(run).and_then(|flow| flow.bins_bps.get(1..)).unwrap_or_default();
    bins.iter().min().map_or(0.0, |bps| *bps as f64 / 1e6)
}

/// Meaning of a value of the axis of targets.
pub(super) fn rate(text: &str) -> BitRate {
    text.parse().unwrap_or_default()
}

/// The targets of an experiment, in its order.
pub(super) fn targets(results: &Results, experiment: &str) -> Vec<String> {
    results.axis(experiment, TARGET)
}

/// The runs of a point of the experiments with larger windows; `target` is empty for plain TCP.
pub(super) fn windows<'r>(
    results: &'r Results,
    experiment: &str,
    buffer: &str,
    queue: &str,
    target: &str,
) -> Vec<&'r Run> {
    let mut axes = vec![(BUFFER, buffer), (QUEUE, queue)];
    if !target.is_empty() {
        axes.push((TARGET, target));
    }
    results.select(experiment, &axes)
}
