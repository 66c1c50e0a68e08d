//! Receive buffer auto-tuning: Fisk and Feng, "Dynamic right-sizing in TCP", 2001, as Linux does
//! it (`tcp_rcv_space_adjust`).
//!
//! Once in a round trip the buffer is compared with the data that the application read meanwhile:
//! it must hold twice that, since a sender in slow start doubles its window each round, and a
//! reserve for losses. Where the reading itself grew, the buffer is taken further ahead.

use fairwave_units::{Duration, Instant};

/// Segments that the buffer holds beside two windows: the initial window comes unannounced.
const RESERVE_SEGMENTS: u64 = 16;
/// Segments that a first window is taken for.
const FIRST_SEGMENTS: u64 = 10;

/// Target size of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    most: u32,
    mss: u64,
    /// The round trip as the receiver sees it.
    rtt: Option<Duration>,
    /// It comes from timestamps, not from how long a window took.
    by_timestamps: bool,
    /// The window that is being timed: since when, and its end in the stream.
    window: Option<(Instant, u64)>,
    /// Since when bytes are counted, and how many had been read then.
    began: Option<(Instant, u64)>,
    /// Bytes read in the round trip before.
    space: u64,
}

impl Tuning {
    pub(super) fn new(most: u32, mss: u16) -> Self {
        let mss = u64::from(mss);
        Self {
            most,
            mss,
            rtt: None,
            by_timestamps: false,
            window: None,
            began: None,
            space: FIRST_SEGMENTS * mss,
        }
    }

    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// A round trip measured by an echoed timestamp, smoothed by an eighth.
    pub(super) fn sample(&mut self, rtt: Duration) {
        self.rtt = Some(match self.rtt.filter(|_| self.by_timestamps) {
            Some(old) => (old * 7 + rtt) / 8,
            None => rtt,
        });
        self.by_timestamps = true;
    }

    /// Without timestamps, the arrival of a whole window bounds a round trip.
    fn time_window(&mut self, now: Instant, next: u64, window: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((since, _)) => {
                let took = now.since(since);
                self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
            }
            None => {}
        }
        self.window = Some((now, next + window));
    }

    /// Data arrived up to `next`, with `window` still open; the application has read `read`
    /// bytes so far. The buffer that is wanted, in bytes; zero if the one there is will do.
    pub(super) fn arrived(&mut self, now: Instant, next: u64, window: u64, read: u64) -> u32 {
        if !self.by_timestamps {
            self.time_window(now, next, window);
        }
        let (since, from) = *self.began.get_or_insert((now, read));
        if self.rtt.is_none_or(|rtt| now.since(since) < rtt) {
            return 0;
        }
        self.began = Some((now, read));
        let copied = read - from;
        if copied <= self.space {
            return 0;
        }
        let window = 2 * copied + RESERVE_SEGMENTS * self.mss;
        let ahead = u128::from(2 * window) * u128::from(copied - self.space);
        let ahead = ahead / u128::from(self.space.max(1));
        self.space = copied;
        (u128::from(window) + ahead).min(u128::from(self.most)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// By hand: in the round trip after the first data 20,000 bytes are read, where 10 segments
    /// of 1000 were expected: 2 * 20,000 + 16,000 = 56,000, and as the reading doubled, twice as
    /// much again: 168,000. Another such round asks for nothing.
    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let mut tuning = Tuning::new(1 << 20, 1000);
        tuning.sample(Duration::from_millis(100));
        assert_eq!(tuning.arrived(at(0), 1_000, 60_000, 0), 0);
        assert_eq!(tuning.arrived(at(99), 20_000, 60_000, 20_000), 0);
        assert_eq!(tuning.arrived(at(100), 21_000, 60_000, 20_000), 168_000);
        assert_eq!(tuning.arrived(at(200), 41_000, 60_000, 40_000), 0);
        assert_eq!(tuning.arrived(at(300), 900_000, 60_000, 900_000), 1 << 20);
    }

    /// Without timestamps the shortest time of a window stands for the round trip.
    #[test]
    fn a_window_is_timed_where_timestamps_are_off() {
        let mut tuning = Tuning::new(1 << 20, 1000);
        assert_eq!(tuning.arrived(at(0), 1_000, 10_000, 0), 0);
        assert_eq!(tuning.arrived(at(50), 10_999, 10_000, 10_000), 0);
        assert_eq!(tuning.rtt, None);
        assert!(tuning.arrived(at(80), 11_000, 10_000, 11_000) > 0);
        assert_eq!(tuning.rtt, Some(Duration::from_millis(80)));
    }
}
