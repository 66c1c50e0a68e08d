//! Results of a run that mean less than they seem: zeros that are not measurements.

use crate::results::{FlowSummary, StationSummary, Summary};

/// A caution for readers of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// The caution without figures: the same in every run that it applies to.
    pub what: String,
    /// The caution with the figures of this run.
    pub text: String,
}

impl Lint {
    fn of(subject: &str, what: &str, text: &str) -> Self {
        Self { what: format!("{subject}: {what}"), text: format!("{subject}: {text}") }
    }
}

/// Cautions about the results of a run.
pub fn lints(summary: &Summary) -> Vec<Lint> {
    let warm_up_ns = summary.simulated_ns.saturating_sub(summary.measured_ns);
    let flows = summary.flows.iter().filter_map(|flow| of_flow(flow, warm_up_ns));
    flows.chain(summary.stations.iter().filter_map(of_station)).collect()
}

fn of_flow(flow: &FlowSummary, warm_up_ns: u64) -> Option<Lint> {
    let FlowSummary { name, goodput_bps, sent_packets, completed_ns, .. } = flow;
    if *goodput_bps > 0 {
        return None;
    }
    let arrived = flow.datagrams.as_ref().is_some_and(|seen| seen.received > 0);
    let (what, text) = match completed_ns {
        Some(at) if *at <= warm_up_ns => {
            let at_s = *at as f64 / 1e9;
            let text = format!("it was complete at {at_s:.3} s, within the warm-up");
            ("it was complete within the warm-up", text)
        }
        Some(_) => return None,
        None if *sent_packets == 0 => {
            let what = "it sent nothing that was measured";
            (what, what.to_owned())
        }
        None if arrived => return None,
        None => {
            let text = format!("nothing arrived of {sent_packets} packets sent");
            ("nothing arrived of the packets sent", text)
        }
    };
    Some(Lint::of(&format!("flow {name}"), what, &text))
}

fn of_station(station: &StationSummary) -> Option<Lint> {
    let StationSummary { name, attempts, successes, .. } = station;
    let is_deaf = *attempts > 0 && *successes == 0;
    let what = "none of its transmissions was acknowledged";
    let text = format!("none of its {attempts} transmissions was acknowledged");
    is_deaf.then(|| Lint::of(&format!("radio {name}"), what, &text))
}
