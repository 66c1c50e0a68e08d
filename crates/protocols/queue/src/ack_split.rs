//! A queue for ACKs beside one for everything else, served in turn.

use crate::fifo::Fifo;
use crate::{Discipline, Goes, Item, Limit, Segment};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Pure ACKs and other packets in queues of their own, each first in, first out with tail drop;
/// while both hold something, one packet of each by turns.
///
/// Neither kind can fill the other's room: data bursts do not drop ACKs, nor ACKs data. A flow
/// that sends both may be reordered between the kinds, never within one.
#[derive(Clone, Debug)]
pub struct AckSplit<T> {
    /// ACKs, then the rest.
    queues: [Fifo<T>; 2],
    limits: [Limit; 2],
    /// The queue that was not served last.
    turn: usize,
    dropped: VecDeque<T>,
}

impl<T: Item> AckSplit<T> {
    /// An empty queue: `acks` bounds the ACKs, `rest` everything else.
    pub const fn new(acks: Limit, rest: Limit) -> Self {
        let queues = [Fifo::new(), Fifo::new()];
        Self { queues, limits: [acks, rest], turn: 0, dropped: VecDeque::new() }
    }

    /// Takes from the queue whose turn it is, or from the other if that has nothing.
    fn serve(&mut self, take: impl Fn(&mut Fifo<T>) -> Option<T>) -> Option<T> {
        for which in [self.turn, 1 - self.turn] {
            if let Some(item) = take(&mut self.queues[which]) {
                self.turn = 1 - which;
                return Some(item);
            }
        }
        None
    }
}

impl<T: Item + Debug + Send> Discipline<T> for AckSplit<T> {
    fn push(&mut self, _: Instant, item: T) {
        let which = usize::from(!item.tcp().is_some_and(Segment::is_pure_ack));
        let queue = &mut self.queues[which];
        if self.limits[which].admits(queue.len(), queue.bytes(), item.bytes()) {
            queue.push(item);
        } else {
            self.dropped.push_back(item);
        }
    }

    fn pop(&mut self, _: Instant) -> Option<T> {
        self.serve(Fifo::pop)
    }

    fn pop_to(&mut self, _: Instant, receiver: u32) -> Option<T> {
        self.serve(|queue| queue.pop_to(receiver))
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.queues.iter_mut().find_map(|queue| queue.withdraw(receiver, goes))
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        let peek = |which: usize| self.queues[which].peek_to(receiver);
        peek(self.turn).or_else(|| peek(1 - self.turn))
    }

    fn pass(&mut self, _: Instant, item: T) -> Option<T> {
        Some(item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front().map(|item| (item, DropCause::QueueFull))
    }

    fn len(&self) -> u32 {
        self.queues.iter().map(Fifo::len).sum()
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.queues.iter().map(|queue| queue.bytes().0).sum())
    }
}
