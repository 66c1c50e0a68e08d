//! A node's programs' view of the file system: the machine's, but for a few files.

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_bind, mount_change, move_mount, open_tree, unmount,
};
use std::fs;
use std::io;
use std::path::Path;

/// Mount point of a file system in memory for a moment; its own content is visible again
/// afterwards.
const STAGES: [&str; 3] = ["/tmp", "/run", "/mnt"];

/// Keeps mounts of the calling thread's mount namespace to itself.
pub fn keep_to_itself() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(mount_change("/", flags)?)
}

/// Puts a file with these contents in the place of `target`, for the calling thread's mount
/// namespace alone. The file lives in memory and has no other name.
pub fn replace(target: &str, contents: &str) -> io::Result<()> {
    let target = fs::canonicalize(target)?;
    let stage = STAGES.iter().find(|stage| Path::new(stage).is_dir() && !target.starts_with(stage));
    let stage = *stage.ok_or(io::ErrorKind::NotFound)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("fairwave", stage, "tmpfs", flags, None)?;
    let placed = place(stage, &target, contents);
    unmount(stage, UnmountFlags::DETACH)?;
    placed
}

fn place(stage: &str, target: &Path, contents: &str) -> io::Result<()> {
    let source = Path::new(stage).join("file");
    fs::write(&source, contents)?;
    Ok(mount_bind(&source, target)?)
}

/// The BPF file system, with the pins of all of the machine.
const BPFFS: &str = "/sys/fs/bpf";

/// Shows the network namespace of the calling thread in `/sys/class/net`, where the machine
/// allows (containers may not); else programs see the machine's interfaces there. The BPF file
/// system stays where it is, so that programs find algorithms that are loaded.
pub fn show_interfaces() {
    let cloned = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    // It would be hidden by the new file system.
    let pins = open_tree(CWD, BPFFS, cloned).ok();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let shown = mount("fairwave", "/sys", "sysfs", flags, None);
    if let (Ok(()), Some(pins)) = (shown, pins) {
        // Without it programs find nothing pinned, as where the kernel has no such call.
        let _ = move_mount(&pins, "", CWD, BPFFS, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
    }
}

/// Shows the calling process's PID namespace in `/proc`.
pub fn show_processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("fairwave", "/proc", "proc", flags, None)?)
}
