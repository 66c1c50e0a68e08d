//! Carries packets from node to node: routes, wired links, radios.
//!
//! It takes a packet at a node ([`Network::send`]) and gives it back at the next one, from a
//! channel or a line that was woken. Others decide on packets at a node. It reports the fate of
//! packets to their owners, and lets reports ride in front of packets.

pub(crate) mod access;
mod build;
mod line;
pub(crate) mod lines;
pub(crate) mod metered;
pub(crate) mod packets;
pub(crate) mod radio;
pub(crate) mod radios;
pub(crate) mod roaming;
pub(crate) mod service;

use crate::actors::Actors;
use crate::command::{Command, Place};
use crate::context::Context;
use crate::packet::Packet;
use crate::routes::{self, Hop, Table};
use crate::soc::Weighing;
use crate::world::{Change, World};
use access::{Access, Associated};
use fairwave_dot11::AccessCategory;
use fairwave_dot11::channel::RadioId;
use fairwave_trace::{DropCause, Kind, NodeId, QueueSample, Sample};
use lines::Lines;
use metered::Metered;

/// The network of a world.
#[derive(Debug)]
pub(crate) struct Network<'w> {
    world: &'w World,
    pub(crate) access: Access<'w>,
    pub(crate) lines: Lines,
    pub(crate) routes: Table,
}

impl<'w> Network<'w> {
    /// The network of a world with nothing under way; whether channels are to report their frames.
    pub(crate) fn new(world: &'w World, reports_frames: bool, actors: &mut Actors) -> Self {
        let access = Access::new(world, reports_frames, actors);
        let routes = routes::table_with(world, &access.access_points());
        Self { world, lines: Lines::new(world, actors), access, routes }
    }

    /// Sets the first deadlines, but for those of stations that roam.
    pub(crate) fn begin(&self, cx: &mut Context<'_>) {
        self.access.radios.begin(cx);
        self.lines.begin(cx);
    }

    /// Sets the first deadlines of stations that roam, and reports their first places.
    pub(crate) fn begin_roaming(&self, cx: &mut Context<'_>) {
        self.access.begin_roaming(cx);
        if cx.observer.wants(Kind::Association) {
            for (station, ap) in self.access.associations() {
                cx.observer.record(cx.now, &Sample::Association(station, Some(ap)));
            }
        }
    }

    /// The first hop from a node on the way to another, if there is a way.
    pub(crate) fn hop(&self, from: NodeId, to: NodeId) -> Option<Hop> {
        self.routes.hop(from, to)
    }

    /// Sends a packet from `node` to the next hop.
    pub(crate) fn send(&mut self, node: NodeId, packet: &Packet, cx: &mut Context<'_>) {
        match self.hop(node, packet.via) {
            Some(Hop::Line(line)) => {
                let mut packet = *packet;
                if let Some(port) = self.access.radios.port_mut(node) {
                    port.queue.beside(&mut packet, cx.now);
                }
                cx.observer.tap(cx.now, node, &packet);
                self.lines.send(line, packet, cx);
            }
            Some(Hop::Radio(next)) => {
                if node == packet.source {
                    cx.observer.tap(cx.now, node, packet);
                }
                self.access.send(node, next, packet, cx);
            }
            None => self.lost(node, packet, cx),
        }
    }

    /// No way leads on from `node`, as a station's access point is not joined to the rest.
    fn lost(&self, node: NodeId, packet: &Packet, cx: &mut Context<'_>) {
        let radio = self.access.radios.port(node).map(|port| port.queue_id);
        if let Some(queue) = radio.or_else(|| self.lines.first_queue(node)) {
            cx.dropped(packet, queue, DropCause::NoRoute);
        }
    }

    /// Sends a report in a frame of its own from a station to its access point.
    pub(crate) fn send_report(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        debug_assert!(packet.is_report(), "other packets are routed");
        self.access.send(packet.source, packet.destination, packet, cx);
    }

    /// A saturating flow starts or stops.
    pub(crate) fn saturate(&mut self, flow: usize, cx: &mut Context<'_>) {
        let spec = &self.world.flows[flow];
        self.access.saturate(spec.source, flow, spec.category, &self.routes, cx);
    }

    /// The next frames of a radio that is done with one. Returns false if the radio and its queue
    /// are as before, so that nothing changes if it is done with another one, too.
    pub(crate) fn after_sent(
        &mut self,
        cell: usize,
        radio: RadioId,
        node: NodeId,
        category: AccessCategory,
        cx: &mut Context<'_>,
    ) -> bool {
        self.access.after_sent(cell, radio, node, category, &self.routes, cx)
    }

    /// The radio of a node may have something to send that it had not.
    pub(crate) fn resume(&mut self, node: NodeId, cx: &mut Context<'_>) {
        self.access.resume(node, &self.routes, cx);
    }

    /// A queue may release packets that it held back.
    pub(crate) fn open_gate(&mut self, gate: usize, cx: &mut Context<'_>) {
        self.access.open_gate(gate, &self.routes, cx);
    }

    /// A station takes a seat: routes change. The packets that its last access point kept for it
    /// are to be sent on from there. `None`: it takes its seat later.
    pub(crate) fn associate(
        &mut self,
        roamer: usize,
        to: usize,
        cx: &mut Context<'_>,
    ) -> Option<Associated> {
        let associated = self.access.associate(roamer, to, cx)?;
        self.routes = routes::table_with(self.world, &self.access.access_points());
        let sample = Sample::Association(associated.node, Some(associated.ap));
        cx.observer.record(cx.now, &sample);
        Some(associated)
    }

    /// A station that is back and its access point send their waiting packets.
    pub(crate) fn resume_both(&mut self, node: NodeId, ap: NodeId, cx: &mut Context<'_>) {
        self.access.resume_both(node, ap, &self.routes, cx);
    }

    /// A command of a host, found to be possible, is carried out.
    pub(crate) fn command(&mut self, command: &Command, cx: &mut Context<'_>) -> bool {
        match command {
            Command::Place { node, position } => self.access.place(*node, *position),
            Command::Link { link, change } => {
                self.lines.change(*link, &Change { at: cx.now, ..*change }, cx);
                true
            }
            Command::Queue { queue: Place::Radio(node), spec } => {
                self.access.replace_queue(*node, spec, &self.routes, cx);
                true
            }
            Command::Queue { queue: Place::Line { link, way }, spec } => {
                self.lines.replace_queue(2 * link + way, spec, cx);
                true
            }
            Command::Weight { ap, station, weight } => {
                let (ap, station, weight) = (*ap, *station, *weight);
                self.access
                    .radios
                    .set_weight(&Weighing { ap, station, class: None, weight }, cx.now);
                self.resume(ap, cx);
                true
            }
        }
    }

    /// Whether the queue of this radio, as it is now, knows weights.
    pub(crate) fn follows_weights(&self, node: NodeId) -> bool {
        self.access.radios.port(node).is_some_and(|port| port.queue.follows_weights())
    }

    /// All queues in the order of [`fairwave_trace::QueueId`]: radios in node order, then lines.
    pub(crate) fn queues_mut(&mut self) -> impl Iterator<Item = &mut Metered> {
        self.access.radios.ports_mut().map(|port| &mut port.queue).chain(self.lines.queues_mut())
    }

    /// Their counters.
    pub(crate) fn queue_samples(&self) -> impl Iterator<Item = QueueSample> {
        let radios = self.access.radios.ports().map(|port| &port.queue);
        radios.chain(self.lines.queues()).map(Metered::sample)
    }
}
