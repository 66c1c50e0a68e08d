//! Pure ACKs give way to later ones of the same flow (RFC 3449 section 5.2.1; Balakrishnan,
//! Padmanabhan, Katz 1997).

use crate::fifo::{Fifo, Place};
use crate::flows::Flows;
use crate::{Discipline, Goes, Item, Limit, Segment};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant, Seq32};
use std::collections::VecDeque;

/// Flows that are remembered.
const MAX_FLOWS: usize = 4096;

/// A first-in first-out queue in which at most one redundant ACK of a flow waits.
///
/// An ACK takes the place of the one that it makes redundant: at the tail it would, in a queue that
/// is always long, be overtaken by its own successors and never leave. Packets that must not be
/// dropped (duplicate ACKs, SACK, ECN signals, SYN, FIN, RST, data) stay, and no ACK overtakes
/// them.
#[derive(Clone, Debug)]
pub struct AckFilter<T> {
    items: Fifo<T>,
    limit: Limit,
    flows: Flows<Seen>,
    dropped: VecDeque<(T, DropCause)>,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The greatest acknowledgement number; none before the first.
    highest: Option<Seq32>,
    /// The last packet of the flow that came, if it is an ACK that may be dropped.
    redundant: Option<Place>,
}

impl<T: Item> AckFilter<T> {
    /// An empty queue.
    pub const fn new(limit: Limit) -> Self {
        let flows = Flows::new(MAX_FLOWS);
        Self { items: Fifo::new(), limit, flows, dropped: VecDeque::new() }
    }

    /// Place of the ACK that this one makes redundant.
    fn older(&self, seen: Seen, item: &T) -> Option<Place> {
        let place = seen.redundant?;
        let old = self.items.at(place)?;
        let (len, bytes) = (self.items.len() - 1, self.items.bytes().0 - u64::from(old.bytes()));
        let fits = self.limit.admits(len, Bytes(bytes), item.bytes());
        (fits && old.receiver() == item.receiver()).then_some(place)
    }

    fn enqueue(&mut self, item: T) -> Option<Place> {
        if self.limit.admits(self.items.len(), self.items.bytes(), item.bytes()) {
            return Some(self.items.push(item));
        }
        self.dropped.push_back((item, DropCause::QueueFull));
        None
    }

    /// State of the item's flow before it, and whether it may be dropped for a later one.
    fn look(&mut self, now: Instant, item: &T) -> (Seen, bool) {
        let Some(segment) = item.tcp() else { return (Seen::default(), false) };
        let seen = self.flows.seen(item.flow(), now);
        let before = *seen;
        let advances = advances(before.highest, segment);
        if advances || before.highest.is_none() {
            seen.highest = segment.header.flags.ack.then_some(segment.header.ack);
        }
        seen.redundant = None;
        // Of the first ACK seen nobody knows whether it repeats an earlier one.
        (before, advances && segment.is_redundant_under_later_ack())
    }
}

fn advances(highest: Option<Seq32>, segment: Segment<'_>) -> bool {
    segment.header.flags.ack && highest.is_some_and(|highest| highest.before(segment.header.ack))
}

impl<T: Item + Debug + Send> Discipline<T> for AckFilter<T> {
    fn push(&mut self, now: Instant, item: T) {
        let (seen, droppable) = self.look(now, &item);
        if !droppable {
            self.enqueue(item);
            return;
        }
        let flow = item.flow();
        let place = match self.older(seen, &item) {
            Some(place) => {
                let old = self.items.replace(place, item);
                self.dropped.push_back((old, DropCause::AckFiltered));
                Some(place)
            }
            None => self.enqueue(item),
        };
        self.flows.seen(flow, now).redundant = place;
    }

    fn pop(&mut self, _: Instant) -> Option<T> {
        self.items.pop()
    }

    fn pop_to(&mut self, _: Instant, receiver: u32) -> Option<T> {
        self.items.pop_to(receiver)
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.items.withdraw(receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.items.peek_to(receiver)
    }

    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        self.look(now, &item);
        Some(item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    fn len(&self) -> u32 {
        self.items.len()
    }

    fn bytes(&self) -> Bytes {
        self.items.bytes()
    }
}
