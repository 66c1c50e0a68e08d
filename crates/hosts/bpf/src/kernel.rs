//! System calls for which no crate has a safe form, and properties of processes from /proc.

#![allow(unsafe_code, reason = "statistics of BPF programs, unshare")]

use crate::Error;
use libbpf_rs::libbpf_sys;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::UnshareFlags;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

/// Returns an error unless the process runs as root.
pub(crate) fn demand_root(what: &'static str) -> Result<(), Error> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Error::NotRoot { what }) }
}

/// Whether a file is in a file system of this type, a magic number of linux/magic.h.
pub(crate) fn is_on(path: &Path, magic: u64) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 == magic)
}

/// CLOCK_MONOTONIC in nanoseconds, the clock that BPF programs use too.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Makes the kernel measure the run time of BPF programs, until the result is dropped.
pub(crate) fn enable_statistics() -> Result<OwnedFd, Error> {
    // SAFETY: the call takes a number and returns a descriptor or an error.
    let descriptor = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if descriptor < 0 {
        let source = io::Error::from_raw_os_error(-descriptor);
        return Err(Error::Io { what: "BPF_ENABLE_STATS".to_owned(), source });
    }
    // SAFETY: the descriptor is new, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Moves the calling thread into a network namespace of its own.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: the descriptors of the process stay shared by its threads.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// A process. Its start time distinguishes it from a later process with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pid: i32,
    /// Start time in clock ticks since boot: field 22 of /proc/PID/stat.
    started: u64,
}

impl Process {
    /// Returns this process.
    pub(crate) fn current() -> Option<Self> {
        let pid = i32::try_from(std::process::id()).ok()?;
        Some(Self { pid, started: started(pid)? })
    }

    /// The name of a directory that identifies the process.
    pub(crate) fn mark(self) -> String {
        format!("keeper-{}-{}", self.pid, self.started)
    }

    /// Parses [`Process::mark`].
    pub(crate) fn from_mark(mark: &str) -> Option<Self> {
        let (pid, started) = mark.strip_prefix("keeper-")?.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    pub(crate) fn lives(self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Terminates it, if it is still alive.
    pub(crate) fn end(self) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
        // The number may have been reused before the descriptor was opened.
        if self.lives() { Ok(pidfd_send_signal(process, Signal::TERM)?) } else { Ok(()) }
    }
}

fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // A zombie holds no resources any more.
    if fields.next()? == "Z" {
        return None;
    }
    // The state is field 3, so that field 22 is the 19th after it.
    fields.nth(18)?.parse().ok()
}
