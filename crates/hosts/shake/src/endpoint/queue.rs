//! A bounded queue of datagrams with deadlines.

use bytes::Bytes;
use fairwave_units::Instant;
use std::collections::VecDeque;

/// Maximum number of datagrams in a queue, and of their bytes.
pub(super) const MAX_DATAGRAMS: usize = 512;
pub(super) const MAX_BYTES: usize = 512 * 1024;

/// A datagram that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) flow: u32,
    pub(super) payload: Bytes,
    /// Time at which it expires.
    pub(super) until: Instant,
}

/// Datagrams in the order of their arrival. Those whose time is over are dropped, and the oldest
/// where there is no room for a new one: an application with deadlines prefers the newest.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Earliest end of a datagram's time.
    first_end: Option<Instant>,
    dropped: u64,
}

impl Queue {
    /// Number of datagrams that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends a datagram.
    pub(super) fn push(&mut self, now: Instant, datagram: Waiting) {
        self.expire(now);
        if datagram.until <= now || datagram.payload.len() > MAX_BYTES {
            self.dropped += 1;
            return;
        }
        while self.waiting.len() >= MAX_DATAGRAMS || self.bytes + datagram.payload.len() > MAX_BYTES
        {
            self.remove(0);
            self.dropped += 1;
        }
        self.bytes += datagram.payload.len();
        self.first_end = self.first_end.into_iter().chain([datagram.until]).min();
        self.waiting.push_back(datagram);
    }

    /// End of the first datagram's time.
    pub(super) fn first(&mut self, now: Instant) -> Option<Instant> {
        self.expire(now);
        self.waiting.front().map(|datagram| datagram.until)
    }

    /// Takes the first datagram.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        self.expire(now);
        self.remove(0)
    }

    /// Takes the first datagram of a flow.
    pub(super) fn pop_of(&mut self, now: Instant, flow: u32) -> Option<Waiting> {
        self.expire(now);
        let place = self.waiting.iter().position(|datagram| datagram.flow == flow)?;
        self.remove(place)
    }

    /// Drops the first datagram.
    pub(super) fn drop_first(&mut self) {
        self.dropped += u64::from(self.remove(0).is_some());
    }

    fn remove(&mut self, place: usize) -> Option<Waiting> {
        let datagram = self.waiting.remove(place)?;
        self.bytes -= datagram.payload.len();
        Some(datagram)
    }

    /// Drops the datagrams whose time is over.
    fn expire(&mut self, now: Instant) {
        if self.first_end.is_none_or(|end| end > now) {
            return;
        }
        let before = self.waiting.len();
        self.waiting.retain(|datagram| datagram.until > now);
        self.dropped += (before - self.waiting.len()) as u64;
        self.bytes = self.waiting.iter().map(|datagram| datagram.payload.len()).sum();
        self.first_end = self.waiting.iter().map(|datagram| datagram.until).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push { flow: u32, len: usize, lifetime_ms: u64 },
        Pop,
        PopOf(u32),
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let push = (0..3u32, 0..40_000usize, 0..200u64)
            .prop_map(|(flow, len, lifetime_ms)| Step::Push { flow, len, lifetime_ms });
        prop_oneof![
            4 => push,
            1 => Just(Step::Pop),
            1 => (0..3u32).prop_map(Step::PopOf),
            1 => (0..100u64).prop_map(Step::Wait),
        ]
    }

    proptest! {
        /// It agrees with a plain list, never exceeds its bounds, and loses nothing uncounted.
        #[test]
        fn as_a_list(steps in prop::collection::vec(step(), 1..300)) {
            let (mut queue, mut list) = (Queue::default(), Vec::<Waiting>::new());
            let mut now = Instant::ZERO;
            let (mut pushed, mut popped) = (0u64, 0u64);
            for step in steps {
                list.retain(|one| one.until > now);
                let (found, expected) = match step {
                    Step::Push { flow, len, lifetime_ms } => {
                        pushed += 1;
                        let until = now + Duration::from_millis(lifetime_ms);
                        let one = Waiting { flow, payload: vec![0; len].into(), until };
                        queue.push(now, one.clone());
                        if until > now {
                            list.push(one);
                        }
                        let bytes = |list: &[Waiting]| {
                            list.iter().map(|one| one.payload.len()).sum::<usize>()
                        };
                        while bytes(&list) > MAX_BYTES {
                            list.remove(0);
                        }
                        (None, None)
                    }
                    Step::Pop => (queue.pop(now), (!list.is_empty()).then(|| list.remove(0))),
                    Step::PopOf(flow) => {
                        let place = list.iter().position(|one| one.flow == flow);
                        (queue.pop_of(now, flow), place.map(|place| list.remove(place)))
                    }
                    Step::Wait(ms) => {
                        now += Duration::from_millis(ms);
                        (None, None)
                    }
                };
                prop_assert_eq!(&found, &expected);
                popped += u64::from(found.is_some());
                prop_assert!(queue.waiting.len() <= MAX_DATAGRAMS && queue.bytes <= MAX_BYTES);
                prop_assert_eq!(pushed, popped + queue.dropped + queue.waiting.len() as u64);
            }
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut queue = Queue::default();
        let until = Instant::ZERO + Duration::from_secs(1);
        for flow in 0..=MAX_DATAGRAMS as u32 {
            queue.push(Instant::ZERO, Waiting { flow, payload: Bytes::new(), until });
        }
        assert_eq!((queue.dropped(), queue.pop(Instant::ZERO).unwrap().flow), (1, 1));
        assert_eq!(queue.pop(until), None);
        assert_eq!(queue.dropped(), MAX_DATAGRAMS as u64);
    }
}
