//! Owners of packets: the flows of the world, and a host that gives it packets from outside.
//!
//! The network reports the fate of a packet to its owner, and knows neither transports nor hosts.

use crate::actors::{Actor, Actors, Ids};
use crate::flow::{End, FlowState};
use crate::outside::{self, Outside};
use crate::packet::Packet;
use crate::world::World;
use fairwave_dot11::AccessCategory;
use fairwave_trace::{DropCause, NodeId};
use fairwave_units::Instant;

/// All owners of packets in flight.
#[derive(Debug)]
pub(crate) struct Owners {
    /// The flows, by their numbers.
    pub(crate) flows: Vec<FlowState>,
    /// Access categories of the packets of each flow.
    categories: Vec<AccessCategory>,
    pub(crate) sources: Ids,
    /// Numbers of the connections at each end.
    ends: [Ids; 2],
    /// Packets from outside.
    pub(crate) outside: Outside,
}

impl Owners {
    /// The flows of a world, none of which has begun.
    pub(crate) fn new(world: &World, flows: Vec<FlowState>, actors: &mut Actors) -> Self {
        debug_assert_eq!(flows.len(), world.flows.len());
        Self {
            categories: world.flows.iter().map(|flow| flow.category).collect(),
            sources: actors.enlist(flows.len(), Actor::Source),
            ends: [Actor::SourceEnd, Actor::SinkEnd].map(|end| actors.enlist(flows.len(), end)),
            flows,
            outside: Outside::default(),
        }
    }

    /// The number of the connections at one end of a flow.
    pub(crate) fn connection(&self, flow: usize, end: End) -> u32 {
        self.ends[end as usize].of(flow)
    }

    /// Returns the access category of a packet: that of its flow or its host, and best effort for a
    /// report in a frame of its own.
    pub(crate) fn category(&self, packet: &Packet) -> AccessCategory {
        let flow = self.categories.get(packet.flow.0 as usize);
        flow.copied().unwrap_or_else(|| outside::category(packet))
    }

    /// A packet is at `node`, on its way. False if no owner waits for it any more.
    pub(crate) fn passes(&mut self, packet: &Packet, node: NodeId) -> bool {
        match self.flows.get_mut(packet.flow.0 as usize) {
            Some(flow) => flow.passes(packet, node),
            None => return self.outside.passes(packet, node),
        }
        true
    }

    /// The radio of `node` is done with a packet; `doubtful` if it cannot know whether that
    /// arrived. Returns whether the owner takes notice.
    pub(crate) fn sent(
        &mut self,
        packet: &Packet,
        node: NodeId,
        doubtful: bool,
        now: Instant,
    ) -> bool {
        if packet.is_from_outside() {
            self.outside.sent(packet, node, now);
        } else if doubtful && let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) {
            flow.given_up(packet, node);
        } else {
            return false;
        }
        true
    }

    /// A packet ended before its destination.
    pub(crate) fn dropped(&mut self, packet: &Packet, cause: DropCause, now: Instant) {
        let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) else {
            return self.outside.dropped(packet, cause, now);
        };
        match cause {
            DropCause::AckFiltered => flow.acks_filtered += 1,
            _ if packet.is_pure_ack() => flow.acks_dropped += 1,
            _ => {}
        }
        // A radio that gives up does not know: `sent` tells the flow.
        if cause != DropCause::RetryLimit {
            flow.dropped(packet);
        }
    }

    /// A packet is where it was to go. The end that took it, if a flow has.
    pub(crate) fn receive(
        &mut self,
        node: NodeId,
        packet: &Packet,
        now: Instant,
    ) -> Option<(usize, End)> {
        let flow = packet.flow.0 as usize;
        match self.flows.get_mut(flow) {
            Some(state) => Some((flow, state.receive(node, packet, now))),
            None => {
                self.outside.arrives(packet, now);
                None
            }
        }
    }
}
