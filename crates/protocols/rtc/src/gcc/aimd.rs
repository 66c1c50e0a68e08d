//! The rate of the delay-based part (draft-ietf-rmcat-gcc-02 section 5.5).

use super::trend::Usage;
use fairwave_units::{Duration, Instant, math};

/// Factor of a decrease from the incoming rate.
const BETA: f64 = 0.85;
/// Factor of a multiplicative increase in a second.
const ETA: f64 = 1.08;
/// The rate stays below this multiple of the incoming rate, and this much more, in bit/s.
const MAX_OVER: f64 = 1.5;
const MAX_OVER_BPS: f64 = 10_000.0;
/// Bits of a full packet, and frames per second, from which the draft computes a usual packet.
const PACKET_BITS: f64 = 1_200.0 * 8.0;
const FRAMES: f64 = 30.0;
/// While the incoming rate is unknown the rate is halved no more often than this (libwebrtc).
const HALVE_EVERY: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// Capacity of the path when it was last over-used, in kbps, with its variance over itself
/// (libwebrtc `LinkCapacityEstimator`).
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    deviation: f64,
}

impl Capacity {
    fn range(self) -> f64 {
        3.0 * (self.deviation * self.mean).sqrt()
    }

    fn with(before: Option<Self>, kbps: f64) -> Self {
        let Some(Self { mean, deviation }) = before else {
            return Self { mean: kbps, deviation: 0.4 };
        };
        let mean = 0.95 * mean + 0.05 * kbps;
        let error = mean - kbps;
        let deviation = 0.95 * deviation + 0.05 * error * error / mean.max(1.0);
        Self { mean, deviation: deviation.clamp(0.4, 2.5) }
    }
}

/// A rate that goes up by a factor or a step, and down by a factor of the incoming rate.
#[derive(Clone, Debug)]
pub struct Aimd {
    state: State,
    rate: f64,
    capacity: Option<Capacity>,
    updated: Option<Instant>,
    halved: Option<Instant>,
}

impl Aimd {
    pub(super) const fn new(start_bps: f64) -> Self {
        let (capacity, updated, halved) = (None, None, None);
        Self { state: State::Increase, rate: start_bps, capacity, updated, halved }
    }

    /// In bit/s.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Handles feedback. `incoming` is the incoming rate in bit/s, once it is known.
    pub(super) fn update(
        &mut self,
        now: Instant,
        usage: Usage,
        incoming: Option<f64>,
        rtt: Duration,
    ) {
        let since = self.updated.replace(now).map_or(Duration::ZERO, |last| now.since(last));
        // The table of section 5.5.
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Normal, State::Decrease) | (Usage::Under, _) => State::Hold,
            (Usage::Normal, State::Hold | State::Increase) => State::Increase,
        };
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(since, incoming, rtt),
            State::Decrease => self.decrease(now, incoming),
        }
    }

    /// Lowers the rate to at most `bps`, and resets the estimate of the path's capacity.
    pub(super) fn lower(&mut self, bps: f64) {
        self.rate = self.rate.min(bps);
        self.capacity = None;
    }

    pub(super) const fn clamp(&mut self, min: f64, max: f64) {
        self.rate = self.rate.clamp(min, max);
    }

    fn increase(&mut self, since: Duration, incoming: Option<f64>, rtt: Duration) {
        let kbps = incoming.map(|bps| bps / 1e3);
        // The path now carries more than its estimated capacity: the rate grows by a factor again,
        // as steps would take long.
        if let (Some(capacity), Some(kbps)) = (self.capacity, kbps)
            && kbps > capacity.mean + capacity.range()
        {
            self.capacity = None;
        }
        let seconds = since.as_secs_f64().min(1.0);
        let raised = match self.capacity {
            None => self.rate * math::pow(ETA, seconds),
            Some(_) => {
                let response = 0.1 + rtt.as_secs_f64();
                let share = 0.5 * (since.as_secs_f64() / response).min(1.0);
                self.rate + (share * usual_packet_bits(self.rate)).max(1_000.0 * seconds)
            }
        };
        let maximum = incoming.map_or(raised, |bps| MAX_OVER * bps + MAX_OVER_BPS);
        self.rate = raised.min(maximum.max(self.rate));
    }

    fn decrease(&mut self, now: Instant, incoming: Option<f64>) {
        let Some(bps) = incoming else {
            // The incoming rate is not known this soon after the start; half is libwebrtc's choice.
            if self.halved.is_none_or(|last| now.since(last) >= HALVE_EVERY) {
                self.halved = Some(now);
                self.rate /= 2.0;
            }
            return;
        };
        let kbps = bps / 1e3;
        // The path has become much slower: a mean with the old capacity would be too high for long.
        if self.capacity.is_some_and(|capacity| kbps < capacity.mean - capacity.range()) {
            self.capacity = None;
        }
        self.capacity = Some(Capacity::with(self.capacity, kbps));
        self.rate = self.rate.min(BETA * bps);
    }
}

