//! First in, first out, and no room means no entry.

use crate::fifo::Fifo;
use crate::{Discipline, Goes, Item, Limit};
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};
use std::collections::VecDeque;

/// A first-in first-out queue that drops at its tail.
#[derive(Clone, Debug)]
pub struct DropTail<T> {
    items: Fifo<T>,
    limit: Limit,
    dropped: VecDeque<T>,
}

impl<T: Item> DropTail<T> {
    /// An empty queue.
    pub const fn new(limit: Limit) -> Self {
        Self { items: Fifo::new(), limit, dropped: VecDeque::new() }
    }
}

impl<T: Item + core::fmt::Debug + Send> Discipline<T> for DropTail<T> {
    fn push(&mut self, _: Instant, item: T) {
        if self.limit.admits(self.items.len(), self.items.bytes(), item.bytes()) {
            self.items.push(item);
        } else {
            self.dropped.push_back(item);
        }
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

    fn pass(&mut self, _: Instant, item: T) -> Option<T> {
        Some(item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front().map(|item| (item, DropCause::QueueFull))
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
    use crate::testing::Thing;

    const NOW: Instant = Instant::ZERO;

    /// Pushes items of these lengths, numbered from zero; returns the dropped ones.
    fn fill(queue: &mut DropTail<Thing>, bytes: &[u32]) -> Vec<u64> {
        for (id, &bytes) in bytes.iter().enumerate() {
            queue.push(NOW, Thing { id: id as u64, bytes, ..Thing::default() });
        }
        core::iter::from_fn(|| queue.dropped()).map(|(thing, _)| thing.id).collect()
    }

    #[test]
    fn a_packet_limit_counts_packets() {
        let mut queue = DropTail::new(Limit::Packets(2));
        assert_eq!(fill(&mut queue, &[1500, 40, 40]), [2]);
        assert_eq!(queue.pop(NOW).map(|t| t.id), Some(0));
        assert_eq!((queue.len(), queue.bytes()), (1, Bytes(40)));
    }

    #[test]
    fn a_byte_limit_lets_small_packets_in_where_large_ones_drop() {
        let mut queue = DropTail::new(Limit::Bytes(Bytes(1600)));
        assert_eq!(fill(&mut queue, &[1500, 1500, 100]), [1]);
        assert_eq!((queue.len(), queue.bytes()), (2, Bytes(1600)));
    }

    #[test]
    fn a_queue_without_room_still_lets_pass_what_need_not_wait() {
        let mut queue = DropTail::new(Limit::Packets(0));
        assert_eq!(fill(&mut queue, &[1]), [0]);
        assert!(queue.is_empty() && queue.pop(NOW).is_none());
        assert!(queue.pass(NOW, Thing::default()).is_some());
    }

    #[test]
    fn one_receivers_items_can_be_taken_out_of_turn() {
        let mut queue = DropTail::new(Limit::Packets(10));
        for id in 0..6 {
            queue.push(NOW, Thing { id, receiver: id as u32 % 2, bytes: 10, ..Thing::default() });
        }
        let mut ids = |pop: &mut dyn FnMut(&mut DropTail<Thing>) -> Option<Thing>| {
            pop(&mut queue).map(|thing| thing.id)
        };
        assert_eq!(ids(&mut |q| q.pop_to(NOW, 1)), Some(1));
        assert_eq!(ids(&mut |q| q.pop(NOW)), Some(0));
        assert_eq!(ids(&mut |q| q.pop_to(NOW, 1)), Some(3));
        assert_eq!(ids(&mut |q| q.pop(NOW)), Some(2));
        assert_eq!(ids(&mut |q| q.pop_to(NOW, 0)), Some(4));
        assert_eq!(ids(&mut |q| q.pop_to(NOW, 0)), None);
        assert_eq!(ids(&mut |q| q.pop(NOW)), Some(5));
        assert_eq!((queue.len(), queue.bytes(), queue.peek_to(1)), (0, Bytes(0), None));
    }
}
