//! Times of the sender in iperf's datagrams.

use crate::analysis::jitter::{Jitter, Meter};
use fairwave_units::{Duration, Instant};

/// Maximum difference between the time that passed at the sender and at the capture.
const CLOCKS_APART: Duration = Duration::from_secs(1);
/// Ticks of a microsecond in a second.
const CLOCK_HZ: u32 = 1_000_000;

/// The first and the last time of a sender in microseconds, and the jitter between them.
#[derive(Clone, Debug)]
pub(super) struct Times {
    meter: Meter,
    first: (Instant, u64),
    last: (Instant, u64),
}

impl Times {
    /// The time in a first datagram that came at `at`.
    pub(super) fn begin(at: Instant, time: u64) -> Self {
        let mut times =
            Self { meter: Meter::new(Some(CLOCK_HZ)), first: (at, time), last: (at, time) };
        times.packet(at, time);
        times
    }

    /// Takes the time in a datagram that came at `at`.
    pub(super) fn packet(&mut self, at: Instant, time: u64) {
        // Differences between times of 32 bits are right up to half an hour.
        self.meter.packet(at, time as u32);
        self.last = (at, time);
    }

    /// Whether time has passed in the datagrams, as much as in the capture.
    pub(super) fn have_passed(&self) -> bool {
        let sent = self.last.1.saturating_sub(self.first.1).saturating_mul(1_000);
        let (sent, passed) = (Duration::from_nanos(sent), self.last.0.since(self.first.0));
        !sent.is_zero() && sent.abs_diff(passed) <= CLOCKS_APART.max(passed / 8)
    }

    /// The jitter by these times; `None` for a single datagram.
    pub(super) fn jitter(&self) -> Option<Jitter> {
        self.meter.jitter()
    }
}
