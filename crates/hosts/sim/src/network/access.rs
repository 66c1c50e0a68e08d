//! Between the queues of radios and the channels: which packet a free radio takes, and which
//! channel a station that roams is on.

use super::build;
use super::packets::PacketId;
use super::radio::{Cell, Port};
use super::radios::Radios;
use super::roaming::{Move, Roamers, Seat};
use super::service;
use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::packet::{Packet, Queued};
use crate::routes::{Hop, Table};
use crate::world::{Node, Role, World};
use fairwave_dot11::AccessCategory;
use fairwave_dot11::channel::{Fate, Input, RadioId};
use fairwave_machine::Machine;
use fairwave_queue::Spec;
use fairwave_trace::{DropCause, NodeId, Sample, StationSample};
use fairwave_units::{Duration, Instant, Metres};
use fairwave_wire::datagram::{IPV4_HEADER_LEN, UDP_HEADER_LEN};
use std::collections::VecDeque;

/// Saturating flows of one node, for each of its queues, in turn.
type Saturating = [VecDeque<usize>; AccessCategory::ALL.len()];

/// The radios of all nodes, with the source of each one's next frame.
#[derive(Debug)]
pub(crate) struct Access<'w> {
    world: &'w World,
    pub(crate) radios: Radios,
    roamers: Roamers<'w>,
    /// Nodes with radios, whose queues may hold packets back.
    gates: Vec<NodeId>,
    gate_ids: Ids,
    /// By node.
    saturating: Vec<Saturating>,
}

impl<'w> Access<'w> {
    /// The radios of a world, silent; whether channels are to report their frames.
    pub(super) fn new(world: &'w World, reports_frames: bool, actors: &mut Actors) -> Self {
        let mut radios = Radios::new(world, reports_frames, actors);
        service::agree(world, &mut radios.ports);
        let with_radio = |node: &NodeId| radios.port(*node).is_some();
        let gates: Vec<NodeId> =
            (0..world.nodes.len() as u32).map(NodeId).filter(with_radio).collect();
        let roamers = build::seat(world, &mut radios.cells, &mut radios.ports);
        let nodes = world.nodes.len();
        Self {
            world,
            radios,
            roamers: Roamers::new(roamers, nodes, actors),
            gate_ids: actors.enlist(gates.len(), Actor::Gate),
            gates,
            saturating: vec![Saturating::default(); nodes],
        }
    }

    /// Queues a packet at a radio; a radio with room takes it at once.
    pub(super) fn send(
        &mut self,
        node: NodeId,
        next: NodeId,
        packet: &Packet,
        cx: &mut Context<'_>,
    ) {
        if let Some(i) = self.roamers.away(next) {
            return self.hold(i, *packet, cx);
        }
        if let Some(i) = self.roamers.away(node) {
            self.discard(i, false, cx);
        }
        let category = cx.owners.category(packet);
        // What waits at a station that roams is for whatever access point it has then.
        let receiver = self.roamers.place(node).map_or(next, |_| node).0;
        let queued = Queued { packet: *packet, receiver, category };
        let waits = self.radios.port(node).is_some_and(|port| !port.queue.is_empty(category));
        let passes =
            !waits && (self.radios.is_free(node, category) || self.joins(node, category, receiver));
        let port =
            self.radios.ports[node.0 as usize].as_mut().expect("routes lead over radios only");
        if !passes {
            let cell = port.cell;
            port.queue.push(queued, cx.now);
            // A queue may hold what it will not send yet, while the radio has nothing to do.
            if self.radios.is_free(node, category) {
                self.feed(node, category, cx);
                self.radios.arm(cell, cx);
            }
        } else if let Some(queued) = port.queue.pass(queued, cx.now) {
            let cell = port.cell;
            self.transmit(node, queued, cx);
            self.radios.arm(cell, cx);
        } else {
            self.wait_for_queue(node, cx);
        }
        self.report_dropped(node, cx);
    }

