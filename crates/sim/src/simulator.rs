//! Nodes, links, radios and flows, wired together and driven by the event engine.

use crate::deadlines::Deadlines;
use crate::flow::{End, FlowState};
use crate::line::Line;
use crate::packet::{Packet, Queued};
use crate::radio::{Cell, Port};
use crate::roaming::Roamer;
use crate::routes::{self, Hop, Table};
use crate::world::{Flow, Source, Traffic, World};
use crate::{Error, check};
use fairwave_dot11::channel::{Fate, Input, Output, RadioId};
use fairwave_machine::Machine;
use fairwave_trace::{DropCause, DropSample, FlowId, Kind, NodeId, QueueId, Sample, Sink};
use fairwave_units::{Duration, Instant};

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
}

/// How many packets a saturating source keeps in its radio's queue.
const SATURATION_DEPTH: u32 = 2;

pub(crate) struct Simulator<'w> {
    pub(crate) world: &'w World,
    pub(crate) now: Instant,
    pub(crate) deadlines: Deadlines,
    actors: Vec<Actor>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) ports: Vec<Option<Port>>,
    pub(crate) lines: Vec<Line>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) routes: Table,
    pub(crate) roamers: Vec<Roamer>,
    /// Saturating flows of each node, in turn.
    saturating: Vec<Vec<usize>>,
    records_drops: bool,
    /// Radios of all cells.
    radios: usize,
    pub(crate) events: u64,
}

