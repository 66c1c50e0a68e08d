//! What the proxy tells of itself.

use crate::achieved::Achieved;
use fairwave_units::BitRate;
use std::net::{IpAddr, SocketAddr};

/// What happened until now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Time for which the proxy has run, in seconds.
    pub lasted_s: f64,
    /// Flows that were relayed, those under way among them.
    pub opened: u64,
    /// Flows under way.
    pub active: u64,
    /// Flows of which a leg broke: by a reset, or as the other end vanished.
    pub broken: u64,
    /// Flows that were ended as they carried nothing for too long.
    pub idle: u64,
    /// Flows that were relayed without their target, as no capacity was left.
    pub best_effort: u64,
    /// Clients that were turned away.
    pub refused: Refusals,
    /// Payload from clients to servers, in bytes.
    pub bytes_up: u64,
    /// Payload from servers to clients, in bytes.
    pub bytes_down: u64,
    /// The targets' bins, of all flows and hosts.
    pub achieved: Achieved,
    /// Each target of flows under way.
    pub flows: Vec<FlowReport>,
}

/// Clients that were turned away, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// They are not among those to be served, or wanted what they may not reach.
    pub not_allowed: u64,
    /// All flows, or all targets, were in use.
    pub busy: u64,
    /// What they sent was no request, or it came too late.
    pub malformed: u64,
    /// The server could not be reached.
    pub unreachable: u64,
}

/// A target under way.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowReport {
    /// The client's address; with port where the target is a flow's.
    pub client: IpAddr,
    /// The client's port where the target is a flow's.
    pub port: Option<u16>,
    /// The server, where the target is a flow's.
    pub server: Option<SocketAddr>,
    /// How many flows share the target.
    pub flows: u64,
    /// The target.
    pub target: BitRate,
    /// Payload that was acknowledged in the last bin, per second; `None` before the first.
    pub rate: Option<BitRate>,
    /// Its bins.
    pub achieved: Achieved,
}

/// What a person who watches the proxy wants to hear at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The targets were read again.
    Reloaded,
    /// They could not be read again; those before are in force.
    NotReloaded(String),
    /// The law with targets is not to be had for a flow any more, which is paced instead.
    NoLaw(String),
}
