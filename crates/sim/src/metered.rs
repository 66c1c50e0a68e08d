//! A packet queue that keeps count of what passes through it.

use crate::packet::Packet;
use fairwave_queue::{DropTail, Limit};
use fairwave_trace::{DropCause, QueueSample};
use fairwave_units::{Duration, Instant};

/// A drop-tail queue with counters and a time-weighted mean length.
#[derive(Debug)]
pub(crate) struct Metered {
    queue: DropTail<Packet>,
    enqueued: u64,
    drops: [u64; DropCause::ALL.len()],
    peak: u32,
    /// Packets times nanoseconds since `since`.
    area: u128,
    last_change: Instant,
    since: Instant,
}

impl Metered {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            queue: DropTail::new(limit),
            enqueued: 0,
            drops: [0; DropCause::ALL.len()],
            peak: 0,
            area: 0,
            last_change: Instant::ZERO,
            since: Instant::ZERO,
        }
    }

    fn account(&mut self, now: Instant) {
        let span = now.since(self.last_change).as_nanos();
        self.area += u128::from(self.queue.len()) * u128::from(span);
        self.last_change = now;
    }

    /// Queues a packet, or counts its drop and gives it back.
    pub(crate) fn push(&mut self, packet: Packet, now: Instant) -> Result<(), Packet> {
        self.account(now);
        let pushed = self.queue.push(packet, packet.datagram.wire_len());
        if pushed.is_ok() {
            self.enqueued += 1;
            self.peak = self.peak.max(self.queue.len());
        } else {
            self.count_drop(DropCause::QueueFull);
        }
        pushed
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<Packet> {
        self.account(now);
        self.queue.pop()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn len(&self) -> u32 {
        self.queue.len()
    }

    /// A packet that passed without waiting.
    pub(crate) fn count_passed(&mut self) {
        self.enqueued += 1;
    }

    /// A drop here or on the link or radio behind.
    pub(crate) fn count_drop(&mut self, cause: DropCause) {
        self.drops[cause as usize] += 1;
    }

    /// Starts peak and mean anew.
    pub(crate) fn restart_statistics(&mut self, now: Instant) {
        self.account(now);
        self.area = 0;
        self.since = now;
        self.peak = self.queue.len();
    }

    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    /// Mean number of packets waiting since the statistics were started.
    pub(crate) fn mean(&mut self, now: Instant) -> f64 {
        self.account(now);
        let span = now.since(self.since);
        if span == Duration::ZERO { 0.0 } else { self.area as f64 / span.as_nanos() as f64 }
    }

    pub(crate) fn sample(&self) -> QueueSample {
        QueueSample {
            packets: self.queue.len(),
            bytes: self.queue.bytes().0,
            enqueued: self.enqueued,
            drops: self.drops,
        }
    }
}
