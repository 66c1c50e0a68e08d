//! Tables and JSON of `fairwave cc`: algorithms, connections, costs.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::printed_cc::{CcConnection, CcCost, CcLaw, CcTold};
use crate::table::{Table, mbps};
use fairwave_bpf::bench::Cost;
use fairwave_bpf::{LAWS, Listener, Store, Watcher, list as laws, registered, totals};
use rustix::time::Timespec;
use serde_json::json;

/// Shows every algorithm, loaded or not.
pub(crate) fn list(common: &Common, store: &Store) -> Result<(), Failure> {
    let found: Vec<CcLaw> = laws(store)?.iter().map(CcLaw::of).collect();
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    let mut table = Table::new("Laws", &["name", "loaded", "pinned", "connections", "is"]);
    let word = |is: Option<bool>| is.map_or("unknown", |is| if is { "yes" } else { "no" });
    for law in &found {
        let count = law.connections.map_or_else(String::new, |count| count.to_string());
        let (loaded, pinned) = (word(Some(law.loaded)), word(law.pinned));
        let summary = left(&law.summary, found.iter().map(|law| law.summary.len()));
        let words = [&law.name, loaded, pinned, &count, &summary];
        table.row(words.map(str::to_owned).to_vec());
    }
    Ok(output::print(&table.render())?)
}

/// Pads a word on the right to the longest of `lengths`. Tables align all columns but the first to
/// the right, so padding makes this column left-aligned.
fn left(words: &str, lengths: impl Iterator<Item = usize>) -> String {
    format!("{words:<width$}", width = lengths.max().unwrap_or(0))
}

/// The connections of all loaded algorithms.
pub(crate) fn connections(
    store: &Store,
    watcher: &mut Watcher,
) -> Result<Vec<CcConnection>, Failure> {
    let registered = registered()?;
    let mut found = Vec::new();
    for law in &LAWS {
        if registered.iter().any(|name| name == law.name) {
            match watcher.connections(store, law) {
                // Unloaded in the meantime, or loaded by another program.
                Err(fairwave_bpf::Error::NotLoaded { .. }) => {}
                connections => {
                    found.extend(connections?.iter().map(|one| CcConnection::of(law.name, one)));
                }
            }
        }
    }
    Ok(found)
}

/// Shows the connections once.
pub(crate) fn status(common: &Common, store: &Store) -> Result<(), Failure> {
    let found = connections(store, &mut Watcher::new()?)?;
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    Ok(output::print(&connection_table(&found))?)
}

/// Shows the events since the last look and then the connections, every second.
pub(crate) fn watch(common: &Common, store: &Store) -> Result<(), Failure> {
    let (mut watcher, mut listener) = (Watcher::new()?, Listener::default());
    let (mut alone, mut missed) = (true, events_missed(store));
    loop {
        match listener.hear(store)? {
            Some(told) => {
                for one in &told {
                    show_told(common, &CcTold::of(one))?;
                }
            }
            None if alone => {
                output::note("another `status --watch` hears when connections begin and end");
                alone = false;
            }
            None => {}
        }
        let now = events_missed(store);
        if now > missed {
            output::note(&format!("{} events had no room and are not shown", now - missed));
        }
        missed = now;
        let found = connections(store, &mut watcher)?;
        if common.json {
            output::print_raw(format!("{}\n", json!(found)).as_bytes())?;
        } else {
            output::print(&connection_table(&found))?;
        }
        let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 1, tv_nsec: 0 });
    }
}

/// Events that did not fit into the ring buffers of the loaded algorithms.
fn events_missed(store: &Store) -> u64 {
    LAWS.iter().filter_map(|law| totals(store, law).ok()).map(|totals| totals.missed).sum()
}

/// Prints an event of a connection in one line.
fn show_told(common: &Common, told: &CcTold) -> Result<(), Failure> {
    if common.json {
        return Ok(output::print_raw(format!("{}\n", json!(told)).as_bytes())?);
    }
    let one = &told.connection;
    Ok(output::print(&format!(
        "{} {}: {} to {}, {} bytes acknowledged, {} ACKs lost, {} answers\n",
        one.law, told.happened, one.local, one.remote, one.acked_bytes, one.acks_lost, one.answers
    ))?)
}

fn connection_table(found: &[CcConnection]) -> String {
    if found.is_empty() {
        return "no connection uses a law of Fairwave\n".to_owned();
    }
    let heads = [
        "law",
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
            one.law.clone(),
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

/// Shows the costs of algorithms, beside those of the kernel's own.
pub(crate) fn costs(common: &Common, costs: &[Cost]) -> Result<(), Failure> {
    let floor = costs.iter().find(|cost| cost.name == "fw_b_floor");
    let floor = floor.and_then(Cost::nanoseconds_per_ack);
    let found: Vec<CcCost> = costs.iter().map(|cost| CcCost::of(cost, floor)).collect();
    if common.json {
        return Ok(output::print_json(&json!(found))?);
    }
    let heads = [
        "law",
        "ns per ACK",
        "calls per ACK",
        "work ns per ACK",
        "Mbps (median)",
        "ACKs found lost",
        "is",
    ];
    let mut table = Table::new("Cost", &heads);
    let tenth = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
    for cost in &found {
        table.row(vec![
            cost.law.clone(),
            tenth(cost.per_ack_ns),
            tenth((cost.acks > 0).then(|| cost.calls as f64 / cost.acks as f64)),
            tenth(cost.work_ns),
            mbps(cost.throughput_bps),
            cost.acks_lost.map_or_else(String::new, |lost| lost.to_string()),
            left(&cost.summary, found.iter().map(|cost| cost.summary.len())),
        ]);
    }
    Ok(output::print(&table.render())?)
}
