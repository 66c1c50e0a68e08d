//! What `fairwave proxy --json` prints, as a type.

use fairwave_proxy::{Achieved, FlowReport, Report};
use schemars::JsonSchema;
use serde::Serialize;

/// What `fairwave proxy --json` prints when it ends.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProxyOutput {
    /// How long the proxy ran.
    #[schemars(extend("unit" = "seconds"))]
    pub(crate) lasted_s: f64,
    /// How rates were steered: `fw_tcp_av`, or `pacing`.
    pub(crate) steered_by: String,
    /// Connections that were relayed.
    pub(crate) opened: u64,
    /// Those of them that were under way in the end.
    pub(crate) active: u64,
    /// Connections that a reset ended, or an end that vanished.
    pub(crate) broken: u64,
    /// Connections that were ended as they carried nothing for too long.
    pub(crate) idle: u64,
    /// Connections that were relayed without their target, as no capacity was left.
    pub(crate) best_effort: u64,
    /// Clients that were turned away.
    pub(crate) refused: RefusedOutput,
    /// Payload from clients to servers, in bytes.
    pub(crate) bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub(crate) bytes_down: u64,
    /// Length of the intervals ("bins") in which targets were judged.
    #[schemars(extend("unit" = "seconds"))]
    pub(crate) bin_s: f64,
    /// The bins of all targets.
    pub(crate) achieved: AchievedOutput,
    /// Targets under way in the end.
    pub(crate) targets: Vec<TargetOutput>,
}

/// Clients that were turned away, by why.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RefusedOutput {
    /// They are not to be served, or wanted what they may not reach.
    pub(crate) not_allowed: u64,
    /// All connections, or all of the capacity, were in use.
    pub(crate) busy: u64,
    /// What they sent was no request, or came too late.
    pub(crate) malformed: u64,
    /// The server could not be reached.
    pub(crate) unreachable: u64,
}

/// What became of targets, by bins.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AchievedOutput {
    /// Bins in which the server acknowledged at the target's rate or faster.
    pub(crate) reached: u64,
    /// Bins in which it did not, although the client had more to send.
    pub(crate) missed: u64,
    /// Bins in which the client offered less than the target; they do not count.
    pub(crate) not_offered: u64,
    /// Reached ones among those that count (the paper's AVR); null without any.
    #[schemars(extend("unit" = "share from 0 to 1"))]
    pub(crate) share: Option<f64>,
}

/// A target under way.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TargetOutput {
    /// The client: address and port, or the address of a host.
    pub(crate) client: String,
    /// The server of a connection; null where the target is a host's.
    pub(crate) server: Option<String>,
    /// Connections that share the target.
    pub(crate) flows: u64,
    /// The target, in bits per second.
    pub(crate) target_bps: u64,
    /// What the server acknowledged in the last bin, in bits per second; null before the first.
    pub(crate) rate_bps: Option<u64>,
    /// Its bins.
    pub(crate) achieved: AchievedOutput,
}

impl ProxyOutput {
    /// What a report comes to.
    pub(crate) fn of(report: &Report, steered_by: &str, bin_s: f64) -> Self {
        let refused = report.refused;
        Self {
            lasted_s: report.lasted_s,
            steered_by: steered_by.to_owned(),
            opened: report.opened,
            active: report.active,
            broken: report.broken,
            idle: report.idle,
            best_effort: report.best_effort,
            refused: RefusedOutput {
                not_allowed: refused.not_allowed,
                busy: refused.busy,
                malformed: refused.malformed,
                unreachable: refused.unreachable,
            },
            bytes_up: report.bytes_up,
            bytes_down: report.bytes_down,
            bin_s,
            achieved: AchievedOutput::of(report.achieved),
            targets: report.flows.iter().map(TargetOutput::of).collect(),
        }
    }
}

impl AchievedOutput {
    fn of(achieved: Achieved) -> Self {
        Self {
            reached: achieved.reached,
            missed: achieved.missed,
            not_offered: achieved.not_offered,
            share: achieved.share(),
        }
    }
}

impl TargetOutput {
    fn of(flow: &FlowReport) -> Self {
        let client = match flow.port {
            Some(port) => std::net::SocketAddr::new(flow.client, port).to_string(),
            None => flow.client.to_string(),
        };
        Self {
            client,
            server: flow.server.map(|server| server.to_string()),
            flows: flow.flows,
            target_bps: flow.target.0,
            rate_bps: flow.rate.map(|rate| rate.0),
            achieved: AchievedOutput::of(flow.achieved),
        }
    }
}
