//! A bare timer loop that measures the host during a run.

use super::Lateness;
use fairwave_linux::clock::Clock;
use fairwave_sim::Spread;
use fairwave_units::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Period of the timer.
const PERIOD: Duration = Duration::from_millis(1);

/// A thread that only sleeps until its timer expires, and measures how late it wakes: the part of
/// the lateness that the host causes, and not the emulator.
#[derive(Debug)]
pub struct Reference {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    late: Mutex<Spread>,
    stop: AtomicBool,
}

impl Reference {
    /// Starts to measure; `None` if no thread can be started.
    pub fn start() -> Option<Self> {
        let late = Mutex::new(Spread::with_room());
        let shared = Arc::new(Shared { late, stop: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("fairwave-reference".to_owned());
        let thread = builder.spawn(move || measure(&theirs)).ok()?;
        Some(Self { shared, thread: Some(thread) })
    }

    /// Lateness so far.
    pub fn lateness(&self) -> Lateness {
        Lateness::of(&self.shared.late.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has no operation that could fail.
            let _ = thread.join();
        }
    }
}

fn measure(shared: &Shared) {
    let clock = Clock::start();
    while !shared.stop.load(Ordering::Relaxed) {
        // The next time is relative to now: a pause counts once, and not for each period in it.
        let until = clock.now() + PERIOD;
        clock.sleep_until(until);
        let late = clock.now().since(until);
        shared.late.lock().unwrap_or_else(PoisonError::into_inner).add(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_measures_until_it_is_dropped() {
        let reference = Reference::start().expect("a thread");
        let clock = Clock::start();
        while reference.lateness().count < 3 {
            clock.sleep_until(clock.now() + PERIOD);
        }
        let seen = reference.lateness();
        assert!(seen.most > Duration::ZERO && seen.p50 <= seen.most, "{seen:?}");
    }
}
