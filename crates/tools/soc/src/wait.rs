//! Waiting for descriptors or a time.

use fairwave_units::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;

/// Waits until one of the descriptors can be read, for at most `most`. Returns whether the first of
/// them can. A signal ends the wait early.
pub(crate) fn wait_for(readable: &[&dyn AsFd], max: Duration) -> io::Result<bool> {
    let nanos = max.as_nanos();
    let max = Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    let borrowed = readable.iter().map(|one| one.as_fd());
    let mut polled: Vec<PollFd<'_>> =
        borrowed.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&max)) {
        Ok(_) => Ok(polled.first().is_some_and(|first| !first.revents().is_empty())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
