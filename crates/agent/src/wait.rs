//! Waiting for descriptors or a time.

use fairwave_units::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;

/// Waits until one of the descriptors can be read, for at most so long. A signal ends it early.
pub(crate) fn wait_for(readable: &[&dyn AsFd], most: Duration) -> io::Result<()> {
    let nanos = most.as_nanos();
    let most = Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    let borrowed = readable.iter().map(|one| one.as_fd());
    let mut polled: Vec<PollFd<'_>> =
        borrowed.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a read would end at once: with bytes, at the end, or with an error.
pub(crate) fn can_be_read(readable: &dyn AsFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(readable.as_fd(), PollFlags::IN)];
    match poll(&mut polled, Some(&now)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
