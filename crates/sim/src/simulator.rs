//! Nodes, links, radios and flows, wired together and driven by the event engine.

use crate::deadlines::Deadlines;
use crate::flow::{End, FlowState};
use crate::handover::Announcer;
use crate::line::Line;
use crate::monitor::Watch;
use crate::packet::Packet;
use crate::proxy::Relays;
use crate::radio::{Cell, Port};
use crate::roaming::Roamer;
use crate::routes::{self, Hop, Table};
use crate::soc::Soc;
use crate::world::{Flow, Source, Traffic, World};
use crate::{Error, check};
use fairwave_dot11::AccessCategory;
use fairwave_machine::Machine;
use fairwave_trace::{
    DropCause, DropSample, FlowId, Kind, NodeId, PacketSample, QueueId, Sample, Sink,
};
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// What has a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Actor {
    /// A radio cell.
    Cell(usize),
    /// One direction of a link.
    Line(usize),
    /// A flow's application: start, next datagram, stop.
    Source(usize),
    /// A TCP connection.
    Connection(usize, End),
    /// The sampler.
    Sampler,
    /// The end of the warm-up.
    WarmUp,
    /// A station that roams.
    Roamer(usize),
    /// A station that reports its Strength of Connection.
    Reporter(usize),
    /// An access point that is told.
    SocTable(usize),
    /// An access point that watches its links.
    Monitor(usize),
    /// A queue that holds packets back for a time.
    Gate(usize),
    /// A proxy.
    Relay(usize),
    /// An access point that announces its load.
    Announcer(usize),
    /// The end of a bin of deliveries.
    Bin,
}

pub(crate) struct Simulator<'w> {
    pub(crate) world: &'w World,
    pub(crate) now: Instant,
    pub(crate) deadlines: Deadlines,
    actors: Vec<Actor>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) ports: Vec<Option<Port>>,
    pub(crate) lines: Vec<Line>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) relays: Relays,
    pub(crate) routes: Table,
    pub(crate) roamers: Vec<Roamer>,
    /// Each node's place among the roamers, if it roams.
    pub(crate) roams: Vec<Option<usize>>,
    /// Saturating flows of each node and of each of its queues, in turn.
    pub(crate) saturating: Vec<[VecDeque<usize>; AccessCategory::ALL.len()]>,
    /// Stations that report their Strength of Connection, where there are any.
    pub(crate) soc: Option<Box<Soc>>,
    /// Access points that watch their links.
    pub(crate) monitors: Vec<Watch>,
    /// Access points whose load is asked for.
    pub(crate) announcers: Vec<Announcer>,
    /// Access points whose queues may hold packets back.
    pub(crate) gates: Vec<NodeId>,
    records_drops: bool,
    /// For each node, whether it is tapped; empty where none is.
    tapped: Vec<bool>,
    /// Whether anybody sees whole packets, on the air or at a tap.
    shows_packets: bool,
    /// Radios of all cells.
    radios: usize,
    pub(crate) events: u64,
}

