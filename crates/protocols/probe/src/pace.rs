//! Time at which a sender may send, and how often it asks again.

use fairwave_units::{BitRate, Duration, Instant};

/// Time before a request is repeated for the first time; it doubles from try to try.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest time before a request is repeated.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Tries before a receiver counts as silent.
const TRIES: u32 = 8;

/// A rate that is never exceeded, over any stretch of time: whoever is late does not catch up.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: BitRate,
    /// Bytes of IP and UDP before each payload.
    header_bytes: u64,
    free_at: Instant,
}

impl Pace {
    pub(crate) const fn new(rate: BitRate, header_bytes: u64) -> Self {
        Self { rate, header_bytes, free_at: Instant::ZERO }
    }

    /// From now on at most this rate.
    pub(crate) fn restrict(&mut self, rate: BitRate) {
        self.rate = self.rate.min(rate);
    }

    /// The rate now.
    pub(crate) const fn rate(&self) -> BitRate {
        self.rate
    }

    pub(crate) fn allows(&self, now: Instant) -> bool {
        now >= self.free_at && self.rate > BitRate(0)
    }

    /// A datagram with this payload was sent.
    pub(crate) fn note(&mut self, now: Instant, payload_bytes: usize) {
        debug_assert!(self.allows(now), "sent at {now:?}, free at {:?}", self.free_at);
        // From now, not from `free_at`: a late datagram earns no credit for a burst.
        self.free_at = now + self.rate.time_for(payload_bytes as u64 + self.header_bytes);
    }

    /// Returns the time at which a packet that is due `at` can be sent.
    pub(crate) fn at_earliest(&self, at: Instant) -> Instant {
        if self.rate == BitRate(0) { Instant::MAX } else { self.free_at.max(at) }
    }
}

/// A request that is repeated until it is answered.
#[derive(Debug)]
pub(crate) struct Retries {
    tries: u32,
    at: Instant,
}

impl Retries {
    /// The first try is due `now`.
    pub(crate) const fn from(now: Instant) -> Self {
        Self { tries: 0, at: now }
    }

    /// Time at which the next try is due, or the last has been in vain.
    pub(crate) const fn next(&self) -> Instant {
        self.at
    }

    pub(crate) fn exhausted(&self, now: Instant) -> bool {
        self.tries == TRIES && now >= self.at
    }

    /// Counts a try, if one is due.
    pub(crate) fn attempt(&mut self, now: Instant) -> Option<()> {
        if now < self.at || self.tries == TRIES {
            return None;
        }
        let wait = Duration::from_nanos(FIRST_WAIT.as_nanos() << self.tries);
        self.at = now + wait.min(LONGEST_WAIT);
        self.tries += 1;
        Some(())
    }
}
