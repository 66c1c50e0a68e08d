//! Tables of a run's results: each flow, queue and station before any total.

use super::probe::probes;
use crate::results::{
    FlowSummary, PairSummary, QueueSummary, StationSummary, Summary, TimesSummary,
};
use fairwave_text::{Table, mbps, millis, seconds};

/// Every table, then the totals.
pub fn summary(summary: &Summary) -> String {
    tables(summary) + &totals(summary)
}

/// Every table except the totals over all flows.
pub fn tables(summary: &Summary) -> String {
    let tables = [
        flows(&summary.flows),
        times("One-way delays", "delivered", &summary.flows, |flow| flow.delay.as_ref()),
        times("Round-trip times", "replies", &summary.flows, |flow| flow.round_trips.as_ref()),
        datagrams(&summary.flows),
        pages(&summary.flows),
        videos(&summary.flows, summary.measured_ns),
        paths(&summary.flows),
        completions(&summary.flows),
        probes(&summary.flows),
        stations(&summary.stations),
        pairs(&summary.pairs),
        queues(&summary.queues),
    ];
    tables.concat()
}

fn flows(flows: &[FlowSummary]) -> String {
    let heads = ["flow", "Mbps", "sent", "retransmitted", "timeouts", "ACKs lost", "silence s"];
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

/// Delays of the flows that have some, by `of`; their number is called `counted`.
fn times(
    title: &'static str,
    counted: &'static str,
    flows: &[FlowSummary],
    of: fn(&FlowSummary) -> Option<&TimesSummary>,
) -> String {
    let heads = ["flow", counted, "mean ms", "median", "p90", "p99", "p99.9", "most"];
    let mut table = Table::new(title, &heads);
    for flow in flows {
        let Some(times) = of(flow) else { continue };
        let or_dash = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), millis);
        table.row(vec![
            flow.name.clone(),
            times.count.to_string(),
            millis(times.mean_ns),
            millis(times.p50_ns),
            or_dash(times.p90_ns),
            millis(times.p99_ns),
            or_dash(times.p999_ns),
            millis(times.max_ns),
        ]);
    }
    table.render()
}

/// Figures of the receivers of datagrams.
fn datagrams(flows: &[FlowSummary]) -> String {
    let mut table = Table::new("Datagrams", &["flow", "received", "lost %", "jitter ms"]);
    for flow in flows {
        let Some(seen) = &flow.datagrams else { continue };
        table.row(vec![
            flow.name.clone(),
            seen.received.to_string(),
            flow.lost_percent().map_or_else(|| "-".to_owned(), |lost| format!("{lost:.2}")),
            seen.jitter_ns.map_or_else(|| "-".to_owned(), millis),
        ]);
    }
    table.render()
}

/// Figures of web users.
fn pages(flows: &[FlowSummary]) -> String {
    let heads = ["flow", "pages", "page s", "median", "p95", "objects", "object s", "lost"];
    let mut table = Table::new("Web", &heads);
    for flow in flows {
        let Some(seen) = &flow.web else { continue };
        let count =
            |times: &Option<TimesSummary>| times.as_ref().map_or(0, |t| t.count).to_string();
        let time = |times: &Option<TimesSummary>, part: fn(&TimesSummary) -> u64| {
            times.as_ref().map_or_else(|| "-".to_owned(), |times| seconds(part(times)))
        };
        table.row(vec![
            flow.name.clone(),
            count(&seen.pages),
            time(&seen.pages, |times| times.mean_ns),
            time(&seen.pages, |times| times.p50_ns),
            time(&seen.pages, |times| times.p95_ns),
            count(&seen.objects),
            time(&seen.objects, |times| times.mean_ns),
            seen.objects_lost.to_string(),
        ]);
    }
    table.render()
}

