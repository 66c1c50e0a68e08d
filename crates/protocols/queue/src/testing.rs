//! Items for tests.

use crate::{Discipline, FlowKey, Item, Segment};
use fairwave_trace::DropCause;
use fairwave_units::{Instant, Seed, Seq32, Stream};
use fairwave_wire::tcp;

/// A packet as a test wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) id: u64,
    pub(crate) bytes: u32,
    pub(crate) receiver: u32,
    /// Stands for all of the key.
    pub(crate) flow: u16,
    /// Hosts at its ends, beside the usual ones.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The other direction of the flow.
    pub(crate) back: bool,
    pub(crate) tcp: Option<(tcp::Header, u32)>,
    pub(crate) ecn: bool,
    pub(crate) marked: bool,
}

/// A pure ACK of a flow, without options.
pub(crate) fn ack(id: u64, flow: u16, number: u32) -> Thing {
    let flags = tcp::Flags { ack: true, ..tcp::Flags::default() };
    let header = tcp::Header { ack: Seq32(number), flags, window: 65_535, ..Default::default() };
    Thing { id, bytes: 40, receiver: flow.into(), flow, tcp: Some((header, 0)), ..Thing::default() }
}

/// A datagram of 1500 bytes of a flow.
pub(crate) fn full(id: u64, flow: u16) -> Thing {
    Thing { id, bytes: 1500, receiver: flow.into(), flow, ..Thing::default() }
}

/// Randomness of a queue.
pub(crate) fn random() -> Stream {
    Seed(1).stream("queue")
}

pub(crate) const fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Dropped items, by number and cause.
pub(crate) fn dropped(queue: &mut dyn Discipline<Thing>) -> Vec<(u64, DropCause)> {
    core::iter::from_fn(|| queue.dropped()).map(|(thing, cause)| (thing.id, cause)).collect()
}

/// Numbers of all that waits, in the order of service at `now`.
pub(crate) fn drain(queue: &mut dyn Discipline<Thing>, now: Instant) -> Vec<u64> {
    core::iter::from_fn(|| queue.pop(now)).map(|thing| thing.id).collect()
}

impl Item for Thing {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        let source_port = self.flow;
        let (source, destination) = (1 + self.from, 2 + self.to);
        let key = FlowKey { source, destination, source_port, destination_port: 80, protocol: 6 };
        if self.back { key.reversed() } else { key }
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        self.tcp.as_ref().map(|(header, len)| Segment { header, payload_len: *len })
    }

    fn clamp_window(&mut self, max: u16) {
        if let Some((header, _)) = &mut self.tcp {
            header.window = header.window.min(max);
        }
    }

    fn mark_ce(&mut self) -> bool {
        self.marked |= self.ecn;
        self.ecn
    }
}
