//! The window counter in CCVal: coarse time at the sender, and its reading by the receiver (RFC
//! 4342, section 8.1).

use crate::connection::DEFAULT_RTT;
use fairwave_units::{Duration, Instant};

/// The counter has four bits.
const MODULUS: usize = 16;
/// The furthest that adjacent packets' counters lie apart.
const STEP_MAX: u64 = 5;
/// A round trip in quarters.
const ROUND: u8 = 4;

/// Returns the lead of counter `a` over `b`, modulo 16.
pub(super) const fn ahead(a: u8, b: u8) -> u8 {
    a.wrapping_sub(b) & 0xf
}

/// The sender's counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowCounter {
    last: u8,
    since: Option<Instant>,
    /// The next packet's counter is at least this far: a round trip after one acknowledged.
    least: Option<u8>,
}

impl WindowCounter {
    /// The counter of the data packet that is sent now. Without a round-trip time that of RFC 4340
    /// section 3.4 counts: if the counter stayed and the first feedback were lost, no packet would
    /// ask for another one.
    pub fn stamp(&mut self, now: Instant, rtt: Option<Duration>) -> u8 {
        let since = *self.since.get_or_insert(now);
        let quarter = rtt.unwrap_or(DEFAULT_RTT).as_nanos() / u64::from(ROUND);
        let quarters = now.since(since).as_nanos().checked_div(quarter).unwrap_or(0);
        let mut step = quarters.min(STEP_MAX) as u8;
        if let Some(least) = self.least.take() {
            let missing = ahead(least, self.last);
            // More than a round trip ahead of the last one is behind it.
            if missing <= ROUND {
                step = step.max(missing);
            }
        }
        debug_assert!(u64::from(step) <= STEP_MAX, "{step} quarters at once");
        if step > 0 {
            self.last = (self.last + step) & 0xf;
            self.since = Some(now);
        }
        self.last
    }

    /// A packet with this counter was acknowledged: later packets are a round trip later.
    pub fn acknowledged(&mut self, counter: u8) {
        self.least = Some((counter + ROUND) & 0xf);
    }
}

/// The receiver's reading: the round-trip time that the counters of arriving packets imply.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterClock {
    /// T(I): the first arrival with each counter, of this lap.
    firsts: [Option<Instant>; MODULUS],
    last: Option<u8>,
    rtt: Option<f64>,
    /// Whether it was measured over four counters, which is to be preferred.
    whole: bool,
    /// Upper bound of it, from the last packet that came more than a round trip after another.
    bound: Option<f64>,
}

impl CounterClock {
    /// A data packet arrives that is newer than all before.
    pub fn arrive(&mut self, now: Instant, counter: u8) {
        let counter = counter & 0xf;
        let Some(last) = self.last.replace(counter) else {
            self.firsts[usize::from(counter)] = Some(now);
            return;
        };
        let step = ahead(counter, last);
        if step == 0 {
            return;
        }
        if step > ROUND {
            // Packets rarer than round trips never give a sample: their counters are five apart.
            let first = self.firsts[usize::from(last)];
            self.bound = first.map(|first| quarters(now.since(first), step));
        }
        // Counters that were skipped are of the lap before, and would give a far too long time.
        for passed in 1..=step {
            self.firsts[usize::from((last + passed) & 0xf)] = None;
        }
        self.firsts[usize::from(counter)] = Some(now);
        match (2..=ROUND).rev().find_map(|d| Some((d, self.sample(now, counter, d)?))) {
            Some((ROUND, sample)) if self.whole => {
                self.rtt = self.rtt.map(|rtt| 0.9 * rtt + 0.1 * sample);
            }
            Some((d, sample)) if !self.whole => {
                self.rtt = Some(sample);
                self.whole = d == ROUND;
            }
            _ => {}
        }
    }