    /// Whether a packet of `category` to `receiver` may be aggregated with frames that the node's
    /// radio has.
    fn joins(&self, node: NodeId, category: AccessCategory, receiver: u32) -> bool {
        let Some(port) = self.radios.port(node).filter(|port| port.is_present) else {
            return false;
        };
        let peer = self.roamers.peer(node, receiver);
        let Some(to) = self.radios.port(NodeId(peer)) else { return false };
        // An access point fills up only frames that are still to be sent for the first time: one
        // with a bad link to one station would otherwise never come to the others.
        let retrying = port.is_station;
        let channel = &self.radios.cells[port.cell].channel;
        channel.has_room(port.radio, category, to.radio, retrying)
    }

    /// Hands packets of `category` to the node's radio, as many as it takes. Returns false if the
    /// radio and its queue are as before.
    fn feed(&mut self, node: NodeId, category: AccessCategory, cx: &mut Context<'_>) -> bool {
        let mut has_changed = false;
        let mut takes_any = self.radios.is_free(node, category);
        loop {
            if let Some(own) = self.next_own(node, category, takes_any) {
                self.transmit(node, own, cx);
                (has_changed, takes_any) = (true, false);
                continue;
            }
            let port = self.radios.ports[node.0 as usize].as_mut().expect("only radios are fed");
            if port.queue.is_empty(category) {
                return has_changed;
            }
            // A scheduler may note that it was asked, even if it holds all packets back.
            has_changed |= takes_any;
            let receiver = port.serving[port.queue.class(category)];
            let next = if takes_any {
                let next = port.queue.pop(category, cx.now);
                if next.is_none() {
                    self.wait_for_queue(node, cx);
                }
                next
            } else if self.joins(node, category, receiver) {
                let port =
                    self.radios.ports[node.0 as usize].as_mut().expect("only radios are fed");
                port.queue.pop_to(category, receiver, cx.now)
            } else {
                None
            };
            let Some(next) = next else { return has_changed };
            self.transmit(node, next, cx);
            // More frames may join this one, but no other is the first.
            (has_changed, takes_any) = (true, false);
        }
    }

    /// The next frame of those that a node took along as it roamed, of the queue of `category`, if
    /// its radio takes it. It is for the access point, as all that the node sends.
    fn next_own(
        &mut self,
        node: NodeId,
        category: AccessCategory,
        takes_any: bool,
    ) -> Option<Queued> {
        self.roamers.place(node)?;
        if !takes_any && !self.joins(node, category, node.0) {
            return None;
        }
        let queue = &self.radios.ports[node.0 as usize].as_ref()?.queue;
        let class = queue.class(category);
        self.roamers.next_own(node, |own| queue.class(own.category) == class)
    }

    /// Reports the drops of the queue of a node's radio. Returns whether there were any.
    fn report_dropped(&mut self, node: NodeId, cx: &mut Context<'_>) -> bool {
        let Some(port) = self.radios.port_mut(node) else { return false };
        let mut has_dropped = false;
        while let Some((packet, cause)) = port.queue.dropped() {
            cx.dropped(&packet, port.queue_id, cause);
            has_dropped = true;
        }
        has_dropped
    }

    fn transmit(&mut self, node: NodeId, mut queued: Queued, cx: &mut Context<'_>) {
        let Queued { packet, receiver, category } = &mut queued;
        let (receiver, category) = (*receiver, *category);
        if let Some(soc) = &mut cx.soc {
            soc.ride(node, packet, cx.now, &mut cx.deadlines);
        }
        let peer = self.roamers.peer(node, receiver);
        let to = self.radios.port(NodeId(peer)).map(|next| next.radio);
        let port = self.radios.ports[node.0 as usize].as_mut().expect("only radios transmit");
        debug_assert!(port.is_present, "{node:?} is between two access points");
        port.serving[port.queue.class(category)] = receiver;
        let Cell { channel, packets, .. } = &mut self.radios.cells[port.cell];
        let mpdu = port.mpdu(to, category, packet.wire_len(), packets.insert(*packet));
        channel.handle(cx.now, Input::Send(port.radio, mpdu));
    }

