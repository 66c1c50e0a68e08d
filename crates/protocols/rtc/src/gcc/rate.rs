//! The incoming rate, in bits per second of the receiver's clock.

use std::collections::VecDeque;

/// Arrivals of this span count, in nanoseconds.
const WINDOW_NS: i64 = 500_000_000;
/// Packets that are remembered.
const MAX: usize = 4_096;

/// Arrivals of the newest half second.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming {
    arrivals: VecDeque<(i64, u32)>,
    bytes: u64,
    /// The first arrival and the newest; a receiver's clock may well be negative.
    span: Option<(i64, i64)>,
}

impl Incoming {
    pub(super) fn take(&mut self, arrived: i64, bytes: u32) {
        let (first, newest) = self.span.unwrap_or((arrived, arrived));
        let newest = newest.max(arrived);
        self.span = Some((first, newest));
        self.arrivals.push_back((arrived, bytes));
        self.bytes += u64::from(bytes);
        while let Some((at, len)) = self.arrivals.front()
            && (newest - at > WINDOW_NS || self.arrivals.len() > MAX)
        {
            self.bytes -= u64::from(*len);
            self.arrivals.pop_front();
        }
    }

    /// In bit/s; `None` before half a second.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, newest) = self.span?;
        (newest - first >= WINDOW_NS).then(|| self.bytes as f64 * 8e9 / WINDOW_NS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 B every 10 ms are 800 kbps; then nothing for a second, and one packet: 16 kbps. The
    /// receiver's clock may stand anywhere.
    #[test]
    fn half_a_second_counts() {
        for clock in [0, -5_000_000_000_000, 7] {
            let mut incoming = Incoming::default();
            for n in 0..50 {
                incoming.take(clock + n * 10_000_000, 1_000);
            }
            assert_eq!(incoming.rate(), None);
            for n in 50..200 {
                incoming.take(clock + n * 10_000_000, 1_000);
            }
            // From 1.49 to 1.99 s, both included.
            assert_eq!(incoming.rate(), Some(816_000.0));
            incoming.take(clock + 3_000_000_000, 1_000);
            assert_eq!(incoming.rate(), Some(16_000.0));
        }
    }
}
