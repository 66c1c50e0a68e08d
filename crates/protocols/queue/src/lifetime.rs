//! Drop-tail whose packets expire, as the MSDUs of 802.11 do.

use crate::fifo::Fifo;
use crate::waiting::Waiting;
use crate::{Discipline, Goes, Item, Limit};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// A drop-tail queue that gives no packet to the MAC which has waited for longer than its lifetime
/// (dot11EDCATableMSDULifetime, 802.11-2020 clause 10.23.2.12; dot11MaxTransmitMSDULifetime before
/// EDCA). A packet expires while it waits here, not while the MAC repeats it.
#[derive(Clone, Debug)]
pub struct Lifetime<T> {
    items: Fifo<Waiting<T>>,
    limit: Limit,
    lifetime: Duration,
    dropped: VecDeque<(T, DropCause)>,
}

impl<T: Item> Lifetime<T> {
    /// An empty queue whose packets live for `lifetime`.
    pub const fn new(limit: Limit, lifetime: Duration) -> Self {
        Self { items: Fifo::new(), limit, lifetime, dropped: VecDeque::new() }
    }

    /// The item, unless its time is over.
    fn living(&mut self, now: Instant, waiting: Waiting<T>) -> Option<T> {
        if now.since(waiting.since) <= self.lifetime {
            return Some(waiting.item);
        }
        self.dropped.push_back((waiting.item, DropCause::Aqm));
        None
    }
}

impl<T: Item + Debug + Send> Discipline<T> for Lifetime<T> {
    fn push(&mut self, now: Instant, item: T) {
        if self.limit.admits(self.items.len(), self.items.bytes(), item.bytes()) {
            self.items.push(Waiting { item, since: now });
        } else {
            self.dropped.push_back((item, DropCause::QueueFull));
        }
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        while let Some(waiting) = self.items.pop() {
            if let Some(item) = self.living(now, waiting) {
                return Some(item);
            }
        }
        None
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        while let Some(waiting) = self.items.pop_to(receiver) {
            if let Some(item) = self.living(now, waiting) {
                return Some(item);
            }
        }
        None
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let waiting = self.items.withdraw(receiver, &|waiting| goes(&waiting.item));
        waiting.map(|waiting| waiting.item)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.items.peek_to(receiver)
    }

    fn pass(&mut self, _: Instant, item: T) -> Option<T> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Thing, dropped, ms};

    fn filled() -> Lifetime<Thing> {
        let mut queue = Lifetime::new(Limit::Packets(4), Duration::from_millis(500));
        for id in 0..5 {
            let receiver = id as u32 % 2;
            queue.push(ms(100 * id), Thing { id, receiver, bytes: 100, ..Thing::default() });
        }
        queue
    }

    #[test]
    fn what_has_waited_for_too_long_is_dropped_when_its_turn_comes() {
        let mut queue = filled();
        assert_eq!(dropped(&mut queue), [(4, DropCause::QueueFull)]);
        // At 650 ms the packets of 0 and 100 ms are older than 500 ms.
        assert_eq!(queue.pop(ms(650)).map(|thing| thing.id), Some(2));
        assert_eq!(dropped(&mut queue), [(0, DropCause::Aqm), (1, DropCause::Aqm)]);
        assert_eq!((queue.len(), queue.bytes()), (1, Bytes(100)));
        assert_eq!(queue.pop(ms(801)), None);
        assert_eq!(dropped(&mut queue), [(3, DropCause::Aqm)]);
    }

    #[test]
    fn a_packet_lives_to_the_last_instant_of_its_time() {
        let mut queue = filled();
        assert_eq!(queue.pop(ms(500)).map(|thing| thing.id), Some(0));
        assert_eq!(queue.pop_to(ms(600), 1).map(|thing| thing.id), Some(1));
        assert_eq!(queue.pop_to(ms(701), 0), None);
        assert_eq!(queue.len(), 1);
        assert_eq!(dropped(&mut queue), [(4, DropCause::QueueFull), (2, DropCause::Aqm)]);
    }
}
