//! The clocks of the host. The only place of this crate that reads them.

use fairwave_units::{Duration, Instant};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A zero of virtual time on `CLOCK_MONOTONIC`, which no step of the wall clock moves and which
/// stands still while the machine is suspended.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero_ns: u64,
}

impl Clock {
    /// A clock whose zero is now.
    pub fn start() -> Self {
        Self { zero_ns: read(ClockId::Monotonic) }
    }

    /// Time since its zero.
    #[inline]
    pub fn now(self) -> Instant {
        self.at(read(ClockId::Monotonic))
    }

    /// Returns a reading of `CLOCK_MONOTONIC` in nanoseconds, as others take it, by this clock.
    /// Zero for times before its zero.
    pub fn at(self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.zero_ns))
    }

    /// Sleeps until a time, or returns earlier if a signal arrives.
    pub fn sleep_until(self, at: Instant) {
        let until = timespec(self.zero_ns.saturating_add(at.as_nanos()));
        // An interrupted sleep is an early one: callers look at the clock in any case.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
    }

    /// Sleeps until a time, whatever signals arrive.
    pub fn wait_until(self, at: Instant) {
        while self.now() < at {
            self.sleep_until(at);
        }
    }
}

/// Time for which the machine has been suspended since it was booted.
pub fn suspended() -> Duration {
    let (boot, monotonic) = (read(ClockId::Boottime), read(ClockId::Monotonic));
    Duration::from_nanos(boot.saturating_sub(monotonic))
}

/// The wall clock, in nanoseconds since 1970. The kernel stamps packets by it.
pub fn wall_ns() -> u64 {
    read(ClockId::Realtime)
}

/// CPU time that the calling thread has used.
pub fn thread_cpu() -> Duration {
    Duration::from_nanos(read(ClockId::ThreadCPUTime))
}

/// Time for which the calling thread could have run and had no CPU; zero if the kernel does not
/// count it (`CONFIG_SCHED_INFO`).
pub fn thread_wait() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

/// Returns this number of nanoseconds as the kernel takes them.
pub fn timespec(ns: u64) -> Timespec {
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: rest as _ }
}

#[inline]
fn read(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    // None of these clocks is ever negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_a_sleep_lasts_until_its_end() {
        let clock = Clock::start();
        let until = clock.now() + Duration::from_millis(1);
        clock.wait_until(until);
        assert!(clock.now() >= until);
    }

    #[test]
    fn readings_of_others_are_told_from_its_zero() {
        let clock = Clock { zero_ns: 1_000 };
        assert_eq!([999, 1_000, 1_250].map(|ns| clock.at(ns).as_nanos()), [0, 0, 250]);
    }

    #[test]
    fn a_timespec_has_less_than_a_second_of_nanoseconds() {
        let time = timespec(3_000_000_001);
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 1));
    }
}