/// Bits of a packet of a video at `bps`: thirty frames a second in as few packets as they fit.
fn usual_packet_bits(bps: f64) -> f64 {
    let frame = bps / FRAMES;
    frame / (frame / PACKET_BITS).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ten updates in a second: 8 % more, as long as no more than that arrives.
    #[test]
    fn the_rate_grows_by_eight_percent_in_a_second() {
        let mut aimd = Aimd::new(1e6);
        (0..=10).for_each(|n| aimd.update(at(100 * n), Usage::Normal, Some(1e6), RTT));
        assert!((aimd.rate() - 1.08e6).abs() < 1.0, "{}", aimd.rate());
        // An encoder that gives less than the target does not let it grow beyond 1.5 times that.
        let mut idle = Aimd::new(1e6);
        (0..=99).for_each(|n| idle.update(at(100 * n), Usage::Normal, Some(7e5), RTT));
        assert!((idle.rate() - 1.06e6).abs() < 1.0, "{}", idle.rate());
    }

    #[test]
    fn over_use_takes_it_below_what_arrives() {
        let mut aimd = Aimd::new(2e6);
        aimd.update(at(0), Usage::Over, Some(1e6), RTT);
        assert_eq!(aimd.rate(), 850_000.0);
        // Then it holds once, and goes up.
        aimd.update(at(100), Usage::Normal, Some(1e6), RTT);
        assert_eq!(aimd.rate(), 850_000.0);
        // Near what it was over-used at it goes by steps. 850 kbps are 28 333 bits a frame, three
        // packets of 9444 bits; in 100 of 200 ms the step is a quarter of one.
        aimd.update(at(200), Usage::Normal, Some(1e6), RTT);
        assert!((aimd.rate() - (850_000.0 + 9_444.4 / 4.0)).abs() < 0.1, "{}", aimd.rate());
    }

    /// Feedback every 10 ms that reports over-use, before the incoming rate is known: half at once
    /// and half after 200 ms.
    #[test]
    fn a_rate_is_not_halved_by_each_feedback() {
        let mut aimd = Aimd::new(4e6);
        (0..30).for_each(|n| aimd.update(at(10 * n), Usage::Over, None, RTT));
        assert_eq!(aimd.rate(), 1e6);
    }

    #[test]
    fn under_use_lets_the_queue_empty() {
        let mut aimd = Aimd::new(1e6);
        aimd.update(at(0), Usage::Under, Some(1e6), RTT);
        aimd.update(at(100), Usage::Under, Some(1e6), RTT);
        assert_eq!(aimd.rate(), 1e6);
    }

    /// If much more arrives than the path could carry before, it is another path.
    #[test]
    fn a_path_that_has_grown_is_explored_by_factors() {
        let mut aimd = Aimd::new(1e6);
        aimd.update(at(0), Usage::Over, Some(1e6), RTT);
        assert!(aimd.capacity.is_some());
        aimd.update(at(100), Usage::Normal, Some(1.2e6), RTT);
        aimd.update(at(1_100), Usage::Normal, Some(1.2e6), RTT);
        assert!(aimd.capacity.is_none());
        assert!((aimd.rate() - 850_000.0 * 1.08).abs() < 1.0);
    }
}
