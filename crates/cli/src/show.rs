//! What a run came to, for people: each flow, queue and station before any total.

use crate::table::{Table, mbps, seconds};
use fairwave_lab::results::{FlowSummary, QueueSummary, StationSummary, Summary};

/// Every table, then the totals.
pub(crate) fn summary(summary: &Summary) -> String {
    let tables = [
        flows(&summary.flows),
        stations(&summary.stations),
        queues(&summary.queues),
        totals(summary),
    ];
    tables.concat()
}

fn flows(flows: &[FlowSummary]) -> String {
    let heads = ["flow", "Mbps", "sent", "resent", "timeouts", "ACKs lost", "silence s"];
    let mut table = Table::new("Flows", &heads);
    for flow in flows {
        table.row(vec![
            flow.name.clone(),
            mbps(flow.goodput_bps),
            flow.sent_packets.to_string(),
            flow.retransmissions.to_string(),
            flow.timeouts.to_string(),
            flow.acks_dropped.to_string(),
            seconds(flow.longest_silence_ns),
        ]);
    }
    table.render()
}

fn stations(stations: &[StationSummary]) -> String {
    let heads = ["station", "attempts", "failures", "collisions", "retry drops", "airtime %"];
    let mut table = Table::new("Stations", &heads);
    for station in stations {
        table.row(vec![
            station.name.clone(),
            station.attempts.to_string(),
            station.failures.to_string(),
            station.collisions.to_string(),
            station.retry_drops.to_string(),
            format!("{:.1}", station.airtime_share * 100.0),
        ]);
    }
    table.render()
}

fn queues(queues: &[QueueSummary]) -> String {
    let heads = ["queue", "enqueued", "full", "retry limit", "link loss", "mean pkt", "peak pkt"];
    let mut table = Table::new("Queues", &heads);
    for queue in queues {
        table.row(vec![
            queue.name.clone(),
            queue.enqueued.to_string(),
            queue.drops_queue_full.to_string(),
            queue.drops_retry_limit.to_string(),
            queue.drops_link_loss.to_string(),
            format!("{:.1}", queue.mean_packets),
            queue.peak_packets.to_string(),
        ]);
    }
    table.render()
}

fn totals(summary: &Summary) -> String {
    let totals = &summary.totals;
    let mut table = Table::new("Totals", &["", ""]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row("measured s", seconds(summary.measured_ns));
    row("goodput Mbps", mbps(totals.goodput_bps));
    row("up Mbps", mbps(totals.up_bps));
    row("down Mbps", mbps(totals.down_bps));
    row("Jain index", jain(totals.jain));
    row("starved flows", totals.starved_flows.to_string());
    table.render()
}

/// Jain's fairness index; nothing to say without flows.
pub(crate) fn jain(index: Option<f64>) -> String {
    index.map_or_else(|| "-".to_owned(), |index| format!("{index:.4}"))
}
