//! How well real time was kept: lateness of events and packets, beside the host's own pauses.

mod lateness;
mod reference;
mod verdict;

pub use lateness::Lateness;
pub use reference::Reference;
pub use verdict::{Fidelity, Limits, Verdict};

use fairwave_linux::clock;
use fairwave_sim::Spread;
use fairwave_units::{Duration, Instant};

/// What a loop measures about itself.
#[derive(Debug)]
pub struct Meter {
    /// Of each event of the world: from its deadline to its handling.
    pub events: Spread,
    /// Of each packet: from its arrival in the world to its writing.
    pub packets: Spread,
    /// Of each frame: how long it can have waited to be read, as its end has not been empty for so
    /// long. Nothing that was read at the first opportunity has waited.
    pub reads: Spread,
    /// Suspended time of the machine before the run.
    suspended_before: Duration,
    cpu_before: Duration,
    began: Instant,
}

impl Meter {
    /// A meter that begins at `now`, in the thread that it measures.
    pub fn new(now: Instant) -> Self {
        Self {
            // The loop must not wait for memory.
            events: Spread::with_room(),
            packets: Spread::with_room(),
            reads: Spread::with_room(),
            suspended_before: clock::suspended(),
            cpu_before: clock::thread_cpu(),
            began: now,
        }
    }

    /// Time for which the machine has been suspended since the beginning.
    pub fn suspended(&self) -> Duration {
        let noise = Duration::from_millis(1);
        let slept = clock::suspended().saturating_sub(self.suspended_before);
        // The two clocks behind this are read one after the other.
        if slept > noise { slept } else { Duration::ZERO }
    }

    /// The part of the time since the beginning that its thread was on a core, 0 to 1.
    pub fn cpu_load(&self, now: Instant) -> f64 {
        let used = clock::thread_cpu().saturating_sub(self.cpu_before).as_secs_f64();
        let wall = now.since(self.began).as_secs_f64();
        if wall > 0.0 { used / wall } else { 0.0 }
    }
}
