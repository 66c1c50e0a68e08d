//! From a scenario to what the simulator runs.

use super::air::{self, Fading, Shadowing, SnrTrace, WayPoint};
use super::expand::{self, Expanded};
use super::medium;
use super::model::{Cell, DelayedAck, Errors, Flow, Scenario, Tcp, Transport};
use super::node::{Kind, Radio};
use super::proxy;
use super::service::Service;
use super::video::Playout;
use fairwave_dot11::Phy;
use fairwave_sim::world;
use fairwave_tcp as tcp;
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
                    traffic: flow.transport.to_world(nodes),
                    proxy: flow.transport.world_proxy(nodes, member),
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

impl Cell {
    /// Its PHY.
    pub fn phy(&self) -> Phy {
        self.generation.phy(self.standard)
    }

    fn to_world(&self) -> world::Cell {
        let mut cell = world::Cell {
            phy: self.phy(),
            frequency: self.frequency,
            path_loss_exponent: self.path_loss_exponent,
            noise_figure: self.noise_figure,
            carrier_sense: self.carrier_sense,
            preamble_detection: self.preamble_detection,
            capture: self.capture,
            errors: match self.errors {
                Errors::Snr => world::ErrorModel::Snr,
                Errors::Rate { data, control } => world::ErrorModel::Rate { data, control },
                Errors::Bursts { p, r, good, bad } => {
                    world::ErrorModel::Bursts(world::GilbertElliott { p, r, good, bad })
                }
                Errors::Slope { middle, width } => {
                    world::ErrorModel::Slope(world::DeliverySlope { middle, width })
                }
            },
            fading: self.fading.as_ref().map(Fading::to_world),
            shadowing: self.shadowing.as_ref().map(Shadowing::to_world),
            rts_threshold: self.rts_threshold,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            beacon_interval: self.beacon_interval,
            ..world::Cell::new(self.phy())
        };
        self.generation.apply(&mut cell);
        cell
    }
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
        let (power, queue) = (self.power, self.queue.0);
        world::Radio {
            cell,
            role,
            position: (x, y),
            path: None,
            snr_trace: None,
            rates: air::rates(&self.rate_control, phy, mode),
            roaming: None,
            power,
            mode,
            queue,
            service: world::Service::default(),
        }
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

impl Transport {
    /// Whether it has remedies that only a handover of the source brings into play.
    pub(super) const fn remedies_at_source(&self) -> bool {
        matches!(self, Self::Rtc(rtc) if rtc.remedies.0)
    }

    /// What its TCP connections are like, if it has some.
    pub(super) const fn connections(&self) -> Option<&Tcp> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::MultiTcp(multi) => Some(&multi.tcp),
            _ => None,
        }
    }

    /// Whether it sends what a viewer can see.
    pub(super) fn has_frames(&self) -> bool {
        self.to_world(&[]).source().is_some()
    }

    fn to_world(&self, nodes: &[Expanded]) -> world::Traffic {
        match self {
            Self::Tcp(tcp) => {
                let flow = tcp.to_world();
                match &tcp.web {
                    None => world::Traffic::Tcp(flow),
                    Some(web) => {
                        let page = web.to_world();
                        world::Traffic::Web(world::WebFlow { tcp: flow, page })
                    }
                }
            }
            Self::Udp(udp) => udp.to_world(),
            Self::Probe(probe) => probe.to_world(),
            Self::Dccp(dccp) => dccp.to_world(),
            Self::Rtc(rtc) => rtc.to_world(),
            Self::Shake(shake) => shake.to_world(|name| id(nodes, name)),
            Self::MultiTcp(multi) => multi.to_world(multi.tcp.to_world(), |name| id(nodes, name)),
        }
    }
}

/// The choices of a stack that was found to exist.
fn stack(name: &str) -> tcp::Config {
    tcp::Profile::find(name).map_or_else(tcp::Config::default, |stack| (stack.config)())
}

impl Tcp {
    fn to_world(&self) -> world::TcpFlow {
        world::TcpFlow {
            sender: self.config(),
            receiver: self.receiver_config(),
            congestion_control: self.congestion_control.clone(),
            size: self.size,
            source: self.video.as_ref().map(|video| video.to_world(self.mss)),
        }
    }

    /// The configuration of the receiving end, without ports.
    fn receiver_config(&self) -> tcp::Config {
        self.receiver_stack.as_ref().map_or_else(|| self.config(), |name| stack(name))
    }

    /// The configuration of the sending end, and of the receiving one unless that has a stack of
    /// its own; without ports.
    pub fn config(&self) -> tcp::Config {
        let base = stack(&self.stack);
        tcp::Config {
            mss: u16::try_from(self.mss).unwrap_or(base.mss),
            send_buffer: self.send_buffer,
            send_buffer_most: self.send_buffer_most,
            receive_buffer: self.receive_buffer,
            receive_buffer_most: self.receive_buffer_most,
            window_scaling: self.window_scaling,
            timestamps: self.timestamps,
            timestamp_tick: self.timestamp_tick,
            sack: self.sack,
            dsack: self.dsack,
            ecn: self.ecn,
            prr: self.prr,
            rack: self.rack,
            eifel: self.eifel,
            frto: self.frto,
            quick_acks: self.quick_acks,
            nagle: self.nagle,
            delayed_ack: match self.delayed_ack {
                DelayedAck::Off => tcp::DelayedAck { every: 1, ..base.delayed_ack },
                DelayedAck::Delayed { every, timeout } => tcp::DelayedAck { every, timeout },
            },
            initial_window_segments: self.initial_window,
            initial_ssthresh: self.initial_ssthresh,
            byte_counting: self.byte_counting,
            av: proxy::aim(self.av.as_deref()),
            duplicate_ack_threshold: self.duplicate_ack_threshold,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
            max_retries: self.max_retries,
            time_wait: self.time_wait,
            ..base
        }
    }
}
