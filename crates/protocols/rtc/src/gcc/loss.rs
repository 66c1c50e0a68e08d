//! The loss-based part (draft-ietf-rmcat-gcc-02 section 6).
//!
//! The draft updates the rate with each receiver report, about once a second. Transport-wide
//! feedback arrives ten times as often. Therefore the limit is raised by 5 % once a second, and
//! lowered at most once in 300 ms and a round-trip time (libwebrtc `SendSideBandwidthEstimation`).
//! Before any loss above 10 % there is no limit; this is Fairwave's choice, as the draft does not
//! define an initial value.

use fairwave_units::{Duration, Instant};

/// Below this share of losses the limit goes up.
const LOW: f64 = 0.02;
/// Above this share of losses the limit goes down.
const HIGH: f64 = 0.10;
/// Factor of a raise.
const RAISE: f64 = 1.05;
const RAISE_EVERY: Duration = Duration::from_secs(1);
const LOWER_EVERY: Duration = Duration::from_millis(300);
/// Minimum number of packets for a share (libwebrtc).
const MIN_PACKETS: u64 = 20;

/// Rate that losses permit.
#[derive(Clone, Debug)]
pub struct Losses {
    limit: f64,
    lost: u64,
    packets: u64,
    lowered: Option<Instant>,
    raised: Option<Instant>,
}

impl Default for Losses {
    fn default() -> Self {
        Self { limit: f64::INFINITY, lost: 0, packets: 0, lowered: None, raised: None }
    }
}

impl Losses {
    /// In bit/s.
    pub const fn limit(&self) -> f64 {
        self.limit
    }

    /// A limit below the minimum rate would only take long to come back from.
    pub(super) const fn keep_above(&mut self, bps: f64) {
        self.limit = self.limit.max(bps);
    }

    /// Handles the report that of `packets` packets `lost` did not arrive; `target` is the present
    /// rate.
    pub(super) fn take(
        &mut self,
        now: Instant,
        lost: u64,
        packets: u64,
        target: f64,
        rtt: Duration,
    ) {
        self.lost += lost;
        self.packets += packets;
        if self.packets < MIN_PACKETS {
            return;
        }
        let share = self.lost as f64 / self.packets as f64;
        (self.lost, self.packets) = (0, 0);
        let after = |last: Option<Instant>, pause| last.is_none_or(|last| now.since(last) >= pause);
        if share > HIGH && after(self.lowered, LOWER_EVERY + rtt) {
            // Before the first loss the limit is infinite, so the decrease starts from the target.
            self.limit = self.limit.min(target) * (1.0 - 0.5 * share);
            self.lowered = Some(now);
            self.raised = Some(now);
        } else if share < LOW && after(self.raised, RAISE_EVERY) {
            self.limit *= RAISE;
            self.raised = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A fifth lost: down by a tenth, but not again within 400 ms. 5 % change nothing. No loss:
    /// up by 5 % in a second.
    #[test]
    fn losses_lower_and_their_absence_raises() {
        let mut losses = Losses::default();
        losses.take(at(0), 10, 100, 1e6, RTT);
        assert_eq!(losses.limit(), f64::INFINITY, "10 % are not above 10 %");
        losses.take(at(0), 20, 100, 1e6, RTT);
        assert!((losses.limit() - 0.9e6).abs() < 1e-6);
        losses.take(at(399), 20, 100, 0.9e6, RTT);
        assert!((losses.limit() - 0.9e6).abs() < 1e-6);
        losses.take(at(400), 20, 100, 0.9e6, RTT);
        assert!((losses.limit() - 0.81e6).abs() < 1e-6);
        losses.take(at(2_000), 5, 100, 0.81e6, RTT);
        assert!((losses.limit() - 0.81e6).abs() < 1e-6);
        losses.take(at(2_000), 1, 100, 0.81e6, RTT);
        losses.take(at(2_999), 1, 100, 0.81e6, RTT);
        assert!((losses.limit() - 0.81e6 * 1.05).abs() < 1e-6);
    }

    #[test]
    fn a_few_packets_are_no_share() {
        let mut losses = Losses::default();
        losses.take(at(0), 10, 19, 1e6, RTT);
        assert_eq!(losses.limit(), f64::INFINITY);
        losses.take(at(0), 0, 1, 1e6, RTT);
        assert!((losses.limit() - 0.75e6).abs() < 1e-6);
    }
}