impl<'w> Simulator<'w> {
    pub(crate) fn new(world: &'w World, sink: &dyn Sink) -> Result<Self, Error> {
        check::world(world)?;
        let seed = world.seed;
        let (mut cells, mut ports) = crate::radio::build(world, sink.wants(Kind::Frame));
        let gates = crate::service::agree(world, &mut ports);
        let roamers = crate::radio::seat(world, &mut cells, &mut ports);
        let begin: Vec<_> = roamers.iter().map(|r| (r.node, r.seats[r.seat].ap)).collect();
        let routes = routes::table_with(world, &begin);
        let flows = world.flows.iter().enumerate().map(|(i, flow)| {
            let paced = paced(world, &routes, flow);
            FlowState::new(FlowId(i as u32), flow, paced.as_ref(), seed)
        });
        let flows: Result<Vec<_>, _> = flows.collect();
        let directions = world.links.iter().enumerate().flat_map(|(i, link)| {
            [(0, "forth"), (1, "back")].map(|(way, name)| {
                let stream = |use_of: &str| seed.stream(&format!("link/{i}/{name}{use_of}"));
                Line::new(link, way, stream(""), stream("/bursts"))
            })
        });
        let mut simulator = Self {
            world,
            now: Instant::ZERO,
            deadlines: Deadlines::new(0),
            actors: Vec::new(),
            cells,
            ports,
            lines: directions.collect(),
            flows: flows?,
            relays: Relays::new(world),
            routes,
            roams: places(&roamers, world.nodes.len()),
            roamers,
            saturating: vec![Default::default(); world.nodes.len()],
            soc: Soc::new(world).map(Box::new),
            monitors: Watch::all(world),
            announcers: Announcer::all(world),
            gates,
            records_drops: sink.wants(Kind::Drop),
            shows_packets: sink.wants(Kind::Frame) || !tapped(world, sink).is_empty(),
            tapped: tapped(world, sink),
            radios: world.nodes.iter().filter(|node| node.radio.is_some()).count(),
            events: 0,
        };
        if simulator.shows_packets {
            simulator.flows.iter_mut().for_each(FlowState::show_contents);
        }
        simulator.actors = simulator.list_actors();
        debug_assert!(simulator.actors.iter().zip(0..).all(|(&a, i)| simulator.number(a) == i));
        simulator.deadlines = Deadlines::new(simulator.actors.len());
        simulator.set_first_deadlines(sink);
        Ok(simulator)
    }

    fn list_actors(&self) -> Vec<Actor> {
        let flows = 0..self.flows.len();
        let cells = (0..self.cells.len()).map(Actor::Cell);
        let lines = (0..self.lines.len()).map(Actor::Line);
        let sources = flows.clone().map(Actor::Source);
        let ends = flows
            .flat_map(|f| [Actor::Connection(f, End::Source), Actor::Connection(f, End::Sink)]);
        let rest = [Actor::Sampler, Actor::WarmUp];
        let roamers = (0..self.roamers.len()).map(Actor::Roamer);
        let soc = self.soc.as_deref();
        let reporters = (0..soc.map_or(0, Soc::reporters)).map(Actor::Reporter);
        let tables = (0..soc.map_or(0, Soc::tables)).map(Actor::SocTable);
        let soc = reporters.chain(tables);
        let announcers = (0..self.announcers.len()).map(Actor::Announcer);
        let relays = (0..self.relays.len()).map(Actor::Relay);
        let relays = relays.chain(announcers).chain([Actor::Bin]);
        let models = cells.chain(lines).chain(sources).chain(ends);
        let monitors = (0..self.monitors.len()).map(Actor::Monitor);
        let gates = (0..self.gates.len()).map(Actor::Gate);
        let soc = soc.chain(gates).chain(monitors);
        models.chain(rest).chain(roamers).chain(soc).chain(relays).collect()
    }

    /// The actor's number in the engine: the position in `list_actors`.
    fn number(&self, actor: Actor) -> u32 {
        let (cells, lines, flows) = (self.cells.len(), self.lines.len(), self.flows.len());
        let last = self.actors.len() - 1;
        let number = match actor {
            Actor::Cell(i) => i,
            Actor::Line(i) => cells + i,
            Actor::Source(i) => cells + lines + i,
            Actor::Connection(i, end) => cells + lines + flows + 2 * i + end as usize,
            Actor::Sampler => cells + lines + 3 * flows,
            Actor::WarmUp => cells + lines + 3 * flows + 1,
            Actor::Roamer(i) => cells + lines + 3 * flows + 2 + i,
            Actor::Reporter(i) => cells + lines + 3 * flows + 2 + self.roamers.len() + i,
            Actor::SocTable(i) => {
                let reporters = self.soc.as_deref().map_or(0, Soc::reporters);
                cells + lines + 3 * flows + 2 + self.roamers.len() + reporters + i
            }
            Actor::Monitor(i) => {
                last - self.announcers.len() - self.relays.len() - self.monitors.len() + i
            }
            Actor::Gate(i) => {
                let behind = self.announcers.len() + self.relays.len() + self.monitors.len();
                last - behind - self.gates.len() + i
            }
            Actor::Relay(i) => last - self.announcers.len() - self.relays.len() + i,
            Actor::Announcer(i) => last - self.announcers.len() + i,
            Actor::Bin => last,
        };
        number as u32
    }

