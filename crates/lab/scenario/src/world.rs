//! Conversion of a scenario to the simulator's inputs.

use super::air::{SnrTrace, WayPoint};
use super::cell::Cell;
use super::expand::{self, Expanded};
use super::flow::Flow;
use super::medium;
use super::model::Scenario;
use super::node::{Kind, Radio};
use super::phy::CONSTANT;
use super::queue::Queue;
use super::service::Service;
use super::video::Playout;
use fairwave_cc::Chosen;
use fairwave_dot11::{Mode, Phy, rate_control};
use fairwave_queue::Spec;
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::{Duration, Instant, Metres, Seed};
use std::collections::BTreeSet;

impl Scenario {
    /// The world of this scenario with `seed` as its master seed. Groups and patterns are
    /// written out, and start times drawn.
    pub fn to_world(&self, seed: u64) -> world::World {
        let nodes = expand::nodes(self);
        let mut world = world::World {
            seed: Seed(seed),
            duration: self.duration,
            warm_up: self.warm_up,
            sample_every: self.record.sample_every,
            bins: self.record.bins,
            cells: self.cell.iter().map(Cell::to_world).collect(),
            links: self.links(&nodes),
            flows: self.flows(&nodes, Seed(seed)),
            soc: self.soc(&nodes),
            monitors: self.monitors(&nodes),
            nodes: nodes.iter().map(|node| self.world_node(&nodes, node)).collect(),
        };
        medium::share(self, &mut world);
        world
    }

    /// The nodes whose packets are to be captured, each once.
    pub fn tapped(&self) -> Vec<NodeId> {
        let nodes = expand::nodes(self);
        let taps = self.record.taps.iter();
        let tapped: BTreeSet<usize> = taps.flat_map(|tap| expand::matching(&nodes, tap)).collect();
        tapped.into_iter().map(|node| NodeId(node as u32)).collect()
    }

    /// Whether a part of it has an algorithm from outside. Its text then does not suffice to repeat
    /// a run.
    pub fn has_own_algorithms(&self) -> bool {
        let is_own = |chosen: &Chosen| matches!(chosen, Chosen::Own(_));
        let has_own = |queue: &Queue| matches!(queue.0, Spec::Own(_));
        let on_air = self.node.iter().filter_map(|node| node.kind.radio()).any(|radio| {
            matches!(radio.rate_control, rate_control::Chosen::Own(_)) || has_own(&radio.queue)
        });
        let on_wire =
            self.link.iter().any(|link| has_own(&link.queue) || has_own(&link.queue_back));
        let in_flows = self.flow.iter().any(|flow| {
            let tcp = flow.transport.connections().map(|tcp| &tcp.congestion_control);
            let proxy = flow.transport.proxy().map(|proxy| &proxy.congestion_control);
            tcp.into_iter().chain(proxy).any(is_own)
        });
        on_air || on_wire || in_flows
    }

    fn world_node(&self, nodes: &[Expanded], node: &Expanded) -> world::Node {
        let cell_of = |name: &str| self.cell.iter().position(|c| c.name == name).unwrap_or(0);
        let radio = match &self.node[node.group].kind {
            Kind::Host(_) => None,
            Kind::AccessPoint(ap) => {
                let role = world::Role::AccessPoint;
                let cell = cell_of(&ap.cell);
                Some(ap.radio.to_world(cell, self.cell[cell].phy(), role, ap.position))
            }
            Kind::Station(station) | Kind::Converter(station) => {
                let (centre, cell) = expand::access_points(self)
                    .find(|(node, _)| node.name == station.ap)
                    .map_or(([Metres(0.0); 2], ""), |(_, ap)| (ap.position, &ap.cell));
                let role = world::Role::Station { ap: id(nodes, &station.ap) };
                let position = expand::position(self, node, station, centre);
                let (cell, radio) = (cell_of(cell), &station.radio);
                let radio = radio.to_world(cell, self.cell[cell].phy(), role, position);
                let id = |name: &str| id(nodes, name);
                Some(world::Radio {
                    path: WayPoint::path(&station.path),
                    snr_trace: station.snr_trace.as_ref().and_then(SnrTrace::to_world),
                    service: station.service.as_ref().map(Service::to_world).unwrap_or_default(),
                    roaming: station.roaming.as_ref().map(|roaming| roaming.to_world(id)),
                    ..radio
                })
            }
        };
        world::Node { name: node.name.clone(), radio }
    }

