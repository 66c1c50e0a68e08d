//! What can go wrong with laws in the kernel, in words.

use std::io;
use std::path::PathBuf;

/// Reason for which a law was not loaded, shown or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No law has this name.
    #[error("unknown law {name:?}; there are {known}")]
    Unknown {
        /// The name as given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Somebody without privileges asked.
    #[error(
        "{what} needs root (CAP_BPF and CAP_NET_ADMIN); once a law is loaded, any user's sockets \
         may choose it"
    )]
    NotRoot {
        /// What was asked for.
        what: &'static str,
    },
    /// Somebody without privileges wanted to trace.
    #[error("tracing connections of the kernel needs root (CAP_BPF and CAP_PERFMON)")]
    MayNotTrace,
    /// The kernel has a congestion control of this name already.
    #[error("{name} is loaded already; `fairwave cc unload {name}` unloads it")]
    Loaded {
        /// The law.
        name: &'static str,
    },
    /// It was registered by somebody else, or is pinned in another directory.
    #[error(
        "{name} is registered, but not pinned below {}; whoever loaded it must unload it, or see \
         --pin",
        root.display()
    )]
    Foreign {
        /// The law.
        name: &'static str,
        /// Where pins were sought.
        root: PathBuf,
    },
    /// It is not loaded, or not by us.
    #[error("{name} is not loaded; `fairwave cc load {name}` loads it")]
    NotLoaded {
        /// The law.
        name: &'static str,
    },
    /// A directory for pins must lie in a BPF file system.
    #[error(
        "{}: not in a BPF file system; choose a directory below /sys/fs/bpf, or mount one first: \
         `mount -t bpf bpf DIRECTORY`",
        path.display()
    )]
    NotBpffs {
        /// The directory.
        path: PathBuf,
    },
    /// Targets are set for cgroups of version 2.
    #[error(
        "{}: not a cgroup; choose a directory below /sys/fs/cgroup, where version 2 is mounted",
        path.display()
    )]
    NotCgroup {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody measures already.
    #[error("{name} is registered: another `fairwave cc bench` runs; wait until it has ended")]
    Measuring {
        /// What it has registered.
        name: &'static str,
    },
    /// The kernel refused a program or a map.
    #[error("{what}: {source}{}", said(log))]
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel answered.
        source: libbpf_rs::Error,
        /// What libbpf and the verifier said.
        log: String,
    },
    /// A file or a system call.
    #[error("{what}: {source}")]
    Io {
        /// The path or the call.
        what: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The kernel did not let go of a law within seconds.
    #[error("{name} is still registered, although its pins are gone; a process holds its link")]
    Lingers {
        /// The law, or several.
        name: String,
    },
}

fn said(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

impl Error {
    /// For `map_err` on files and system calls.
    pub(crate) fn io(what: &str) -> impl FnOnce(rustix::io::Errno) -> Self + use<> {
        let what = what.to_owned();
        move |errno| Self::Io { what, source: errno.into() }
    }

    /// For `map_err` on the standard library's files.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let what = path.display().to_string();
        move |source| Self::Io { what, source }
    }
}