    pub(crate) fn set_deadline(&mut self, actor: Actor, deadline: Option<Instant>) {
        self.deadlines.set(self.number(actor), deadline);
    }

    fn set_first_deadlines(&mut self, sink: &dyn Sink) {
        for i in 0..self.flows.len() {
            self.set_deadline(Actor::Source(i), self.flows[i].source_deadline());
        }
        for i in 0..self.cells.len() {
            self.set_deadline(Actor::Cell(i), self.cells[i].channel.deadline());
        }
        for i in 0..self.lines.len() {
            self.set_deadline(Actor::Line(i), self.lines[i].deadline());
        }
        let kinds = [Kind::Flow, Kind::Queue, Kind::Station, Kind::Soc, Kind::Path];
        let sampled = kinds.into_iter().any(|kind| sink.wants(kind));
        if sampled && !self.world.sample_every.is_zero() {
            self.set_deadline(Actor::Sampler, Some(Instant::ZERO + self.world.sample_every));
        }
        self.set_deadline(Actor::WarmUp, Some(Instant::ZERO + self.world.warm_up));
        for i in 0..self.announcers.len() {
            let first = self.announcers[i].first_deadline();
            self.set_deadline(Actor::Announcer(i), Some(first));
        }
        let bin = self.world.bins.filter(|bin| !bin.is_zero());
        self.set_deadline(Actor::Bin, bin.map(|bin| Instant::ZERO + bin));
    }

    /// The next actor whose time comes at or before `end`; moves virtual time there.
    pub(crate) fn advance(&mut self, end: Instant) -> Option<Actor> {
        let (at, number) = self.deadlines.first().filter(|(at, _)| *at <= end)?;
        debug_assert!(at >= self.now, "{at} is before {}", self.now);
        self.now = at;
        self.events += 1;
        Some(self.actors[number as usize])
    }

    /// Lets a model's actor do what is due.
    pub(crate) fn act(&mut self, actor: Actor, sink: &mut dyn Sink) {
        match actor {
            Actor::Cell(cell) => self.run_cell(cell, sink),
            Actor::Line(line) => self.run_line(line, sink),
            Actor::Source(flow) => self.run_source(flow, sink),
            Actor::Connection(flow, end) => {
                self.flows[flow].wake(end, self.now);
                self.flush_after(flow, end, sink);
            }
            Actor::Roamer(i) => self.run_roamer(i, sink),
            Actor::Reporter(i) => self.run_reporter(i, sink),
            Actor::SocTable(i) => self.run_soc_table(i, sink),
            Actor::Monitor(i) => self.run_monitor(i, sink),
            Actor::Gate(i) => self.run_gate(i, sink),
            Actor::Relay(i) => self.run_relay(i, sink),
            Actor::Announcer(i) => self.run_announcer(i),
            Actor::Sampler | Actor::WarmUp | Actor::Bin => {}
        }
    }

    /// Sends what a connection has to send and sets its deadline.
    fn flush(&mut self, flow: usize, end: End, sink: &mut dyn Sink) {
        let spec = &self.world.flows[flow];
        let node = if end == End::Source { spec.source } else { spec.sink };
        while let Some(packet) = self.flows[flow].poll(end, self.now) {
            if self.shows_packets
                && let Some(contents) = self.flows[flow].last_contents(end, &packet)
            {
                sink.note_contents(&packet.datagram, contents);
            }
            self.forward(node, packet, sink);
        }
        let deadline = self.flows[flow].deadline(end);
        self.set_deadline(Actor::Connection(flow, end), deadline);
    }

