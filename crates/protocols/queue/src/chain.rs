//! Packets of flows, each flow's in the order of arrival and linked to the next, and the flows of
//! each receiver that hold some.

use crate::slab::{Ends, NONE, Slab};
use crate::{Goes, Item};
use fairwave_units::{Bytes, Instant};

/// A waiting packet.
#[derive(Clone, Debug)]
struct Packet<T> {
    item: T,
    bytes: u32,
    /// Time of its arrival.
    at: Instant,
    after: u32,
}

/// Place of a packet among those of a flow.
#[derive(Clone, Copy, Debug)]
struct Found {
    flow: u32,
    place: u32,
    /// The packet before it; [`NONE`] if it is the first.
    before: u32,
    at: Instant,
}

/// Packets of a flow, all of them to one receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// May change while the flow holds no packet.
    pub(crate) receiver: u32,
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    first: u32,
    last: u32,
    /// The neighbours among the receiver's flows that hold packets.
    before_to: u32,
    after_to: u32,
}

impl Chain {
    /// No packets to `receiver`.
    pub(crate) const fn to(receiver: u32) -> Self {
        Self {
            receiver,
            packets: 0,
            bytes: 0,
            first: NONE,
            last: NONE,
            before_to: NONE,
            after_to: NONE,
        }
    }
}

/// A flow, which has a chain of packets.
pub(crate) trait Chained {
    fn chain(&self) -> &Chain;
    fn chain_mut(&mut self) -> &mut Chain;
}

/// Flows and their packets.
#[derive(Clone, Debug)]
pub(crate) struct Chains<T, F> {
    packets: Slab<Packet<T>>,
    /// The flows by their number.
    pub(crate) flows: Vec<F>,
    /// Each receiver's flows that hold packets.
    busy: Vec<Ends>,
    len: u32,
    bytes: u64,
}

impl<T: Item, F: Chained> Chains<T, F> {
    pub(crate) const fn new() -> Self {
        Self { packets: Slab::new(), flows: Vec::new(), busy: Vec::new(), len: 0, bytes: 0 }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Whether there is room for flows to a receiver.
    pub(crate) const fn has_room(&self, receiver: u32) -> bool {
        (receiver as usize) < self.busy.len()
    }

    pub(crate) fn make_room(&mut self, receiver: u32) {
        self.busy.resize(receiver as usize + 1, Ends::EMPTY);
    }

    /// Appends a packet to a flow.
    pub(crate) fn append(&mut self, now: Instant, number: u32, item: T) {
        let bytes = item.bytes();
        let place = self.packets.insert(Packet { item, bytes, at: now, after: NONE });
        let chain = self.flows[number as usize].chain_mut();
        let last = core::mem::replace(&mut chain.last, place);
        chain.packets += 1;
        chain.bytes += u64::from(bytes);
        debug_assert_eq!(last == NONE, chain.packets == 1, "{chain:?}");
        self.len += 1;
        self.bytes += u64::from(bytes);
        if last == NONE {
            chain.first = place;
            self.join_busy(number);
        } else {
            self.packets.get_mut(last).after = place;
        }
    }

    /// Takes the oldest packet of a flow.
    pub(crate) fn take(&mut self, number: u32) -> Option<(T, Instant)> {
        let chain = self.flows[number as usize].chain_mut();
        if chain.first == NONE {
            return None;
        }
        let Packet { item, bytes, at, after } = self.packets.remove(chain.first);
        chain.first = after;
        chain.packets -= 1;
        chain.bytes -= u64::from(bytes);
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        debug_assert_eq!(chain.packets == 0, after == NONE, "{chain:?}");
        debug_assert!(chain.packets > 0 || chain.bytes == 0, "{chain:?}");
        debug_assert!(self.len > 0 || self.bytes == 0, "no packets of {} bytes", self.bytes);
        if after == NONE {
            chain.last = NONE;
            self.leave_busy(number);
        }
        Some((item, at))
    }

    /// Removes the oldest packet for a receiver that `goes` selects.
    pub(crate) fn withdraw(&mut self, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let flows = self.busy_from(self.first_to(receiver)?);
        let found = flows.filter_map(|flow| self.find(flow, goes)).min_by_key(|found| found.at)?;
        if found.before == NONE {
            return self.take(found.flow).map(|(item, _)| item);
        }
        let Packet { item, bytes, after, .. } = self.packets.remove(found.place);
        self.packets.get_mut(found.before).after = after;
        let chain = self.flows[found.flow as usize].chain_mut();
        if after == NONE {
            chain.last = found.before;
        }
        chain.packets -= 1;
        chain.bytes -= u64::from(bytes);
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        Some(item)
    }

    /// The oldest packet of a flow that `goes` selects.
    fn find(&self, flow: u32, goes: Goes<'_, T>) -> Option<Found> {
        let (mut before, mut place) = (NONE, self.flows[flow as usize].chain().first);
        while place != NONE {
            let packet = self.packets.get(place);
            if goes(&packet.item) {
                return Some(Found { flow, place, before, at: packet.at });
            }
            (before, place) = (place, packet.after);
        }
        None
    }

    /// The first of a receiver's flows that hold packets.
    pub(crate) fn first_to(&self, receiver: u32) -> Option<u32> {
        self.busy.get(receiver as usize).map(|ends| ends.first).filter(|&first| first != NONE)
    }

    /// Length of the packet that [`Self::first_to`] holds longest.
    pub(crate) fn peek_to(&self, receiver: u32) -> Option<u32> {
        let chain = self.flows[self.first_to(receiver)? as usize].chain();
        Some(self.packets.get(chain.first).bytes)
    }

    /// The flows that hold packets, by receiver.
    pub(crate) fn busy(&self) -> impl Iterator<Item = u32> {
        let firsts = self.busy.iter().map(|ends| ends.first).filter(|&first| first != NONE);
        firsts.flat_map(move |first| self.busy_from(first))
    }

    /// This flow and those behind it to the same receiver.
    fn busy_from(&self, first: u32) -> impl Iterator<Item = u32> {
        core::iter::successors(Some(first), move |&number| {
            Some(self.flows[number as usize].chain().after_to).filter(|&next| next != NONE)
        })
    }

    /// Moves a flow that holds packets behind the others to its receiver.
    pub(crate) fn put_last(&mut self, number: u32) {
        self.leave_busy(number);
        self.join_busy(number);
    }

    fn join_busy(&mut self, number: u32) {
        let ends = &mut self.busy[self.flows[number as usize].chain().receiver as usize];
        let before = core::mem::replace(&mut ends.last, number);
        match before {
            NONE => ends.first = number,
            before => self.flows[before as usize].chain_mut().after_to = number,
        }
        let chain = self.flows[number as usize].chain_mut();
        (chain.before_to, chain.after_to) = (before, NONE);
    }

    fn leave_busy(&mut self, number: u32) {
        let Chain { receiver, before_to, after_to, .. } = *self.flows[number as usize].chain();
        let ends = &mut self.busy[receiver as usize];
        match before_to {
            NONE => ends.first = after_to,
            before => self.flows[before as usize].chain_mut().after_to = after_to,
        }
        match after_to {
            NONE => ends.last = before_to,
            after => self.flows[after as usize].chain_mut().before_to = before_to,
        }
    }
}
