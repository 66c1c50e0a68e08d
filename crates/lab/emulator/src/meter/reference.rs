//! A bare timer loop that measures the host meanwhile.

use super::Lateness;
use fairwave_linux::clock::Clock;
use fairwave_sim::Spread;
use fairwave_units::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// From one timer to the next.
const PERIOD: Duration = Duration::from_millis(1);

/// A thread that does nothing but sleep until its timer expires, and notes how late it woke: what
/// the host, and not the emulator, adds to lateness.
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
    /// Begins to measure; `None` if there is no thread to be had.
    pub fn start() -> Option<Self> {
        let late = Mutex::new(Spread::with_room());
        let shared = Arc::new(Shared { late, stop: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("fairwave-reference".to_owned());
        let thread = builder.spawn(move || measure(&theirs)).ok()?;
        Some(Self { shared, thread: Some(thread) })
    }

    /// What it came to so far.
    pub fn lateness(&self) -> Lateness {
        Lateness::of(&self.shared.late.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that could fail.
            let _ = thread.join();
        }
    }
}

fn measure(shared: &Shared) {
    let clock = Clock::start();
    while !shared.stop.load(Ordering::Relaxed) {
        // From now, not from the last timer: a pause counts once, not for each timer in it.
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
