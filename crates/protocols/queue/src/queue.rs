//! A queue whose discipline is known only at run time, without an indirect call for the usual one.

use crate::{Discipline, DropTail, Goes, Item, Service, Weight};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant};

/// A queue as [`crate::Spec::queue`] makes it.
#[derive(Debug)]
pub enum Queue<T> {
    /// First in, first out: most queues, and on the way of each packet several times.
    DropTail(DropTail<T>),
    /// Any other discipline.
    Other(Box<dyn Discipline<T>>),
}

/// Calls a method of whichever discipline there is.
macro_rules! forward {
    ($queue:ident.$method:ident($($argument:ident),*)) => {
        match $queue {
            Self::DropTail(queue) => queue.$method($($argument),*),
            Self::Other(queue) => queue.$method($($argument),*),
        }
    };
}

impl<T: Item + Debug + Send> Discipline<T> for Queue<T> {
    #[inline]
    fn push(&mut self, now: Instant, item: T) {
        forward!(self.push(now, item));
    }

    #[inline]
    fn pop(&mut self, now: Instant) -> Option<T> {
        forward!(self.pop(now))
    }

    #[inline]
    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        forward!(self.pop_to(now, receiver))
    }

    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        forward!(self.withdraw(now, receiver, goes))
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        forward!(self.peek_to(receiver))
    }

    #[inline]
    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        forward!(self.pass(now, item))
    }

    #[inline]
    fn beside(&mut self, now: Instant, item: &mut T) {
        forward!(self.beside(now, item));
    }

    #[inline]
    fn dropped(&mut self) -> Option<(T, DropCause)> {
        forward!(self.dropped())
    }

    #[inline]
    fn len(&self) -> u32 {
        forward!(self.len())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        forward!(self.is_empty())
    }

    fn bytes(&self) -> Bytes {
        forward!(self.bytes())
    }

    #[inline]
    fn charge(&mut self, now: Instant, receiver: u32, airtime: Duration) {
        forward!(self.charge(now, receiver, airtime));
    }

    fn set_weight(&mut self, now: Instant, receiver: u32, weight: Weight) {
        forward!(self.set_weight(now, receiver, weight));
    }

    fn set_service(&mut self, now: Instant, receiver: u32, service: &Service) {
        forward!(self.set_service(now, receiver, service));
    }

    fn set_link(&mut self, now: Instant, receiver: u32, is_good: bool) {
        forward!(self.set_link(now, receiver, is_good));
    }

    #[inline]
    fn deadline(&self) -> Option<Instant> {
        forward!(self.deadline())
    }
}
