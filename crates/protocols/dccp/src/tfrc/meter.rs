//! The receive rate (RFC 5348, section 6.2, step 2; RFC 4342, section 8.3).

use fairwave_units::{Duration, Instant};

/// Reports that are remembered; more within a round trip make the time measured shorter.
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
        self.note(now);
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
    pub fn note(&mut self, now: Instant) {
        debug_assert!(self.reports.iter().all(|(at, _)| *at <= now), "time goes back");
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
        meter.note(at(100));
        meter.take(2_000);
        // A loss is reported early: the time goes back to the report before.
        assert_eq!(meter.rate(at(150), RTT), 7_000.0 / 0.15);
        meter.note(at(150));
        meter.take(3_000);
        assert_eq!(meter.rate(at(200), RTT), 5_000.0 / 0.1);
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
