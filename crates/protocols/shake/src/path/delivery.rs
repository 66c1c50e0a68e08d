//! Delivery rate of a path.

use fairwave_units::{Duration, Instant};

/// In a round trip the estimate comes nearer to a smaller rate by this part of the difference.
const MEMORY: u64 = 4;

/// The largest of the recent rates, each over a round trip. A path that had less to carry than it
/// could has smaller ones, which count little.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    /// Bytes per second.
    rate: u64,
    /// Bytes that arrived in this round trip, its start, and the message with which it ends.
    bytes: u64,
    began: Option<Instant>,
    ends_with: u64,
    /// Minimum time until a message was known to have arrived.
    min_turn: Option<Duration>,
}

/// A message that is known to have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) number: u64,
    pub(super) len: u32,
    /// Time at which it left.
    pub(super) at: Instant,
}

impl DeliveryRate {
    /// Bytes per second; zero before the first round trip is over.
    pub(super) fn get(&self) -> u64 {
        self.rate
    }

    /// Minimum time until a message was known to have arrived, which another path's acknowledgement
    /// may show before its own.
    pub(super) fn min_turn(&self) -> Option<Duration> {
        self.min_turn
    }

    /// A message has arrived; `last_number` was taken last.
    pub(super) fn sample(&mut self, now: Instant, message: Arrived, last_number: u64) {
        let turn = now.since(message.at);
        self.min_turn = Some(self.min_turn.map_or(turn, |least| least.min(turn)));
        if self.began.is_none() {
            (self.began, self.ends_with) = (Some(message.at), last_number);
        }
        let Some(began) = self.began else { return };
        self.bytes += u64::from(message.len);
        if message.number <= self.ends_with || now <= began {
            return;
        }
        let rate = self.bytes * 1_000_000 / now.since(began).as_micros().max(1);
        self.rate = rate.max(self.rate - self.rate.saturating_sub(rate) / MEMORY);
        (self.bytes, self.began, self.ends_with) = (0, Some(now), last_number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of 100 ms: ten segments at first, then five, then ten again.
    #[test]
    fn smaller_rates_count_little() {
        let ms = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut delivery = DeliveryRate::default();
        let mut number = 0;
        let mut round = |delivery: &mut DeliveryRate, index: u64, count: u64| {
            let last = number + count;
            for _ in 0..count {
                number += 1;
                let message = Arrived { number, len: 1000, at: ms(100 * index) };
                delivery.sample(ms(100 * index + 100), message, last);
            }
            delivery.get()
        };
        assert_eq!(round(&mut delivery, 0, 10), 0, "the first round trip is not over");
        // The eleventh ends it, of two: 11,000 bytes in 200 ms.
        assert_eq!(round(&mut delivery, 1, 10), 55_000);
        // 5,000 bytes later, 10,000 of the round trip before in 100 ms are known.
        assert_eq!(round(&mut delivery, 2, 5), 100_000);
        assert_eq!(round(&mut delivery, 3, 5), 100_000 - (100_000 - 50_000) / 4);
        assert_eq!(delivery.min_turn(), Some(Duration::from_millis(100)));
    }
}