    /// Access points, each with its cell.
    fn aps<'a>(&'a self, nodes: &'a [Expanded]) -> impl Iterator<Item = (NodeId, &'a Cell)> {
        let ids = (0u32..).map(NodeId);
        ids.zip(nodes).filter_map(|(id, node)| match &self.node[node.group].kind {
            Kind::AccessPoint(ap) => Some((id, self.cell.iter().find(|c| c.name == ap.cell)?)),
            _ => None,
        })
    }

    /// The access points of cells with the key `soc`.
    fn soc(&self, nodes: &[Expanded]) -> Vec<world::Soc> {
        let soc = |(id, cell): (NodeId, &Cell)| Some(cell.soc.as_ref()?.to_world(id));
        self.aps(nodes).filter_map(soc).collect()
    }

    /// Likewise with the key `link_monitor`.
    fn monitors(&self, nodes: &[Expanded]) -> Vec<world::LinkMonitor> {
        let monitor = |(ap, cell): (NodeId, &Cell)| {
            let monitor = cell.link_monitor.as_ref()?.to_world();
            Some(world::LinkMonitor { ap, monitor })
        };
        self.aps(nodes).filter_map(monitor).collect()
    }

    fn links(&self, nodes: &[Expanded]) -> Vec<world::Link> {
        let link = |(i, (a, b)): (usize, (usize, usize))| {
            self.link[i].to_world((NodeId(a as u32), NodeId(b as u32)))
        };
        expand::links(self, nodes).into_iter().map(link).collect()
    }

    fn flows(&self, nodes: &[Expanded], seed: Seed) -> Vec<world::Flow> {
        let mut flows = Vec::new();
        for flow in &self.flow {
            for (member, (name, source, sink)) in expand::pairs(nodes, flow).into_iter().enumerate()
            {
                let start = flow.draw_start(&name, seed);
                flows.push(world::Flow {
                    name,
                    source: NodeId(source as u32),
                    sink: NodeId(sink as u32),
                    start,
                    stop: flow.stop.map(|stop| Instant::ZERO + stop),
                    category: flow.category,
                    traffic: flow.transport.to_world(&|name| id(nodes, name)),
                    proxy: proxy(nodes, flow, member),
                    playout: flow.playout.map(Playout::to_world),
                });
            }
        }
        flows
    }
}

/// The index of a node that [`super::check`] has found to exist.
fn id(nodes: &[Expanded], name: &str) -> NodeId {
    NodeId(nodes.iter().position(|n| n.name == name).unwrap_or(0) as u32)
}

/// The proxy of the `member`th of the flows that a pattern makes.
fn proxy(nodes: &[Expanded], flow: &Flow, member: usize) -> Option<world::Proxy> {
    let proxy = flow.transport.proxy()?;
    let there = expand::matching(nodes, &proxy.at);
    let member = if proxy.at.ends_with('*') { member } else { 0 };
    proxy.to_world(NodeId(*there.get(member)? as u32))
}

impl Radio {
    fn to_world(
        &self,
        cell: usize,
        phy: Phy,
        role: world::Role,
        [x, y]: [Metres; 2],
    ) -> world::Radio {
        let mode = self.rate.mode(phy);
        let (power, queue) = (self.power, self.queue.0.clone());
        world::Radio {
            cell,
            role,
            position: (x, y),
            path: None,
            snr_trace: None,
            rates: self.rates(phy),
            capabilities: self.rate.capabilities(phy),
            roaming: None,
            power,
            mode,
            queue,
            service: world::Service::default(),
        }
    }

    /// Rate control; `None` if it sends everything in one mode.
    fn rates(&self, phy: Phy) -> Option<world::RateChoice> {
        let algorithm = self.rate_control.clone();
        let initial = self.rate.named(phy);
        self.fixed(phy).is_none().then_some(world::RateChoice { algorithm, initial })
    }

    /// Returns the mode of all its data frames, if that is the same for every receiver: the one
    /// set, or the highest where receivers have the same capabilities, which is before 802.11n.
    pub(super) fn fixed(&self, phy: Phy) -> Option<Mode> {
        let highest = || (!phy.is_qos()).then(|| self.rate.mode(phy));
        self.rate.named(phy).or_else(highest).filter(|_| self.rate_control.name() == CONSTANT)
    }
}

impl Flow {
    /// The start of the flow called `name`, from that flow's own random stream.
    fn draw_start(&self, name: &str, seed: Seed) -> Instant {
        let spread = self.start_spread.as_nanos();
        let later = seed.stream(&format!("start/{name}")).below(spread + 1);
        Instant::ZERO + self.start + Duration::from_nanos(later)
    }
}