    /// The average estimate; `None` before there could be one.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(Duration::from_secs_f64)
    }

    /// Upper bound of the round-trip time where packets are rarer than round trips.
    pub fn bound(&self) -> Option<Duration> {
        self.bound.map(Duration::from_secs_f64)
    }

    /// (T(K + D) - T(K)) 4/D in seconds.
    fn sample(&self, now: Instant, counter: u8, d: u8) -> Option<f64> {
        let first = self.firsts[usize::from(counter.wrapping_sub(d) & 0xf)]?;
        Some(quarters(now.since(first), d))
    }
}

/// Round-trip time in seconds of which `time` is so many quarters.
fn quarters(time: Duration, count: u8) -> f64 {
    time.as_secs_f64() * f64::from(ROUND) / f64::from(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_counter_goes_up_every_quarter() {
        let mut counter = WindowCounter::default();
        let stamps: Vec<u8> =
            [0, 10, 24, 25, 49, 50, 80].map(|millis| counter.stamp(at(millis), RTT)).to_vec();
        assert_eq!(stamps, [0, 0, 0, 1, 1, 2, 3]);
        assert_eq!(counter.stamp(at(10_000), RTT), 8, "five at most");
        assert_eq!(counter.stamp(at(20_000), RTT), 13);
        assert_eq!(counter.stamp(at(30_000), RTT), 2, "modulo 16");
    }

    #[test]
    fn an_acknowledgement_is_a_round_trip() {
        let mut counter = WindowCounter::default();
        counter.stamp(at(0), RTT);
        // The way became shorter: packet 0 is acknowledged after 10 ms.
        counter.acknowledged(0);
        assert_eq!(counter.stamp(at(10), RTT), 4);
        assert_eq!(counter.stamp(at(34), RTT), 4);
        assert_eq!(counter.stamp(at(35), RTT), 5);
        counter.acknowledged(0);
        assert_eq!(counter.stamp(at(36), RTT), 5, "already further");
    }

    #[test]
    fn without_a_round_trip_time_it_goes_up_by_the_default() {
        let mut counter = WindowCounter::default();
        assert_eq!([0, 49, 50, 250].map(|millis| counter.stamp(at(millis), None)), [0, 0, 1, 5]);
    }

    /// The picture of section 8.1: K-1, K-1, K, K, K+1, K+3, K+4 and out of order K+3, K+4;
    /// the estimate is T7 - T3.
    #[test]
    fn the_receiver_reads_the_round_trip_time() {
        for k in 0..16u8 {
            let mut clock = CounterClock::default();
            let arrivals = [(0, 15), (3, 15), (10, 0), (13, 0), (30, 1), (80, 3)];
            for (millis, counter) in arrivals {
                clock.arrive(at(millis), (counter + k) & 0xf);
            }
            // T(K+3) - T(K-1) is a round trip too, (80 - 0) ms; it replaces T(K+1) - T(K-1).
            assert_eq!(clock.rtt(), Some(Duration::from_millis(80)));
            clock.arrive(at(110), (4 + k) & 0xf);
            assert_eq!(clock.rtt(), Some(Duration::from_millis(82)), "100 ms weigh a tenth");
        }
    }

    #[test]
    fn packets_rarer_than_round_trips_give_no_estimate() {
        let mut clock = CounterClock::default();
        for k in 0..10u8 {
            clock.arrive(at(1000 * u64::from(k)), (5 * k) & 0xf);
        }
        assert_eq!((clock.rtt(), clock.bound()), (None, Some(Duration::from_millis(800))));
    }

    proptest! {
        #[test]
        fn adjacent_counters_are_five_apart_at_most(
            waits in proptest::collection::vec((0u64..400, any::<bool>(), 0u8..16), 1..100),
        ) {
            let mut counter = WindowCounter::default();
            let (mut now, mut last) = (0, 0);
            for (wait, acknowledged, of) in waits {
                now += wait;
                if acknowledged {
                    counter.acknowledged(of);
                }
                let stamp = counter.stamp(at(now), RTT);
                prop_assert!(ahead(stamp, last) <= 5);
                last = stamp;
            }
        }
    }
}
