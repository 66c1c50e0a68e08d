//! What studies have in common when they measure runs and write down what they measured.

use crate::{Claim, Test};
use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats::{Estimate, Proportion};
use serde_json::{Map, Value, json};

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

/// What a claim says, and when it counts as holding.
pub struct Criterion<'a> {
    /// Its identifier, such as `ACK-1`.
    pub id: &'static str,
    /// What the paper claims.
    pub statement: &'static str,
    /// What the names of the measured values mean.
    pub meaning: &'a str,
    /// What must be true of them.
    pub tests: &'a [Test],
}

/// Judges a claim by `measured`; what the same tests make of other circumstances, which have a
/// name, is written beside it. `circumstances` says in words which are which.
pub fn judge_beside(
    criterion: &Criterion<'_>,
    mut measured: Map<String, Value>,
    (name, other): (&str, Map<String, Value>),
    circumstances: &str,
    note: String,
) -> Claim {
    let holds = !other.is_empty() && criterion.tests.iter().all(|test| test.passes(&other));
    measured.extend(other.into_iter().map(|(key, value)| (format!("{name}_{key}"), value)));
    measured.insert(format!("{name}_holds"), json!(holds));
    let Criterion { id, statement, meaning, tests } = *criterion;
    Claim::judge(id, statement, &format!("{meaning}. {circumstances}"), tests, measured, note)
}

/// Jain's index of the flows' goodput; zero without flows.
pub fn jain(run: &Run) -> f64 {
    run.summary.totals.jain.unwrap_or(0.0)
}

/// Goodput of all flows.
pub fn total_mbps(run: &Run) -> f64 {
    run.summary.totals.goodput_bps as f64 / 1e6
}

/// ACKs dropped on their way, as a share of those sent.
pub fn ack_drop_share(run: &Run) -> f64 {
    let sum = |field: fn(&FlowSummary) -> u64| run.summary.flows.iter().map(field).sum::<u64>();
    ratio(sum(|f| f.acks_dropped), sum(|f| f.acks_sent))
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

/// Writes an estimate into `map` as `key`, `key_low` and `key_high`; nothing for no runs, and no
/// interval for one, so that a test of an interval's end cannot pass without one.
pub fn put(map: &mut Map<String, Value>, key: &str, estimate: Option<Estimate>) {
    let Some(estimate) = estimate else { return };
    map.insert(key.to_owned(), json!(round(estimate.mean)));
    if estimate.half_width.is_some() {
        map.insert(format!("{key}_low"), json!(round(estimate.low())));
        map.insert(format!("{key}_high"), json!(round(estimate.high())));
    }
}

/// Writes a share into `map` as `key`, `key_low` and `key_high`; nothing for no trials.
pub fn put_share(map: &mut Map<String, Value>, key: &str, share: Option<Proportion>) {
    let Some(share) = share else { return };
    map.insert(key.to_owned(), json!(round(share.share)));
    map.insert(format!("{key}_low"), json!(round(share.low)));
    map.insert(format!("{key}_high"), json!(round(share.high)));
}

/// Writes the greatest, or least, of several numbers; nothing if one is missing.
pub fn put_extreme(
    map: &mut Map<String, Value>,
    key: &str,
    values: impl IntoIterator<Item = Option<f64>>,
    pick: fn(f64, f64) -> f64,
) {
    let all: Option<Vec<f64>> = values.into_iter().collect();
    if let Some(value) = all.and_then(|all| all.into_iter().reduce(pick)) {
        map.insert(key.to_owned(), json!(round(value)));
    }
}

/// To six decimals: more would suggest a precision that a handful of seeds does not have.
pub fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// An estimate as text: mean and half width.
pub fn show(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        None => "no runs".to_owned(),
        Some(Estimate { mean, half_width: None, .. }) => format!("{mean:.digits$}"),
        Some(Estimate { mean, half_width: Some(half), .. }) => {
            format!("{mean:.digits$} ± {half:.digits$}")
        }
    }
}

/// A share as text: hits of trials, with the interval in per cent.
pub fn show_share(share: Option<Proportion>) -> String {
    let percent = |part: f64| (100.0 * part).round();
    share.map_or("no runs".to_owned(), |p| {
        format!("{} of {} ({}-{} %)", p.hits, p.n, percent(p.low), percent(p.high))
    })
}
