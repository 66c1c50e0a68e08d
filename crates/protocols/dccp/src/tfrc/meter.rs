//! The receive rate (RFC 5348, section 6.2, step 2; RFC 4342, section 8.3).

use fairwave_units::{Duration, Instant};

/// Reports that are remembered.
const REMEMBERED: usize = 8;

/// Bytes received, and the bytes received by the last reports.
///
/// The rate is measured over the time since the last report that is at least a round trip ago, as
/// the RFC allows for ease of implementation: nothing is kept of each packet.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    bytes: u64,
    reports: [(Instant, u64); REMEMBERED],
    count: usize,
    next: usize,
}

impl Meter {
    /// Begins at `now` with nothing received.
    pub fn restart(&mut self, now: Instant) {
        *self = Self::default();
        self.note(now, Duration::ZERO);
    }

    /// Counts a packet's bytes.
    pub fn take(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Bytes a second over the last `rtt` or a little longer; 0 if no time has passed.
    pub fn rate(&self, now: Instant, rtt: Duration) -> f64 {
        let Some((since, bytes)) = self.since(now, rtt) else { return 0.0 };
        let time = now.since(since).max(rtt).as_secs_f64();
        if time > 0.0 { (self.bytes - bytes) as f64 / time } else { 0.0 }
    }

    /// Remembers that a report is made.
    pub fn note(&mut self, now: Instant, rtt: Duration) {
        debug_assert!(self.reports.iter().all(|(at, _)| *at <= now), "time goes back");
        let (second, _) = self.reports[(self.next + 1) % REMEMBERED];
        if self.count == REMEMBERED && now.since(second) < rtt {
            // Many reports within a round trip: without the oldest one no report would be a round
            // trip old, and bytes of a shorter time would count as those of a whole round trip.
            self.reports[(self.next + REMEMBERED - 1) % REMEMBERED] = (now, self.bytes);
            return;
        }
        self.reports[self.next] = (now, self.bytes);
        self.next = (self.next + 1) % REMEMBERED;
        self.count = (self.count + 1).min(REMEMBERED);
    }

    /// The newest report at least `rtt` old, or else the oldest.
    fn since(&self, now: Instant, rtt: Duration) -> Option<(Instant, u64)> {
        let newest_first =
            (1..=self.count).map(|i| self.reports[(self.next + REMEMBERED - i) % REMEMBERED]);
        let mut oldest = None;
        for report in newest_first {
            oldest = Some(report);
            if now.since(report.0) >= rtt {
                break;
            }
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_rate_is_measured_since_a_report_a_round_trip_ago() {
        let mut meter = Meter::default();
        meter.restart(at(0));
        meter.take(5_000);
        assert_eq!(meter.rate(at(100), RTT), 50_000.0);
        meter.note(at(100), RTT);
        meter.take(2_000);
        // A loss is reported early: the time goes back to the report before.
        assert_eq!(meter.rate(at(150), RTT), 7_000.0 / 0.15);
        meter.note(at(150), RTT);
        meter.take(3_000);
        assert_eq!(meter.rate(at(200), RTT), 5_000.0 / 0.1);
    }

    /// A report for each packet, 10 ms apart: 1000 bytes in 10 ms, whatever the round-trip time.
    #[test]
    fn any_number_of_reports_within_a_round_trip_leaves_the_rate() {
        for rtt in [5, 10, 100, 200, 1000].map(Duration::from_millis) {
            let mut meter = Meter::default();
            meter.restart(at(0));
            for packet in 1..1000 {
                meter.take(1_000);
                // Before, the rate is that of a round trip that began with silence.
                if at(10 * packet) >= at(0) + rtt {
                    let rate = meter.rate(at(10 * packet), rtt);
                    assert!((rate - 100_000.0).abs() < 1e-6, "{rate} {packet} {rtt:?}");
                }
                meter.note(at(10 * packet), rtt);
            }
        }
    }

    /// RFC 5348, section 6.2: at least one packet a round trip.
    #[test]
    fn a_packet_after_long_silence_is_spread_over_the_silence() {
        let mut meter = Meter::default();
        meter.restart(at(0));
        meter.take(1_000);
        assert_eq!(meter.rate(at(4_000), RTT), 250.0);
        assert_eq!(meter.rate(at(50), RTT), 10_000.0);
    }
}