    /// Replaces the queue of a node's radio, whose waiting packets move over. Weights are as
    /// agreed; weights from reports come with the next.
    pub(super) fn replace_queue(
        &mut self,
        node: NodeId,
        spec: &Spec,
        routes: &Table,
        cx: &mut Context<'_>,
    ) {
        let nodes = self.world.nodes.len() as u32;
        let Some(port) = self.radios.port_mut(node) else { return };
        for (packet, cause) in port.replace_queue(spec, nodes, cx.now) {
            cx.dropped(&packet, port.queue_id, cause);
        }
        service::renew_agreements(self.world, node, port);
        let (cell, radio) = (port.cell, port.radio);
        let channel = &mut self.radios.cells[cell].channel;
        channel.limit_airtime(radio, build::airtime_limits(spec));
        channel.count_airtime(radio, spec.counts_airtime());
        self.report_dropped(node, cx);
        self.resume(node, routes, cx);
    }

    /// Puts the radio of a node elsewhere, on every channel that it may use.
    pub(super) fn place(&mut self, node: NodeId, position: (Metres, Metres)) -> bool {
        let mut is_placed = false;
        for cell in &mut self.radios.cells {
            let radios = (0..).map(RadioId).zip(&cell.nodes);
            for (radio, _) in radios.filter(|(_, of)| **of == node) {
                is_placed |= cell.channel.place(radio, position);
            }
        }
        is_placed
    }

    /// A radio is free and its queue gives nothing: asks again when the queue may.
    fn wait_for_queue(&self, node: NodeId, cx: &mut Context<'_>) {
        let Some(i) = self.gates.iter().position(|gate| *gate == node) else { return };
        let deadline = self.radios.port(node).and_then(|port| port.queue.deadline());
        let later = |at: Instant| at.max(cx.now + Duration::from_nanos(1));
        let deadline = deadline.map(later);
        cx.set(self.gate_ids, i, deadline);
    }

    /// A queue may release packets that it held back.
    pub(super) fn open_gate(&mut self, i: usize, routes: &Table, cx: &mut Context<'_>) {
        cx.set(self.gate_ids, i, None);
        self.resume(self.gates[i], routes, cx);
    }

    /// The queue of a node may have something to send that it had not: asks it.
    pub(super) fn resume(&mut self, node: NodeId, routes: &Table, cx: &mut Context<'_>) {
        self.send_next(node, routes, cx);
        if let Some(port) = self.radios.port(node) {
            self.radios.arm(port.cell, cx);
        }
    }

    /// Gives a radio that has come to a channel its first frames.
    fn send_next(&mut self, node: NodeId, routes: &Table, cx: &mut Context<'_>) {
        self.refill(node, routes, cx);
        for category in AccessCategory::ALL {
            self.feed(node, category, cx);
        }
        self.report_dropped(node, cx);
    }

    /// A saturating flow of `node` starts or stops. From then on its queue is filled whenever a
    /// frame leaves it.
    pub(super) fn saturate(
        &mut self,
        node: NodeId,
        flow: usize,
        category: AccessCategory,
        routes: &Table,
        cx: &mut Context<'_>,
    ) {
        let Some(port) = self.radios.port(node) else { return };
        let class = port.queue.class(category);
        let saturating = &mut self.saturating[node.0 as usize][class];
        if cx.owners.flows[flow].has_stopped() {
            saturating.retain(|f| *f != flow);
        } else if !saturating.contains(&flow) {
            saturating.push_back(flow);
            self.refill(node, routes, cx);
        }
    }

    /// Brings the queues of a radio with saturating flows to their depth. Returns false if all had
    /// it.
    fn refill(&mut self, node: NodeId, routes: &Table, cx: &mut Context<'_>) -> bool {
        let mut has_changed = false;
        for class in 0..AccessCategory::ALL.len() {
            has_changed |= self.refill_class(node, class, routes, cx);
        }
        has_changed
    }

