//! Contents of an algorithm's directory in the BPF file system, and their removal.

use crate::Error;
use crate::kernel::Process;
use crate::object::refused;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::fs;
use std::io;
use std::path::Path;

/// Pin of the algorithm's link.
pub(crate) const LINK: &str = "link";
/// Pin of the registered map on kernels without links for `struct_ops`.
pub(crate) const REGISTERED: &str = "registered";

/// Unregisters the algorithm pinned in a directory, and removes the directory.
pub(crate) fn release(place: &Path) -> Result<(), Error> {
    if !place.exists() {
        return Ok(());
    }
    let registered = place.join(REGISTERED);
    if registered.exists() {
        let map = MapHandle::from_pinned_path(&registered).map_err(refused(place.display()))?;
        take_back(&map);
    }
    for name in names(place)? {
        if let Some(keeper) = Process::from_mark(&name) {
            keeper.end().map_err(Error::file(&place.join(&name)))?;
        }
    }
    remove(place)
}

/// Unregisters an algorithm without a link. It may not be registered yet.
fn take_back(map: &MapHandle) {
    let key = 0_u32.to_ne_bytes();
    if map.lookup(&key, MapFlags::ANY).is_ok_and(|found| found.is_some()) {
        let _ = map.delete(&key);
    }
}

fn names(place: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(place).map_err(Error::file(place))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// Removes a directory of pins. A keeper that ends may remove the same files at the same time.
pub(crate) fn remove(place: &Path) -> Result<(), Error> {
    let gone = |result: io::Result<()>, path: &Path| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    };
    let Ok(entries) = fs::read_dir(place) else { return Ok(()) };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        gone(if is_directory { fs::remove_dir(&path) } else { fs::remove_file(&path) }, &path)?;
    }
    gone(fs::remove_dir(place), place)
}
