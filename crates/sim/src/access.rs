//! Between the queues of radios and the channels: which packet a free radio takes.

use crate::packet::{Packet, Queued};
use crate::radio::Port;
use crate::roaming::Roamer;
use crate::routes::Hop;
use crate::simulator::{Actor, Simulator};
use fairwave_dot11::AccessCategory;
use fairwave_dot11::channel::{Fate, Input, Output, RadioId};
use fairwave_machine::Machine;
use fairwave_trace::{DropCause, NodeId, Sink};

impl Simulator<'_> {
    /// Queues a packet at a radio; a radio with room takes it at once.
    pub(crate) fn send_by_radio(
        &mut self,
        node: NodeId,
        next: NodeId,
        packet: Packet,
        sink: &mut dyn Sink,
    ) {
        if let Some(i) = self.away(next) {
            return self.hold(i, packet, sink);
        }
        if let Some(i) = self.away(node) {
            self.discard(i, false, sink);
        }
        let category = self.category(&packet);
        // What waits at a station that roams is for whatever access point it has then.
        let receiver = self.roams[node.0 as usize].map_or(next, |_| node).0;
        let queued = Queued { packet, receiver, category };
        let takes = self.takes(node, category, Some(receiver));
        let port = self.ports[node.0 as usize].as_mut().expect("routes lead over radios only");
        if !takes || !port.queue.is_empty(category) {
            let cell = port.cell;
            port.queue.push(queued, self.now);
            // A queue may hold what it will not send yet, while the radio has nothing to do.
            if takes && self.takes(node, category, None) {
                self.feed(node, category);
                self.after_cell(cell);
            }
        } else if let Some(queued) = port.queue.pass(queued, self.now) {
            let cell = port.cell;
            self.transmit(node, queued);
            self.after_cell(cell);
        } else {
            self.wait_for_queue(node);
        }
        self.report_dropped(node, sink);
    }

    /// How urgent a packet is: as its flow, and a report in a frame of its own as most data.
    fn category(&self, packet: &Packet) -> AccessCategory {
        let flow = self.world.flows.get(packet.flow.0 as usize);
        flow.map_or(AccessCategory::BestEffort, |flow| flow.category)
    }

    /// Whether the node's radio takes a packet of `category` to `receiver` now; without receiver,
    /// whether it takes any.
    fn takes(&self, node: NodeId, category: AccessCategory, receiver: Option<u32>) -> bool {
        let Some(port) = self.ports[node.0 as usize].as_ref() else { return false };
        if !port.is_present {
            return false;
        }
        let channel = &self.cells[port.cell].channel;
        if channel.is_ready(port.radio, category) {
            return true;
        }
        let peer = receiver.map(|receiver| self.peer(node, receiver));
        let radio = peer.and_then(|peer| self.ports[peer as usize].as_ref());
        // An access point fills up only frames that are still to be sent for the first time: one
        // with a bad link to one station would otherwise never come to the others.
        let retrying = port.is_station;
        radio.is_some_and(|to| channel.has_room(port.radio, category, to.radio, retrying))
    }

    /// Hands packets of `category` to the node's radio, as many as it takes.
    fn feed(&mut self, node: NodeId, category: AccessCategory) {
        loop {
            let takes_any = self.takes(node, category, None);
            if takes_any && let Some(own) = self.roamer_of(node).and_then(Roamer::next_own) {
                self.transmit(node, own);
                continue;
            }
            let port = self.ports[node.0 as usize].as_mut().expect("only radios are fed");
            if port.queue.is_empty(category) {
                return;
            }
            let receiver = port.serving[port.queue.class(category)];
            let next = if takes_any {
                let next = port.queue.pop(category, self.now);
                if next.is_none() {
                    self.wait_for_queue(node);
                }
                next
            } else if self.takes(node, category, Some(receiver)) {
                let port = self.ports[node.0 as usize].as_mut().expect("only radios are fed");
                port.queue.pop_to(category, receiver, self.now)
            } else {
                None
            };
            let Some(next) = next else { return };
            self.transmit(node, next);
        }
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

    fn transmit(&mut self, node: NodeId, queued: Queued) {
        let Queued { mut packet, receiver, category } = queued;
        self.let_report_ride(node, &mut packet);
        let peer = self.peer(node, receiver);
        let to = self.ports[peer as usize].as_ref().map(|next| next.radio);
        let port = self.ports[node.0 as usize].as_mut().expect("only radios transmit");
        port.serving[port.queue.class(category)] = receiver;
        let mpdu = port.mpdu(to, category, packet);
        self.cells[port.cell].channel.handle(self.now, Input::Send(port.radio, mpdu));
    }

    pub(crate) fn run_cell(&mut self, cell: usize, sink: &mut dyn Sink) {
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
                    if let Some(packet) = self.take_report(node, payload, sink) {
                        if node == packet.destination {
                            self.tap(node, &packet, sink);
                        }
                        self.forward(node, packet, sink);
                    }
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
        if (fate == Fate::RetryLimit || !self.world.cells[cell].acknowledges)
            && let Some(flow) = self.flows.get_mut(packet.flow.0 as usize)
        {
            flow.given_up(packet, node);
        }
        if fate == Fate::RetryLimit {
            let port = self.ports[node.0 as usize].as_mut().expect("a radio has a port");
            port.queue.count_drop(DropCause::RetryLimit);
            let queue = port.queue_id;
            self.dropped(packet, queue, DropCause::RetryLimit, sink);
            if !self.monitors.is_empty()
                && let Some(Hop::Radio(next)) = self.routes[node.0 as usize][packet.via.0 as usize]
            {
                self.note_failure(node, next);
            }
        }
        self.charge_sent(cell, radio, node, packet);
        self.refill(node, sink);
        let category = self.category(packet);
        self.feed(node, category);
        self.report_dropped(node, sink);
    }

    /// Gives a radio that has come to a channel its first frames.
    pub(crate) fn send_next(&mut self, node: NodeId, sink: &mut dyn Sink) {
        self.refill(node, sink);
        for category in AccessCategory::ALL {
            self.feed(node, category);
        }
        self.report_dropped(node, sink);
    }

    /// The node that gets what waits at `node` for `receiver`: of a station that roams, its
    /// access point.
    fn peer(&self, node: NodeId, receiver: u32) -> u32 {
        let seat = |i: usize| self.roamers[i].seats[self.roamers[i].seat].ap.0;
        self.roams[node.0 as usize].map_or(receiver, seat)
    }

    /// The roamer of a node that is between two access points.
    fn away(&self, node: NodeId) -> Option<usize> {
        self.roams[node.0 as usize].filter(|&i| self.roamers[i].is_away())
    }

    /// Tells a queue that shares out airtime what a frame, retries included, took.
    fn charge_sent(&mut self, cell: usize, radio: RadioId, node: NodeId, packet: &Packet) {
        let port = self.ports[node.0 as usize].as_mut().expect("a radio has a port");
        let hop = self.routes[node.0 as usize][packet.via.0 as usize];
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
        let airtime = port.tx_time(self.world.cells[cell].phy, packet.wire_len());
        let port = self.ports[at.0 as usize].as_mut().expect("a radio has a port");
        port.queue.charge(sender.0, airtime);
    }

    pub(crate) fn after_cell(&mut self, cell: usize) {
        let deadline = self.cells[cell].channel.deadline();
        self.set_deadline(Actor::Cell(cell), deadline);
    }

    /// Brings the queues of a radio with saturating flows to their depth.
    pub(crate) fn refill(&mut self, node: NodeId, sink: &mut dyn Sink) {
        for class in 0..AccessCategory::ALL.len() {
            self.refill_class(node, class, sink);
        }
    }

    /// Brings one of the queues to its depth, the flows that it is for in turn. A flow whose
    /// receiver is not with this radio pauses.
    fn refill_class(&mut self, node: NodeId, class: usize, sink: &mut dyn Sink) {
        let index = node.0 as usize;
        let flows = self.saturating[index][class].len() as u32;
        if flows == 0 {
            return;
        }
        let depth = self.ports[index].as_ref().map_or(0, |port| port.saturation(flows));
        let mut tries = 2 * depth.max(flows);
        let is_low = |port: &Port| port.queue.len_of(class) < depth;
        while tries > 0 && self.ports[index].as_ref().is_some_and(is_low) {
            tries -= 1;
            let Some(flow) = self.saturating[index][class].pop_front() else { return };
            self.saturating[index][class].push_back(flow);
            if self.reaches_by_radio(node, flow)
                && let Some(packet) = self.flows[flow].next_datagram(self.now)
            {
                self.forward(node, packet, sink);
            }
        }
    }

    /// Whether a flow's packets leave `node` by its radio, to one that is there.
    fn reaches_by_radio(&self, node: NodeId, flow: usize) -> bool {
        let sink = self.world.flows[flow].sink;
        let hop = self.routes[node.0 as usize][sink.0 as usize];
        matches!(hop, Some(Hop::Radio(next)) if self.away(next).is_none())
    }
}
