//! The send queue: data that the application wants sent and congestion control does not let go.

use crate::Payload;
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Choice of the datagram to drop when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The newcomer is refused.
    #[default]
    RefuseNewest,
    /// The oldest is dropped: fresh data are worth more.
    DropOldest,
}

/// Limits of waiting data: time and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Maximum number of datagrams that wait.
    pub datagrams: usize,
    /// The datagram to drop at the maximum number.
    pub when_full: WhenFull,
    /// Time after which waiting data is dropped instead of sent; `None` keeps it.
    pub age: Option<Duration>,
}

impl Default for QueueLimits {
    /// A thousand datagrams, of any age.
    fn default() -> Self {
        Self { datagrams: 1000, when_full: WhenFull::default(), age: None }
    }
}

/// Reason for which data of the application were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The queue was full.
    QueueFull,
    /// It waited too long.
    TooOld,
    /// It is longer than a packet may be.
    TooLong,
    /// The connection is closing or closed.
    Closed,
}

#[derive(Debug)]
pub(crate) struct SendQueue<P> {
    limits: QueueLimits,
    waiting: VecDeque<(Instant, P)>,
    bytes: u64,
}

impl<P: Payload> SendQueue<P> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { limits, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Takes a datagram; returns the one dropped for it, or itself.
    pub(crate) fn push(&mut self, now: Instant, payload: P) -> Option<P> {
        let full = self.waiting.len() >= self.limits.datagrams;
        if full && self.limits.when_full == WhenFull::RefuseNewest {
            return Some(payload);
        }
        let gone = if full { self.pop() } else { None };
        if self.limits.datagrams == 0 {
            return Some(payload);
        }
        // Ages are looked for at the front only, so the oldest must be there.
        debug_assert!(self.waiting.back().is_none_or(|(since, _)| *since <= now));
        self.bytes += u64::from(payload.len());
        self.waiting.push_back((now, payload));
        debug_assert!(self.waiting.len() <= self.limits.datagrams, "{}", self.waiting.len());
        gone
    }

    /// The next datagram that is too old to be sent.
    pub(crate) fn pop_old(&mut self, now: Instant) -> Option<P> {
        let age = self.limits.age?;
        let (since, _) = self.waiting.front()?;
        if now.since(*since) > age { self.pop() } else { None }
    }

    pub(crate) fn pop(&mut self) -> Option<P> {
        let (_, payload) = self.waiting.pop_front()?;
        self.bytes -= u64::from(payload.len());
        debug_assert!(!self.waiting.is_empty() || self.bytes == 0, "{} B of nothing", self.bytes);
        Some(payload)
    }

    /// Length of the next datagram.
    pub(crate) fn next_len(&self) -> Option<u32> {
        self.waiting.front().map(|(_, payload)| payload.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time at which the oldest becomes too old.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let (since, _) = self.waiting.front()?;
        // An age reached exactly is still good.
        Some(*since + self.limits.age? + Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Virtual;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_full_queue_refuses_the_newest_or_drops_the_oldest() {
        for (when_full, gone, left) in
            [(WhenFull::RefuseNewest, 3, [1, 2]), (WhenFull::DropOldest, 1, [2, 3])]
        {
            let limits = QueueLimits { datagrams: 2, when_full, age: None };
            let mut queue = SendQueue::new(limits);
            assert_eq!(
                (queue.push(at(0), Virtual(1)), queue.push(at(0), Virtual(2))),
                (None, None)
            );
            assert_eq!(queue.push(at(0), Virtual(3)), Some(Virtual(gone)));
            assert_eq!(queue.bytes(), u64::from(left[0] + left[1]));
            assert_eq!([queue.pop(), queue.pop()], left.map(|n| Some(Virtual(n))));
        }
        for when_full in [WhenFull::RefuseNewest, WhenFull::DropOldest] {
            let mut queue = SendQueue::new(QueueLimits { datagrams: 0, when_full, age: None });
            assert_eq!(queue.push(at(0), Virtual(3)), Some(Virtual(3)));
        }
    }

    #[test]
    fn what_waited_longer_than_its_age_goes() {
        let age = Some(Duration::from_millis(200));
        let mut queue = SendQueue::new(QueueLimits { age, ..QueueLimits::default() });
        queue.push(at(0), Virtual(1));
        queue.push(at(150), Virtual(2));
        assert_eq!(queue.deadline(), Some(at(200) + Duration::from_nanos(1)));
        assert_eq!(queue.pop_old(at(200)), None);
        assert_eq!(queue.pop_old(at(201)), Some(Virtual(1)));
        assert_eq!((queue.pop_old(at(201)), queue.len()), (None, 1));
    }
}
