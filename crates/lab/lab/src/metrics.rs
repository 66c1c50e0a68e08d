//! Figures of a run by name, for tables over seeds, plots and comparisons.
//!
//! A name is that of a figure of the whole run, as `goodput_mbps`, or of a part of it:
//! `flow.up.delay_p99_ms`, `station.sta1.airtime_percent`, `pair.ap>sta1.mcs_mean`,
//! `queue.ap.mean_packets`. It ends in its unit where it has one.

mod about;

pub use about::{ABOUT, About};

use crate::results::{
    FlowSummary, PairSummary, QueueSummary, StationSummary, Summary, TimesSummary,
};

/// A figure's name and value.
pub type Metric = (String, f64);

/// The figures of a whole run, of its flows, stations, pairs of radios and queues, in this order.
/// Values that the run has not measured are left out.
pub fn metrics(summary: &Summary) -> Vec<Metric> {
    let whole = of_totals(summary).into_iter();
    let mut list: Vec<Metric> =
        whole.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    for flow in &summary.flows {
        add(&mut list, "flow", &flow.name, of_flow(flow));
    }
    for station in &summary.stations {
        add(&mut list, "station", &station.name, of_station(station));
    }
    for pair in &summary.pairs {
        add(&mut list, "pair", &pair.name, of_pair(pair));
    }
    for queue in &summary.queues {
        add(&mut list, "queue", &queue.name, of_queue(queue));
    }
    list
}

type Named = (&'static str, Option<f64>);

fn add(list: &mut Vec<Metric>, sort: &str, name: &str, figures: Vec<Named>) {
    let named = |(figure, value): Named| Some((format!("{sort}.{name}.{figure}"), value?));
    list.extend(figures.into_iter().filter_map(named));
}

fn of_totals(summary: &Summary) -> Vec<Named> {
    let totals = &summary.totals;
    let drops = totals.drops_queue_full
        + totals.drops_retry_limit
        + totals.drops_link_loss
        + totals.drops_no_route
        + totals.drops_aqm;
    vec![
        ("goodput_mbps", Some(mbps(totals.goodput_bps))),
        ("up_mbps", Some(mbps(totals.up_bps))),
        ("down_mbps", Some(mbps(totals.down_bps))),
        ("jain", totals.jain),
        ("starved_flows", Some(totals.starved_flows as f64)),
        ("drops", Some(drops as f64)),
    ]
}

fn of_flow(flow: &FlowSummary) -> Vec<Named> {
    let datagrams = flow.datagrams.as_ref();
    // Runs of older versions have only the delays of datagrams.
    let delays = flow.delay.as_ref().or_else(|| datagrams?.delay.as_ref());
    let delay = |part: fn(&TimesSummary) -> Option<u64>| delays.and_then(part).map(millis);
    let round_trip =
        |part: fn(&TimesSummary) -> u64| flow.round_trips.as_ref().map(|times| millis(part(times)));
    let page = |part: fn(&TimesSummary) -> u64| {
        flow.web.as_ref().and_then(|web| web.pages.as_ref()).map(|times| millis(part(times)))
    };
    vec![
        ("goodput_mbps", Some(mbps(flow.goodput_bps))),
        ("delay_mean_ms", delay(|times| Some(times.mean_ns))),
        ("delay_median_ms", delay(|times| Some(times.p50_ns))),
        ("delay_p90_ms", delay(|times| times.p90_ns)),
        ("delay_p95_ms", delay(|times| Some(times.p95_ns))),
        ("delay_p99_ms", delay(|times| Some(times.p99_ns))),
        ("delay_p999_ms", delay(|times| times.p999_ns)),
        ("rtt_mean_ms", round_trip(|times| times.mean_ns)),
        ("rtt_median_ms", round_trip(|times| times.p50_ns)),
        ("rtt_p95_ms", round_trip(|times| times.p95_ns)),
        ("rtt_p99_ms", round_trip(|times| times.p99_ns)),
        ("jitter_ms", datagrams.and_then(|seen| seen.jitter_ns).map(millis)),
        ("lost_percent", flow.lost_percent()),
        ("sent_packets", Some(flow.sent_packets as f64)),
        ("retransmissions", Some(flow.retransmissions as f64)),
        ("timeouts", Some(flow.timeouts as f64)),
        ("srtt_end_ms", flow.srtt_end_ns.map(millis)),
        ("longest_silence_ms", Some(millis(flow.longest_silence_ns))),
        ("completion_ms", flow.completion_ns.map(millis)),
        ("page_mean_ms", page(|times| times.mean_ns)),
        ("page_p95_ms", page(|times| times.p95_ns)),
        ("freezes", flow.playout.as_ref().map(|seen| seen.freezes as f64)),
    ]
}

fn of_station(station: &StationSummary) -> Vec<Named> {
    let share = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
    vec![
        ("airtime_percent", Some(100.0 * station.airtime_share)),
        ("failure_percent", share(station.failures, station.attempts)),
        ("collision_percent", share(station.collisions, station.attempts)),
        ("retry_drops", Some(station.retry_drops as f64)),
    ]
}

fn of_pair(pair: &PairSummary) -> Vec<Named> {
    let retries = (pair.mpdus > 0).then(|| 100.0 * pair.retries as f64 / pair.mpdus as f64);
    vec![
        ("airtime_percent", Some(100.0 * pair.airtime_share)),
        ("rate_mean_mbps", pair.rate_mean_bps.map(mbps)),
        ("mcs_mean", pair.mcs_mean),
        ("streams_mean", pair.streams_mean),
        ("ampdu_mean_mpdus", pair.ampdu_mean_mpdus),
        ("retry_percent", retries),
    ]
}

fn of_queue(queue: &QueueSummary) -> Vec<Named> {
    vec![
        ("mean_packets", Some(queue.mean_packets)),
        ("peak_packets", Some(f64::from(queue.peak_packets))),
        ("drops_queue_full", Some(queue.drops_queue_full as f64)),
        ("drops_aqm", Some(queue.drops_aqm as f64)),
    ]
}

fn mbps(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 1e6
}

fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Output, execute};
    use fairwave_scenario::plan::Plan;

    #[test]
    fn every_figure_has_a_meaning() {
        let scenario = "duration = \"200 ms\"\ncell.standard = \"802.11n\"\n\
            node = [{ name = \"ap\", kind = \"access-point\" },\n\
            { name = \"sta\", kind = \"station\" }]\n\
            flow = [{ name = \"up\", from = \"sta\", to = \"ap\" }]\n";
        let plan = Plan::parse("s", scenario, &[]).unwrap_or_else(|error| panic!("{error}"));
        let run = execute(&plan, plan.jobs()[0], Output::Nothing, &mut |_| ()).expect("a run");
        let summary = &run.summary;
        let parts = [
            ("", of_totals(summary)),
            ("flow", of_flow(&summary.flows[0])),
            ("station", of_station(&summary.stations[0])),
            ("pair", of_pair(&summary.pairs[0])),
            ("queue", of_queue(&summary.queues[0])),
        ];
        let names = parts.iter().flat_map(|(part, named)| {
            named.iter().map(|(name, _)| (*part, *name)).collect::<Vec<_>>()
        });
        let described = ABOUT.iter().map(|one| (one.part, one.name));
        assert_eq!(described.collect::<Vec<_>>(), names.collect::<Vec<_>>());
    }
}
