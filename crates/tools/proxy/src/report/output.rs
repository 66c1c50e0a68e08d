//! Types of the output of `fairwave proxy --json`.

use crate::account::{FlowReport, Refusals, Report};
use crate::achieved::Achieved;
use crate::targets::Direction;
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave proxy --json` when it ends.
#[derive(Serialize, JsonSchema)]
pub struct ProxyOutput {
    /// Running time of the proxy.
    #[schemars(extend("unit" = "seconds"))]
    pub lasted_s: f64,
    /// Means by which rates were controlled: `fw_tcp_av`, or `pacing`.
    pub steered_by: String,
    /// Connections that were relayed.
    pub opened: u64,
    /// Relayed connections that were still open at the end.
    pub active: u64,
    /// Connections that ended by a reset or because an end vanished.
    pub broken: u64,
    /// Connections that were closed since they had carried no data for too long.
    pub idle: u64,
    /// Connections that were relayed without their target since no capacity was left.
    pub best_effort: u64,
    /// Clients that were refused.
    pub refused: Refusals,
    /// Payload from clients to servers, in bytes.
    pub bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub bytes_down: u64,
    /// Length of the intervals ("bins") for which it is determined whether targets were reached.
    #[schemars(extend("unit" = "seconds"))]
    pub bin_s: f64,
    /// Numbers of the bins of all targets.
    pub achieved: AchievedOutput,
    /// Targets still active at the end.
    pub targets: Vec<TargetOutput>,
}

/// Numbers of bins in which targets were reached or missed.
#[derive(Serialize, JsonSchema)]
pub struct AchievedOutput {
    /// Bins in which the receiver acknowledged at the target's rate or faster.
    pub reached: u64,
    /// Bins in which the receiver acknowledged less, although the sender had more to send.
    pub missed: u64,
    /// Bins in which the sender offered less than the target.
    pub not_offered: u64,
    /// Share of reached bins among all (the paper's AVR); null if there are none.
    #[schemars(extend("unit" = "share from 0 to 1"))]
    pub avr: Option<f64>,
    /// Share of reached bins among those in which the sender offered enough; null if there are
    /// none.
    #[schemars(extend("unit" = "share from 0 to 1"))]
    pub share: Option<f64>,
}

/// An active target.
#[derive(Serialize, JsonSchema)]
pub struct TargetOutput {
    /// The client: address and port, or the address of a host.
    pub client: String,
    /// The server of a connection; null if the target is a host's.
    pub server: Option<String>,
    /// Direction of the data that the target applies to.
    pub direction: Direction,
    /// Connections that share the target.
    pub flows: u64,
    /// The target, in bits per second.
    pub target_bps: u64,
    /// Rate acknowledged by the receiver in the last bin, in bits per second; null before the
    /// first.
    pub rate_bps: Option<u64>,
    /// Numbers of its bins.
    pub achieved: AchievedOutput,
}

impl ProxyOutput {
    /// The output for a report.
    pub fn of(report: &Report, steered_by: &str, bin_s: f64) -> Self {
        Self {
            lasted_s: report.lasted_s,
            steered_by: steered_by.to_owned(),
            opened: report.opened,
            active: report.active,
            broken: report.broken,
            idle: report.idle,
            best_effort: report.best_effort,
            refused: report.refused,
            bytes_up: report.bytes_up,
            bytes_down: report.bytes_down,
            bin_s,
            achieved: AchievedOutput::of(report.achieved),
            targets: report.flows.iter().map(TargetOutput::of).collect(),
        }
    }
}

impl AchievedOutput {
    pub(super) fn of(achieved: Achieved) -> Self {
        Self {
            reached: achieved.reached,
            missed: achieved.missed,
            not_offered: achieved.not_offered,
            avr: achieved.avr(),
            share: achieved.share(),
        }
    }
}

impl TargetOutput {
    fn of(flow: &FlowReport) -> Self {
        Self {
            client: flow.client(),
            server: flow.server.map(|server| server.to_string()),
            direction: flow.direction,
            flows: flow.flows,
            target_bps: flow.target.0,
            rate_bps: flow.rate.map(|rate| rate.0),
            achieved: AchievedOutput::of(flow.achieved),
        }
    }
}
