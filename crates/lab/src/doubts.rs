//! What a run came to that means less than it seems: zeros that nobody should take for results.

use crate::results::{FlowSummary, StationSummary, Summary};

/// What whoever reads a summary should know about it.
pub fn warnings(summary: &Summary) -> Vec<String> {
    let warm_up_ns = summary.simulated_ns.saturating_sub(summary.measured_ns);
    let flows = summary.flows.iter().filter_map(|flow| of_flow(flow, warm_up_ns));
    flows.chain(summary.stations.iter().filter_map(of_station)).collect()
}

fn of_flow(flow: &FlowSummary, warm_up_ns: u64) -> Option<String> {
    let FlowSummary { name, goodput_bps, sent_packets, completed_ns, .. } = flow;
    if *goodput_bps > 0 {
        return None;
    }
    let arrived = flow.datagrams.as_ref().is_some_and(|seen| seen.received > 0);
    Some(match completed_ns {
        Some(at) if *at <= warm_up_ns => {
            let at_s = *at as f64 / 1e9;
            format!("flow {name}: it was complete at {at_s:.3} s, within the warm-up")
        }
        Some(_) => return None,
        None if *sent_packets == 0 => format!("flow {name}: it sent nothing that was measured"),
        None if arrived => return None,
        None => format!("flow {name}: nothing arrived of {sent_packets} packets sent"),
    })
}

fn of_station(station: &StationSummary) -> Option<String> {
    let StationSummary { name, attempts, successes, .. } = station;
    let is_deaf = *attempts > 0 && *successes == 0;
    is_deaf.then(|| format!("radio {name}: none of its {attempts} transmissions was acknowledged"))
}
