//! The sink of a run's samples, and the kinds of samples that it wants.

use crate::packet::Packet;
use core::fmt;
use fairwave_trace::{DropCause, DropSample, Kind, NodeId, PacketSample, QueueId, Sample, Sink};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Contents, Datagram};

/// A sink, and which samples it wants.
pub(crate) struct Observer<'s> {
    sink: &'s mut dyn Sink,
    records_drops: bool,
    /// For each node, whether it is tapped; empty where none is.
    tapped: Vec<bool>,
    /// Whether the sink wants whole packets, from the air or from a tap.
    pub(crate) shows_packets: bool,
}

impl<'s> Observer<'s> {
    /// Creates the observer of a world with this number of nodes.
    pub(crate) fn new(sink: &'s mut dyn Sink, nodes: usize) -> Self {
        let tapped: Vec<bool> = (0..nodes).map(|node| sink.taps(NodeId(node as u32))).collect();
        let tapped = if tapped.contains(&true) { tapped } else { Vec::new() };
        Self {
            records_drops: sink.wants(Kind::Drop),
            shows_packets: sink.wants(Kind::Frame) || !tapped.is_empty(),
            tapped,
            sink,
        }
    }

    pub(crate) fn wants(&self, kind: Kind) -> bool {
        self.sink.wants(kind)
    }

    pub(crate) fn record(&mut self, at: Instant, sample: &Sample) {
        self.sink.record(at, sample);
    }

    pub(crate) fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        self.sink.note_contents(datagram, contents);
    }

    /// Records a packet that leaves or reaches `node`, if the node is tapped.
    pub(crate) fn tap(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        if self.tapped.get(node.0 as usize) == Some(&true) {
            let (ends, datagram) = ((packet.source, packet.via), packet.datagram);
            self.sink.record(now, &Sample::Packet(PacketSample { node, ends, datagram }));
        }
    }

    /// Records the drop of a packet, if the sink wants drops.
    pub(crate) fn dropped(
        &mut self,
        now: Instant,
        packet: &Packet,
        queue: QueueId,
        cause: DropCause,
    ) {
        if self.records_drops {
            let (flow, datagram) = (packet.flow_of_world(), packet.datagram);
            self.sink.record(now, &Sample::Drop(DropSample { queue, cause, flow, datagram }));
        }
    }
}

impl fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("tapped", &self.tapped).finish_non_exhaustive()
    }
}
