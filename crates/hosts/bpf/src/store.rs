//! Directories of loaded algorithms in the BPF file system, one for each.
//!
//! Names in that file system contain no dots. An algorithm is prepared in `loading-PID-...` and
//! then renamed, which distinguishes a working one from the remainder of a killed loader.

use crate::pins::release;
use crate::registered::await_unregistered;
use crate::{ALGORITHMS, Algorithm, Error, kernel};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Standard mount point of the BPF file system.
const BPFFS: &str = "/sys/fs/bpf";
/// The same for the first process of the machine or container.
const BPFFS_OF_INIT: &str = "/proc/1/root/sys/fs/bpf";
/// `BPF_FS_MAGIC` of linux/magic.h.
const MAGIC: u64 = 0xcafe_4a11;
/// Source name of a file system that Fairwave has mounted. A marker file inside it would be missing
/// if the loader were killed after the mount.
const SOURCE: &str = "fairwave";
const MOUNTS: &str = "/proc/self/mounts";
/// Prefix of the directory of an algorithm that is being loaded.
const LOADING: &str = "loading-";

/// The directory in which algorithms are pinned.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    mounted: bool,
}

impl Store {
    /// Opens the store without creating or mounting anything. `root` is `/sys/fs/bpf/fairwave` by
    /// default. Where `/sys` is another one, as in `ip netns exec`, it is that of init.
    pub fn at(root: Option<&Path>) -> Self {
        let root = root.map_or_else(|| default_mount().join("fairwave"), Path::to_owned);
        Self { root, mounted: false }
    }

    /// Prepares the store for algorithms: mounts the BPF file system if it is missing, and removes
    /// remainders of killed loaders.
    ///
    /// # Errors
    /// Without privileges, or if `root` is in another file system.
    pub fn ready(root: Option<&Path>) -> Result<Self, Error> {
        kernel::demand_root("loading a congestion control")?;
        let mut store = Self::at(root);
        if store.root.starts_with(BPFFS) && !is_bpffs(Path::new(BPFFS)) {
            mount(SOURCE, BPFFS, "bpf", MountFlags::empty(), None).map_err(Error::io(BPFFS))?;
            store.mounted = true;
        }
        if !is_bpffs(nearest(&store.root)) {
            return Err(Error::NotBpffs { path: store.root });
        }
        fs::create_dir_all(&store.root).map_err(Error::file(&store.root))?;
        store.remove_stale()?;
        Ok(store)
    }

    /// Whether [`Store::ready`] has mounted the BPF file system.
    pub fn mounted(&self) -> bool {
        self.mounted
    }

