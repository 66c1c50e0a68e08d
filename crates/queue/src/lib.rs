//! Packet queues and their limits.
//!
//! Only the drop-tail FIFO so far; schedulers join it behind one trait when they come.

use fairwave_units::Bytes;
use std::collections::VecDeque;

/// The bound of a queue. What would exceed it is dropped at the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets wait.
    Packets(u32),
    /// At most so many bytes wait, counted from the IP header on.
    Bytes(Bytes),
}

/// A first-in first-out queue that drops at its tail.
#[derive(Clone, Debug)]
pub struct DropTail<T> {
    items: VecDeque<(T, u32)>,
    bytes: u64,
    limit: Limit,
}

impl<T> DropTail<T> {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        Self { items: VecDeque::new(), bytes: 0, limit }
    }

    /// Adds an item of `bytes` bytes, or gives it back if the queue is full.
    pub fn push(&mut self, item: T, bytes: u32) -> Result<(), T> {
        let fits = match self.limit {
            Limit::Packets(most) => self.items.len() < most as usize,
            Limit::Bytes(most) => self.bytes + u64::from(bytes) <= most.0,
        };
        if !fits {
            return Err(item);
        }
        self.bytes += u64::from(bytes);
        self.items.push_back((item, bytes));
        Ok(())
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<T> {
        let (item, bytes) = self.items.pop_front()?;
        self.bytes -= u64::from(bytes);
        Some(item)
    }

    /// Items waiting.
    pub fn len(&self) -> u32 {
        self.items.len() as u32
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_limit_counts_packets() {
        let mut queue = DropTail::new(Limit::Packets(2));
        assert_eq!(queue.push('a', 1500), Ok(()));
        assert_eq!(queue.push('b', 40), Ok(()));
        assert_eq!(queue.push('c', 40), Err('c'));
        assert_eq!((queue.pop(), queue.bytes()), (Some('a'), Bytes(40)));
        assert_eq!(queue.push('c', 40), Ok(()));
    }

    #[test]
    fn a_byte_limit_lets_small_packets_in_where_large_ones_drop() {
        let mut queue = DropTail::new(Limit::Bytes(Bytes(1600)));
        assert_eq!(queue.push('a', 1500), Ok(()));
        assert_eq!(queue.push('b', 1500), Err('b'));
        assert_eq!(queue.push('c', 100), Ok(()));
        assert_eq!((queue.len(), queue.bytes()), (2, Bytes(1600)));
    }

    #[test]
    fn a_queue_of_nothing_holds_nothing() {
        let mut queue = DropTail::new(Limit::Packets(0));
        assert_eq!(queue.push((), 1), Err(()));
        assert!(queue.is_empty() && queue.pop().is_none());
    }
}
