//! Types of the output of `fairwave proxy --json`.

use fairwave_proxy::{Achieved, FlowReport, Report};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave proxy --json` when it ends.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProxyOutput {
    /// Running time of the proxy.
    #[schemars(extend("unit" = "seconds"))]
    pub(crate) lasted_s: f64,
    /// Means by which rates were controlled: `fw_tcp_av`, or `pacing`.
    pub(crate) steered_by: String,
    /// Connections that were relayed.
    pub(crate) opened: u64,
    /// Relayed connections that were still open at the end.
    pub(crate) active: u64,
    /// Connections that ended by a reset or because an end vanished.
    pub(crate) broken: u64,
    /// Connections that were closed since they had carried no data for too long.
    pub(crate) idle: u64,
    /// Connections that were relayed without their target since no capacity was left.
    pub(crate) best_effort: u64,
    /// Clients that were refused.
    pub(crate) refused: RefusedOutput,
    /// Payload from clients to servers, in bytes.
    pub(crate) bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub(crate) bytes_down: u64,
    /// Length of the intervals ("bins") for which it is determined whether targets were reached.
    #[schemars(extend("unit" = "seconds"))]
    pub(crate) bin_s: f64,
    /// Numbers of the bins of all targets.
    pub(crate) achieved: AchievedOutput,
    /// Targets still active at the end.
    pub(crate) targets: Vec<TargetOutput>,
}

/// Clients that were refused, by reason.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RefusedOutput {
    /// The client may not use the proxy, or requested a destination that is not allowed.
    pub(crate) not_allowed: u64,
    /// All connections, or all of the capacity, were in use.
    pub(crate) busy: u64,
    /// The client's request was invalid, or came too late.
    pub(crate) malformed: u64,
    /// The server could not be reached.
    pub(crate) unreachable: u64,
}

/// Numbers of bins in which targets were reached or missed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AchievedOutput {
    /// Bins in which the server acknowledged at the target's rate or faster.
    pub(crate) reached: u64,
    /// Bins in which the server acknowledged less, although the client had more to send.
    pub(crate) missed: u64,
    /// Bins in which the client offered less than the target; they do not count.
    pub(crate) not_offered: u64,
    /// Share of reached bins among those that count (the paper's AVR); null if there are none.
    #[schemars(extend("unit" = "share from 0 to 1"))]
    pub(crate) share: Option<f64>,
}

/// An active target.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TargetOutput {
    /// The client: address and port, or the address of a host.
    pub(crate) client: String,
    /// The server of a connection; null if the target is a host's.
    pub(crate) server: Option<String>,
    /// Connections that share the target.
    pub(crate) flows: u64,
    /// The target, in bits per second.
    pub(crate) target_bps: u64,
    /// Rate acknowledged by the server in the last bin, in bits per second; null before the first.
    pub(crate) rate_bps: Option<u64>,
    /// Numbers of its bins.
    pub(crate) achieved: AchievedOutput,
}

impl ProxyOutput {
    /// The output for a report.
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
