//! Reports of the proxy.

use crate::achieved::Achieved;
use fairwave_units::BitRate;
use std::net::{IpAddr, SocketAddr};

/// Counters since the start, and the targets under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Time for which the proxy has run, in seconds.
    pub lasted_s: f64,
    /// Flows that were relayed, including those under way.
    pub opened: u64,
    /// Flows under way.
    pub active: u64,
    /// Flows of which a leg broke: by a reset, or because the peer vanished.
    pub broken: u64,
    /// Flows that were ended because they were idle for too long.
    pub idle: u64,
    /// Flows that were relayed without their target because too little capacity was left.
    pub best_effort: u64,
    /// Clients that were refused.
    pub refused: Refusals,
    /// Payload from clients to servers, in bytes.
    pub bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub bytes_down: u64,
    /// Judged bins of the targets of all flows and hosts.
    pub achieved: Achieved,
    /// Targets of the flows under way.
    pub flows: Vec<FlowReport>,
}

/// Numbers of refused clients, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// The client is not allowed, or asked for a server that it may not reach.
    pub not_allowed: u64,
    /// All flows, or all targets, were in use.
    pub busy: u64,
    /// The client sent no valid request, or sent it too late.
    pub malformed: u64,
    /// The server could not be reached.
    pub unreachable: u64,
}

/// A target under way.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// The client's address.
    pub client: IpAddr,
    /// The client's port where the target is a flow's.
    pub port: Option<u16>,
    /// The server, where the target is a flow's.
    pub server: Option<SocketAddr>,
    /// Number of flows that share the target.
    pub flows: u64,
    /// The target.
    pub target: BitRate,
    /// Payload rate acknowledged in the last bin; `None` before the first.
    pub rate: Option<BitRate>,
    /// Judged bins of the target.
    pub achieved: Achieved,
}

/// Events to show at once to a person who watches the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The targets were read again.
    Reloaded,
    /// The targets could not be read again; the previous ones stay in force. With the reason.
    NotReloaded(String),
    /// The congestion control algorithm with targets is not available for a flow, which is paced
    /// instead. With the reason.
    NoLaw(String),
}
