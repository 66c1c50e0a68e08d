//! Loading and unloading of algorithms.

use crate::kernel::{Process, demand_root};
use crate::object::{load_algorithm, map, refused};
use crate::pins::{LINK, REGISTERED, release, remove};
use crate::registered::{await_unregistered, registered};
use crate::{Algorithm, Error, Store};
use libbpf_rs::{Link, MapCore, Object};
use std::fs;
use std::path::Path;

/// Name of the map that is registered.
const OPS: &str = "fw_ops";

/// Lifetime of a loaded algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until [`unload`]: its link is pinned.
    Pinned,
    /// While [`Held`] lives, and at most as long as this process: its link is not pinned.
    Held,
}

/// A loaded algorithm. If its lifetime is [`Life::Held`], dropping this unloads it.
#[derive(Debug)]
pub struct Held {
    life: Life,
    link: Link,
    place: std::path::PathBuf,
    /// Programs and maps, to which the link refers too.
    _object: Object,
}

/// Loads an algorithm, which every socket can then select.
///
/// # Errors
/// Without privileges, if it is already loaded, or if the verifier refuses it.
pub fn load(store: &Store, algorithm: &'static Algorithm, life: Life) -> Result<Held, Error> {
    demand_root("loading a congestion control")?;
    if registered()?.iter().any(|name| name == algorithm.name) {
        let ours = store.place(algorithm).exists();
        let root = store.root().to_owned();
        let name = algorithm.name;
        return Err(if ours { Error::Loaded { name } } else { Error::Foreign { name, root } });
    }
    // A directory of an algorithm that is not registered is the remainder of a killed keeper.
    release(&store.place(algorithm))?;
    // Verification takes most of the time. A loader that is killed during it leaves no files.
    let (mut object, has_links) = load_algorithm(algorithm.name, algorithm.object)?;
    let prepared = store.prepare(algorithm)?;
    let loaded = attach(algorithm, life, &mut object, has_links, &prepared).and_then(|link| {
        let place = store.place(algorithm);
        // The rename comes after the registration, so that a directory under its final name is
        // complete.
        fs::rename(&prepared, &place).map_err(Error::file(&place))?;
        Ok(Held { life, link, place, _object: object })
    });
    if loaded.is_err() {
        release(&prepared)?;
    }
    loaded
}

/// Registers an algorithm, and pins it with its maps. The link is pinned last, so that an
/// incomplete directory never has one.
fn attach(
    algorithm: &Algorithm,
    life: Life,
    object: &mut Object,
    has_links: bool,
    place: &Path,
) -> Result<Link, Error> {
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        // Constants of a program are in a map whose name contains a dot; no process needs them
        // later.
        if name.starts_with("fw_") && name != OPS && !name.contains('.') {
            map.pin(place.join(&name)).map_err(refused(name))?;
        }
    }
    if let (Life::Held, Some(keeper)) = (life, Process::current()) {
        let mark = place.join(keeper.mark());
        fs::create_dir(&mark).map_err(Error::file(&mark))?;
    }
    if !has_links {
        map(object, OPS).pin(place.join(REGISTERED)).map_err(refused(algorithm.name))?;
    }
    let mut link = map(object, OPS).attach_struct_ops().map_err(refused(algorithm.name))?;
    if !has_links && life == Life::Pinned {
        link.disconnect();
    } else if has_links && life == Life::Pinned {
        link.pin(place.join(LINK)).map_err(refused(algorithm.name))?;
    }
    Ok(link)
}

impl Held {
    /// Lifetime of the algorithm.
    pub fn life(&self) -> Life {
        self.life
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.life == Life::Held {
            // An error cannot be reported here; `unload` removes the remaining files.
            let _ = remove(&self.place);
            let _ = self.link.detach();
        }
    }
}

/// Unloads an algorithm. Connections that use it keep it until they end.
///
/// # Errors
/// Without privileges, or if Fairwave has not loaded it.
pub fn unload(store: &Store, algorithm: &'static Algorithm) -> Result<(), Error> {
    demand_root("unloading a congestion control")?;
    store.demand_bpffs()?;
    let place = store.place(algorithm);
    if !place.exists() {
        let known = registered()?.iter().any(|name| name == algorithm.name);
        let (name, root) = (algorithm.name, store.root().to_owned());
        return Err(if known { Error::Foreign { name, root } } else { Error::NotLoaded { name } });
    }
    release(&place)?;
    await_unregistered(&[algorithm.name.to_owned()])
}