    /// [`Self::flush`], and the rest of a flow whose application connects its two ends.
    pub(crate) fn flush_after(&mut self, flow: usize, end: End, sink: &mut dyn Sink) {
        self.flush(flow, end, sink);
        if self.flows[flow].is_entangled() {
            let other = if end == End::Source { End::Sink } else { End::Source };
            self.flush(flow, other, sink);
            let deadline = self.flows[flow].source_deadline();
            self.set_deadline(Actor::Source(flow), deadline);
        }
    }

    /// A packet is at `node`: hands it up, to a proxy, or on to the next hop.
    pub(crate) fn forward(&mut self, node: NodeId, mut packet: Packet, sink: &mut dyn Sink) {
        if node == packet.destination {
            let flow = packet.flow.0 as usize;
            let end = self.flows[flow].receive(node, &packet, self.now);
            return self.flush_after(flow, end, sink);
        }
        if node == packet.via {
            packet.via = packet.destination;
        }
        if let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) {
            flow.passes(&packet, node);
        }
        match self.relay_at(node, packet.flow) {
            Some(relay) => self.relay(relay, &packet, sink),
            None => self.send(node, packet, sink),
        }
    }

    /// Sends a packet from `node` to the next hop.
    pub(crate) fn send(&mut self, node: NodeId, mut packet: Packet, sink: &mut dyn Sink) {
        match self.routes[node.0 as usize][packet.via.0 as usize] {
            Some(Hop::Line(line)) => {
                if let Some(port) = &mut self.ports[node.0 as usize] {
                    port.queue.beside(&mut packet, self.now);
                }
                self.tap(node, &packet, sink);
                self.lines[line].handle(self.now, packet);
                self.after_line(line, sink);
            }
            Some(Hop::Radio(next)) => {
                if node == packet.source {
                    self.tap(node, &packet, sink);
                }
                self.send_by_radio(node, next, packet, sink);
            }
            None => self.lost(node, &packet, sink),
        }
    }

    /// Shows a packet that leaves or reaches `node` to who taps it.
    pub(crate) fn tap(&self, node: NodeId, packet: &Packet, sink: &mut dyn Sink) {
        if self.tapped.get(node.0 as usize) == Some(&true) {
            let (ends, datagram) = ((packet.source, packet.via), packet.datagram);
            sink.record(self.now, &Sample::Packet(PacketSample { node, ends, datagram }));
        }
    }

    /// No way leads on from `node`, as a station's access point is not joined to the rest.
    fn lost(&mut self, node: NodeId, packet: &Packet, sink: &mut dyn Sink) {
        let radio = self.ports[node.0 as usize].as_ref().map(|port| port.queue_id);
        let leads_off = |line: &usize| {
            let (a, b) = self.world.links[line / 2].ends;
            node == if line.is_multiple_of(2) { a } else { b }
        };
        let line = || (0..self.lines.len()).find(leads_off).map(|line| self.line_queue(line));
        if let Some(queue) = radio.or_else(line) {
            self.dropped(packet, queue, DropCause::NoRoute, sink);
        }
    }

    fn run_line(&mut self, line: usize, sink: &mut dyn Sink) {
        self.lines[line].wake(self.now);
        while let Some(packet) = self.lines[line].poll(self.now) {
            let (a, b) = self.world.links[line / 2].ends;
            let node = if line.is_multiple_of(2) { b } else { a };
            self.tap(node, &packet, sink);
            self.forward(node, packet, sink);
        }
        self.after_line(line, sink);
    }

    /// Reports a line's losses and sets its deadline.
    fn after_line(&mut self, line: usize, sink: &mut dyn Sink) {
        while let Some((packet, cause)) = self.lines[line].event() {
            self.dropped(&packet, self.line_queue(line), cause, sink);
        }
        let deadline = self.lines[line].deadline();
        self.set_deadline(Actor::Line(line), deadline);
    }

    /// Starts, continues or stops a flow's application.
    fn run_source(&mut self, flow: usize, sink: &mut dyn Sink) {
        let node = self.world.flows[flow].source;
        self.flows[flow].wake_source(self.now);
        if self.flows[flow].saturates {
            self.saturate(node, flow, sink);
        } else {
            while let Some(packet) = self.flows[flow].next_datagram(self.now) {
                self.forward(node, packet, sink);
            }
        }
        self.flush_after(flow, End::Source, sink);
        let deadline = self.flows[flow].source_deadline();
        self.set_deadline(Actor::Source(flow), deadline);
    }

    /// A saturating source over a radio starts or stops. From then on the queue is filled whenever
    /// a frame leaves it.
    fn saturate(&mut self, node: NodeId, flow: usize, sink: &mut dyn Sink) {
        let category = self.world.flows[flow].category;
        let Some(port) = &self.ports[node.0 as usize] else { return };
        let saturating = &mut self.saturating[node.0 as usize][port.queue.class(category)];
        if self.flows[flow].has_stopped() {
            saturating.retain(|f| *f != flow);
        } else if !saturating.contains(&flow) {
            saturating.push_back(flow);
            self.refill(node, sink);
        }
    }

    /// A packet ended before its destination.
    pub(crate) fn dropped(
        &mut self,
        packet: &Packet,
        queue: QueueId,
        cause: DropCause,
        sink: &mut dyn Sink,
    ) {
        if let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) {
            match cause {
                DropCause::AckFiltered => flow.acks_filtered += 1,
                _ if packet.is_pure_ack() => flow.acks_dropped += 1,
                _ => {}
            }
            // A radio that gives up does not know: the simulator tells the flow by itself.
            if cause != DropCause::RetryLimit {
                flow.dropped(packet);
            }
        }
        if self.records_drops {
            let flow = (!packet.is_report()).then_some(packet.flow);
            let datagram = packet.datagram;
            sink.record(self.now, &Sample::Drop(DropSample { queue, cause, flow, datagram }));
        }
    }

    /// Number of a line's queue: after the radios, in order.
    fn line_queue(&self, line: usize) -> QueueId {
        QueueId((self.radios + line) as u32)
    }
}

