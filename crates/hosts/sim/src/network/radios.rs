//! The radios of all nodes, and the channels that they are on.

use super::build;
use super::packets::PacketId;
use super::radio::{Cell, Port};
use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::packet::Packet;
use crate::soc::Weighing;
use crate::world::World;
use fairwave_dot11::AccessCategory;
use fairwave_dot11::channel::{FrameReport, RadioId, Run};
use fairwave_machine::Machine;
use fairwave_trace::{NodeId, PairSample};
use fairwave_units::{Db, Duration, Instant};

/// A transmitter, a receiver or broadcast, and the transmissions from the one to the other.
pub(crate) type PairState = (NodeId, Option<NodeId>, PairSample);

/// Place of a pair in their order.
pub(crate) const fn pair_key(pair: &PairState) -> (NodeId, bool, Option<NodeId>) {
    (pair.0, pair.1.is_none(), pair.1)
}

/// Channels, and each node's place on them.
#[derive(Debug)]
pub(crate) struct Radios {
    pub(super) cells: Vec<Cell>,
    ids: Ids,
    /// By node.
    pub(super) ports: Vec<Option<Port>>,
}

impl Radios {
    /// The radios of a world, silent; whether channels are to report their frames.
    pub(super) fn new(world: &World, reports_frames: bool, actors: &mut Actors) -> Self {
        let (cells, ports) = build::build(world, reports_frames);
        Self { ids: actors.enlist(cells.len(), Actor::Cell), cells, ports }
    }

    /// Sets the first deadlines of the channels.
    pub(super) fn begin(&self, cx: &mut Context<'_>) {
        (0..self.cells.len()).for_each(|cell| self.arm(cell, cx));
    }

    /// The port of a node, if it has a radio.
    pub(crate) fn port(&self, node: NodeId) -> Option<&Port> {
        self.ports[node.0 as usize].as_ref()
    }

    /// The same, to change it.
    pub(crate) fn port_mut(&mut self, node: NodeId) -> Option<&mut Port> {
        self.ports[node.0 as usize].as_mut()
    }

    /// Whether the radio of a node takes any packet of `category` now.
    pub(super) fn is_free(&self, node: NodeId, category: AccessCategory) -> bool {
        self.port(node).is_some_and(|port| {
            let channel = &self.cells[port.cell].channel;
            port.is_present && channel.is_ready(port.radio, category)
        })
    }

    /// All ports, in node order.
    pub(crate) fn ports(&self) -> impl Iterator<Item = &Port> {
        self.ports.iter().flatten()
    }

    /// The same, to change them.
    pub(crate) fn ports_mut(&mut self) -> impl Iterator<Item = &mut Port> {
        self.ports.iter_mut().flatten()
    }

    /// Lets a channel do the work that is due.
    pub(crate) fn wake(&mut self, cell: usize, now: Instant) {
        let Cell { channel, packets, .. } = &mut self.cells[cell];
        // Outputs and reports of the last time were taken.
        channel.released().for_each(|payload| packets.free(payload));
        channel.wake(now);
    }

    /// Returns the next outputs of a channel, as far as they differ in their packets alone; these
    /// replace `packets`. New frames handed in meanwhile bring no new outputs before time moves on.
    pub(crate) fn poll(&mut self, cell: usize, packets: &mut Vec<PacketId>) -> Option<Run> {
        self.cells[cell].channel.poll_run(packets)
    }

    /// The packet of a frame that was delivered or is done.
    pub(crate) fn packet(&self, cell: usize, id: PacketId) -> &Packet {
        self.cells[cell].packets.get(id)
    }

    /// Returns a channel's report of a frame, if it was to make one, and the nodes of its radios.
    pub(crate) fn frame(&mut self, cell: usize) -> Option<(FrameReport<Packet>, &[NodeId])> {
        let Cell { channel, packets, nodes } = &mut self.cells[cell];
        let report = channel.event()?;
        let payload = report.payload.map(|payload| *packets.get(payload));
        Some((report.with_payload(payload), nodes))
    }