    /// Brings one of the queues to its depth, the flows that it is for in turn. A flow whose
    /// receiver is not with this radio pauses. Returns false if the queue had its depth.
    fn refill_class(
        &mut self,
        node: NodeId,
        class: usize,
        routes: &Table,
        cx: &mut Context<'_>,
    ) -> bool {
        let index = node.0 as usize;
        let flows = self.saturating[index][class].len() as u32;
        if flows == 0 {
            return false;
        }
        let world = self.world;
        let bytes = |flow: &usize| world.flows[*flow].traffic.description().saturates();
        let shortest = self.saturating[index][class].iter().filter_map(bytes).min().unwrap_or(0);
        let shortest = shortest + IPV4_HEADER_LEN + UDP_HEADER_LEN;
        let depth = self.radios.port(node).map_or(0, |port| port.saturation(flows, shortest));
        let max_tries = 2 * depth.max(flows);
        let mut tries = 0;
        let is_low = |port: &Port| port.queue.len_of(class) < depth;
        while tries < max_tries && self.radios.port(node).is_some_and(is_low) {
            tries += 1;
            let Some(flow) = self.saturating[index][class].pop_front() else { return true };
            self.saturating[index][class].push_back(flow);
            let sink = self.world.flows[flow].sink;
            if let Some(Hop::Radio(next)) = routes.hop(node, sink)
                && self.roamers.away(next).is_none()
                && let Some(packet) = cx.owners.flows[flow].next_datagram(cx.now)
            {
                cx.observer.tap(cx.now, node, &packet);
                self.send(node, next, &packet, cx);
            }
        }
        tries > 0
    }

    /// A radio decoded frames. Returns its node.
    pub(crate) fn received(&mut self, cell: usize, to: RadioId, now: Instant) -> NodeId {
        let node = self.radios.cells[cell].nodes[to.0 as usize];
        self.charge(cell, to, node, now);
        node
    }

    /// Charges the stations of a queue that shares out airtime for each PPDU that the radio sent to
    /// them, retries included, and for each that it received from them. It does not learn of PPDUs
    /// that it failed to receive.
    fn charge(&mut self, cell: usize, radio: RadioId, node: NodeId, now: Instant) {
        let Radios { cells, ports, .. } = &mut self.radios;
        let Some(port) = ports[node.0 as usize].as_mut().filter(|port| port.counts_airtime())
        else {
            return;
        };
        let Cell { channel, nodes, .. } = &mut cells[cell];
        while let Some((peer, airtime)) = channel.take_airtime(radio) {
            port.queue.charge(nodes[peer.0 as usize].0, airtime, now);
        }
    }

    /// The node of a radio.
    pub(crate) fn node(&self, cell: usize, radio: RadioId) -> NodeId {
        self.radios.cells[cell].nodes[radio.0 as usize]
    }

    /// The radio of `node` is done with a frame: reports to the packet's owner. Returns false if
    /// the owner takes no notice.
    pub(crate) fn sent(
        &mut self,
        cell: usize,
        node: NodeId,
        id: PacketId,
        fate: Fate,
        cx: &mut Context<'_>,
    ) -> bool {
        let gave_up = fate == Fate::RetryLimit;
        let doubtful = gave_up || !self.world.cells[cell].acknowledges;
        let Radios { cells, ports, .. } = &mut self.radios;
        let packet = cells[cell].packets.get(id);
        let is_noticed = cx.owners.sent(packet, node, doubtful, cx.now);
        if gave_up {
            let port = ports[node.0 as usize].as_mut().expect("a radio has a port");
            port.queue.count_drop(DropCause::RetryLimit);
            cx.dropped(packet, port.queue_id, DropCause::RetryLimit);
        }
        is_noticed || gave_up
    }

    /// Hands over the next frames of a radio that is done with one. The queues are charged before
    /// they are asked, for the charge may decide the order. Returns false if the radio and its
    /// queue are as before.
    pub(super) fn after_sent(
        &mut self,
        cell: usize,
        radio: RadioId,
        node: NodeId,
        category: AccessCategory,
        routes: &Table,
        cx: &mut Context<'_>,
    ) -> bool {
        self.charge(cell, radio, node, cx.now);
        let is_refilled = self.refill(node, routes, cx);
        let is_fed = self.feed(node, category, cx);
        let has_dropped = self.report_dropped(node, cx);
        is_refilled || is_fed || has_dropped
    }

