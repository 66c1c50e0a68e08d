//! BBR's model of the path: the bottleneck's bandwidth and the round-trip propagation time.

use crate::{AckEvent, Fraction};
use core::ops::RangeInclusive;
use fairwave_units::{Duration, Instant};

/// BtlBwFilterLen: rounds over which the greatest delivery rate counts.
const RATE_ROUNDS: usize = 10;
/// RTpropFilterLen: time for which the minimum RTT counts.
const RTT_SPAN: Duration = Duration::from_millis(10_000);

/// Estimates of the connection's path (sections 4.1.1 to 4.1.3 of the draft).
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    rates: MaxFilter,
    /// RTprop and when it was last confirmed.
    rtt: Option<Duration>,
    rtt_stamp: Instant,
    /// RTprop was older than its filter's length when the last ACK arrived.
    pub(super) rtt_expired: bool,
    rounds: u64,
    /// Segments that left with this much delivered end the round.
    next_round: u64,
    /// The last ACK began a round.
    pub(super) round_start: bool,
    /// C.delivered, and the last ACK's share of it in bytes.
    pub(super) delivered: u64,
    pub(super) newly: u32,
    /// Bytes in flight after the last ACK.
    pub(super) flight: u32,
    /// The last ACK's sample may show the application's rate rather than the path's.
    pub(super) app_limited: bool,
    /// Segments that left with so much delivered were held back by BBR itself.
    held_back: Option<RangeInclusive<u64>>,
}

impl Model {
    /// Rounds and the bandwidth (BBRUpdateRound, BBRUpdateBtlBw).
    pub(super) fn update_rate(&mut self, ack: &AckEvent) {
        self.flight = ack.flight_after;
        let newly = ack.delivered.saturating_sub(self.delivered);
        self.newly = u32::try_from(newly).unwrap_or(u32::MAX);
        self.delivered = self.delivered.max(ack.delivered);
        (self.round_start, self.app_limited) = (false, false);
        let Some(sample) = ack.rate else { return };
        if sample.prior_delivered >= self.next_round {
            self.start_round();
            (self.rounds, self.round_start) = (self.rounds.saturating_add(1), true);
        }
        let held = self.held_back.as_ref().is_some_and(|h| h.contains(&sample.prior_delivered));
        self.app_limited = sample.is_app_limited || held;
        let Some(rate) = sample.rate() else { return };
        if rate.0 >= self.rate() || !self.app_limited {
            self.rates.insert(self.rounds, rate.0);
        }
    }

    /// The propagation time (BBRUpdateRTprop).
    pub(super) fn update_rtt(&mut self, ack: &AckEvent) {
        self.rtt_expired = self.rtt.is_some() && ack.now > self.rtt_stamp + RTT_SPAN;
        let Some(rtt) = ack.rtt else { return };
        if self.rtt.is_none_or(|min| rtt <= min) || self.rtt_expired {
            (self.rtt, self.rtt_stamp) = (Some(rtt), ack.now);
        }
    }

    /// Forgets the path, not the delivered data.
    pub(super) fn forget(&mut self, now: Instant) {
        let (delivered, newly) = (self.delivered, self.newly);
        let next_round = delivered;
        *self = Self { delivered, newly, next_round, rtt_stamp: now, ..Self::default() };
    }

    /// Starts the next round at the data delivered now.
    pub(super) fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    /// RTprop is as good as measured now.
    pub(super) fn confirm_rtt(&mut self, now: Instant) {
        self.rtt_stamp = now;
    }

    /// Whatever leaves until `flight` bytes more are delivered does not show the path's rate.
    pub(super) fn hold_back(&mut self, flight: u32, begins: bool) {
        let until = self.delivered.saturating_add(u64::from(flight));
        let from = match &self.held_back {
            Some(held) if !begins => *held.start(),
            _ => self.delivered,
        };
        self.held_back = Some(from..=until);
    }

    /// BtlBw in bits per second; zero while unknown.
    pub(super) fn rate(&self) -> u64 {
        self.rates.greatest
    }

    /// RTprop.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// `gain` of the bandwidth-delay product in bytes; `None` before any RTT.
    pub(super) fn bdp(&self, gain: Fraction) -> Option<u32> {
        let bit_nanos = u128::from(self.rate()) * u128::from(self.rtt?.as_nanos());
        let bytes = u64::try_from(bit_nanos / 8_000_000_000).unwrap_or(u64::MAX);
        Some(u32::try_from(gain.of_long(bytes)).unwrap_or(u32::MAX))
    }
}

/// The greatest value of the last [`RATE_ROUNDS`] rounds; time stands still without values.
#[derive(Clone, Debug, Default)]
struct MaxFilter {
    /// By round modulo their number: the round and its greatest value.
    rounds: [(u64, u64); RATE_ROUNDS],
    greatest: u64,
}

impl MaxFilter {
    fn insert(&mut self, round: u64, value: u64) {
        let slot = &mut self.rounds[(round % RATE_ROUNDS as u64) as usize];
        let greatest = if slot.0 == round { slot.1.max(value) } else { value };
        *slot = (round, greatest);
        let young = self.rounds.iter().filter(|(at, _)| round - at < RATE_ROUNDS as u64);
        self.greatest = young.map(|(_, value)| *value).max().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_of_ten_rounds_counts() {
        let mut filter = MaxFilter::default();
        for (round, value, greatest) in
            [(1, 50, 50), (1, 40, 50), (2, 30, 50), (10, 20, 50), (11, 10, 30), (12, 5, 20)]
        {
            filter.insert(round, value);
            assert_eq!(filter.greatest, greatest, "round {round}");
        }
        filter.insert(40, 1);
        assert_eq!(filter.greatest, 1);
    }
}
