//! How a window grows by acknowledged bytes (RFC 5681 section 3.1, RFC 3465).

/// Growth by bytes: slow start per ACK, congestion avoidance per window of acknowledged bytes.
///
/// RFC 5681 lets congestion avoidance add SMSS*SMSS/cwnd per ACK (equation 3) or count bytes as
/// RFC 3465 does. Counting is the better base for experiments with lost and delayed ACKs: the
/// window grows by one SMSS per window of data however few ACKs report it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    mss: u32,
    /// L of RFC 3465 in segments: the most that one ACK adds in slow start.
    limit_segments: u32,
    /// Bytes acknowledged towards the next increase.
    credit: u32,
}

impl Growth {
    pub(crate) fn new(mss: u32, limit_segments: u32) -> Self {
        Self { mss, limit_segments, credit: 0 }
    }

    /// `cwnd` after an ACK of `acked` bytes in slow start.
    pub(crate) fn slow_start(&self, cwnd: u32, acked: u32) -> u32 {
        cwnd.saturating_add(acked.min(self.mss.saturating_mul(self.limit_segments)))
    }

    /// `cwnd` after `acked` bytes in congestion avoidance, where `window` bytes earn one SMSS.
    pub(crate) fn avoidance(&mut self, cwnd: u32, window: u32, acked: u32) -> u32 {
        self.credit = self.credit.saturating_add(acked);
        if self.credit < window {
            return cwnd;
        }
        self.credit -= window;
        cwnd.saturating_add(self.mss)
    }

    /// Forgets the bytes counted so far: the window was lowered.
    pub(crate) fn restart(&mut self) {
        self.credit = 0;
    }
}