    /// Sets the first deadlines of stations that roam.
    pub(super) fn begin_roaming(&self, cx: &mut Context<'_>) {
        (0..self.roamers.all.len()).for_each(|i| self.after_roamer(i, cx));
    }

    /// The access point that each station begins with.
    pub(super) fn associations(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let nodes = (0..).map(NodeId).zip(&self.world.nodes);
        nodes.filter_map(|(id, node)| {
            let Role::Station { ap } = node.radio.as_ref()?.role else { return None };
            Some((id, self.roamers.of(id).map_or(ap, |roamer| roamer.here().ap)))
        })
    }

    /// The access point of each station that roams, which it has or left last.
    pub(super) fn access_points(&self) -> Vec<(NodeId, NodeId)> {
        self.roamers.access_points()
    }

    /// Whether a station is between two access points.
    pub(crate) fn is_away(&self, station: NodeId) -> bool {
        self.roamers.away(station).is_some()
    }

    /// Present action of a station that roams.
    pub(crate) fn decide(&mut self, i: usize, now: Instant) -> Move {
        self.roamers.all[i].decide(&self.radios.cells, now)
    }

    /// A station that roams, and the access point of one of its seats.
    pub(crate) fn candidate(&self, i: usize, to: usize) -> (NodeId, NodeId) {
        let roamer = &self.roamers.all[i];
        (roamer.node, roamer.ap_of(to))
    }

    /// The channel that a station has a seat on, or had last.
    pub(crate) fn cell_of_roamer(&self, i: usize) -> usize {
        self.roamers.all[i].here().cell
    }

    pub(crate) fn after_roamer(&self, i: usize, cx: &mut Context<'_>) {
        let deadline = self.roamers.all[i].deadline(cx.now);
        cx.set(self.roamers.ids, i, deadline);
    }

    /// Takes a station off its channel, if no exchange is under way. Then the station, and the
    /// access point where it goes.
    pub(crate) fn leave(
        &mut self,
        i: usize,
        to: usize,
        away: Duration,
        cx: &mut Context<'_>,
    ) -> Option<(NodeId, NodeId)> {
        let roamer = &mut self.roamers.all[i];
        let (node, seat) = (roamer.node, roamer.here());
        let cell = &mut self.radios.cells[seat.cell];
        let attempts = roamer.attempts() && !away.is_zero();
        if attempts {
            cell.channel.part(seat.radio);
            roamer.leave(to, cx.now + away, core::iter::empty());
        } else {
            let Some(frames) = cell.leave(seat.radio) else {
                roamer.leave_later(to, away);
                return None;
            };
            let queued = |packet| queued(packet, node, cx);
            roamer.leave(to, cx.now + away, frames.into_iter().map(queued));
        }
        let new_ap = roamer.ap_of(to);
        self.radios.arm(seat.cell, cx);
        if let Some(port) = self.radios.port_mut(node) {
            port.is_present = attempts;
        }
        cx.observer.record(cx.now, &Sample::Association(node, None));
        // What its access point has for it waits there.
        let now = cx.now;
        let withdraw = |port: &mut Port| port.queue.withdraw(now, node.0, &|_| true);
        while let Some(queued) = self.radios.port_mut(seat.ap).and_then(withdraw) {
            self.hold(i, queued.packet, cx);
        }
        Some((node, new_ap))
    }

