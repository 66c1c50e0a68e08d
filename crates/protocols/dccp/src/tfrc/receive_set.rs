//! X_recv_set: the receive rates of the last two round trips (RFC 5348, sections 4.3 and 8.2.2).

use fairwave_units::{Duration, Instant};

/// Maximum number of values kept, N of section 8.2.2.
const N: usize = 3;

/// Recent receive rates in bytes a second, each with the time it was reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveSet {
    values: [(Instant, f64); N],
    len: usize,
}

impl ReceiveSet {
    /// The set with the single value `rate`; infinity limits nothing.
    pub(super) fn only(now: Instant, rate: f64) -> Self {
        Self { values: [(now, rate); N], len: 1 }
    }

    /// The largest value.
    pub(super) fn max(&self) -> f64 {
        self.values[..self.len].iter().fold(0.0, |maximum, (_, rate)| rate.max(maximum))
    }

    /// Adds `rate` and drops values older than two round trips: the typical case.
    pub(super) fn update(&mut self, now: Instant, rate: f64, rtt: Duration) {
        let mut kept = [(now, rate); N];
        let mut len = 0;
        let old = |(at, _): &&(Instant, f64)| now.since(*at) <= rtt * 2;
        let fresh = self.values[..self.len].iter().filter(old).count();
        let surplus = (fresh + 1).saturating_sub(N);
        for value in self.values[..self.len].iter().filter(old).skip(surplus) {
            kept[len] = *value;
            len += 1;
        }
        kept[len] = (now, rate);
        *self = Self { values: kept, len: len + 1 };
    }

    /// Keeps the largest of `rate` and the finite values, as if it were new: the application had
    /// no more to send, so that a small rate says nothing.
    pub(super) fn maximize(&mut self, now: Instant, rate: f64) {
        let finite = self.values[..self.len].iter().filter(|(_, rate)| rate.is_finite());
        *self = Self::only(now, finite.fold(rate, |maximum, (_, rate)| rate.max(maximum)));
    }

    /// Halves all values.
    pub(super) fn halve(&mut self) {
        for (_, rate) in &mut self.values {
            *rate /= 2.0;
        }
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
    fn infinity_limits_nothing_for_two_round_trips() {
        let mut set = ReceiveSet::only(at(0), f64::INFINITY);
        set.update(at(100), 0.0, RTT);
        set.update(at(200), 500.0, RTT);
        assert_eq!(set.max(), f64::INFINITY);
        set.update(at(300), 400.0, RTT);
        assert_eq!(set.max(), 500.0);
    }

    #[test]
    fn at_most_three_values_are_kept() {
        let mut set = ReceiveSet::only(at(0), 900.0);
        for (millis, rate) in [(10, 100.0), (20, 200.0), (30, 50.0)] {
            set.update(at(millis), rate, RTT);
        }
        assert_eq!(set.max(), 200.0);
    }

    #[test]
    fn maximizing_keeps_the_largest_finite_one() {
        let mut set = ReceiveSet::only(at(0), f64::INFINITY);
        set.maximize(at(10), 300.0);
        assert_eq!(set.max(), 300.0);
        set.maximize(at(20), 100.0);
        assert_eq!(set.max(), 300.0);
        set.halve();
        set.maximize(at(30), 85.0);
        assert_eq!(set.max(), 150.0);
    }
}
