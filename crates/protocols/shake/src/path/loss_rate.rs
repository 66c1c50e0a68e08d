//! Recent share of lost messages on a path.

use fairwave_units::{Duration, Instant};

/// Messages of data after which older ones count half.
const MEMORY: u32 = 1024;

/// A path that carries nothing forgets half of its losses in this time: they may be over.
const HALF_LIFE: Duration = Duration::from_secs(8);

/// Counts of a path's messages that fade.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossRate {
    counts: Counts,
    /// Losses up to this number belong to the last loss event.
    event_until: u64,
    /// Time at which a message left last.
    launched_at: Instant,
}

/// Recent losses of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Messages of data sent.
    pub(super) sent: u32,
    /// Messages lost. There can be more of them than of `sent`, as they may have been sent before
    /// those were halved.
    pub(super) lost: u32,
    /// Loss events among them.
    pub(super) events: u32,
}

impl Counts {
    fn halved(self, times: u32) -> Self {
        Self { sent: self.sent >> times, lost: self.lost >> times, events: self.events >> times }
    }
}

impl LossRate {
    pub(super) fn new() -> Self {
        Self { counts: Counts::default(), event_until: 0, launched_at: Instant::ZERO }
    }

    /// Time at which a message of data left last.
    pub(super) fn launched_at(&self) -> Instant {
        self.launched_at
    }

    /// A message of data leaves.
    pub(super) fn launch(&mut self, now: Instant) {
        let full = u32::from(self.counts.sent >= MEMORY);
        self.counts = self.counts.halved(self.half_lives(now) + full);
        self.launched_at = now;
        self.counts.sent += 1;
    }

    /// The message of this number was lost, whether anything is missing for it or not;
    /// `last_number` was taken last.
    pub(super) fn count_lost(&mut self, number: u64, last_number: u64) {
        self.counts.lost += 1;
        if number > self.event_until {
            // The first ends the first slow start, which overshoots on any path.
            self.counts.events += u32::from(self.event_until > 0);
            self.event_until = last_number;
        }
        let Counts { lost, events, .. } = self.counts;
        debug_assert!(events <= lost, "{events} events of {lost} losses");
    }

    pub(super) fn counts(&self, now: Instant) -> Counts {
        self.counts.halved(self.half_lives(now))
    }

    /// Number of times that the counts have been halved since something was sent.
    fn half_lives(&self, now: Instant) -> u32 {
        let rest = now.since(self.launched_at);
        if rest < HALF_LIFE {
            return 0;
        }
        let halvings = u32::try_from(rest.as_nanos() / HALF_LIFE.as_nanos()).unwrap_or(u32::MAX);
        // One more is added when the memory is full: a shift must stay below the width.
        halvings.min(u32::BITS - 2)
    }
}
