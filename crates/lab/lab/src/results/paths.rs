//! Results of flows with several paths, as they stand in `summary.json`.

use fairwave_sim::{PathOutcome, ShakeOutcome};
use fairwave_trace::PathSample;
use fairwave_wire::shake::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of a flow's path over the measured span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// The node that it passes.
    pub name: String,
    /// Whether it carried data at the end: it had joined, not left, and did not count as dead.
    pub is_up: bool,
    /// Bytes known to have arrived over it, copies included.
    pub delivered_bytes: u64,
    /// Segments of data sent on it.
    pub sent_packets: u64,
    /// Segments among them that repeat bytes sent before, on whatever path.
    pub retransmissions: u64,
    /// Expiries of its retransmission timer.
    pub timeouts: u64,
    /// Smoothed round-trip time at the end.
    pub srtt_end_ns: Option<u64>,
}

/// Results of a SHAKE connection at its source over the whole run, beside its paths and the flow's
/// own fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShakeSummary {
    /// Segments that were declared lost before a timer expired.
    pub losses_found: u64,
    /// Segments that were retransmitted because another path delayed them.
    pub reinjections: u64,
    /// Segments that probed a doubtful path, or a closed window.
    pub probes: u64,
    /// Reason for which the connection ended early, if it did: `abort`, `not-reading`, `violation`
    /// or `no-path`.
    pub reset: Option<String>,
}

impl PathSummary {
    pub(super) fn of(path: &PathOutcome) -> Self {
        let (from, to) = (&path.at_warm_up, &path.at_end);
        let since = |part: fn(&PathSample) -> u64| part(to) - part(from);
        Self {
            name: path.name.clone(),
            is_up: to.is_up,
            delivered_bytes: since(|path| path.delivered_bytes),
            sent_packets: since(|path| path.sent_packets),
            retransmissions: since(|path| path.retransmissions),
            timeouts: since(|path| path.timeouts),
            srtt_end_ns: to.srtt.map(fairwave_units::Duration::as_nanos),
        }
    }
}

impl ShakeSummary {
    pub(super) fn of(seen: &ShakeOutcome) -> Self {
        let reason = |reason| match reason {
            Reason::Abort => "abort",
            Reason::NotReading => "not-reading",
            Reason::Violation => "violation",
            Reason::NoPath => "no-path",
        };
        Self {
            losses_found: seen.losses_found,
            reinjections: seen.reinjections,
            probes: seen.probes,
            reset: seen.reset.map(|why| reason(why).to_owned()),
        }
    }
}
