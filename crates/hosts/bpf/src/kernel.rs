//! System calls that no crate offers in a safe form, and what /proc says of processes.

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

/// Refuses who is not root.
pub(crate) fn demand_root(what: &'static str) -> Result<(), Error> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Error::NotRoot { what }) }
}

/// Whether a file is in a file system with this number of linux/magic.h.
pub(crate) fn lies_in(path: &Path, magic: u64) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| found.f_type as u64 == magic)
}

/// Nanoseconds of CLOCK_MONOTONIC, by which programs tell the time too.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Makes the kernel measure the time that BPF programs take, until the result is dropped.
pub(crate) fn enable_statistics() -> Result<OwnedFd, Error> {
    // SAFETY: the call takes a number and returns a descriptor or an error.
    let descriptor = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if descriptor < 0 {
        let source = io::Error::from_raw_os_error(-descriptor);
        return Err(Error::Io { what: "BPF_ENABLE_STATS".to_owned(), source });
    }
    // SAFETY: the descriptor is new, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Moves the calling thread into a network namespace of its own.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: the descriptors of the process stay shared by its threads.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// A process, told from a later one of the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pid: i32,
    /// Clock ticks since boot: field 22 of /proc/PID/stat.
    started: u64,
}

impl Process {
    /// This process.
    pub(crate) fn current() -> Option<Self> {
        let pid = i32::try_from(std::process::id()).ok()?;
        Some(Self { pid, started: started(pid)? })
    }

    /// The name of a directory that names it.
    pub(crate) fn mark(self) -> String {
        format!("keeper-{}-{}", self.pid, self.started)
    }

    /// Reads [`Process::mark`].
    pub(crate) fn from_mark(mark: &str) -> Option<Self> {
        let (pid, started) = mark.strip_prefix("keeper-")?.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    pub(crate) fn lives(self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Ends it, if it still lives.
    pub(crate) fn end(self) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
        // The number may have been given to another process before the descriptor was opened.
        if self.lives() { Ok(pidfd_send_signal(process, Signal::TERM)?) } else { Ok(()) }
    }
}

fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // A zombie holds nothing any more.
    if fields.next()? == "Z" {
        return None;
    }
    // The state is field 3.
    fields.nth(18)?.parse().ok()
}
