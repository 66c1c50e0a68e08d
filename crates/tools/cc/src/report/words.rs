//! Tables and messages: algorithms, connections, costs, targets.

use super::output::{CcAlgorithm, CcConnection, CcCost, CcEvent, CcTarget};
use fairwave_text::{Table, mbps};

/// Every algorithm, loaded or not.
pub(crate) fn algorithms(found: &[CcAlgorithm]) -> String {
    let mut table = Table::new("Algorithms", &["name", "loaded", "pinned", "connections", "is"]);
    let word = |is: Option<bool>| is.map_or("unknown", |is| if is { "yes" } else { "no" });
    for algorithm in found {
        let count = algorithm.connections.map_or_else(String::new, |count| count.to_string());
        let (loaded, pinned) = (word(Some(algorithm.loaded)), word(algorithm.pinned));
        let summary =
            left(&algorithm.summary, found.iter().map(|algorithm| algorithm.summary.len()));
        let words = [&algorithm.name, loaded, pinned, &count, &summary];
        table.row(words.map(str::to_owned).to_vec());
    }
    table.render()
}

/// Pads a word on the right to the longest of `lengths`. Tables align all columns but the first to
/// the right, so padding makes this column left-aligned.
fn left(words: &str, lengths: impl Iterator<Item = usize>) -> String {
    format!("{words:<width$}", width = lengths.max().unwrap_or(0))
}

/// The connections of all loaded algorithms.
pub(crate) fn connections(found: &[CcConnection]) -> String {
    if found.is_empty() {
        return "no connection uses an algorithm of Fairwave\n".to_owned();
    }
    let heads = [
        "algorithm",
        "from",
        "to",
        "cwnd",
        "ssthresh",
        "RTT ms",
        "ACKs lost",
        "answers",
        "target Mbps",
        "reached Mbps",
    ];
    let mut table = Table::new("Connections", &heads);
    let rate = |rate: Option<u64>| rate.map_or_else(String::new, mbps);
    for one in found {
        table.row(vec![
            one.algorithm.clone(),
            one.local.clone(),
            one.remote.clone(),
            one.cwnd_segments.to_string(),
            one.ssthresh_segments.map_or_else(String::new, |value| value.to_string()),
            format!("{:.3}", one.srtt_us as f64 / 1e3),
            one.acks_lost.to_string(),
            one.answers.to_string(),
            rate(one.target_bps),
            rate(one.reached_bps),
        ]);
    }
    table.render()
}

/// An event of a connection in one line.
pub(crate) fn event(event: &CcEvent) -> String {
    let one = &event.connection;
    format!(
        "{} {}: {} to {}, {} bytes acknowledged, {} ACKs lost, {} answers\n",
        one.algorithm,
        event.happened,
        one.local,
        one.remote,
        one.acked_bytes,
        one.acks_lost,
        one.answers
    )
}

/// The costs of algorithms, beside those of the kernel's own.
pub(crate) fn costs(found: &[CcCost]) -> String {
    let heads = [
        "algorithm",
        "ns per ACK",
        "calls per ACK",
        "work ns per ACK",
        "Mbps (median)",
        "ACKs found lost",
        "is",
    ];
    let mut table = Table::new("Cost", &heads);
    let tenth = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
    for cost in found {
        table.row(vec![
            cost.algorithm.clone(),
            tenth(cost.per_ack_ns),
            tenth((cost.acks > 0).then(|| cost.calls as f64 / cost.acks as f64)),
            tenth(cost.work_ns),
            mbps(cost.throughput_bps),
            cost.acks_lost.map_or_else(String::new, |lost| lost.to_string()),
            left(&cost.summary, found.iter().map(|cost| cost.summary.len())),
        ]);
    }
    table.render()
}

/// The target rates.
pub(crate) fn targets(found: &[CcTarget]) -> String {
    if found.is_empty() {
        return "no targets: fw_tcp_av is Reno\n".to_owned();
    }
    let mut table = Table::new("Targets", &["whose", "Mbps", "cap", "floor at Reno"]);
    let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
    for one in found {
        let (cap, floor) = (word(one.cap), word(one.floor_at_reno));
        table.row(vec![one.whose.clone(), mbps(one.rate_bps), cap, floor]);
    }
    table.render()
}

/// The algorithms to which an action was applied.
pub(crate) fn done(action: &str, names: &[&str]) -> String {
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("{action}: {names}\n")
}
