//! Duplicate ACKs: their number, and the segments that they permit (RFC 5681, RFC 3042).

/// Duplicate ACKs since SND.UNA moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    /// Number of duplicates that means a loss (RFC 5681: 3).
    threshold: u32,
    count: u32,
    /// Bytes of new data sent on the first of them (RFC 3042), which are no part of FlightSize.
    limited_transmit: u32,
}

impl Duplicates {
    pub(super) fn new(threshold: u32) -> Self {
        Self { threshold: threshold.max(1), count: 0, limited_transmit: 0 }
    }

    pub(super) fn threshold(&self) -> u32 {
        self.threshold
    }

    pub(super) fn count_one(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Whether there are enough of them to mean a loss.
    pub(super) fn mean_loss(&self) -> bool {
        self.count >= self.threshold
    }

    /// SND.UNA moved, or a timeout began.
    pub(super) fn forget(&mut self) {
        (self.count, self.limited_transmit) = (0, 0);
    }

    /// New data of `len` bytes leaves outside of fast recovery.
    pub(super) fn note_new_data(&mut self, len: u32) {
        if self.count > 0 {
            self.limited_transmit += len;
        }
    }

    /// Bytes of new data sent on the first duplicates.
    pub(super) fn limited_transmit(&self) -> u32 {
        self.limited_transmit
    }

    /// Bytes by which the window is wider on the first duplicates: a segment of `smss` bytes for
    /// each, as one has left the network (RFC 3042).
    pub(super) fn credit(&self, smss: u32) -> u32 {
        // From the threshold on fast recovery counts what has left, and would count it twice.
        self.count.min(self.threshold.saturating_sub(1)).saturating_mul(smss)
    }
}