/// Figures of video viewers.
fn videos(flows: &[FlowSummary], measured_ns: u64) -> String {
    let heads = [
        "flow",
        "frames",
        "fps",
        "late",
        "lost",
        "no ref",
        "freezes",
        "frozen s",
        "longest",
        "stalls",
        "stalled s",
        "delay ms",
        "p99",
    ];
    let mut table = Table::new("Video", &heads);
    for flow in flows {
        let Some(seen) = &flow.playout else { continue };
        let delay = |part: fn(&TimesSummary) -> u64| {
            seen.latency.as_ref().map_or_else(|| "-".to_owned(), |times| millis(part(times)))
        };
        table.row(vec![
            flow.name.clone(),
            seen.frames.to_string(),
            format!("{:.1}", seen.frame_rate(measured_ns)),
            seen.late.to_string(),
            seen.lost.to_string(),
            seen.undecodable.to_string(),
            seen.freezes.to_string(),
            seconds(seen.frozen_ns),
            seconds(seen.longest_freeze_ns),
            seen.stalls.to_string(),
            seconds(seen.stalled_ns),
            delay(|times| times.p50_ns),
            delay(|times| times.p99_ns),
        ]);
    }
    table.render()
}

/// Paths of multipath flows.
fn paths(flows: &[FlowSummary]) -> String {
    let heads =
        ["flow", "path", "state", "sent", "retransmitted", "timeouts", "arrived KB", "RTT ms"];
    let mut table = Table::new("Paths", &heads);
    for flow in flows {
        for path in &flow.paths {
            table.row(vec![
                flow.name.clone(),
                path.name.clone(),
                if path.is_up { "up" } else { "down" }.to_owned(),
                path.sent_packets.to_string(),
                path.retransmissions.to_string(),
                path.timeouts.to_string(),
                format!("{:.1}", path.delivered_bytes as f64 / 1e3),
                path.srtt_end_ns.map_or_else(|| "-".to_owned(), millis),
            ]);
        }
    }
    table.render()
}

/// Flows of limited size that have completed.
fn completions(flows: &[FlowSummary]) -> String {
    let mut table = Table::new("Completed", &["flow", "after s"]);
    for flow in flows {
        if let Some(ns) = flow.completion_ns {
            table.row(vec![flow.name.clone(), seconds(ns)]);
        }
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

/// Frames from each radio to each receiver: shares of airtime, and rates.
fn pairs(pairs: &[PairSummary]) -> String {
    let heads = [
        "radios",
        "airtime %",
        "PPDUs",
        "no ACK %",
        "retries %",
        "MPDUs/PPDU",
        "MCS",
        "streams",
        "MHz",
        "PHY Mbps",
    ];
    let mut table = Table::new("Airtime by receiver", &heads);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mean = |value: Option<f64>| or_dash(value.map(|mean| format!("{mean:.1}")));
    let share = |part: u64, of: u64| {
        or_dash((of > 0).then(|| format!("{:.1}", 100.0 * part as f64 / of as f64)))
    };
    for pair in pairs {
        table.row(vec![
            pair.name.clone(),
            format!("{:.1}", pair.airtime_share * 100.0),
            pair.ppdus.to_string(),
            share(pair.failures, pair.ppdus),
            share(pair.retries, pair.mpdus),
            mean(pair.ampdu_mean_mpdus),
            mean(pair.mcs_mean),
            mean(pair.streams_mean),
            mean(pair.width_mean_mhz),
            or_dash(pair.rate_mean_bps.map(mbps)),
        ]);
    }
    table.render()
}

fn queues(queues: &[QueueSummary]) -> String {
    let heads =
        ["queue", "enqueued", "full", "AQM", "retry limit", "link loss", "mean pkt", "peak pkt"];
    let mut table = Table::new("Queues", &heads);
    for queue in queues {
        table.row(vec![
            queue.name.clone(),
            queue.enqueued.to_string(),
            queue.drops_queue_full.to_string(),
            queue.drops_aqm.to_string(),
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

/// Jain's fairness index; "-" without flows.
pub(super) fn jain(index: Option<f64>) -> String {
    index.map_or_else(|| "-".to_owned(), |index| format!("{index:.4}"))
}
