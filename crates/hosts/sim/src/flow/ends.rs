//! The two ends of a flow: where they are, and the datagrams that each makes.

use crate::packet::{Packet, address};
use core::ops::{Index, IndexMut};
use fairwave_tcp::{Segment, Virtual};
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Datagram, Transport};

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The data's source.
    Source,
    /// The data's destination.
    Sink,
}

impl End {
    /// The other end of the same flow.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Source => Self::Sink,
            Self::Sink => Self::Source,
        }
    }
}

/// One value for each end, indexed by [`End`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both<T> {
    pub(super) source: T,
    pub(super) sink: T,
}

impl<T> Index<End> for Both<T> {
    type Output = T;

    fn index(&self, end: End) -> &T {
        match end {
            End::Source => &self.source,
            End::Sink => &self.sink,
        }
    }
}

impl<T> IndexMut<End> for Both<T> {
    fn index_mut(&mut self, end: End) -> &mut T {
        match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        }
    }
}

/// Nodes of the two ends of a flow, and the number of datagrams that each has made.
#[derive(Debug)]
pub(crate) struct Ends {
    flow: FlowId,
    nodes: Both<NodeId>,
    made: Both<u32>,
}

impl Ends {
    pub(super) fn new(flow: FlowId, source: NodeId, sink: NodeId) -> Self {
        Self { flow, nodes: Both { source, sink }, made: Both::default() }
    }

    /// The end at `node`, which is one of both.
    pub(super) fn at(&self, node: NodeId) -> End {
        debug_assert!(node == self.nodes.source || node == self.nodes.sink, "{node:?} is no end");
        if node == self.nodes.sink { End::Sink } else { End::Source }
    }

    /// Whether `end` sent the packet to the other end.
    pub(super) fn sent(&self, end: End, packet: &Packet) -> bool {
        let (from, to) = (self.nodes[end], self.nodes[end.other()]);
        packet.flow == self.flow && packet.source == from && packet.destination == to
    }

    /// The next datagram of `end` to the other end: `bytes` behind the header `transport`.
    pub(super) fn packet(
        &mut self,
        end: End,
        transport: Transport,
        bytes: u32,
        now: Instant,
    ) -> Packet {
        let (source, destination) = (self.nodes[end], self.nodes[end.other()]);
        let number = self.made[end];
        self.made[end] = number.wrapping_add(1);
        let datagram = Datagram {
            source: address(source),
            destination: address(destination),
            id: number as u16,
            ttl: 64,
            tos: 0,
            transport,
            payload_len: bytes,
        };
        let (flow, sent, via) = (self.flow, now, destination);
        Packet { flow, source, destination, via, number, sent, datagram, report: 0, report_len: 0 }
    }

    /// The next UDP datagram of `end`.
    pub(super) fn udp(&mut self, end: End, ports: Both<u16>, bytes: u32, now: Instant) -> Packet {
        let (source_port, destination_port) = (ports[end], ports[end.other()]);
        self.packet(end, Transport::Udp { source_port, destination_port }, bytes, now)
    }

    /// A TCP segment of `end`, or of a proxy that stands for it, as its next datagram.
    pub(super) fn tcp(&mut self, end: End, segment: &Segment<Virtual>, now: Instant) -> Packet {
        let Segment { header, ecn, payload } = segment;
        let mut packet = self.packet(end, Transport::Tcp(*header), payload.0, now);
        packet.datagram.tos = ecn.put(packet.datagram.tos);
        packet
    }
}

/// The TCP segment that a packet carries, if it carries one.
pub(super) fn segment(packet: &Packet) -> Option<Segment<Virtual>> {
    let Transport::Tcp(header) = packet.datagram.transport else { return None };
    let (ecn, payload) = (packet.datagram.ecn(), Virtual(packet.datagram.payload_len));
    Some(Segment { header, ecn, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: NodeId = NodeId(4);
    const SERVER: NodeId = NodeId(2);

    #[test]
    fn each_end_numbers_its_own_datagrams_and_sends_them_to_the_other() {
        let mut ends = Ends::new(FlowId(7), CLIENT, SERVER);
        let ports = Both { source: 50_007, sink: 60_107 };
        let mut send = |end| ends.udp(end, ports, 100, Instant::ZERO);
        let packets = [End::Source, End::Source, End::Sink, End::Source].map(&mut send);
        assert_eq!(packets.map(|packet| packet.number), [0, 1, 0, 2]);
        assert_eq!(packets.map(|packet| packet.source), [CLIENT, CLIENT, SERVER, CLIENT]);
        let udp = |source_port, destination_port| Transport::Udp { source_port, destination_port };
        assert_eq!(packets[1].datagram.transport, udp(50_007, 60_107));
        assert_eq!(packets[2].datagram.transport, udp(60_107, 50_007));
        assert!(ends.sent(End::Sink, &packets[2]) && !ends.sent(End::Source, &packets[2]));
        assert_eq!((ends.at(CLIENT), ends.at(SERVER)), (End::Source, End::Sink));
    }

    /// An identification has 16 bits, the number of a datagram 32.
    #[test]
    fn numbers_go_on_where_identifications_go_around() {
        let mut ends = Ends::new(FlowId(0), CLIENT, SERVER);
        ends.made.source = u32::from(u16::MAX);
        let ports = Both { source: 1, sink: 2 };
        let mut send = || ends.udp(End::Source, ports, 0, Instant::ZERO);
        let (last, next) = (send(), send());
        assert_eq!((last.datagram.id, next.datagram.id), (u16::MAX, 0));
        assert_eq!((last.number, next.number), (65_535, 65_536));
    }
}
