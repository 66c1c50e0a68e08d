//! Names and roles of the parts of a world, in the order of their identifiers.

use super::sides::Sides;
use fairwave_sim::world::{Role, Traffic, World};
use fairwave_trace::{FlowId, NodeId, QueueId};
use fairwave_units::BitRate;
use std::sync::Arc;

/// Direction of a flow's data, seen from the radio.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From a station, or a host behind one, towards its access point.
    Up,
    /// From beyond the access point to a station, or to a host behind one.
    Down,
    /// Between stations, or over wires only.
    Other,
}

/// Names of a world's flows, queues and nodes, and the facts about them that results need.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    flows: Vec<Flow>,
    queues: Vec<Arc<str>>,
    ap_queues: Vec<bool>,
    nodes: Vec<Arc<str>>,
    radios: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
struct Flow {
    name: Arc<str>,
    direction: Direction,
    mss: u32,
    start_ns: u64,
    /// Whether its source makes datagrams at a pace of its own.
    is_paced: bool,
    /// The greatest rate that its media ask for.
    asks: Option<BitRate>,
    /// The nodes that its paths pass, by their numbers.
    vias: Vec<NodeId>,
}

impl Names {
    /// Reads the names from `world`: queues are first every radio's in node order, then each link's
    /// two in link order.
    pub fn of(world: &World) -> Self {
        let nodes: Vec<Arc<str>> = world.nodes.iter().map(|n| n.name.as_str().into()).collect();
        let radios: Vec<usize> =
            (0..world.nodes.len()).filter(|&i| world.nodes[i].radio.is_some()).collect();
        let mut queues: Vec<Arc<str>> = radios.iter().map(|&i| nodes[i].clone()).collect();
        let mut ap_queues: Vec<bool> =
            radios.iter().map(|&i| role(world, i) == Some(Role::AccessPoint)).collect();
        for link in &world.links {
            let (a, b) = (&nodes[link.ends.0.0 as usize], &nodes[link.ends.1.0 as usize]);
            queues.extend([format!("{a}>{b}").into(), format!("{b}>{a}").into()]);
            ap_queues.extend([false, false]);
        }
        let sides = Sides::of(world);
        let flows = world.flows.iter().map(|flow| Flow {
            name: flow.name.as_str().into(),
            direction: direction(&sides, flow.source, flow.sink),
            mss: flow.traffic.payload_bytes(),
            start_ns: flow.start.as_nanos(),
            is_paced: match &flow.traffic {
                Traffic::Datagrams(_) | Traffic::Ping(_) => true,
                Traffic::Rtc(rtc) => !rtc.adapts,
                _ => false,
            },
            asks: match &flow.traffic {
                Traffic::Rtc(rtc) if rtc.adapts => Some(rtc.bounds.max),
                _ => None,
            },
            vias: flow.traffic.vias(),
        });
        Self { flows: flows.collect(), queues, ap_queues, nodes, radios }
    }

    /// A flow's name.
    pub fn flow(&self, id: FlowId) -> Arc<str> {
        self.flows[id.0 as usize].name.clone()
    }

    /// Name of a flow's path: that of the node that it passes.
    pub fn path(&self, flow: FlowId, number: u8) -> Arc<str> {
        self.node(self.flows[flow.0 as usize].vias[usize::from(number)])
    }

    /// A queue's name.
    pub fn queue(&self, id: QueueId) -> Arc<str> {
        self.queues[id.0 as usize].clone()
    }

    /// A node's name.
    pub fn node(&self, id: NodeId) -> Arc<str> {
        self.nodes[id.0 as usize].clone()
    }

    /// Whether a queue is an access point's transmit queue.
    pub fn is_ap_queue(&self, id: QueueId) -> bool {
        self.ap_queues[id.0 as usize]
    }

    /// Number of flows.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// Names of the nodes that have a radio, in node order.
    pub fn radios(&self) -> impl Iterator<Item = &str> {
        self.radios.iter().map(|&i| &*self.nodes[i])
    }

    pub(super) fn direction(&self, flow: usize) -> Direction {
        self.flows[flow].direction
    }

    pub(super) fn is_paced(&self, flow: usize) -> bool {
        self.flows[flow].is_paced
    }

    pub(super) fn asks(&self, flow: usize) -> Option<BitRate> {
        self.flows[flow].asks
    }

    pub(super) fn mss(&self, flow: usize) -> u32 {
        self.flows[flow].mss
    }

    pub(super) fn start_ns(&self, flow: usize) -> u64 {
        self.flows[flow].start_ns
    }
}

fn role(world: &World, node: usize) -> Option<Role> {
    world.nodes[node].radio.as_ref().map(|radio| radio.role)
}

fn direction(sides: &Sides, source: NodeId, sink: NodeId) -> Direction {
    match (sides.station(source), sides.station(sink)) {
        (Some(_), None) => Direction::Up,
        (None, Some(_)) => Direction::Down,
        _ => Direction::Other,
    }
}
