//! Results of a run that mean less than they seem: zeros that are not measurements.

use crate::results::{FlowSummary, StationSummary, Summary};
use fairwave_units::several;

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
    let FlowSummary { name, goodput_bps, sent_packets, acks_sent, completed_ns, .. } = flow;
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
        // An ACK shows that a segment arrived: a retransmission after the loss of the first ACK, or
        // one beyond a gap.
        None if *acks_sent > 0 => {
            let (packets, dropped) = (several(*sent_packets, "packet"), flow.acks_dropped);
            let acks = format!("ACKs dropped: {dropped} of {acks_sent}");
            let what = "the packets sent brought no new data";
            (what, format!("{packets} sent brought no new data; {acks}"))
        }
        None => {
            let text = format!("nothing arrived of {sent_packets} packets sent");
            ("nothing arrived of the packets sent", text)
        }
    };
    Some(Lint::of(&format!("flow {name}"), what, &text))
}

fn of_station(station: &StationSummary) -> Option<Lint> {
    let StationSummary { name, attempts, failures, successes, .. } = station;
    // Where a cell has no acknowledgements, no attempt fails.
    let is_deaf = *failures > 0 && *successes == 0;
    let what = "none of its transmissions was acknowledged";
    let text = format!("none of its {attempts} transmissions was acknowledged");
    is_deaf.then(|| Lint::of(&format!("radio {name}"), what, &text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A flow without goodput, with these counts.
    fn flow(sent: u64, acks: u64, dropped: u64) -> FlowSummary {
        let stretch = json!({
            "start_ns": 0, "length_ns": 0, "acks_sent": 0, "acks_dropped_at_ap": 0, "timeouts": 0
        });
        let flow = json!({
            "name": "up", "direction": "up", "start_ns": 0, "goodput_bps": 0, "sent_packets": sent,
            "retransmissions": sent, "timeouts": sent, "fast_recoveries": 0, "acks_sent": acks,
            "acks_dropped": dropped, "acks_dropped_at_ap_all_run": dropped, "longest_silence_ns": 0,
            "collapsed": stretch
        });
        serde_json::from_value(flow).expect("a flow's results")
    }

    /// In the detail run of the ACK loss study, data arrived and its ACKs were lost.
    #[test]
    fn packets_that_were_acknowledged_arrived() {
        let text = |flow| of_flow(&flow, 0).map(|lint| lint.text);
        let lost = "flow up: 3 packets sent brought no new data; ACKs dropped: 3 of 3";
        assert_eq!(text(flow(3, 3, 3)).as_deref(), Some(lost));
        let none = text(flow(3, 0, 0)).expect("a warning");
        assert!(none.contains("nothing arrived of 3 packets"), "{none}");
    }

    /// No transmission can be acknowledged in a cell with `acknowledgements = false`.
    #[test]
    fn only_failed_transmissions_are_missed_acknowledgements() {
        let radio = |failures: u64| {
            let radio = json!({
                "name": "ap", "attempts": 9, "failures": failures, "collisions": 0,
                "successes": 0, "retry_drops": 0, "airtime_share": 0.5
            });
            of_station(&serde_json::from_value(radio).expect("a radio's results"))
        };
        assert_eq!(radio(0), None);
        let lint = radio(9).expect("none of them was acknowledged");
        assert!(lint.text.contains("none of its 9 transmissions"), "{}", lint.text);
    }
}
