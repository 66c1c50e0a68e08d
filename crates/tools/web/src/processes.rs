//! Network namespaces and run directories of other processes of Fairwave.
//!
//! A tool announces itself in no file, so that no entry can be forged, be read by others, or
//! outlive the tool. To enter another network namespace takes the privileges of root, as the tools
//! themselves do that run in one. A tool may have given its privileges up since, so that the user
//! of a process says nothing about its network namespace; its sockets have the user who opened
//! them.

use fairwave_linux::is_trusted;
use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of processes that are looked at.
const MAX_PROCESSES: usize = 256;
/// Maximum number of open files of a process that are looked at.
const MAX_FILES: usize = 1024;
/// First part of the names of processes of Fairwave.
const PROGRAM: &str = "fairwave";
/// Network namespaces with names, as `ip netns` makes them.
const NAMED: &str = "/run/netns";

/// Device and inode of a file.
type Identity = (u64, u64);

/// A network namespace of other processes.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: OwnedFd,
    /// Its name from `ip netns`, else its number.
    pub(crate) name: String,
}

impl Namespace {
    /// Moves the calling thread there, for its lifetime.
    ///
    /// # Errors
    /// If this process may not.
    pub(crate) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// A process of Fairwave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    /// Whether it belongs to another user than root and that of this process. Such ones are last.
    is_foreign: bool,
    /// Its directory in `/proc`.
    path: PathBuf,
}

impl Process {
    /// The process of a directory in `/proc`.
    pub(crate) fn at(path: PathBuf) -> Option<Self> {
        let is_foreign = !is_trusted(fs::metadata(&path).ok()?.st_uid());
        Some(Self { is_foreign, path })
    }
}

/// The processes of Fairwave.
pub(crate) fn processes() -> Vec<Process> {
    let is_program = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_process = name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        is_process
            && fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with(PROGRAM))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(is_program);
    let mut found: Vec<Process> = paths.filter_map(Process::at).collect();
    found.sort();
    found.truncate(MAX_PROCESSES);
    found
}

/// The network namespaces of processes, without that of this process.
pub(crate) fn namespaces(processes: &[Process]) -> Vec<Namespace> {
    let mut known: BTreeSet<Identity> = BTreeSet::new();
    known.extend(fs::metadata("/proc/self/ns/net").ok().map(|own| (own.st_dev(), own.st_ino())));
    let mut found = Vec::new();
    for process in processes {
        let opened =
            open(process.path.join("ns/net"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let Ok(file) = opened else { continue };
        let Ok(identity) = identity(&file) else { continue };
        if known.insert(identity) {
            let name = named(identity).unwrap_or_else(|| identity.1.to_string());
            found.push(Namespace { file, name });
        }
    }
    found
}

/// The name of a network namespace among those that have one.
fn named(identity: Identity) -> Option<String> {
    let mut entries = fs::read_dir(NAMED).ok()?.flatten();
    let found = entries.find(|entry| {
        let of = fs::symlink_metadata(entry.path());
        of.is_ok_and(|of| (of.st_dev(), of.st_ino()) == identity)
    })?;
    found.file_name().into_string().ok()
}

/// A directory, opened without rights to its content.
///
/// # Errors
/// If there is none, or a link is in its place.
pub(crate) fn directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

/// The socket `name` in a directory, opened without rights to it. A link in its place is none.
///
/// # Errors
/// If there is no socket of this name.
pub(crate) fn socket_in(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::Socket => Ok(file),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// Device and inode of an open file.
///
/// # Errors
/// Those of the system call.
pub(crate) fn identity(file: &OwnedFd) -> io::Result<Identity> {
    let of = fstat(file)?;
    Ok((of.st_dev, of.st_ino))
}

/// The directories that a process of this user or of root has open, with their paths.
pub(crate) fn directories(process: &Process) -> Vec<(PathBuf, OwnedFd)> {
    if process.is_foreign {
        return Vec::new();
    }
    let entries = fs::read_dir(process.path.join("fd")).into_iter().flatten().flatten();
    let opened = |entry: fs::DirEntry| {
        let path = fs::read_link(entry.path()).ok().filter(|path| path.is_absolute())?;
        // This entry leads to the open file itself, whatever lies at its path by now.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Some((path, open(entry.path(), flags, Mode::empty()).ok()?))
    };
    entries.take(MAX_FILES).filter_map(opened).collect()
}
