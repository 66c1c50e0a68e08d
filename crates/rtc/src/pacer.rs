//! The queue in front of the network: frames leave it packet by packet, not at once.

use fairwave_units::{BitRate, Instant};
use std::collections::VecDeque;

/// Packets leave at so many times the target (libwebrtc's pacing factor), in halves.
const FACTOR_HALVES: u64 = 5;
/// What waits is gone after this many seconds, whatever the target (libwebrtc's queue time limit).
const MOST_SECONDS: u64 = 2;
/// Packets that wait at most; then the oldest is dropped.
const MOST: usize = 16_384;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) payload_bytes: u32,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    /// Number of the packet among those of all frames.
    pub(crate) unit: u64,
}

/// Packets in order, and when the next may go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    queue: VecDeque<Waiting>,
    bytes: u64,
    free: Instant,
    pub(crate) dropped: u64,
}

impl Pacer {
    pub(crate) fn push(&mut self, packet: Waiting) {
        if self.queue.len() == MOST
            && let Some(oldest) = self.queue.pop_front()
        {
            self.bytes -= u64::from(oldest.payload_bytes);
            self.dropped += 1;
        }
        self.bytes += u64::from(packet.payload_bytes);
        self.queue.push_back(packet);
    }

    /// When the next packet may go.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.free)
    }

    /// The next packet, if it may go at a target of `target`; `overhead` are its headers' bytes.
    pub(crate) fn pop(&mut self, now: Instant, target: BitRate, overhead: u32) -> Option<Waiting> {
        if now < self.free {
            return None;
        }
        let packet = self.queue.pop_front()?;
        let drain = BitRate(self.bytes * 8 / MOST_SECONDS);
        let rate = BitRate(target.0 * FACTOR_HALVES / 2).max(drain).max(BitRate(1));
        self.bytes -= u64::from(packet.payload_bytes);
        self.free = now + rate.time_for(u64::from(packet.payload_bytes + overhead));
        Some(packet)
    }

    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.bytes
    }
}
