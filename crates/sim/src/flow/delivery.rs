//! What the receiving application of a flow gets, and when.

use fairwave_units::{Bytes, Duration, Instant};

/// Delivery to the receiving application, as it went on.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) bytes: u64,
    pub(crate) last: Instant,
    pub(crate) longest_silence: Duration,
    pub(crate) completed: Option<Instant>,
    /// Bytes of each bin that is over, and what was delivered by its end.
    pub(crate) bins: Vec<u64>,
    binned: u64,
}

impl Delivery {
    pub(super) fn new() -> Self {
        Self {
            bytes: 0,
            last: Instant::ZERO,
            longest_silence: Duration::ZERO,
            completed: None,
            bins: Vec::new(),
            binned: 0,
        }
    }

    pub(super) fn take(&mut self, bytes: u32, now: Instant) {
        debug_assert!(now >= self.last, "delivered at {now}, before {}", self.last);
        self.bytes += u64::from(bytes);
        self.note_silence(now);
        self.last = now;
    }

    /// Notes when a flow of this size, if it has one, was delivered whole.
    pub(super) fn note_completion(&mut self, size: Option<Bytes>, now: Instant) {
        if size.is_some_and(|size| self.bytes >= size.0) {
            self.completed.get_or_insert(now);
        }
    }

    /// Counts the silence that ends, or is cut off, at `now`.
    pub(crate) fn note_silence(&mut self, now: Instant) {
        self.longest_silence = self.longest_silence.max(now.since(self.last));
    }

    /// A bin is over.
    pub(crate) fn end_bin(&mut self) {
        self.bins.push(self.bytes - self.binned);
        self.binned = self.bytes;
    }

    /// Silence counts anew from `now`.
    pub(crate) fn restart_silence(&mut self, now: Instant) {
        self.last = now;
        self.longest_silence = Duration::ZERO;
    }
}
