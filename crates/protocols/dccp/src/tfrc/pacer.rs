//! Time at which the next packet may go (RFC 5348, sections 4.6 and 8.3).

use fairwave_units::{Duration, Instant};

/// Spaces packets by t_ipi, lets them go a little early, and keeps credit for time not used.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// The nominal time of the last packet; `None` before the first.
    last: Option<Instant>,
    /// Granularity of the timers, t_gran.
    granularity: Duration,
    /// The smallest time between packets; CCID 4 sets 10 ms.
    least: Duration,
    sent_at: Instant,
}

impl Pacer {
    /// A pacer whose host wakes it every `granularity` at best, and that sends no two packets
    /// within `least`.
    pub const fn new(granularity: Duration, least: Duration) -> Self {
        Self { last: None, granularity, least, sent_at: Instant::ZERO }
    }

    /// Time at which the next packet may go, early by t_delta at most, if packets are `t_ipi`
    /// apart.
    pub fn next(&self, t_ipi: Duration, rtt: Duration) -> Instant {
        let Some(last) = self.last else { return Instant::ZERO };
        let paced = last + t_ipi - self.t_delta(t_ipi, rtt);
        if self.least.is_zero() { paced } else { paced.max(self.sent_at + self.least) }
    }

    /// A packet goes at `now`. Of nominal times that passed unused, those of the last round trip
    /// may be made up for and the older ones are lost.
    pub fn sent(&mut self, now: Instant, t_ipi: Duration, rtt: Duration) {
        debug_assert!(now >= self.sent_at, "sent at {now:?} after {:?}", self.sent_at);
        let oldest = (now + t_ipi - rtt).min(now);
        let nominal = self.last.map_or(now, |last| (last + t_ipi).max(oldest));
        self.last = Some(nominal);
        self.sent_at = now;
    }

    /// Forgets the credit that there is at `now`.
    pub fn restart(&mut self, now: Instant) {
        self.last = self.last.map(|last| last.max(now));
    }

    /// Returns the time by which a packet may be early: min(t_ipi, t_gran, R)/2.
    fn t_delta(&self, t_ipi: Duration, rtt: Duration) -> Duration {
        t_ipi.min(self.granularity).min(rtt) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const IPI: Duration = Duration::from_millis(10);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// The example of section 8.3: 10 packets a round trip of 100 ms, t_gran 10 ms. The text prints
    /// 1 ms and 0.5 ms where its formulas give 10 ms and 5 ms; the formulas count.
    #[test]
    fn a_packet_goes_half_a_granule_early() {
        let mut pacer = Pacer::new(Duration::from_millis(10), Duration::ZERO);
        pacer.sent(at(0), IPI, RTT);
        assert_eq!(pacer.next(IPI, RTT), at(5_000));
        pacer.sent(at(5_000), IPI, RTT);
        assert_eq!(pacer.next(IPI, RTT), at(15_000), "the mean rate stays");
    }

    #[test]
    fn credit_is_at_most_one_round_trip() {
        let mut pacer = Pacer::new(Duration::ZERO, Duration::ZERO);
        pacer.sent(at(0), IPI, RTT);
        let now = at(10_000_000);
        let mut burst = 0;
        while pacer.next(IPI, RTT) <= now {
            pacer.sent(now, IPI, RTT);
            burst += 1;
        }
        assert_eq!(burst, 10, "a round trip's worth");
    }

    #[test]
    fn a_least_spacing_holds_whatever_the_credit() {
        let least = Duration::from_millis(10);
        let mut pacer = Pacer::new(Duration::ZERO, least);
        pacer.sent(at(0), Duration::from_millis(1), RTT);
        pacer.sent(at(500_000), Duration::from_millis(1), RTT);
        assert_eq!(pacer.next(Duration::from_millis(1), RTT), at(510_000));
    }
}
