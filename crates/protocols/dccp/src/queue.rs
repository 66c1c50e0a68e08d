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

/// A datagram that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting<P> {
    /// Time after which it is dropped instead of sent; `None` if it has no deadline.
    pub deadline: Option<Instant>,
    /// The data.
    pub payload: P,
}

#[derive(Debug)]
pub(crate) struct SendQueue<P> {
    limits: QueueLimits,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P: Payload> SendQueue<P> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { limits, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Takes a datagram; returns the one dropped for it, or itself. Its deadline is the earlier of
    /// its own and that of [`QueueLimits::age`].
    pub(crate) fn push(
        &mut self,
        now: Instant,
        deadline: Option<Instant>,
        payload: P,
    ) -> Option<P> {
        let full = self.waiting.len() >= self.limits.datagrams;
        if full && self.limits.when_full == WhenFull::RefuseNewest {
            return Some(payload);
        }
        let gone = if full { self.pop() } else { None };
        if self.limits.datagrams == 0 {
            return Some(payload);
        }
        self.bytes += u64::from(payload.len());
        let of_age = self.limits.age.map(|age| now + age);
        let deadline = deadline.into_iter().chain(of_age).min();
        self.waiting.push_back(Waiting { deadline, payload });
        debug_assert!(self.waiting.len() <= self.limits.datagrams, "{}", self.waiting.len());
        gone
    }

    /// The next datagram that is too old to be sent. Those behind the front are looked at when they
    /// are there, as only the front can be sent.
    pub(crate) fn pop_old(&mut self, now: Instant) -> Option<P> {
        let deadline = self.waiting.front()?.deadline?;
        if now > deadline { self.pop() } else { None }
    }

    /// Empties the queue.
    pub(crate) fn take_all(&mut self) -> VecDeque<Waiting<P>> {
        self.bytes = 0;
        core::mem::take(&mut self.waiting)
    }

    pub(crate) fn pop(&mut self) -> Option<P> {
        let Waiting { payload, .. } = self.waiting.pop_front()?;
        self.bytes -= u64::from(payload.len());
        debug_assert!(!self.waiting.is_empty() || self.bytes == 0, "{} B of nothing", self.bytes);
        Some(payload)
    }

    /// Length of the next datagram.
    pub(crate) fn next_len(&self) -> Option<u32> {
        self.waiting.front().map(|one| one.payload.len())
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
        // A deadline reached exactly is still met.
        Some(self.waiting.front()?.deadline? + Duration::from_nanos(1))
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
                (queue.push(at(0), None, Virtual(1)), queue.push(at(0), None, Virtual(2))),
                (None, None)
            );
            assert_eq!(queue.push(at(0), None, Virtual(3)), Some(Virtual(gone)));
            assert_eq!(queue.bytes(), u64::from(left[0] + left[1]));
            assert_eq!([queue.pop(), queue.pop()], left.map(|n| Some(Virtual(n))));
        }
        for when_full in [WhenFull::RefuseNewest, WhenFull::DropOldest] {
            let mut queue = SendQueue::new(QueueLimits { datagrams: 0, when_full, age: None });
            assert_eq!(queue.push(at(0), None, Virtual(3)), Some(Virtual(3)));
        }
    }

    #[test]
    fn what_waited_longer_than_its_age_goes() {
        let age = Some(Duration::from_millis(200));
        let mut queue = SendQueue::new(QueueLimits { age, ..QueueLimits::default() });
        queue.push(at(0), None, Virtual(1));
        queue.push(at(150), None, Virtual(2));
        assert_eq!(queue.deadline(), Some(at(200) + Duration::from_nanos(1)));
        assert_eq!(queue.pop_old(at(200)), None);
        assert_eq!(queue.pop_old(at(201)), Some(Virtual(1)));
        assert_eq!((queue.pop_old(at(201)), queue.len()), (None, 1));
    }

    /// The deadlines of two datagrams are not in their order: the second is late once it is at the
    /// front.
    #[test]
    fn each_datagram_has_its_own_deadline() {
        let age = Some(Duration::from_millis(200));
        let mut queue = SendQueue::new(QueueLimits { age, ..QueueLimits::default() });
        queue.push(at(0), Some(at(300)), Virtual(1));
        queue.push(at(0), Some(at(50)), Virtual(2));
        queue.push(at(0), None, Virtual(3));
        assert_eq!(queue.deadline(), Some(at(200) + Duration::from_nanos(1)));
        assert_eq!((queue.pop_old(at(100)), queue.pop()), (None, Some(Virtual(1))));
        assert_eq!((queue.pop_old(at(100)), queue.pop_old(at(100))), (Some(Virtual(2)), None));
        let left: Vec<_> = queue.take_all().into();
        assert_eq!(left, [Waiting { deadline: Some(at(200)), payload: Virtual(3) }]);
        assert_eq!((queue.len(), queue.bytes()), (0, 0));
    }
}