/// For each node, whether `sink` taps it; empty where it taps none.
fn tapped(world: &World, sink: &dyn Sink) -> Vec<bool> {
    let nodes = (0..world.nodes.len()).map(|node| sink.taps(NodeId(node as u32)));
    let tapped: Vec<bool> = nodes.collect();
    if tapped.contains(&true) { tapped } else { Vec::new() }
}

/// Each node's place among the roamers, if it roams.
fn places(roamers: &[Roamer], nodes: usize) -> Vec<Option<usize>> {
    let mut places = vec![None; nodes];
    for (i, roamer) in roamers.iter().enumerate() {
        places[roamer.node.0 as usize] = Some(i);
    }
    places
}

/// What a saturating source sends whose first hop is a link: datagrams at the link's rate.
fn paced(world: &World, routes: &Table, flow: &Flow) -> Option<Source> {
    let Traffic::Saturate { payload_bytes } = flow.traffic else { return None };
    match routes[flow.source.0 as usize][flow.sink.0 as usize] {
        Some(Hop::Line(line)) => {
            let wire_bytes = u64::from(payload_bytes) + IPV4_UDP_BYTES;
            let rate = world.links[line / 2].greatest_rate().expect("worlds are checked");
            let interval = rate.time_for(wire_bytes).max(ONE_NANOSECOND);
            Some(Source::Cbr { payload_bytes, interval })
        }
        _ => None,
    }
}

/// Headers of a UDP datagram over IPv4 without options.
const IPV4_UDP_BYTES: u64 = 28;

/// A saturating source over an infinitely fast link must still let time pass.
const ONE_NANOSECOND: Duration = Duration::from_nanos(1);
