//! Observations of a receiver of datagrams with known numbers and times: jitter and loss, and
//! the delays that it notes with the flow's.

use super::delays::Delays;
use crate::outcome::DatagramOutcome;
use fairwave_units::stats::Jitter;
use fairwave_units::{Duration, Instant};

/// A receiver in the manner of RFC 3550, whose clock is the sender's.
#[derive(Clone, Debug, Default)]
pub struct Reception {
    received: u64,
    /// The highest sequence number so far plus one, extended beyond 32 bits.
    next: u64,
    /// Value of `next` when counting began.
    began: u64,
    last_delay: Option<Duration>,
    jitter: Jitter,
}

impl Reception {
    /// A datagram with number `sequence` that was sent at `sent` arrives.
    pub fn take(&mut self, sequence: u32, sent: Instant, now: Instant, delays: &mut Delays) {
        let ahead = sequence.wrapping_sub(self.next as u32);
        if ahead < 1 << 31 {
            self.next += u64::from(ahead) + 1;
        }
        self.received += 1;
        let delay = now.since(sent);
        if let Some(last) = self.last_delay.replace(delay) {
            self.jitter.add(delay.abs_diff(last));
        }
        delays.add(delay);
    }

    /// Restarts the counters; the jitter estimate continues.
    pub fn restart(&mut self) {
        self.received = 0;
        self.began = self.next;
    }

    /// Observations since the restart.
    pub fn outcome(&self) -> DatagramOutcome {
        let expected = self.next - self.began;
        DatagramOutcome {
            received: self.received,
            lost: expected.saturating_sub(self.received),
            jitter: self.jitter.value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn take(reception: &mut Reception, sequence: u32, delay_ms: u64) {
        let sent = Instant::from_nanos(u64::from(sequence) * 20 * MS);
        let now = sent + Duration::from_millis(delay_ms);
        reception.take(sequence, sent, now, &mut Delays::default());
    }

    #[test]
    fn losses_are_gaps_and_reordering_is_none() {
        let mut reception = Reception::default();
        for sequence in [0, 1, 4, 3, 6] {
            take(&mut reception, sequence, 5);
        }
        let outcome = reception.outcome();
        assert_eq!((outcome.received, outcome.lost), (5, 2));
        assert_eq!(outcome.jitter, Duration::ZERO);
        reception.restart();
        take(&mut reception, 8, 5);
        assert_eq!((reception.outcome().received, reception.outcome().lost), (1, 1));
    }

    #[test]
    fn numbers_are_extended_when_they_wrap() {
        let mut reception = Reception { next: u64::from(u32::MAX), ..Reception::default() };
        reception.restart();
        for sequence in [u32::MAX, 0, 2] {
            take(&mut reception, sequence, 1);
        }
        assert_eq!((reception.outcome().received, reception.outcome().lost), (3, 1));
    }

    /// RFC 3550 section 6.4.1: J += (|D| - J) / 16. Delays of 10, 26 and 10 ms are differences of
    /// 16 ms: J = 1, then 1 + 15 / 16.
    #[test]
    fn jitter_is_smoothed_by_sixteen() {
        let mut reception = Reception::default();
        take(&mut reception, 0, 10);
        take(&mut reception, 1, 26);
        assert_eq!(reception.outcome().jitter, Duration::from_millis(1));
        take(&mut reception, 2, 10);
        assert_eq!(reception.outcome().jitter, Duration::from_nanos(1_937_500));
    }

    /// Differences that alternate between 0 and 8 ms settle at the mean of 4 ms, within a
    /// sixteenth of the difference.
    #[test]
    fn jitter_settles_at_the_mean_difference() {
        let mut reception = Reception::default();
        for sequence in 0..400 {
            take(&mut reception, sequence, if sequence / 2 % 2 == 0 { 2 } else { 10 });
        }
        let jitter = reception.outcome().jitter.as_secs_f64() * 1e3;
        assert!((jitter - 4.0).abs() < 0.5, "{jitter} ms");
    }
}
