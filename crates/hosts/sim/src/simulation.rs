//! A world in progress: hands each deadline to its owner, and the outputs of one part to the next.
//!
//! The parts know nothing of one another but the calls downwards: the network takes packets to
//! send, and its deliveries are taken here to flows, proxies, tables and hosts. Their packets then
//! go back to the network. Deadlines of the same instant are served in the order in which they were
//! set, so the order of calls within each function here is part of the result of a run.

use crate::actors::{Actor, Actors};
use crate::announcer::Announcers;
use crate::check;
use crate::command::Command;
use crate::context::Context;
use crate::deadlines::Deadlines;
use crate::error::Error;
use crate::flow::{End, FlowState, Notice};
use crate::frames;
use crate::monitor::Watches;
use crate::network::Network;
use crate::network::access::Associated;
use crate::network::packets::PacketId;
use crate::network::roaming::Move;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::outside::{OutsideEvent, OutsidePacket};
use crate::owners::Owners;
use crate::packet::Packet;
use crate::proxy::Relays;
use crate::reports;
use crate::routes::Hop;
use crate::sampling::Sampling;
use crate::soc::Soc;
use crate::world::{Flow, Source, World};
use fairwave_dot11::channel::{Fate, RadioId, Run};
use fairwave_trace::{FlowId, Kind, NodeId, Sample, Sink};
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::datagram::Contents;

/// A world under way, driven from outside.
///
/// [`crate::run`] drives one from deadline to deadline in no time of its own. A host that lives in
/// real time asks for the [next deadline](Self::next_deadline), sleeps until then or until it has
/// a packet, and [advances](Self::advance_to) the world. It gives the world packets of its own
/// with [`Self::inject`], which contend with those of the world's flows wherever they meet, and
/// gets each back from [`Self::take`]: at its destination, or with the cause of its loss.
///
/// ```no_run
/// use fairwave_sim::{OutsideFate, OutsidePacket, Simulation, world::World};
/// use fairwave_trace::Discard;
/// use fairwave_units::Instant;
///
/// fn drive(
///     world: &World,
///     mut wait: impl FnMut(Option<Instant>) -> (Instant, Option<OutsidePacket>),
/// ) -> Result<(), fairwave_sim::Error> {
///     let mut sink = Discard;
///     let mut simulation = Simulation::new(world, &mut sink)?;
///     while !simulation.is_over() {
///         let (now, packet) = wait(simulation.next_deadline());
///         simulation.advance_to(now);
///         if let Some(packet) = packet {
///             simulation.inject(&packet, now)?;
///         }
///         while let Some(event) = simulation.take() {
///             match event.fate {
///                 OutsideFate::Arrived(_) => { /* write the bytes of `event.handle` */ }
///                 OutsideFate::Lost(_) => { /* free them */ }
///             }
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Simulation<'w> {
    world: &'w World,
    /// End of the run.
    end: Instant,
    actors: Actors,
    cx: Context<'w>,
    network: Network<'w>,
    relays: Relays,
    watches: Watches,
    announcers: Announcers,
    sampling: Sampling<'w>,
    /// Packets of the outputs of a channel that are being handled.
    packets: Vec<PacketId>,
    /// Time of the last event.
    last: Instant,
    events: u64,
}

impl<'w> Simulation<'w> {
    /// A world at its beginning; its samples go to `sink`.
    ///
    /// # Errors
    /// [`Error`] says why the world cannot be simulated.
    pub fn new(world: &'w World, sink: &'w mut dyn Sink) -> Result<Self, Error> {
        check::world(world)?;
        let mut actors = Actors::default();
        let observer = Observer::new(sink, world.nodes.len());
        let network = Network::new(world, observer.wants(Kind::Frame), &mut actors);
        let flow = |(flow, id): (&Flow, FlowId)| {
            let paced = paced(world, &network, flow);
            FlowState::new(id, flow, paced.as_ref(), world.seed)
        };
        let mut flows: Vec<_> = world.flows.iter().zip((0..).map(FlowId)).map(flow).collect();
        if observer.shows_packets {
            flows.iter_mut().for_each(FlowState::show_contents);
        }
        let owners = Owners::new(world, flows, &mut actors);
        let soc = Soc::new(world, &mut actors).map(Box::new);
        let relays = Relays::new(world, &mut actors);
        let watches = Watches::new(world, &mut actors);
        let announcers = Announcers::new(world, &mut actors);
        let sampling = Sampling::new(world, &observer, &mut actors);
        let (now, deadlines) = (Instant::ZERO, Deadlines::new(actors.len()));
        let mut simulation = Self {
            world,
            end: Instant::ZERO + world.duration,
            cx: Context { now, deadlines, owners, soc, observer },
            actors,
            network,
            relays,
            watches,
            announcers,
            sampling,
            packets: Vec::new(),
            last: now,
            events: 0,
        };
        simulation.begin();
        Ok(simulation)
    }

