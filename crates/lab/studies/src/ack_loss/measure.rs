//! Measures over the runs of one point.

use fairwave_lab::results::{Direction, FlowSummary, QueueSummary, Stretch};
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_units::math;

pub(super) use fairwave_study::measure::{
    NO_RUNS, ack_drop_share, jain, mean_ap_queue, over, paired, ratio, share_of_acks, show,
    timeouts_per_flow, total_mbps,
};

/// A starved flow's window must have been at its floor for this long.
pub(super) const STARVED_S: f64 = 10.0;

/// A ratio of shares is of shares plus this, so that a share of nothing has a ratio too.
const FLOOR_BPS: f64 = 1000.0;

/// Natural logarithm of uploads over downloads: zero is equal, and ln 2 as far as -ln 2.
pub(super) fn log_ratio(run: &Run) -> f64 {
    let totals = &run.summary.totals;
    math::ln((totals.up_bps as f64 + FLOOR_BPS) / (totals.down_bps as f64 + FLOOR_BPS))
}

/// Packets dropped at the access point's full queue, as a share of all that arrived there.
pub(super) fn overflow_share(run: &Run) -> f64 {
    let (mut dropped, mut arrived) = (0, 0);
    for queue in run.summary.ap_queues() {
        dropped += queue.drops_queue_full;
        arrived += queue.drops_queue_full + queue.enqueued;
    }
    ratio(dropped, arrived)
}

/// Packets dropped by the MAC at its retry limit, as a share of all that any queue accepted: the
/// part of the radio's losses that TCP sees.
pub(super) fn unrepaired_share(run: &Run) -> f64 {
    let queues = &run.summary.queues;
    let lost = queues.iter().map(|queue| queue.drops_retry_limit).sum();
    ratio(lost, queues.iter().map(|queue| queue.enqueued).sum())
}

/// ACKs that gave way to later ones in a queue, as a share of those sent.
pub(super) fn ack_filtered_share(run: &Run) -> f64 {
    share_of_acks(run, |flow| flow.acks_filtered)
}

/// Packets dropped by the access point's queue after too long a wait, as a share of all that
/// entered it.
pub(super) fn aqm_share(run: &Run) -> f64 {
    let sum = |field: fn(&QueueSummary) -> u64| run.summary.ap_queues().map(field).sum::<u64>();
    ratio(sum(|q| q.drops_aqm), sum(|q| q.enqueued))
}

/// ACKs dropped of a flow, on average.
pub(super) fn acks_dropped_per_flow(run: &Run) -> f64 {
    let dropped: u64 = run.summary.flows.iter().map(|f| f.acks_dropped).sum();
    ratio(dropped, run.summary.flows.len() as u64)
}

pub(super) fn starved_by_share(run: &Run) -> f64 {
    run.summary.totals.starved_flows as f64
}

/// Seconds of the longest collapse of any flow.
pub(super) fn longest_collapse_s(run: &Run) -> f64 {
    run.summary.flows.iter().map(|f| seconds(&f.collapsed)).fold(0.0, f64::max)
}

pub(super) fn seconds(stretch: &Stretch) -> f64 {
    stretch.length_ns as f64 / 1e9
}

/// The longest time for which this upload starved as the paper describes it: its window stayed at
/// two segments or less for [`STARVED_S`], while at least half of its ACKs were dropped at the AP's
/// full queue.
pub(super) fn starved_as_described(flow: &FlowSummary) -> Option<&Stretch> {
    // Summaries of earlier versions have the longest collapse alone.
    let stretch = flow.collapsed_by_ack_loss.as_ref().unwrap_or(&flow.collapsed);
    let is_starved = flow.direction == Direction::Up
        && seconds(stretch) >= STARVED_S
        && stretch.loses_half_of_its_acks();
    is_starved.then_some(stretch)
}

/// The starved flows of a run, with their longest starvation.
pub(super) fn starved_flows(run: &Run) -> Vec<(&FlowSummary, &Stretch)> {
    let flows = run.summary.flows.iter();
    flows.filter_map(|flow| Some((flow, starved_as_described(flow)?))).collect()
}

/// Correlation of start times with goodput over the flows of a run (Pearson); zero where either
/// does not vary.
pub(super) fn start_correlation(run: &Run) -> f64 {
    let starts: Vec<f64> = run.summary.flows.iter().map(|f| f.start_ns as f64).collect();
    let rates = run.summary.goodputs();
    let (Some(x), Some(y)) = (stats::mean(&starts), stats::mean(&rates)) else { return 0.0 };
    let cross: f64 = starts.iter().zip(&rates).map(|(a, b)| (a - x) * (b - y)).sum();
    let spread = stats::std_dev(&starts) * stats::std_dev(&rates);
    if spread == 0.0 { 0.0 } else { cross / (spread * (starts.len() - 1) as f64) }
}
