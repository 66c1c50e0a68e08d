//! Measurements over runs that several studies share, and their texts.

use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats::{Estimate, Proportion};

/// Text in the place of a value without runs.
pub const NO_RUNS: &str = "no runs";

/// The estimate over the runs of some number of each.
pub fn over(runs: &[&Run], value: impl Fn(&Run) -> f64) -> Option<Estimate> {
    let values: Vec<f64> = runs.iter().map(|run| value(run)).collect();
    Estimate::of(&values)
}

/// The estimate of the difference a - b of runs with the same seed.
pub fn paired(a: &[&Run], b: &[&Run], value: impl Fn(&Run) -> f64) -> Option<Estimate> {
    let other = |run: &Run| b.iter().find(|other| other.seed == run.seed);
    let pairs = a.iter().filter_map(|run| Some(value(run) - value(other(run)?)));
    Estimate::of(&pairs.collect::<Vec<f64>>())
}

/// The estimate of the ratio a / b of runs with the same seed.
pub fn paired_ratio(a: &[&Run], b: &[&Run], value: impl Fn(&Run) -> f64) -> Option<Estimate> {
    let other = |run: &Run| b.iter().find(|other| other.seed == run.seed);
    let pairs = a.iter().filter_map(|run| Some(value(run) / value(other(run)?)));
    Estimate::of(&pairs.collect::<Vec<f64>>())
}

/// Jain's index of the flows' goodput; not a number without flows.
pub fn jain(run: &Run) -> f64 {
    run.summary.totals.jain.unwrap_or(f64::NAN)
}

/// Goodput of all flows.
pub fn total_mbps(run: &Run) -> f64 {
    run.summary.totals.goodput_bps as f64 / 1e6
}

/// ACKs dropped on their way, as a share of those sent.
pub fn ack_drop_share(run: &Run) -> f64 {
    share_of_acks(run, |flow| flow.acks_dropped)
}

/// ACKs that `count` counts, as a share of those sent.
pub fn share_of_acks(run: &Run, count: fn(&FlowSummary) -> u64) -> f64 {
    let sum = |field: fn(&FlowSummary) -> u64| run.summary.flows.iter().map(field).sum::<u64>();
    ratio(sum(count), sum(|flow| flow.acks_sent))
}

/// Mean number of packets in the access points' queues.
pub fn mean_ap_queue(run: &Run) -> f64 {
    run.summary.ap_queues().map(|queue| queue.mean_packets).sum()
}

/// Timeouts of a flow, on average.
pub fn timeouts_per_flow(run: &Run) -> f64 {
    let timeouts: u64 = run.summary.flows.iter().map(|f| f.timeouts).sum();
    ratio(timeouts, run.summary.flows.len() as u64)
}

/// A part as a share of the whole; zero of nothing.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// An estimate as text: mean and half width.
pub fn show(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => NO_RUNS.to_owned(),
        Some(Estimate { mean, half_width: None, .. }) => format!("{mean:.digits$}"),
        Some(Estimate { mean, half_width: Some(half), .. }) => {
            format!("{mean:.digits$} ± {half:.digits$}")
        }
    }
}

/// A share as text: hits of trials, with the interval in per cent.
pub fn show_share(share: Option<Proportion>) -> String {
    let percent = |part: f64| (100.0 * part).round();
    share.map_or(NO_RUNS.to_owned(), |p| {
        format!("{} of {} ({}-{} %)", p.hits, p.n, percent(p.low), percent(p.high))
    })
}
