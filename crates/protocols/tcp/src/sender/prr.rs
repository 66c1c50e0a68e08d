//! Proportional rate reduction (RFC 6937): during recovery, departures follow deliveries.

use crate::ReductionBound;

/// State of RFC 6937 section 3. Lengths are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// RecoverFS: FlightSize as recovery began, or the value that the window was reduced from.
    flight: u64,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// Maximum data in flight until the next ACK: pipe + sndcnt.
    window: u32,
}

/// An ACK's information in recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// DeliveredData.
    pub(super) delivered: u64,
    /// RFC 6675 pipe after the ACK.
    pub(super) pipe: u32,
    /// The window at which recovery is to end (ssthresh).
    pub(super) target: u32,
    /// SMSS.
    pub(super) smss: u32,
    /// It advances, and shows no further loss (RFC 9937: SafeACK).
    pub(super) safe: bool,
}

impl Prr {
    pub(super) fn new(flight: u32) -> Self {
        Self { flight: u64::from(flight).max(1), delivered: 0, out: 0, window: 0 }
    }

    /// The algorithm of section 3 for one ACK. Until something has left, a segment may: the fast
    /// retransmit is not held back.
    pub(super) fn on_ack(&mut self, ack: &Progress, bound: ReductionBound) {
        self.delivered += ack.delivered;
        let (pipe, target, smss) =
            (u64::from(ack.pipe), u64::from(ack.target), u64::from(ack.smss));
        let count = if pipe > target {
            (self.delivered * target).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            let conserved = self.delivered.saturating_sub(self.out);
            // The extra segments may have made `out` exceed `delivered`. An ACK still lets out as
            // much as it delivers, so that the flow does not stall.
            let limit = match bound {
                ReductionBound::Conservative => conserved,
                ReductionBound::SlowStart => conserved.max(ack.delivered) + smss,
                ReductionBound::SafeAck => {
                    conserved.max(ack.delivered) + if ack.safe { smss } else { 0 }
                }
            };
            limit.min(target - pipe)
        };
        let count = if self.out == 0 { count.max(smss) } else { count };
        self.window = u32::try_from(pipe + count).unwrap_or(u32::MAX);
    }

    /// Returns the maximum data in flight until the next ACK, in bytes.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// A segment of `len` bytes leaves.
    pub(super) fn sent(&mut self, len: u32) {
        self.out += u64::from(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Progress =
        Progress { delivered: 1_000, pipe: 4_000, target: 10_000, smss: 1_000, safe: false };

    fn window_after(ack: Progress, sent: u32, bound: ReductionBound) -> u32 {
        let mut prr = Prr::new(20_000);
        prr.on_ack(&START, bound);
        prr.sent(sent);
        prr.on_ack(&ack, bound);
        prr.window - ack.pipe
    }

    /// RFC 6937 section 3: above ssthresh, half of the delivered data leaves for a ratio of 1/2.
    #[test]
    fn above_the_target_departures_are_proportional() {
        let ack = Progress { delivered: 5_000, pipe: 12_000, ..START };
        // 6000 delivered in all, half of it less the 1000 that left.
        assert_eq!(window_after(ack, 1_000, ReductionBound::SlowStart), 2_000);
    }

    /// RFC 6937 section 3: below ssthresh, as much leaves as is delivered, or with the slow start
    /// bound a segment more for each ACK.
    #[test]
    fn below_the_target_the_bound_rules() {
        let ack = Progress { pipe: 3_000, ..START };
        assert_eq!(window_after(ack, 1_000, ReductionBound::Conservative), 1_000);
        assert_eq!(window_after(ack, 1_000, ReductionBound::SlowStart), 2_000);
        // What the connection did not use is kept: 2000 delivered, none of it used but the first.
        let far = Progress { delivered: 4_000, ..ack };
        assert_eq!(window_after(far, 1_000, ReductionBound::Conservative), 4_000);
        assert_eq!(window_after(far, 1_000, ReductionBound::SlowStart), 5_000);
        // And never beyond the target.
        let near = Progress { delivered: 4_000, pipe: 9_500, ..START };
        assert_eq!(window_after(near, 1_000, ReductionBound::SlowStart), 500);
    }

    /// RFC 9937 section 5: the segment more is for ACKs that advance and show no further loss.
    #[test]
    fn only_a_safe_ack_adds_a_segment() {
        let ack = Progress { pipe: 3_000, ..START };
        assert_eq!(window_after(ack, 1_000, ReductionBound::SafeAck), 1_000);
        let safe = Progress { safe: true, ..ack };
        assert_eq!(window_after(safe, 1_000, ReductionBound::SafeAck), 2_000);
    }

    /// The first retransmission leaves whatever the ratio.
    #[test]
    fn the_fast_retransmit_always_fits() {
        let mut prr = Prr::new(20_000);
        prr.on_ack(&Progress { pipe: 16_000, ..START }, ReductionBound::SlowStart);
        assert_eq!(prr.window, 17_000);
    }
}
