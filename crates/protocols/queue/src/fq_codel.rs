//! FlowQueue-CoDel (RFC 8290).

use crate::fair::{FairConfig, FairQueues};
use crate::{Discipline, Goes, Item};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};

/// Flows in queues of their own by the hash of their key, served by deficit round robin, new
/// ones first, each with CoDel.
///
/// The hash has no random perturbation, so that runs are reproducible.
#[derive(Clone, Debug)]
pub struct FqCodel<T>(FairQueues<T>);

impl<T: Item> FqCodel<T> {
    /// An empty queue.
    pub fn new(config: FairConfig) -> Self {
        Self(FairQueues::new(config, false))
    }
}

impl<T: Item + Debug + Send> Discipline<T> for FqCodel<T> {
    fn push(&mut self, now: Instant, item: T) {
        self.0.push(now, item);
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        self.0.pop(now, 0)
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        self.0.pop_to(now, receiver)
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        self.0.withdraw(receiver, goes)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.0.peek_to(receiver)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.0.dropped()
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn bytes(&self) -> Bytes {
        self.0.bytes()
    }
}
