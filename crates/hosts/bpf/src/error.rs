//! Errors of algorithms in the kernel.

use std::io;
use std::path::PathBuf;

/// Reason for which an algorithm was not loaded, shown or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No algorithm has this name.
    #[error("unknown algorithm {name:?}; there are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The known names.
        known: String,
    },
    /// The process lacks privileges.
    #[error(
        "{what} needs root (CAP_BPF and CAP_NET_ADMIN); once an algorithm is loaded, any user's \
         sockets may choose it"
    )]
    NotRoot {
        /// The requested operation.
        what: &'static str,
    },
    /// The process lacks the privileges to trace.
    #[error("tracing connections of the kernel needs root (CAP_BPF and CAP_PERFMON)")]
    MayNotTrace,
    /// The kernel already has a congestion control algorithm of this name.
    #[error("{name} is loaded already; `fairwave cc unload {name}` unloads it")]
    Loaded {
        /// The algorithm.
        name: &'static str,
    },
    /// Another program has registered it, or it is pinned in another directory.
    #[error(
        "{name} is registered, but not pinned below {}; whoever loaded it must unload it, or see \
         --pin",
        root.display()
    )]
    Foreign {
        /// The algorithm.
        name: &'static str,
        /// The directory that was searched for pins.
        root: PathBuf,
    },
    /// It is not loaded, or not by Fairwave.
    #[error("{name} is not loaded; `fairwave cc load {name}` loads it")]
    NotLoaded {
        /// The algorithm.
        name: &'static str,
    },
    /// A directory for pins must be in a BPF file system.
    #[error(
        "{}: not in a BPF file system; choose a directory below /sys/fs/bpf, or mount one first: \
         `mount -t bpf bpf DIRECTORY`",
        path.display()
    )]
    NotBpffs {
        /// The directory.
        path: PathBuf,
    },
    /// Targets need a cgroup of version 2.
    #[error(
        "{}: not a cgroup; choose a directory below /sys/fs/cgroup, where version 2 is mounted",
        path.display()
    )]
    NotCgroup {
        /// The directory.
        path: PathBuf,
    },
    /// Another measurement is under way.
    #[error("{name} is registered: another `fairwave cc bench` runs; wait until it has ended")]
    Measuring {
        /// The algorithm that it has registered.
        name: &'static str,
    },
    /// The kernel refused a program or a map.
    #[error("{what}: {source}{}", with_log(log))]
    Refused {
        /// The refused operation.
        what: String,
        /// Error from the kernel.
        source: libbpf_rs::Error,
        /// Output of libbpf and the verifier.
        log: String,
    },
    /// A file or a system call failed.
    #[error("{what}: {source}")]
    Io {
        /// The path or the call.
        what: String,
        /// Error from the system.
        source: io::Error,
    },
    /// The kernel did not release an algorithm in time.
    #[error("{name} is still registered, although its pins are gone; a process holds its link")]
    Lingers {
        /// The algorithm, or several.
        name: String,
    },
}

fn with_log(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

impl Error {
    /// Builds an error for `map_err` on files and system calls.
    pub(crate) fn io(what: &str) -> impl FnOnce(rustix::io::Errno) -> Self + use<> {
        let what = what.to_owned();
        move |errno| Self::Io { what, source: errno.into() }
    }

    /// Builds an error for `map_err` on files of the standard library.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let what = path.display().to_string();
        move |source| Self::Io { what, source }
    }
}
