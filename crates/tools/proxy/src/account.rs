//! Counters and events of the proxy.

use crate::achieved::Achieved;
use crate::targets::Direction;
use fairwave_units::BitRate;
use schemars::JsonSchema;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Time for which the proxy has run, in seconds.
    pub lasted_s: f64,
    /// Flows that were relayed, including active ones.
    pub opened: u64,
    /// Active flows.
    pub active: u64,
    /// Flows that ended by a reset or because an end vanished.
    pub broken: u64,
    /// Flows that were closed since they had carried no data for too long.
    pub idle: u64,
    /// Flows that were relayed without their target since no capacity was left.
    pub best_effort: u64,
    /// Clients that were refused.
    pub refused: Refusals,
    /// Payload from clients to servers, in bytes.
    pub bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub bytes_down: u64,
    /// Bins of the targets of all flows and hosts.
    pub achieved: Achieved,
    /// The active targets.
    pub flows: Vec<FlowReport>,
}

/// Clients that were refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RefusedOutput")]
pub struct Refusals {
    /// The client may not use the proxy, did not authenticate, or requested a destination that is
    /// not allowed.
    pub not_allowed: u64,
    /// All connections, or all of the capacity, were in use.
    pub busy: u64,
    /// The client's request was invalid, or came too late.
    pub malformed: u64,
    /// The server could not be reached, or did not answer.
    pub unreachable: u64,
}

/// An active target.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// Address of the client.
    pub client: IpAddr,
    /// Port of the client; `None` if the target is a host's.
    pub port: Option<u16>,
    /// The server; `None` if the target is a host's.
    pub server: Option<SocketAddr>,
    /// Number of its rule, from 1. A host may have targets by several rules.
    pub rule: usize,
    /// Direction of the data that the target applies to.
    pub direction: Direction,
    /// Number of flows that share the target.
    pub flows: u64,
    /// The target.
    pub target: BitRate,
    /// Payload acknowledged in the last bin, per second; `None` before the first.
    pub rate: Option<BitRate>,
    /// Its bins.
    pub achieved: Achieved,
}

impl FlowReport {
    /// The client as text: its address, with the port if the target is a flow's.
    pub fn client(&self) -> String {
        match self.port {
            Some(port) => SocketAddr::new(self.client, port).to_string(),
            None => self.client.to_string(),
        }
    }
}

/// Events of the proxy that its user should know at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The targets were read again.
    Reloaded,
    /// They could not be read again, for this reason; the former targets stay in force.
    NotReloaded(String),
    /// A target alone exceeds the capacity, as this sentence describes.
    BeyondCapacity(String),
    /// The algorithm with targets is not available to a flow any more, which is paced instead.
    NoCongestionControl(String),
    /// The configured algorithm is not available to a flow any more, which has the kernel's
    /// default.
    DefaultCongestion(String),
}