    /// Gives a station a seat. The station, its last access point and the new one, and what the
    /// last one kept for it. `None` while an exchange of its attempts is under way.
    pub(super) fn associate(
        &mut self,
        i: usize,
        to: usize,
        cx: &mut Context<'_>,
    ) -> Option<Associated> {
        let roamer = &mut self.roamers.all[i];
        let (node, last) = (roamer.node, roamer.here());
        let last_ap = last.ap;
        if self.radios.port(node).is_some_and(|port| port.is_present) {
            let Some(frames) = self.radios.cells[last.cell].leave(last.radio) else {
                roamer.associate_later(to, cx.now);
                return None;
            };
            roamer.take_along(frames.into_iter().map(|packet| queued(packet, node, cx)));
            self.radios.arm(last.cell, cx);
        }
        let roamer = &mut self.roamers.all[i];
        let held = roamer.associate(to);
        let Seat { ap, cell, radio } = roamer.here();
        self.radios.cells[cell].channel.join(radio);
        if let Some(port) = self.radios.port_mut(node) {
            (port.cell, port.radio, port.is_present) = (cell, radio, true);
        }
        Some(Associated { node, last_ap, ap, held })
    }

    /// A station that roams and its new access point send their waiting packets; saturating flows
    /// to the station, which paused, continue.
    pub(super) fn resume_both(
        &mut self,
        node: NodeId,
        ap: NodeId,
        routes: &Table,
        cx: &mut Context<'_>,
    ) {
        self.send_next(node, routes, cx);
        self.resume(ap, routes, cx);
    }

    /// Drops the waiting packets that a roaming station is to drop, now that one more comes while
    /// it is away, or that it is back.
    pub(crate) fn discard(&mut self, i: usize, is_back: bool, cx: &mut Context<'_>) {
        let roamer = &mut self.roamers.all[i];
        let Some(port) = &mut self.radios.ports[roamer.node.0 as usize] else { return };
        let gone = roamer.discard(&mut port.queue, is_back, cx.now);
        for packet in gone {
            port.queue.count_drop(DropCause::Aqm);
            cx.dropped(&packet, port.queue_id, DropCause::Aqm);
        }
    }

    /// Keeps a packet for a station that is away at its last access point, as long as there is
    /// room.
    fn hold(&mut self, i: usize, packet: Packet, cx: &mut Context<'_>) {
        let roamer = &mut self.roamers.all[i];
        if !roamer.hold(packet)
            && let Some(port) = &mut self.radios.ports[roamer.here().ap.0 as usize]
        {
            port.queue.count_drop(DropCause::QueueFull);
            cx.dropped(&packet, port.queue_id, DropCause::QueueFull);
        }
    }

    /// Stations that are associated with an access point.
    pub(crate) fn associated(&self, ap: NodeId) -> u16 {
        let is_here = |(id, node): &(NodeId, &Node)| match (
            self.roamers.of(*id),
            node.radio.as_ref().map(|radio| radio.role),
        ) {
            (Some(roamer), _) => roamer.is_with(ap),
            (None, Some(Role::Station { ap: own })) => own == ap,
            (None, _) => false,
        };
        (0..).map(NodeId).zip(&self.world.nodes).filter(is_here).count() as u16
    }

    /// The counters of all radios, in node order.
    pub(crate) fn station_samples(&self) -> impl Iterator<Item = (NodeId, StationSample)> {
        let ports = (0..).map(NodeId).zip(&self.radios.ports);
        ports.filter_map(|(node, port)| {
            let port = port.as_ref()?;
            let stats = match self.roamers.of(node) {
                Some(roamer) => roamer.stats(&self.radios.cells),
                None => self.radios.cells[port.cell].channel.stats(port.radio),
            };
            Some((node, stats))
        })
    }
}

/// A packet that a station's MAC had, as it waits at the station.
fn queued(packet: Packet, node: NodeId, cx: &Context<'_>) -> Queued {
    Queued { category: cx.owners.category(&packet), receiver: node.0, packet }
}

/// A station that has come to an access point.
#[derive(Debug)]
pub(crate) struct Associated {
    /// The station.
    pub(crate) node: NodeId,
    /// Its last access point.
    pub(crate) last_ap: NodeId,
    /// Its access point.
    pub(crate) ap: NodeId,
    /// Packets that the last one kept for it.
    pub(crate) held: VecDeque<Packet>,
}
