//! Round-trip time and timeout of a path (RFC 6298; 4.3BSD counts both in ticks).

use crate::Config;
use fairwave_units::{Duration, Instant};

/// Doublings beyond this change nothing: the bound has been reached.
const MAX_DOUBLINGS: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    srtt: Option<Duration>,
    var: Duration,
    latest: Duration,
    least: Duration,
    /// Timeouts since the last sign of life.
    backoff: u32,
    /// Timeouts in a row after which the path is dead.
    dead_after: u32,
    /// End of the latest stall: a message of before was acknowledged after its path would have been
    /// dead, as the link or one of the hosts was suspended. What is sent from then on shows the
    /// present round-trip time.
    stalled_until: Option<Instant>,
    initial: Duration,
    min: Duration,
    max: Duration,
    tick: Duration,
}

impl Rtt {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: None,
            var: Duration::ZERO,
            latest: Duration::ZERO,
            least: Duration::MAX,
            backoff: 0,
            dead_after: config.dead_after,
            stalled_until: None,
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto,
            tick: config.tick,
        }
    }

    /// Takes a sample, (2.2) or (2.3). Samples of a stall measure the stall and do not count; the
    /// first one of after it begins the estimate anew (section 5.7). An estimate of the stall's
    /// length would put segments seconds apart by pacing, and keep losses of the stall in flight
    /// until a timeout of that length. Returns whether the estimate began anew.
    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.is_stall(rtt) && self.stalled_until.is_none() {
            self.stalled_until = Some(now);
        }
        let has_stalled = self.stalled_until.is_some();
        if self.stalled_until.is_some_and(|until| now.since(until) < rtt) {
            return false;
        }
        self.stalled_until = None;
        let rtt = rtt.in_ticks(self.tick);
        self.latest = rtt;
        self.least = self.least.min(rtt);
        self.srtt = Some(match self.srtt.filter(|_| !has_stalled) {
            None => {
                self.var = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.var = (self.var * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        });
        debug_assert!(Some(self.least) <= self.srtt, "a mean below the least sample");
        has_stalled
    }

    /// Whether its path would have been dead before a message with this time was acknowledged.
    fn is_stall(&self, rtt: Duration) -> bool {
        self.srtt.is_some() && rtt > self.base_rto() * (1 << self.dead_after.min(6))
    }

    /// Doubles the timeout (5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Something sent on the path has arrived.
    pub(crate) fn alive(&mut self) {
        self.backoff = 0;
    }

    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The latest sample; zero before the first.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    pub(crate) fn var(&self) -> Duration {
        self.var
    }

    /// No queue holds anything of this path: the estimate is the minimum sample again, and its
    /// excess remains as deviation, so that the timeout does not shrink at once.
    pub(crate) fn rest(&mut self) {
        let Some(srtt) = self.srtt else { return };
        let rested = srtt.min(self.least);
        self.var = self.var.max((srtt - rested) / 4);
        self.srtt = Some(rested);
    }

    /// The smallest sample; [`Duration::MAX`] before the first.
    pub(crate) fn least(&self) -> Duration {
        self.least
    }

    /// After which a message is lost if a later one has arrived (RFC 9002 section 6.1.2).
    pub(crate) fn loss_delay(&self) -> Duration {
        self.srtt.unwrap_or(self.initial).max(self.latest) * 9 / 8
    }

    /// The timeout without back-off, (2.4).
    pub(crate) fn base_rto(&self) -> Duration {
        let least = self.tick.max(Duration::from_millis(1));
        self.srtt.map_or(self.initial, |srtt| (srtt + (self.var * 4).max(least)).max(self.min))
    }

    /// The timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        (self.base_rto() * (1 << self.backoff.min(MAX_DOUBLINGS))).min(self.max)
    }

    /// Time at which a timer expires that is set now.
    pub(crate) fn expiry(&self, now: Instant, timeout: Duration) -> Instant {
        (now + timeout).at_tick(self.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(time: u64) -> Instant {
        Instant::ZERO + ms(time)
    }

    /// RFC 6298 section 2 by hand: 100 ms, then 140 ms.
    #[test]
    fn estimates_as_the_rfc() {
        let mut rtt = Rtt::new(&Profile::Modern.config());
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(at(1000), ms(100));
        assert_eq!(rtt.rto(), ms(300));
        rtt.sample(at(1000), ms(140));
        assert_eq!(rtt.srtt(), Some(ms(105)));
        assert_eq!(rtt.rto(), Duration::from_micros(105_000 + 4 * 47_500));
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_micros(590_000));
        rtt.alive();
        assert_eq!(rtt.backoff(), 0);
    }

    /// 260 ms are a tick of 500 ms; RTO = 500 + 4 * 250 ms, and expires on a tick.
    #[test]
    fn counts_in_ticks_as_4_3bsd() {
        let mut rtt = Rtt::new(&Profile::Paper.config());
        assert_eq!(rtt.rto(), ms(6000));
        rtt.sample(at(1000), ms(260));
        assert_eq!(rtt.rto(), ms(1500));
        (0..40).for_each(|_| _ = rtt.sample(at(1000), ms(260)));
        assert_eq!(rtt.rto(), ms(1000), "two ticks at least");
        let at = rtt.expiry(Instant::ZERO + ms(300), rtt.rto());
        assert_eq!(at, Instant::ZERO + ms(1500));
        (0..30).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), ms(64_000));
    }

    /// A host is suspended for 30 s: many echoes of messages sent before arrive at once, then that
    /// of one sent after.
    #[test]
    fn an_estimate_begins_anew_after_a_stall() {
        let mut rtt = Rtt::new(&Profile::Modern.config());
        (0..20).for_each(|_| _ = rtt.sample(at(1_000), ms(50)));
        (0..100).for_each(|_| _ = rtt.sample(at(31_000), ms(30_000)));
        assert!(!rtt.sample(at(31_050), ms(60)));
        assert_eq!(rtt.srtt(), Some(ms(50)), "all were sent before the end");
        assert!(rtt.sample(at(31_120), ms(60)));
        assert_eq!((rtt.srtt(), rtt.var()), (Some(ms(60)), ms(30)));
        rtt.sample(at(31_200), ms(140));
        assert_eq!(rtt.srtt(), Some(ms(70)));
    }

    /// From one message to the next a path is slower by so much that this looks like a stall.
    #[test]
    fn a_path_that_stays_slow_is_believed() {
        let mut rtt = Rtt::new(&Profile::Modern.config());
        (0..20).for_each(|_| _ = rtt.sample(at(1_000), ms(50)));
        (0..10).for_each(|n| _ = rtt.sample(at(6_000 + n), ms(3_000)));
        assert_eq!(rtt.srtt(), Some(ms(50)));
        assert!(rtt.sample(at(9_100), ms(3_000)));
        assert_eq!(rtt.srtt(), Some(ms(3_000)));
    }

    /// A queue that grows beyond the timeout is no stall.
    #[test]
    fn a_queue_that_grows_is_smoothed() {
        let mut rtt = Rtt::new(&Profile::Modern.config());
        (0..20).for_each(|_| _ = rtt.sample(at(1_000), ms(50)));
        rtt.sample(at(3_000), ms(450));
        rtt.sample(at(4_000), ms(450));
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(143_750)));
    }
}
