//! Interface of a queue to its host.

use crate::{Service, Weight};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};

/// Selects items.
pub type Goes<'a, T> = &'a dyn Fn(&T) -> bool;

/// A queue: packets go in, and come out in the order that the discipline decides.
///
/// Times must not go back from call to call. After [`Discipline::push`], [`Discipline::pass`],
/// [`Discipline::pop`] and [`Discipline::pop_to`] the host takes dropped items by
/// [`Discipline::dropped`] until that gives `None`.
pub trait Discipline<T>: Debug + Send {
    /// Takes an item in, or drops it or others for it.
    fn push(&mut self, now: Instant, item: T);

    /// The item to send next.
    fn pop(&mut self, now: Instant) -> Option<T>;

    /// The item for `receiver` to send next, whoever's turn it is: a MAC that joins several
    /// packets to one receiver into a frame (802.11-2020 clause 9.7) takes the first by
    /// [`Discipline::pop`] and the others by this.
    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T>;

    /// Removes the oldest item for `receiver` that `goes` selects, which is not sent: the queue is
    /// replaced, or the receiver has left. Nobody is charged for it, and the other items stay as
    /// they are. Where datagrams and TCP, or ACKs and other packets, have queues of their own, the
    /// oldest of the first such queue is removed, even if another queue holds an older one.
    /// Schedulers of hosts give the items of a receiver without weight, too.
    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T>;

    /// Bytes of the item that [`Discipline::pop_to`] considers first; it may drop that one and
    /// give a later one.
    fn peek_to(&self, receiver: u32) -> Option<u32>;

    /// Takes an item that arrives at an empty queue and an idle sender; returns the item to send at
    /// once. A limit does not count it, for it does not wait.
    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        self.push(now, item);
        self.pop(now)
    }

    /// A packet that the same node sends out elsewhere, not through this queue: policies that
    /// look at both directions of a connection see it here, and may change its header.
    fn beside(&mut self, now: Instant, item: &mut T) {
        let _ = (now, item);
    }

    /// The next item that was dropped, with the cause.
    fn dropped(&mut self) -> Option<(T, DropCause)>;

    /// Items waiting.
    fn len(&self) -> u32;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes waiting.
    fn bytes(&self) -> Bytes;

    /// `receiver` took this much time of the medium, in either direction. For disciplines that
    /// share out airtime.
    fn charge(&mut self, now: Instant, receiver: u32, airtime: Duration) {
        let _ = (now, receiver, airtime);
    }

    /// Sets the weight of `receiver`; [`Weight::ONE`] before. For schedulers of hosts. A weight
    /// above zero may make [`Discipline::pop`] give something where it gave nothing.
    fn set_weight(&mut self, now: Instant, receiver: u32, weight: Weight) {
        let _ = (now, receiver, weight);
    }

    /// Sets the agreement with `receiver`. Schedulers of hosts multiply weights by its own, and
    /// fair service curves use its curves from now on.
    fn set_service(&mut self, now: Instant, receiver: u32, service: &Service) {
        let _ = (now, receiver, service);
    }

    /// Reports whether the link to `receiver` is good; it is good before. For schedulers that pass
    /// over hosts in a fade. A good link may make [`Discipline::pop`] give something.
    fn set_link(&mut self, now: Instant, receiver: u32, is_good: bool) {
        let _ = (now, receiver, is_good);
    }

    /// Returns the time from which [`Discipline::pop`] may return an item after it returned `None`;
    /// `None` for a queue that never holds items back by time.
    fn deadline(&self) -> Option<Instant> {
        None
    }
}
