//! The clocks of the host. The only place of this crate that reads them.

use fairwave_units::Instant;
use rustix::event::{Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

/// A zero of time on `CLOCK_MONOTONIC`, which no step of the wall clock moves.
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
    pub fn now(self) -> Instant {
        Instant::from_nanos(read(ClockId::Monotonic).saturating_sub(self.zero_ns))
    }
}

/// Sleeps until a time of `clock`.
pub(crate) fn wait_until(clock: Clock, until: Instant) {
    loop {
        let nanos = until.since(clock.now()).as_nanos();
        if nanos == 0 {
            return;
        }
        let rest = Timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        // A signal ends it early; the loop looks at the clock again.
        let _ = poll(&mut [], Some(&rest));
    }
}

/// The wall clock, in nanoseconds since 1970. The kernel stamps datagrams by it.
pub(crate) fn wall_ns() -> u64 {
    read(ClockId::Realtime)
}

fn read(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    // Neither clock is ever negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
