//! Measurement of real-time accuracy: lateness of events and packets, beside the host's own pauses.

mod lateness;
mod reference;
mod verdict;

pub use lateness::Lateness;
pub use reference::Reference;
pub use verdict::{Fidelity, Limits, Verdict};

use fairwave_linux::clock;
use fairwave_sim::Spread;
use fairwave_units::{Duration, Instant};

/// Measurements of a loop.
#[derive(Debug)]
pub struct Meter {
    /// For each event of the world, the time from its deadline to its handling.
    pub events: Spread,
    /// For each packet, the time from its arrival in the world to its writing.
    pub packets: Spread,
    /// For each frame, the maximum time that it may have waited to be read: the time since its end
    /// was last empty. It is zero for a frame that was read at the first opportunity.
    pub reads: Spread,
    /// Suspended time of the machine before the run.
    suspended_before: Duration,
    cpu_before: Duration,
    began: Instant,
}

impl Meter {
    /// Creates a meter that begins at `now`, on the thread that it measures.
    pub fn new(now: Instant) -> Self {
        Self {
            // Allocated here, as the loop must not wait for memory.
            events: Spread::with_room(),
            packets: Spread::with_room(),
            reads: Spread::with_room(),
            suspended_before: clock::suspended(),
            cpu_before: clock::thread_cpu(),
            began: now,
        }
    }

    /// Time for which the machine was suspended since the beginning.
    pub fn suspended(&self) -> Duration {
        let noise = Duration::from_millis(1);
        let slept = clock::suspended().saturating_sub(self.suspended_before);
        // The two clocks are read one after the other, which gives a small difference.
        if slept > noise { slept } else { Duration::ZERO }
    }

    /// The share of the time since the beginning that the thread ran on a core, from 0 to 1.
    pub fn cpu_load(&self, now: Instant) -> f64 {
        let used = clock::thread_cpu().saturating_sub(self.cpu_before).as_secs_f64();
        let wall = now.since(self.began).as_secs_f64();
        if wall > 0.0 { used / wall } else { 0.0 }
    }
}
