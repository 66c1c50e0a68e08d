//! Maps of an algorithm whose pins are not visible here.
//!
//! Algorithms are registered for the whole kernel, but pins belong to a mount of the BPF file
//! system. `ip netns exec` has a mount namespace of its own with a new `/sys`, in which that mount
//! is missing.

use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapHandle, ProgramType};
use std::collections::BTreeSet;

/// Opens the map of this name that the newest algorithm in the kernel uses. Only root may load
/// programs of that type, so that nobody else can provide the map.
pub(crate) fn map(name: &str) -> Option<MapHandle> {
    let named: BTreeSet<u32> =
        MapInfoIter::default().filter(|map| map.name == name).map(|map| map.id).collect();
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let algorithms = ProgInfoIter::with_query_opts(options)
        .filter(|program| program.ty == ProgramType::StructOps);
    // An algorithm that was unloaded while connections use it still has its maps. Identifiers grow.
    let newest =
        algorithms.flat_map(|program| program.map_ids).filter(|id| named.contains(id)).max();
    MapHandle::from_map_id(newest?).ok()
}