    /// Sets the deadline of a channel.
    pub(crate) fn arm(&self, cell: usize, cx: &mut Context<'_>) {
        let deadline = self.cells[cell].channel.deadline();
        cx.set(self.ids, cell, deadline);
    }

    /// Whether a receiver holds back the packet of this number and time of departure, because
    /// a frame before it is missing.
    pub(crate) fn holds(&self, number: u32, sent: Instant) -> bool {
        let is = |packet: &Packet| {
            packet.is_from_outside() && packet.number == number && packet.sent == sent
        };
        let cell_holds = |cell: &Cell| cell.channel.holds(|payload| is(cell.packets.get(*payload)));
        self.cells.iter().any(cell_holds)
    }

    /// For how long a radio has been on the air.
    pub(crate) fn on_air(&self, node: NodeId) -> Option<Duration> {
        let port = self.port(node)?;
        let stats = self.cells[port.cell].channel.stats(port.radio);
        Some(stats.airtime + stats.control_airtime)
    }

    /// For how long a radio has found the medium busy.
    pub(crate) fn medium_busy(&self, node: NodeId, now: Instant) -> Option<Duration> {
        let port = self.port(node)?;
        Some(self.cells[port.cell].channel.medium_busy(port.radio, now))
    }

    /// Returns the transmissions of each radio to each receiver, in the order of both; broadcast is
    /// last.
    pub(crate) fn pair_samples(&self) -> Vec<PairState> {
        let mut samples = Vec::new();
        for Cell { channel, nodes, .. } in &self.cells {
            for (radio, from) in (0..).zip(nodes) {
                let pairs = channel.pairs(RadioId(radio));
                let named = |to: RadioId| nodes[to.0 as usize];
                samples.extend(pairs.map(|(to, sample)| (*from, to.map(named), sample)));
            }
        }
        samples.sort_by_key(pair_key);
        debug_assert!(samples.is_sorted_by(|a, b| pair_key(a) < pair_key(b)), "a pair twice");
        samples
    }

    /// Frames put on the air, control frames included.
    pub(crate) fn frames(&self) -> u64 {
        self.cells.iter().map(|cell| cell.channel.frames()).sum()
    }

    /// The level over noise at which `to` receives `from`, fading included; `None` where they are
    /// not on the same channel, inside where nothing is received.
    pub(crate) fn reading(&mut self, from: NodeId, to: NodeId, now: Instant) -> Option<Option<Db>> {
        let (from, to) = (self.port(from)?, self.port(to)?);
        if from.cell != to.cell || !from.is_present || !to.is_present {
            return None;
        }
        let (cell, from, to) = (from.cell, from.radio, to.radio);
        Some(self.cells[cell].channel.reading(from, to, now))
    }

    /// The mean of that, as if both were present.
    pub(crate) fn mean_snr(&self, from: NodeId, to: NodeId, now: Instant) -> Option<Db> {
        let (from, to) = (self.port(from)?, self.port(to)?);
        if from.cell != to.cell {
            return None;
        }
        Some(self.cells[to.cell].channel.mean_snr(from.radio, to.radio, now))
    }

    /// Sets the weight of a station in the queues of its access point.
    pub(crate) fn set_weight(&mut self, weighing: &Weighing, now: Instant) {
        let Weighing { ap, station, class, weight } = *weighing;
        let port = self.port_mut(ap).expect("worlds are checked: it is an access point");
        port.queue.set_weight(station.0, class, weight, now);
    }

    /// Whether the link of an access point to a station is good from now on.
    pub(crate) fn set_link(&mut self, ap: NodeId, station: NodeId, is_good: bool, now: Instant) {
        if let Some(port) = self.port_mut(ap) {
            port.queue.set_link(station.0, is_good, now);
        }
    }
}