impl<'w> Simulator<'w> {
    pub(crate) fn new(world: &'w World, sink: &dyn Sink) -> Result<Self, Error> {
        check::world(world)?;
        let seed = world.seed;
        let (mut cells, mut ports) = crate::radio::build(world, sink.wants(Kind::Frame));
        let roamers = crate::radio::seat(world, &mut cells, &mut ports);
        let begin: Vec<_> = roamers.iter().map(|r| (r.node, r.seats[r.seat].ap)).collect();
        let routes = routes::table_with(world, &begin);
        let flows = world.flows.iter().enumerate().map(|(i, flow)| {
            let paced = paced(world, &routes, flow);
            FlowState::new(FlowId(i as u32), flow, paced.as_ref(), seed)
        });
        let flows: Result<Vec<_>, _> = flows.collect();
        let directions = world.links.iter().enumerate().flat_map(|(i, link)| {
            ["forth", "back"].map(|way| Line::new(link, seed.stream(&format!("link/{i}/{way}"))))
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
            routes,
            roamers,
            saturating: vec![Vec::new(); world.nodes.len()],
            records_drops: sink.wants(Kind::Drop),
            radios: world.nodes.iter().filter(|node| node.radio.is_some()).count(),
            events: 0,
        };
        simulator.actors = simulator.list_actors();
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
        cells.chain(lines).chain(sources).chain(ends).chain(rest).chain(roamers).collect()
    }

    /// The actor's number in the engine: the position in `list_actors`.
    fn number(&self, actor: Actor) -> u32 {
        let (cells, lines, flows) = (self.cells.len(), self.lines.len(), self.flows.len());
        let number = match actor {
            Actor::Cell(i) => i,
            Actor::Line(i) => cells + i,
            Actor::Source(i) => cells + lines + i,
            Actor::Connection(i, end) => cells + lines + flows + 2 * i + end as usize,
            Actor::Sampler => cells + lines + 3 * flows,
            Actor::WarmUp => cells + lines + 3 * flows + 1,
            Actor::Roamer(i) => cells + lines + 3 * flows + 2 + i,
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
        let sampled = [Kind::Flow, Kind::Queue, Kind::Station].into_iter().any(|k| sink.wants(k));
        if sampled && !self.world.sample_every.is_zero() {
            self.set_deadline(Actor::Sampler, Some(Instant::ZERO + self.world.sample_every));
        }
        self.set_deadline(Actor::WarmUp, Some(Instant::ZERO + self.world.warm_up));
    }

    /// The next actor whose time comes at or before `end`; moves virtual time there.
    pub(crate) fn advance(&mut self, end: Instant) -> Option<Actor> {
        let (at, number) = self.deadlines.first().filter(|(at, _)| *at <= end)?;
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
            Actor::Sampler | Actor::WarmUp => {}
        }
    }

    /// Sends what a connection has to send and sets its deadline.
    fn flush(&mut self, flow: usize, end: End, sink: &mut dyn Sink) {
        let spec = &self.world.flows[flow];
        let node = if end == End::Source { spec.source } else { spec.sink };
        while let Some(packet) = self.flows[flow].poll(end, self.now) {
            self.forward(node, packet, sink);
        }
        let deadline = self.flows[flow].deadline(end);
        self.set_deadline(Actor::Connection(flow, end), deadline);
    }

    /// [`Self::flush`], and the rest of a flow whose application connects its two ends.
    fn flush_after(&mut self, flow: usize, end: End, sink: &mut dyn Sink) {
        self.flush(flow, end, sink);
        if self.flows[flow].is_entangled() {
            let other = if end == End::Source { End::Sink } else { End::Source };
            self.flush(flow, other, sink);
            let deadline = self.flows[flow].source_deadline();
            self.set_deadline(Actor::Source(flow), deadline);
        }
    }

    /// A packet is at `node`: hands it up, or on to the next hop.
    pub(crate) fn forward(&mut self, node: NodeId, mut packet: Packet, sink: &mut dyn Sink) {
        if node == packet.destination {
            let flow = packet.flow.0 as usize;
            let end = self.flows[flow].receive(node, &packet, self.now);
            return self.flush_after(flow, end, sink);
        }
        match self.routes[node.0 as usize][packet.destination.0 as usize] {
            Some(Hop::Line(line)) => {
                if let Some(port) = &mut self.ports[node.0 as usize] {
                    port.queue.beside(&mut packet, self.now);
                }
                self.lines[line].handle(self.now, packet);
                self.after_line(line, sink);
            }
            Some(Hop::Radio(next)) => self.send_by_radio(node, next, packet, sink),
            None => self.lost(node, &packet, sink),
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
            self.forward(if line.is_multiple_of(2) { b } else { a }, packet, sink);
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

    /// The roamer of a node that is between two access points.
    fn away(&self, node: NodeId) -> Option<usize> {
        self.roamers.iter().position(|roamer| roamer.node == node && roamer.is_away())
    }

    /// Queues a packet at a radio; a free radio takes it at once.
    fn send_by_radio(&mut self, node: NodeId, next: NodeId, packet: Packet, sink: &mut dyn Sink) {
        if let Some(i) = self.away(next) {
            return self.hold(i, packet, sink);
        }
        let port = self.ports[node.0 as usize].as_mut().expect("routes lead over radios only");
        let cell = port.cell;
        let queued = Queued { packet, receiver: next.0 };
        if !port.is_present
            || !port.queue.is_empty()
            || !self.cells[cell].channel.is_ready(port.radio)
        {
            port.queue.push(queued, self.now);
        } else if let Some(queued) = port.queue.pass(queued, self.now) {
            self.transmit(node, queued);
            self.after_cell(cell);
        }
        self.report_dropped(node, sink);
    }

    /// Reports what the queue of a node's radio dropped.
    fn report_dropped(&mut self, node: NodeId, sink: &mut dyn Sink) {
        let mut port = self.ports[node.0 as usize].as_mut();
        while let Some((queue, (packet, cause))) =
            port.and_then(|port| Some((port.queue_id, port.queue.dropped()?)))
        {
            self.dropped(&packet, queue, cause, sink);
            port = self.ports[node.0 as usize].as_mut();
        }
    }

    fn transmit(&mut self, node: NodeId, Queued { packet, mut receiver }: Queued) {
        if let Some(roamer) = self.roamer_of(node) {
            receiver = roamer.seats[roamer.seat].ap.0;
        }
        let port = self.ports[node.0 as usize].as_ref().expect("only radios transmit");
        let to = self.ports[receiver as usize].as_ref().map(|next| next.radio);
        let mpdu = port.mpdu(to, packet);
        self.cells[port.cell].channel.handle(self.now, Input::Send(port.radio, mpdu));
    }

    fn run_cell(&mut self, cell: usize, sink: &mut dyn Sink) {
        self.cells[cell].channel.wake(self.now);
        self.drain_cell(cell, sink);
        self.report_frames(cell, sink);
        self.after_cell(cell);
    }

    /// Handles what came out of a channel. New frames handed in meanwhile bring no new outputs
    /// before time moves on.
    fn drain_cell(&mut self, cell: usize, sink: &mut dyn Sink) {
        while let Some(output) = self.cells[cell].channel.poll(self.now) {
            match output {
                Output::Deliver { to, from, payload } => {
                    let node = self.cells[cell].nodes[to.0 as usize];
                    self.charge_received(cell, from, node, &payload);
                    self.forward(node, payload, sink);
                }
                Output::Done { radio, payload, fate } => {
                    self.radio_done(cell, radio, &payload, fate, sink);
                }
            }
        }
    }

    fn radio_done(
        &mut self,
        cell: usize,
        radio: RadioId,
        packet: &Packet,
        fate: Fate,
        sink: &mut dyn Sink,
    ) {
        let node = self.cells[cell].nodes[radio.0 as usize];
        if fate == Fate::RetryLimit {
            let port = self.ports[node.0 as usize].as_mut().expect("a radio has a port");
            port.queue.count_drop(DropCause::RetryLimit);
            let queue = port.queue_id;
            self.dropped(packet, queue, DropCause::RetryLimit, sink);
        }
        self.charge_sent(cell, radio, node, packet);
        self.send_next(node, sink);
    }

    /// Gives a radio that is free its next frame.
    pub(crate) fn send_next(&mut self, node: NodeId, sink: &mut dyn Sink) {
        self.refill(node, sink);
        let port = self.ports[node.0 as usize].as_ref().expect("a radio has a port");
        if !port.is_present || !self.cells[port.cell].channel.is_ready(port.radio) {
            return;
        }
        let own = self.roamer_of(node).and_then(Roamer::next_own);
        let queue = self.ports[node.0 as usize].as_mut().map(|port| &mut port.queue);
        if let Some(next) = own.or_else(|| queue.and_then(|queue| queue.pop(self.now))) {
            self.transmit(node, next);
        }
        self.report_dropped(node, sink);
    }

    /// Tells a queue that shares out airtime what a frame, retries included, took.
    fn charge_sent(&mut self, cell: usize, radio: RadioId, node: NodeId, packet: &Packet) {
        let port = self.ports[node.0 as usize].as_mut().expect("a radio has a port");
        let hop = self.routes[node.0 as usize][packet.destination.0 as usize];
        if let (true, Some(Hop::Radio(next))) = (port.counts_airtime(), hop) {
            port.charge_sent(next, self.cells[cell].channel.stats(radio).airtime);
        }
    }

    /// Likewise what a reception took; of its retries the receiver knows nothing.
    fn charge_received(&mut self, cell: usize, from: RadioId, at: NodeId, packet: &Packet) {
        if !self.ports[at.0 as usize].as_ref().is_some_and(Port::counts_airtime) {
            return;
        }
        let sender = self.cells[cell].nodes[from.0 as usize];
        let port = self.ports[sender.0 as usize].as_ref().expect("only radios transmit");
        let airtime = port.tx_time(self.world.cells[cell].phy, packet);
        let port = self.ports[at.0 as usize].as_mut().expect("a radio has a port");
        port.queue.charge(sender.0, airtime);
    }

    pub(crate) fn after_cell(&mut self, cell: usize) {
        let deadline = self.cells[cell].channel.deadline();
        self.set_deadline(Actor::Cell(cell), deadline);
    }

    /// Starts, continues or stops a flow's application.
    fn run_source(&mut self, flow: usize, sink: &mut dyn Sink) {
        let node = self.world.flows[flow].source;
        self.flows[flow].wake_source(self.now);
        if self.is_saturating(flow) {
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

    /// Whether a flow keeps a radio's queue from being empty.
    fn is_saturating(&self, flow: usize) -> bool {
        let spec = &self.world.flows[flow];
        let over_radio = || {
            let hop = self.routes[spec.source.0 as usize][spec.sink.0 as usize];
            matches!(hop, Some(Hop::Radio(_)))
        };
        matches!(spec.traffic, Traffic::Saturate { .. }) && over_radio()
    }

    /// A saturating source over a radio starts or stops. From then on the queue is filled whenever
    /// a frame leaves it.
    fn saturate(&mut self, node: NodeId, flow: usize, sink: &mut dyn Sink) {
        let saturating = &mut self.saturating[node.0 as usize];
        if self.flows[flow].has_stopped() {
            saturating.retain(|f| *f != flow);
        } else if !saturating.contains(&flow) {
            saturating.push(flow);
            self.refill(node, sink);
        }
    }

    /// Brings the queue of a radio with saturating flows to its depth, the flows in turn.
    fn refill(&mut self, node: NodeId, sink: &mut dyn Sink) {
        let index = node.0 as usize;
        let mut tries = 2 * self.saturating[index].len();
        while tries > 0
            && self.ports[index].as_ref().is_some_and(|port| port.queue.len() < SATURATION_DEPTH)
        {
            let flow = self.saturating[index].remove(0);
            self.saturating[index].push(flow);
            if let Some(packet) = self.flows[flow].next_datagram(self.now) {
                self.forward(node, packet, sink);
            }
            tries -= 1;
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
        if packet.is_pure_ack() {
            let flow = &mut self.flows[packet.flow.0 as usize];
            match cause {
                DropCause::AckFiltered => flow.acks_filtered += 1,
                _ => flow.acks_dropped += 1,
            }
        }
        if self.records_drops {
            let (flow, datagram) = (Some(packet.flow), packet.datagram);
            sink.record(self.now, &Sample::Drop(DropSample { queue, cause, flow, datagram }));
        }
    }

    /// Number of a line's queue: after the radios, in order.
    fn line_queue(&self, line: usize) -> QueueId {
        QueueId((self.radios + line) as u32)
    }
}

/// What a saturating source sends whose first hop is a link: datagrams at the link's rate.
fn paced(world: &World, routes: &Table, flow: &Flow) -> Option<Source> {
    let Traffic::Saturate { payload_bytes } = flow.traffic else { return None };
    match routes[flow.source.0 as usize][flow.sink.0 as usize] {
        Some(Hop::Line(line)) => {
            let wire_bytes = u64::from(payload_bytes) + IPV4_UDP_BYTES;
            let interval = world.links[line / 2].rate.time_for(wire_bytes).max(ONE_NANOSECOND);
            Some(Source::Cbr { payload_bytes, interval })
        }
        _ => None,
    }
}

/// Headers of a UDP datagram over IPv4 without options.
const IPV4_UDP_BYTES: u64 = 28;

/// A saturating source over an infinitely fast link must still let time pass.
const ONE_NANOSECOND: Duration = Duration::from_nanos(1);
