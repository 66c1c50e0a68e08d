//! Loading laws and unloading them.

use crate::kernel::{Process, demand_root};
use crate::object::{load_law, map, refused};
use crate::pins::{LINK, REGISTERED, release, remove};
use crate::registered::{await_unregistered, registered};
use crate::{Error, Law, Store};
use libbpf_rs::{Link, MapCore, Object};
use std::fs;
use std::path::Path;

/// The name of the map that is registered.
const OPS: &str = "fw_ops";

/// Time for which a law stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until [`unload`]: its link is pinned.
    Pinned,
    /// As long as [`Held`] lives, and at most as long as this process: its link is not pinned.
    Held,
}

/// A law that was loaded. Where its life is [`Life::Held`], dropping this unloads it.
#[derive(Debug)]
pub struct Held {
    life: Life,
    link: Link,
    place: std::path::PathBuf,
    /// Programs and maps, which the link keeps too.
    _object: Object,
}

/// Loads a law, from where any socket may ask for it.
///
/// # Errors
/// Without privileges, if it is loaded already, or with what the verifier says.
pub fn load(store: &Store, law: &'static Law, life: Life) -> Result<Held, Error> {
    demand_root("loading a congestion control")?;
    if registered()?.iter().any(|name| name == law.name) {
        let ours = store.place(law).exists();
        let root = store.root().to_owned();
        let name = law.name;
        return Err(if ours { Error::Loaded { name } } else { Error::Foreign { name, root } });
    }
    // A directory without a registered law is what a keeper left that was killed.
    release(&store.place(law))?;
    // The verifier takes most of the time. A loader that is killed meanwhile leaves nothing.
    let (mut object, has_links) = load_law(law.name, law.object)?;
    let prepared = store.prepare(law)?;
    let loaded = attach(law, life, &mut object, has_links, &prepared).and_then(|link| {
        let place = store.place(law);
        fs::rename(&prepared, &place).map_err(Error::file(&place))?;
        Ok(Held { life, link, place, _object: object })
    });
    if loaded.is_err() {
        release(&prepared)?;
    }
    loaded
}

/// Registers a law and pins it with its maps; the link comes last.
fn attach(
    law: &Law,
    life: Life,
    object: &mut Object,
    has_links: bool,
    place: &Path,
) -> Result<Link, Error> {
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        // Constants of a program lie in a map whose name has a dot; nobody needs them later.
        if name.starts_with("fw_") && name != OPS && !name.contains('.') {
            map.pin(place.join(&name)).map_err(refused(name))?;
        }
    }
    if let (Life::Held, Some(keeper)) = (life, Process::current()) {
        let mark = place.join(keeper.mark());
        fs::create_dir(&mark).map_err(Error::file(&mark))?;
    }
    if !has_links {
        map(object, OPS).pin(place.join(REGISTERED)).map_err(refused(law.name))?;
    }
    let mut link = map(object, OPS).attach_struct_ops().map_err(refused(law.name))?;
    if !has_links && life == Life::Pinned {
        link.disconnect();
    } else if has_links && life == Life::Pinned {
        link.pin(place.join(LINK)).map_err(refused(law.name))?;
    }
    Ok(link)
}

impl Held {
    /// Whether the law goes with this.
    pub fn life(&self) -> Life {
        self.life
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.life == Life::Held {
            // Nobody is left to be told if this fails; `unload` removes what remains.
            let _ = remove(&self.place);
            let _ = self.link.detach();
        }
    }
}

/// Unloads a law. Connections that use it go on with it until they end.
///
/// # Errors
/// Without privileges, or if it is not loaded by us.
pub fn unload(store: &Store, law: &'static Law) -> Result<(), Error> {
    demand_root("unloading a congestion control")?;
    store.demand_bpffs()?;
    let place = store.place(law);
    if !place.exists() {
        let known = registered()?.iter().any(|name| name == law.name);
        let (name, root) = (law.name, store.root().to_owned());
        return Err(if known { Error::Foreign { name, root } } else { Error::NotLoaded { name } });
    }
    release(&place)?;
    await_unregistered(&[law.name.to_owned()])
}
