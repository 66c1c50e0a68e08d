//! Deliveries to the receiving application of a flow, with their times.

use super::delays::Delays;
use fairwave_units::{Bytes, Duration, Instant};

/// Progress of delivery to the receiving application.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Bytes delivered so far.
    pub bytes: u64,
    /// Time of the most recent delivery, or of the start of statistics.
    pub last: Instant,
    /// Longest time between two deliveries since statistics began.
    pub longest_silence: Duration,
    /// Time at which a flow with a size was delivered whole.
    pub completed: Option<Instant>,
    /// Delays of the delivered data.
    pub delays: Delays,
    /// Bytes of each bin that is over.
    pub bins: Vec<u64>,
    /// Bytes delivered by the end of the last bin.
    binned: u64,
}

impl Delivery {
    /// `bytes` are delivered at `now`, not before the last.
    pub fn take(&mut self, bytes: u32, now: Instant) {
        debug_assert!(now >= self.last, "delivered at {now}, before {}", self.last);
        self.bytes += u64::from(bytes);
        self.note_silence(now);
        self.last = now;
    }

    /// Notes when a flow of this size, if it has one, was delivered whole.
    pub fn note_completion(&mut self, size: Option<Bytes>, now: Instant) {
        if size.is_some_and(|size| self.bytes >= size.0) {
            self.completed.get_or_insert(now);
        }
    }

    /// Counts the silence that ends, or is cut off, at `now`.
    pub fn note_silence(&mut self, now: Instant) {
        self.longest_silence = self.longest_silence.max(now.since(self.last));
    }

    /// A bin is over.
    pub fn end_bin(&mut self) {
        self.bins.push(self.bytes - self.binned);
        self.binned = self.bytes;
    }

    /// Silence counts anew from `now`.
    pub fn restart_silence(&mut self, now: Instant) {
        self.last = now;
        self.longest_silence = Duration::ZERO;
    }
}
