//! Packets of the simulated network.

use fairwave_dot11::AccessCategory;
use fairwave_queue::{FlowKey, Item, Segment};
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Datagram, Transport};
use std::net::Ipv4Addr;

/// A datagram with the simulator's own data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    pub(crate) flow: FlowId,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// The node that it goes to first; its destination, if there is none or it was there.
    pub(crate) via: NodeId,
    /// Number among its sender's packets, counting from zero and wrapping.
    pub(crate) number: u32,
    /// Time at which its sender made it.
    pub(crate) sent: Instant,
    pub(crate) datagram: Datagram,
    /// Number of the report that it carries from a station to its access point; 0 for none.
    pub(crate) report: u32,
    /// Length of that report in bytes.
    pub(crate) report_len: u8,
}

impl Packet {
    /// The flow of a report in a frame of its own.
    pub(crate) const NO_FLOW: FlowId = FlowId(u32::MAX);
    /// The flow of a packet that a host gave the world from outside.
    pub(crate) const OUTSIDE: FlowId = FlowId(u32::MAX - 1);

    /// Whether it is nothing but a report.
    pub(crate) fn is_report(&self) -> bool {
        self.flow == Self::NO_FLOW
    }

    /// Whether a host gave it to the world.
    pub(crate) fn is_from_outside(&self) -> bool {
        self.flow == Self::OUTSIDE
    }

    /// The flow of the world that it belongs to, if it does to one.
    pub(crate) fn flow_of_world(&self) -> Option<FlowId> {
        (self.flow < Self::OUTSIDE).then_some(self.flow)
    }

    /// Length of a frame's payload in bytes.
    pub(crate) fn wire_len(&self) -> u32 {
        let datagram = if self.is_report() { 0 } else { self.datagram.wire_len() };
        datagram + if self.report == 0 { 0 } else { u32::from(self.report_len) }
    }

    /// Its TCP segment, if it carries one.
    pub(crate) fn tcp(&self) -> Option<Segment<'_>> {
        match &self.datagram.transport {
            Transport::Tcp(header) => {
                Some(Segment { header, payload_len: self.datagram.payload_len })
            }
            Transport::Udp { .. } | Transport::Dccp(_) => None,
        }
    }

    /// Whether it carries nothing but an acknowledgement.
    pub(crate) fn is_pure_ack(&self) -> bool {
        self.tcp().is_some_and(Segment::is_pure_ack)
    }
}

/// The category of every packet at a link, which has but one queue.
pub(crate) const LINK: AccessCategory = AccessCategory::BestEffort;

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) packet: Packet,
    /// The node of the next hop's radio; zero at a link, which has one receiver.
    pub(crate) receiver: u32,
    /// Its flow; [`LINK`] at a link.
    pub(crate) category: AccessCategory,
}

impl Item for Queued {
    fn bytes(&self) -> u32 {
        self.packet.wire_len()
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        FlowKey::of(&self.packet.datagram)
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        self.packet.tcp()
    }

    fn clamp_window(&mut self, max: u16) {
        if let Transport::Tcp(header) = &mut self.packet.datagram.transport {
            header.window = header.window.min(max);
        }
    }

    fn mark_ce(&mut self) -> bool {
        self.packet.datagram.mark_ce()
    }
}

/// The address of a node: 10.0.0.1 for the first, counting up.
pub(crate) fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + node.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_count_up_through_the_octets() {
        assert_eq!(address(NodeId(0)), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(address(NodeId(255)), Ipv4Addr::new(10, 0, 1, 0));
    }
}
