//! List of the algorithms that are loaded in the kernel.

use crate::pins::{LINK, REGISTERED};
use crate::registered::registered;
use crate::{ALGORITHMS, Algorithm, Error, Store, Totals, Watcher, kernel, status};
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter};
use std::ffi::OsString;
use std::fs;

/// An algorithm and its state.
#[derive(Debug)]
pub struct Listed {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Whether sockets can select it.
    pub loaded: bool,
    /// Whether its link is pinned, so that it stays until it is unloaded. `None` without the
    /// privilege to look.
    pub pinned: Option<bool>,
    /// Number of connections that use it. `None` without the privilege to look, or if Fairwave has
    /// not loaded it.
    pub connections: Option<u64>,
    /// Its totals since it was loaded; `None` where `connections` is.
    pub totals: Option<Totals>,
}

/// Lists every algorithm, loaded or not. Users without privileges see which ones are loaded.
///
/// # Errors
/// If /proc cannot be read, or connections cannot be counted.
pub fn list(store: &Store) -> Result<Vec<Listed>, Error> {
    let registered = registered()?;
    let root = rustix::process::geteuid().is_root();
    let listed = |algorithm: &'static Algorithm| {
        let loaded = registered.iter().any(|name| name == algorithm.name);
        let place = store.place(algorithm);
        let has = |name: &str| fs::symlink_metadata(place.join(name)).is_ok();
        let held = fs::read_dir(&place).is_ok_and(|entries| {
            entries.filter_map(Result::ok).any(|entry| {
                entry.file_name().to_str().is_some_and(|name| name.starts_with("keeper-"))
            })
        });
        let pinned = root.then(|| has(LINK) || (has(REGISTERED) && !held));
        let mut listed = Listed { algorithm, loaded, pinned, connections: None, totals: None };
        if root && loaded && has(status::CONNECTIONS) {
            match (Watcher::new()?.connections(store, algorithm), status::totals(store, algorithm))
            {
                // It was unloaded during the query.
                (Err(Error::NotLoaded { .. }), _) | (_, Err(Error::NotLoaded { .. })) => {}
                (connections, totals) => {
                    listed.connections = Some(connections?.len() as u64);
                    listed.totals = Some(totals?);
                }
            }
        }
        Ok(listed)
    };
    ALGORITHMS.iter().map(listed).collect()
}

/// Programs, maps and links in the kernel with Fairwave's names, from any process: a line each.
/// None is left after everything was unloaded and no connection uses an algorithm any more.
///
/// # Errors
/// Without privileges.
pub fn objects() -> Result<Vec<String>, Error> {
    kernel::demand_root("looking at the kernel's programs")?;
    let ours = |name: &OsString| name.to_string_lossy().starts_with("fw_");
    let maps: Vec<_> = MapInfoIter::default().filter(|map| ours(&map.name)).collect();
    let links = LinkInfoIter::default().filter(|link| match &link.info {
        LinkTypeInfo::StructOps(of) => maps.iter().any(|map| map.id == of.map_id),
        _ => false,
    });
    let programs = ProgInfoIter::default().filter(|program| ours(&program.name));
    let name = |name: &OsString| name.to_string_lossy().into_owned();
    let mut lines: Vec<String> = programs
        .map(|program| format!("program {} {}", program.id, name(&program.name)))
        .chain(links.map(|link| format!("link {}", link.id)))
        .collect();
    lines.extend(maps.iter().map(|map| format!("map {} {}", map.id, name(&map.name))));
    Ok(lines)
}
