//! Events that tasks of tokio await: files of ours that become ready, and a timer, since that of
//! tokio has a resolution of a millisecond.

use fairwave_units::Instant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;

/// Registers a file with the runtime.
///
/// # Errors
/// If the runtime does not watch files of this kind.
///
/// # Panics
/// Outside of a runtime of tokio.
#[expect(
    deprecated,
    reason = "the other way wants a proof that the file stays open, as it does in both"
)]
pub fn registered<T: AsRawFd>(file: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::new(file)
}

/// A timer of the kernel that wakes a task.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    /// Time for which it is set.
    armed: Option<Instant>,
}

impl Alarm {
    /// A timer that is not set.
    ///
    /// # Errors
    /// If the kernel has no timer, or the runtime of tokio does not watch files.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = registered(timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
        Ok(Self { timer, armed: None })
    }

    /// Sets the timer for `deadline`, unless it expires before in any case.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn arm(&mut self, now: Instant, deadline: Option<Instant>) -> io::Result<()> {
        let Some(deadline) = deadline else { return Ok(()) };
        if self.armed.is_some_and(|armed| armed > now && armed <= deadline) {
            return Ok(());
        }
        let ns = deadline.since(now).as_nanos().max(1);
        let it_value =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval, it_value };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &setting)?;
        self.armed = Some(deadline);
        Ok(())
    }

    /// Takes the timer's expiry, so that the task wakes at the next.
    ///
    /// # Errors
    /// If the runtime ends.
    pub fn expire(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while let Poll::Ready(guard) = self.timer.poll_read_ready(cx) {
            let mut guard = guard?;
            let mut count = [0; 8];
            let read = guard.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut count)?));
            if read.is_ok() {
                self.armed = None;
            }
        }
        Ok(())
    }
}
