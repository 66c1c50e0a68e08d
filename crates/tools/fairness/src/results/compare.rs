//! Comparison of two runs, by their repetitions.

use super::record::{Record, Repetition};
use super::summary::avr;
use fairwave_lab::compare::{self, Comparison};
use fairwave_lab::metrics::Metric;
use fairwave_lab::points::Digest;
use fairwave_lab::stats::jain;

/// Compares the totals of two runs, and the stations that both have, by Welch's test over their
/// repetitions with Holm's correction. Repetitions on a real network share no random numbers, so
/// that a paired test would be wrong.
pub fn compare(first: &Record, second: &Record) -> Vec<Comparison> {
    let digests = |record: &Record, from: u64| -> Vec<Digest> {
        let metrics = record.repetitions.iter().map(|repetition| of(record, repetition));
        let digest =
            |(metrics, seed)| Digest { axes: Vec::new(), seed, is_simulated: false, metrics };
        metrics.zip(from..).map(digest).collect()
    };
    // Repetitions of the second run get numbers that the first does not use, so that they are not
    // paired.
    let apart = first.repetitions.len() as u64;
    compare::compare(&digests(first, 0), &digests(second, apart), &|_| true)
}

fn of(record: &Record, repetition: &Repetition) -> Vec<Metric> {
    let seconds = record.interval_s;
    let rates = repetition.rates(seconds);
    let mut metrics = vec![("total_mbps".to_owned(), rates.iter().sum())];
    metrics.extend(jain(&rates).map(|jain| ("jain".to_owned(), jain)));
    for station in &repetition.stations {
        let name = |figure| format!("station.{}.{figure}", station.name);
        metrics.extend(station.mbps(seconds, None).map(|mbps| (name("mbps"), mbps)));
        let achieved = record.target_bps.and_then(|target| avr(station, seconds, target));
        metrics.extend(achieved.map(|avr| (name("avr"), avr)));
    }
    metrics
}
