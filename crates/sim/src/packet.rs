//! What travels through the simulated network.

use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Datagram, Transport};
use std::net::Ipv4Addr;

/// A datagram with what the simulator knows about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    pub(crate) flow: FlowId,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// Which of its sender's it is, counting from zero and around.
    pub(crate) number: u32,
    /// When its sender made it.
    pub(crate) sent: Instant,
    pub(crate) datagram: Datagram,
}

impl Packet {
    /// Whether it carries nothing but an acknowledgement.
    pub(crate) fn is_pure_ack(&self) -> bool {
        match &self.datagram.transport {
            Transport::Tcp(header) => {
                let flags = header.flags;
                self.datagram.payload_len == 0
                    && flags.ack
                    && !(flags.syn || flags.fin || flags.rst)
            }
            Transport::Udp { .. } => false,
        }
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
