//! Growth of a window with acknowledgements (RFC 5681 section 3.1, RFC 3465).

use crate::Initial;

/// Growth per ACK in slow start; in congestion avoidance one SMSS per window of acknowledged
/// bytes.
///
/// RFC 5681 lets congestion avoidance add SMSS*SMSS/cwnd per ACK (equation 3) or count bytes as
/// RFC 3465 does. Bytes make the window grow by one SMSS per window of data however few ACKs
/// report it; ACKs, as simulators of the 2000s and ns-3 count, slow the growth where ACKs are
/// delayed or lost. Counting ACKs, each stands for at most one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    mss: u32,
    /// L of RFC 3465 in segments: the maximum growth by one ACK in slow start.
    limit_segments: u32,
    byte_counting: bool,
    /// Bytes acknowledged towards the next increase.
    credit: u32,
}

impl Growth {
    pub(crate) fn new(initial: &Initial) -> Self {
        Self {
            mss: initial.mss.max(1),
            limit_segments: initial.slow_start_segments,
            byte_counting: initial.byte_counting,
            credit: 0,
        }
    }

    /// Returns `cwnd` after an ACK of `acked` bytes in slow start. The part beyond one segment does
    /// not lead beyond `ssthresh`.
    pub(crate) fn slow_start(&self, cwnd: u32, ssthresh: u32, acked: u32) -> u32 {
        let one = cwnd.saturating_add(acked.min(self.mss));
        let all = acked.min(self.mss.saturating_mul(self.limit_segments));
        cwnd.saturating_add(all).min(ssthresh.max(one))
    }

    /// `cwnd` after `acked` bytes in congestion avoidance, where `window` bytes earn one SMSS.
    pub(crate) fn avoidance(&mut self, cwnd: u32, window: u32, acked: u32) -> u32 {
        self.credit = self.credit.saturating_add(self.counted(acked));
        if self.credit < window {
            return cwnd;
        }
        self.credit -= window;
        cwnd.saturating_add(self.mss)
    }

    /// The part of `acked` that congestion avoidance counts.
    pub(crate) fn counted(&self, acked: u32) -> u32 {
        if self.byte_counting { acked } else { acked.min(self.mss) }
    }

    /// Forgets the bytes counted so far: the window was lowered.
    pub(crate) fn restart(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cwnd after `acks` ACKs of `acked` bytes each, from 10 segments of 1000 bytes.
    fn after(byte_counting: bool, acks: u32, acked: u32) -> u32 {
        let mut growth = Growth { mss: 1000, limit_segments: 1, byte_counting, credit: 0 };
        (0..acks).fold(10_000, |cwnd, _| growth.avoidance(cwnd, cwnd, acked))
    }

    #[test]
    fn a_window_of_bytes_earns_a_segment_however_few_acks_report_it() {
        assert_eq!(after(true, 10, 1000), 11_000);
        assert_eq!(after(true, 5, 2000), 11_000);
        assert_eq!(after(true, 2, 5000), 11_000);
    }

    #[test]
    fn slow_start_adds_what_its_limit_allows_and_ends_at_the_threshold() {
        let slow_start = |limit_segments, ssthresh, acked| {
            let growth = Growth { mss: 1000, limit_segments, byte_counting: true, credit: 0 };
            growth.slow_start(10_000, ssthresh, acked)
        };
        assert_eq!(slow_start(1, u32::MAX, 44_000), 11_000);
        assert_eq!(slow_start(2, u32::MAX, 44_000), 12_000);
        assert_eq!(slow_start(u32::MAX, u32::MAX, 44_000), 54_000);
        assert_eq!(slow_start(u32::MAX, 20_000, 44_000), 20_000);
        assert_eq!(slow_start(u32::MAX, 10_001, 44_000), 11_000, "a segment is always added");
    }

    #[test]
    fn counted_by_acks_lost_and_delayed_ones_slow_the_growth() {
        assert_eq!(after(false, 10, 1000), 11_000);
        assert_eq!(after(false, 9, 5000), 10_000);
        assert_eq!(after(false, 10, 5000), 11_000);
    }
}
