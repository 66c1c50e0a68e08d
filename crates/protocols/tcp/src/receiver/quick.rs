//! Quick ACKs: a sender in slow start lives on ACKs, so the first ones are not delayed.
//!
//! After Linux (`net/ipv4/tcp_input.c`, "quickack mode"): half a window of segments, at most a
//! fixed number, is acknowledged at once at the start, after idleness and around gaps, unless
//! this end sends data that ACKs can ride on.

use fairwave_units::{Duration, Instant};

/// Number of next segments that are acknowledged at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickAcks {
    /// Maximum of them at a time; zero is never.
    most: u32,
    left: u32,
    idle_after: Duration,
    /// Time of the last data.
    last: Option<Instant>,
}

impl QuickAcks {
    pub(super) fn new(most: u32) -> Self {
        Self { most, left: 0, idle_after: Duration::ZERO, last: None }
    }

    pub(super) fn set_idle_after(&mut self, silence: Duration) {
        self.idle_after = silence;
    }

    /// Data arrives; the first, and the first after idleness, earns a quota.
    pub(super) fn arrived(&mut self, now: Instant, window: u64, full_size: u32) {
        if self.most == 0 {
            return;
        }
        let last = self.last.replace(now);
        if last.is_none_or(|last| now.since(last) > self.idle_after) {
            self.grant(window, full_size);
        }
    }

    /// A quota of half the window in segments of `full_size`, at least two.
    pub(super) fn grant(&mut self, window: u64, full_size: u32) {
        let half = window / (2 * u64::from(full_size.max(1)));
        let quota = half.clamp(2, u64::from(self.most.max(2))) as u32;
        self.left = self.left.max(quota.min(self.most));
    }

    /// The window opened for a segment: its ACK at least is quick.
    pub(super) fn grant_one(&mut self) {
        self.left |= u32::from(self.most > 0);
    }

    /// In-order data arrived: whether its ACK is quick.
    pub(super) fn spend(&mut self) -> bool {
        let quick = self.left > 0;
        self.left -= u32::from(quick);
        quick
    }

    pub(super) fn stop(&mut self) {
        self.left = 0;
    }
}