    /// Whether that mount, and the algorithms with it, end with the mount namespace of this
    /// process.
    pub fn is_fleeting(&self) -> bool {
        let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        self.mounted && namespace("self") != namespace("1")
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Directory of an algorithm's pins.
    pub(crate) fn place(&self, algorithm: &Algorithm) -> PathBuf {
        self.root.join(algorithm.name)
    }

    /// Opens a map of a loaded algorithm.
    pub(crate) fn map(
        &self,
        algorithm: &Algorithm,
        name: &str,
    ) -> Result<libbpf_rs::MapHandle, Error> {
        let path = self.place(algorithm).join(name);
        match fs::symlink_metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::NotLoaded { name: algorithm.name });
            }
            Err(error) => return Err(Error::file(&path)(error)),
        }
        let opened = libbpf_rs::MapHandle::from_pinned_path(&path);
        opened.map_err(crate::object::refused(path.display()))
    }

    /// Creates the directory in which an algorithm is prepared.
    pub(crate) fn prepare(&self, algorithm: &Algorithm) -> Result<PathBuf, Error> {
        let path = self.root.join(format!("{LOADING}{}-{}", std::process::id(), algorithm.name));
        make(&path)?;
        Ok(path)
    }

    /// Removes the remainders of loaders and keepers that are no longer alive.
    fn remove_stale(&self) -> Result<(), Error> {
        for path in self.entries()? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let loader = name.strip_prefix(LOADING).and_then(|rest| rest.split('-').next());
            let dead = |pid: &str| !Path::new("/proc").join(pid).exists();
            if loader.is_some_and(dead) || is_orphaned(&path) {
                release(&path)?;
            }
        }
        Ok(())
    }

    /// Directories of ours in the root, by name: the user may have chosen a root with pins of other
    /// programs.
    fn entries(&self) -> Result<Vec<PathBuf>, Error> {
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(LOADING) || ALGORITHMS.iter().any(|algorithm| algorithm.name == name)
        };
        match fs::read_dir(&self.root) {
            Ok(entries) => {
                let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
                let mut ours: Vec<PathBuf> = paths.filter(is_ours).collect();
                ours.sort();
                Ok(ours)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::file(&self.root)(error)),
        }
    }

    /// Removes everything of ours. This includes the directory if it is then empty, and the BPF
    /// file system if Fairwave has mounted it and no other program uses it. Returns the names of
    /// the algorithms that were pinned.
    ///
    /// # Errors
    /// If a pin cannot be removed, or the directory is in another file system.
    pub fn clear(&self) -> Result<Vec<String>, Error> {
        kernel::demand_root("unloading a congestion control")?;
        self.demand_bpffs()?;
        let entries = self.entries()?;
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        let mut algorithms: Vec<String> = entries.iter().filter_map(name).collect();
        algorithms.retain(|name| !name.starts_with(LOADING));
        for path in &entries {
            release(path)?;
        }
        await_unregistered(&algorithms)?;
        self.remove_root()?;
        self.unmount()?;
        Ok(algorithms)
    }

    /// Returns an error if the root is in another file system: its files are not pins.
    pub(crate) fn demand_bpffs(&self) -> Result<(), Error> {
        match self.root.exists() && !is_bpffs(&self.root) {
            true => Err(Error::NotBpffs { path: self.root.clone() }),
            false => Ok(()),
        }
    }

    /// Removes the directory, unless it is the file system itself or contains pins of other
    /// programs.
    fn remove_root(&self) -> Result<(), Error> {
        if !self.root.exists() || [BPFFS, BPFFS_OF_INIT].iter().any(|at| self.root == Path::new(at))
        {
            return Ok(());
        }
        match fs::remove_dir(&self.root) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(Error::file(&self.root)),
        }
    }

    fn unmount(&self) -> Result<(), Error> {
        let mounts = fs::read_to_string(MOUNTS).map_err(Error::file(Path::new(MOUNTS)))?;
        // The source name in /proc shows who mounted the file system, also after a restart of this
        // program.
        let ours = format!("{SOURCE} {BPFFS} bpf ");
        if !self.root.starts_with(BPFFS) || !mounts.lines().any(|line| line.starts_with(&ours)) {
            return Ok(());
        }
        // Files that the file system creates itself end in `.debug`.
        let others = fs::read_dir(BPFFS).map_err(Error::file(Path::new(BPFFS)))?;
        let others = others.filter_map(Result::ok).map(|entry| entry.path());
        let foreign = |path: &PathBuf| path.extension().is_none_or(|ending| ending != "debug");
        if others.into_iter().any(|path| foreign(&path)) {
            return Ok(());
        }
        match unmount(BPFFS, UnmountFlags::empty()) {
            // A program such as `cc status --watch` has a file of it open: all algorithms are
            // unloaded nevertheless, and an empty file system harms nobody.
            Err(Errno::BUSY) => Ok(()),
            unmounted => unmounted.map_err(Error::io(BPFFS)),
        }
    }
}

/// The BPF file system of this mount namespace, or of init's if this one has none.
fn default_mount() -> &'static Path {
    let (own, of_init) = (Path::new(BPFFS), Path::new(BPFFS_OF_INIT));
    if !is_bpffs(own) && is_bpffs(of_init) { of_init } else { own }
}

/// Whether the algorithm in a directory was held by a keeper that is gone.
fn is_orphaned(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    let names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let held = names.iter().any(|name| name == "link");
    let keeper = names.iter().find_map(|name| kernel::Process::from_mark(name));
    !held && keeper.is_some_and(|keeper| !keeper.lives())
}

fn make(path: &Path) -> Result<(), Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

/// The path, or its nearest existing ancestor.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."))
}

fn is_bpffs(path: &Path) -> bool {
    kernel::is_on(path, MAGIC)
}
