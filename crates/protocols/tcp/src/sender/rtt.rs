//! Round-trip time and retransmission timeout (RFC 6298).

use crate::Config;
use fairwave_units::{Duration, Instant};

/// The estimator of RFC 6298 section 2, with back-off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Duration>,
    /// The smallest exact sample so far.
    least: Option<Duration>,
    rttvar: Duration,
    /// RTO before back-off and bounds.
    base: Duration,
    /// Doublings since the last sample.
    backoff: u32,
    min: Duration,
    /// Minimum of the term 4 RTTVAR.
    min_spread: Duration,
    max: Duration,
    /// Tick of the timers.
    tick: Duration,
    /// Tick of the clock behind timestamps.
    timestamp_tick: Duration,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: None,
            least: None,
            rttvar: Duration::ZERO,
            base: config.initial_rto,
            backoff: 0,
            min: config.min_rto,
            min_spread: match config.min_rto_over_srtt {
                true => config.min_rto.max(config.timestamp_tick),
                false => config.timestamp_tick,
            }
            .max(config.timer_tick),
            max: config.max_rto,
            tick: config.timer_tick,
            timestamp_tick: config.timestamp_tick,
        }
    }

    /// Takes a sample, (2.2) or (2.3), and ends back-off.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.in_ticks(self.tick);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.smooth(rtt);
    }

    /// Takes the `age` of an echoed timestamp as a sample for the timeout: the difference of two
    /// clock values, each of which is rounded down.
    ///
    /// The difference may be a tick less than the round-trip time, even zero. The time since that
    /// tick began is not less. It is no measurement of the path, and leaves [`Self::least`] alone.
    pub(crate) fn sample_echo(&mut self, now: Instant, age: Duration) {
        let tick = self.timestamp_tick.as_nanos().max(1);
        let since_tick = Duration::from_nanos(now.as_nanos() % tick);
        self.smooth((age + since_tick).in_ticks(self.tick));
    }

    /// Updates the smoothed values and the timeout.
    fn smooth(&mut self, rtt: Duration) {
        let srtt = match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            // RTTVAR comes first: it compares the sample with SRTT of before (2.3).
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        };
        self.srtt = Some(srtt);
        self.base = srtt + (self.rttvar * 4).max(self.min_spread);
        // An ACK of new data alone does not end back-off. Without timestamps the ACK of a
        // retransmission gives no sample (section 3), so that a path that has become slower than
        // the timeout keeps the longer one (section 5).
        self.backoff = 0;
    }

    /// Doubles the timeout (5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Forgets back-off; before the first sample the timeout becomes at least `floor` (5.7).
    pub(crate) fn restart(&mut self, floor: Duration) {
        self.backoff = 0;
        if self.srtt.is_none() {
            self.base = self.base.max(floor);
        }
    }

    /// The smallest exact sample so far.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The timeout without back-off, (2.4).
    pub(crate) fn base_rto(&self) -> Duration {
        match self.srtt {
            // The minimum is for timeouts that samples give; (2.1) sets the first.
            None => self.base,
            Some(_) => self.base.max(self.min),
        }
    }

    /// Time at which a timer expires that is set now to the timeout in force.
    pub(crate) fn expiry(&self, now: Instant) -> Instant {
        (now + self.rto()).at_tick(self.tick)
    }

    /// The timeout in force, (2.4), (2.5) and (5.5).
    pub(crate) fn rto(&self) -> Duration {
        (self.base_rto() * (1 << self.backoff.min(20))).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn estimator(min: Duration) -> RttEstimator {
        RttEstimator::new(&Config { min_rto: min, ..Config::default() })
    }

    /// RFC 6298 section 2, by hand: R = 100 gives 100 + 4 * 50 = 300; then R = 200 gives
    /// RTTVAR = (3 * 50 + 100) / 4 = 62.5, SRTT = 112.5, RTO = 362.5 ms.
    #[test]
    fn two_samples_by_hand() {
        let mut rtt = estimator(MS(200));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(MS(100));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(MS(100)), MS(300)));
        rtt.sample(MS(200));
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(112_500)));
        assert_eq!(rtt.rto(), Duration::from_micros(362_500));
    }

    /// RFC 6298 (2.4), (2.5), (5.5).
    #[test]
    fn the_timeout_is_bounded_and_backs_off() {
        let mut rtt = estimator(Duration::from_secs(1));
        rtt.sample(MS(10));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_secs(4));
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(MS(10));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    /// At 119 ms a clock with ticks of 10 ms shows 11. By it a segment that left at 101 ms is one
    /// tick old, and really 18 ms; the tick in which it left began 19 ms ago.
    #[test]
    fn the_age_of_a_timestamp_is_rounded_up_and_no_minimum() {
        let config = Config { timestamp_tick: MS(10), min_rto: MS(1), ..Config::default() };
        let mut rtt = RttEstimator::new(&config);
        rtt.sample_echo(Instant::ZERO + MS(119), MS(10));
        assert_eq!((rtt.srtt(), rtt.least()), (Some(MS(19)), None));
        rtt.sample(MS(35));
        assert_eq!((rtt.srtt(), rtt.least()), (Some(MS(21)), Some(MS(35))));
    }

    /// 260 ms are a tick of 500 ms: 500 + 4 * 250 ms, which expires on a tick, as a path of TCP
    /// SHAKE does it.
    #[test]
    fn counts_in_ticks_as_4_3bsd() {
        let config = Config { timer_tick: MS(500), min_rto: MS(1000), ..Config::default() };
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(MS(260));
        assert_eq!(rtt.rto(), MS(1500));
        assert_eq!(rtt.expiry(Instant::ZERO + MS(300)), Instant::ZERO + MS(2000));
        (0..40).for_each(|_| rtt.sample(MS(260)));
        assert_eq!(rtt.rto(), MS(1000), "two ticks at least");
    }

    /// RFC 6298 (5.7).
    #[test]
    fn a_lost_syn_raises_the_first_timeout() {
        let mut rtt = estimator(Duration::from_secs(1));
        rtt.back_off();
        rtt.restart(Duration::from_secs(3));
        assert_eq!(rtt.rto(), Duration::from_secs(3));
    }
}