    /// Sets the first deadlines.
    fn begin(&mut self) {
        for flow in 0..self.world.flows.len() {
            self.arm_source(flow);
        }
        self.network.begin(&mut self.cx);
        self.sampling.begin(&mut self.cx);
        self.announcers.begin(&mut self.cx);
        self.sampling.begin_bins(&mut self.cx);
        self.network.begin_roaming(&mut self.cx);
        self.watches.begin(&mut self.cx);
        reports::begin(&mut self.network, &mut self.cx);
        self.sampling.note_warm(&self.network, &self.relays, &self.cx);
    }

    // From outside.

    /// Virtual time: of the last event, or to which the world was advanced.
    pub fn now(&self) -> Instant {
        self.cx.now
    }

    /// Whether the run has ended.
    pub fn is_over(&self) -> bool {
        self.cx.now >= self.end && self.next_deadline().is_none()
    }

    /// Returns the time of the next event, if nothing comes from outside; `None` if there is none
    /// before the end.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.cx.deadlines.first().map(|(at, _)| at).filter(|at| *at <= self.end)
    }

    /// Whether a station is between two access points.
    pub fn is_away(&self, station: NodeId) -> bool {
        self.network.access.is_away(station)
    }

    /// Handles all events due until `now`. A time before the last call or after the end of the run
    /// counts as that one.
    pub fn advance_to(&mut self, now: Instant) {
        let now = now.min(self.end);
        self.run_until(now, &mut |_| true);
        self.cx.now = self.cx.now.max(now);
        let radios = &self.network.access.radios;
        self.cx.owners.outside.end_unheld(|number, sent| radios.holds(number, sent));
    }

    /// A host's packet enters at its source at `now`; everything due until then happens before. Its
    /// fate comes out of [`Self::take`], maybe at once.
    ///
    /// # Errors
    /// The packet does not enter if it has not two different nodes with a way between them, or if
    /// `now` is after the end of the run.
    pub fn inject(&mut self, packet: &OutsidePacket, now: Instant) -> Result<(), Error> {
        let OutsidePacket { handle, source, destination, via, .. } = *packet;
        let refuse = |why: &str| Err(Error::Invalid(format!("packet {handle}: {why}")));
        let nodes = self.world.nodes.len() as u32;
        if source.0 >= nodes || destination.0 >= nodes || source == destination {
            return refuse("it needs two different nodes");
        }
        if now > self.end {
            return refuse("the run is over");
        }
        let via = via.unwrap_or(destination);
        if via.0 >= nodes || via == source {
            return refuse("the node of its path is not another one than its first");
        }
        self.advance_to(now);
        let ways = [(source, via), (via, destination)];
        if ways.iter().any(|(a, b)| a != b && self.network.hop(*a, *b).is_none()) {
            return refuse("there is no way between its nodes");
        }
        self.last = self.cx.now;
        let packet = self.cx.owners.outside.enter(packet, self.cx.now);
        self.network.send(source, &packet, &mut self.cx);
        Ok(())
    }

    /// Changes the world at `now`; all that is due until then happens before.
    ///
    /// # Errors
    /// Nothing changes if the world lacks the object that the command names, or could not be
    /// simulated so.
    pub fn command(&mut self, command: &Command, now: Instant) -> Result<(), Error> {
        check::command(self.world, command, &|ap| self.network.follows_weights(ap))?;
        self.advance_to(now);
        self.last = self.cx.now;
        if self.network.command(command, &mut self.cx) {
            return Ok(());
        }
        Err(Error::Invalid(
            "this world is not steerable: its radios stay where they are".to_owned(),
        ))
    }

    /// Passes a host's observations of flows that it carries itself to the sink, if it wants them.
    pub fn record(&mut self, at: Instant, sample: &Sample) {
        self.cx.observer.record(at, sample);
    }

    /// Returns the next packet of a host that has ended. A loss by a radio is reported when that
    /// drops the packet, unless its receiver holds it back behind a missing frame: then it may
    /// still arrive. A packet that has not come out when the host ends the run is in flight.
    pub fn take(&mut self) -> Option<OutsideEvent> {
        self.cx.owners.outside.take()
    }

    /// Whether whole packets will be observed: then [`Self::note_contents`] is worth its cost.
    pub fn shows_packets(&self) -> bool {
        self.cx.observer.shows_packets
    }

    /// Passes the contents of a host's packet that is about to enter to the sink. The
    /// identification of its datagram distinguishes it from others between its addresses.
    pub fn note_contents(&mut self, packet: &OutsidePacket, contents: Contents) {
        self.cx.observer.note_contents(&packet.datagram, contents);
    }

    /// Returns the result of the run until `end`, up to which it is advanced: the end of the
    /// world's duration, or an earlier one.
    pub fn finish(mut self, end: Instant) -> Outcome {
        let end = end.min(self.end);
        self.advance_to(end);
        // Some counters are those of the time when they are looked at, and that is the last event.
        self.cx.now = self.last;
        let Self { cx, network, relays, sampling, events, .. } = self;
        sampling.outcome(network, &relays, cx, end, events)
    }

    // Dispatch.

    /// Lets everything happen whose time comes at or before `until`, or until `goes_on`, which gets
    /// the virtual time now and then, ends it: then returns false.
    // The one loop over events, into which their work is inlined: not once for each caller.
    #[inline(never)]
    pub(crate) fn run_until(
        &mut self,
        until: Instant,
        goes_on: &mut dyn FnMut(Instant) -> bool,
    ) -> bool {
        while let Some((at, id)) = self.cx.deadlines.first().filter(|(at, _)| *at <= until) {
            debug_assert!(at >= self.cx.now, "{at} is before {}", self.cx.now);
            (self.cx.now, self.last) = (at, at);
            self.events += 1;
            self.act(self.actors.of(id));
            if self.events.is_multiple_of(PROGRESS_EVERY) && !goes_on(at) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn act(&mut self, actor: Actor) {
        let cx = &mut self.cx;
        match actor {
            Actor::Cell(cell) => self.run_cell(cell),
            Actor::Line(line) => self.run_line(line),
            Actor::Source(flow) => self.run_source(flow),
            Actor::SourceEnd(flow) => self.wake_end(flow, End::Source),
            Actor::SinkEnd(flow) => self.wake_end(flow, End::Sink),
            Actor::Roamer(i) => self.run_roamer(i),
            Actor::Reporter(i) => reports::run_reporter(i, &mut self.network, cx),
            Actor::SocTable(i) => reports::run_table(i, &mut self.network, cx),
            Actor::Monitor(i) => {
                if let Some(ap) = self.watches.look(i, &mut self.network.access.radios, cx) {
                    self.network.resume(ap, cx);
                }
            }
            Actor::Gate(i) => self.network.open_gate(i, cx),
            Actor::Relay(i) => {
                self.relays.wake(i, cx.now);
                self.flush_relay(i);
            }
            Actor::Announcer(i) => self.announcers.measure(i, &self.network.access, cx),
            Actor::Sampler => self.sampling.sample(&self.network, &self.relays, cx),
            Actor::WarmUp => self.sampling.end_warm_up(&mut self.network, &self.relays, cx),
            Actor::Bin => self.sampling.end_bin(cx),
        }
    }

    // Packets.

    /// A packet is at `node`: hands it up, to a proxy, or on to the next hop.
    fn forward(&mut self, node: NodeId, mut packet: Packet) {
        let cx = &mut self.cx;
        if node == packet.destination {
            if let Some((flow, end)) = cx.owners.receive(node, &packet, cx.now) {
                self.flush_after(flow, end);
            }
            return;
        }
        if node == packet.via {
            packet.via = packet.destination;
        }
        if !cx.owners.passes(&packet, node) {
            return;
        }
        match self.relays.at(node, packet.flow) {
            Some(relay) => {
                self.relays.take(relay, &packet, cx.now);
                self.flush_relay(relay);
            }
            None => self.network.send(node, &packet, cx),
        }
    }

    fn run_line(&mut self, line: usize) {
        self.network.lines.wake(line, self.cx.now);
        while let Some((node, packet)) = self.network.lines.poll(line, self.cx.now) {
            self.cx.observer.tap(self.cx.now, node, &packet);
            self.forward(node, packet);
        }
        self.network.lines.arm(line, &mut self.cx);
    }

    fn run_cell(&mut self, cell: usize) {
        self.network.access.radios.wake(cell, self.cx.now);
        self.take_outputs(cell);
        frames::report(cell, &mut self.network.access.radios, &mut self.cx);
        self.network.access.radios.arm(cell, &mut self.cx);
    }

    /// Handles the deliveries and the fates of frames that a channel has for its host.
    fn take_outputs(&mut self, cell: usize) {
        let mut packets = core::mem::take(&mut self.packets);
        while let Some(run) = self.network.access.radios.poll(cell, &mut packets) {
            match run {
                Run::Deliver { to, .. } => {
                    let node = self.network.access.received(cell, to, self.cx.now);
                    packets.iter().for_each(|packet| self.arrive_by_radio(cell, node, *packet));
                }
                Run::Done { radio, fate } => self.radio_done(cell, radio, fate, &packets),
            }
        }
        self.packets = packets;
    }

    /// A packet came over the air: a report goes to the table there, the rest on.
    fn arrive_by_radio(&mut self, cell: usize, node: NodeId, id: PacketId) {
        let packet = self.network.access.radios.packet(cell, id);
        // Most are at their destination, and are not copied for it.
        if packet.report == 0 && node == packet.destination {
            self.cx.observer.tap(self.cx.now, node, packet);
            if let Some((flow, end)) = self.cx.owners.receive(node, packet, self.cx.now) {
                self.flush_after(flow, end);
            }
            return;
        }
        let mut packet = *packet;
        if packet.report != 0 {
            reports::take(node, &mut packet, &mut self.network, &mut self.cx);
            if packet.is_report() {
                return;
            }
        }
        if node == packet.destination {
            self.cx.observer.tap(self.cx.now, node, &packet);
        }
        self.forward(node, packet);
    }

    /// A radio is done with frames of the same fate, and gets its next ones.
    fn radio_done(&mut self, cell: usize, radio: RadioId, fate: Fate, packets: &[PacketId]) {
        let cx = &mut self.cx;
        let node = self.network.access.node(cell, radio);
        // The category of which the radio has as many frames as it takes.
        let mut full = None;
        // Owners are notified of frames that may not have arrived, and of packets from outside.
        let is_doubtful = fate == Fate::RetryLimit || !self.world.cells[cell].acknowledges;
        for id in packets {
            let packet = self.network.access.radios.packet(cell, *id);
            let (category, via) = (cx.owners.category(packet), packet.via);
            let is_noticed = (is_doubtful || packet.is_from_outside())
                && self.network.access.sent(cell, node, *id, fate, cx);
            if !is_noticed && full == Some(category) {
                continue;
            }
            // Who watches the link may stop the queue before that is asked for more.
            if fate == Fate::RetryLimit
                && !self.watches.is_empty()
                && let Some(Hop::Radio(next)) = self.network.hop(node, via)
            {
                self.watches.note_failure(node, next, &mut self.network.access.radios, cx);
            }
            let has_changed = self.network.after_sent(cell, radio, node, category, cx);
            full = (!has_changed).then_some(category);
        }
    }

    // Flows and proxies.

    /// Starts, continues or stops a flow's application.
    fn run_source(&mut self, flow: usize) {
        let node = self.world.flows[flow].source;
        let cx = &mut self.cx;
        cx.owners.flows[flow].wake_source(cx.now);
        if cx.owners.flows[flow].saturates {
            self.network.saturate(flow, cx);
        } else {
            while let Some(packet) = cx.owners.flows[flow].next_datagram(cx.now) {
                self.network.send(node, &packet, cx);
            }
        }
        self.flush_after(flow, End::Source);
        self.arm_source(flow);
    }

    /// A timer at one end of a flow expired.
    fn wake_end(&mut self, flow: usize, end: End) {
        self.cx.owners.flows[flow].wake(end, self.cx.now);
        self.flush_after(flow, end);
    }

    fn arm_source(&mut self, flow: usize) {
        let deadline = self.cx.owners.flows[flow].source_deadline();
        self.cx.set(self.cx.owners.sources, flow, deadline);
    }

    /// Sends the segments of a connection and sets its deadline.
    fn flush(&mut self, flow: usize, end: End) {
        let spec = &self.world.flows[flow];
        let node = if end == End::Source { spec.source } else { spec.sink };
        let cx = &mut self.cx;
        while let Some(packet) = cx.owners.flows[flow].poll(end, cx.now) {
            debug_assert!(node == packet.source && node != packet.via, "it has a way to go");
            if cx.observer.shows_packets
                && let Some(contents) = cx.owners.flows[flow].last_contents(end, &packet)
            {
                cx.observer.note_contents(&packet.datagram, contents);
            }
            self.network.send(node, &packet, cx);
        }
        let deadline = cx.owners.flows[flow].deadline(end);
        cx.deadlines.set(cx.owners.connection(flow, end), deadline);
    }

    /// [`Self::flush`], and the rest of a flow whose application connects its two ends.
    fn flush_after(&mut self, flow: usize, end: End) {
        self.flush(flow, end);
        if self.cx.owners.flows[flow].is_entangled() {
            let other = if end == End::Source { End::Sink } else { End::Source };
            self.flush(flow, other);
            self.arm_source(flow);
        }
    }

    /// Sends on the segments of a proxy.
    fn flush_relay(&mut self, relay: usize) {
        while let Some((node, packet)) = self.relays.poll(relay, &mut self.cx) {
            self.network.send(node, &packet, &mut self.cx);
        }
        self.relays.arm(relay, &mut self.cx);
    }

    // Stations that roam.

    fn run_roamer(&mut self, i: usize) {
        let mut action = self.network.access.decide(i, self.cx.now);
        if let Move::Prepare { to } = action {
            let (node, new_ap) = self.network.access.candidate(i, to);
            self.notify(node, new_ap, |share| Notice::Expects { share });
            // Without time to prepare it leaves now.
            action = self.network.access.decide(i, self.cx.now);
        }
        match action {
            Move::Stay | Move::Prepare { .. } => {}
            Move::Leave { to, away } => self.leave(i, to, away),
            Move::Associate { to } => self.associate(i, to),
        }
        self.network.access.after_roamer(i, &mut self.cx);
    }

    fn leave(&mut self, i: usize, to: usize, away: Duration) {
        let cell = self.network.access.cell_of_roamer(i);
        let left = self.network.access.leave(i, to, away, &mut self.cx);
        let Some((node, new_ap)) = left else { return };
        self.take_outputs(cell);
        self.notify(node, new_ap, |_| Notice::Leaves);
        if away.is_zero() {
            self.associate(i, to);
        }
    }

    fn associate(&mut self, i: usize, to: usize) {
        let last_cell = self.network.access.cell_of_roamer(i);
        let Some(associated) = self.network.associate(i, to, &mut self.cx) else { return };
        self.take_outputs(last_cell);
        let Associated { node, last_ap, ap, held } = associated;
        // They have been at that node already, and passed a proxy there.
        for packet in held {
            self.network.send(last_ap, &packet, &mut self.cx);
        }
        self.network.access.discard(i, true, &mut self.cx);
        self.notify(node, ap, |share| Notice::Arrives { share });
        self.network.resume_both(node, ap, &mut self.cx);
    }

    /// Passes an event of a roaming station to its flows that ask for it; `new_ap` is its next or
    /// present access point.
    fn notify(&mut self, node: NodeId, new_ap: NodeId, notice: fn(Option<BitRate>) -> Notice) {
        for (flow, spec) in self.world.flows.iter().enumerate() {
            if (spec.source == node || spec.sink == node) && spec.traffic.needs_handovers() {
                let end = if spec.source == node { End::Source } else { End::Sink };
                let notice = notice(self.share(node, new_ap, flow));
                self.cx.owners.flows[flow].notice(end, notice, self.cx.now);
                self.flush_after(flow, end);
            }
        }
    }

    /// The rate that a flow of `node` may hope for at an access point, as far as that announces.
    fn share(&self, node: NodeId, ap: NodeId, flow: usize) -> Option<BitRate> {
        let port = self.network.access.radios.port(node)?;
        let (ip_bytes, payload_bytes) = self.cx.owners.flows[flow].usual_bytes()?;
        self.announcers.share(port, ap, ip_bytes, payload_bytes, self.world)
    }
}

/// Returns the source that replaces a saturating one whose first hop is a link: datagrams at the
/// link's rate.
fn paced(world: &World, network: &Network<'_>, flow: &Flow) -> Option<Source> {
    let payload_bytes = flow.traffic.description().saturates()?;
    match network.hop(flow.source, flow.sink) {
        Some(Hop::Line(line)) => {
            let wire_bytes = u64::from(payload_bytes) + IPV4_UDP_BYTES;
            let rate = world.links[line / 2].greatest_rate(line % 2).expect("worlds are checked");
            let interval = rate.time_for(wire_bytes).max(ONE_NANOSECOND);
            Some(Source::Cbr { payload_bytes, interval })
        }
        _ => None,
    }
}

/// Events between two reports of progress.
const PROGRESS_EVERY: u64 = 1 << 14;

/// Headers of a UDP datagram over IPv4 without options.
const IPV4_UDP_BYTES: u64 = 28;

/// A saturating source over an infinitely fast link must still let time pass.
const ONE_NANOSECOND: Duration = Duration::from_nanos(1);

#[cfg(test)]
mod tests;
