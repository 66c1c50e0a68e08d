//! Messages of `fairwave cc` after an action.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use fairwave_bpf::Store;
use serde_json::json;

/// Notes that the BPF file system was mounted for the store.
pub(crate) fn announce(store: &Store) {
    if store.mounted() {
        output::note("mounted the BPF file system at /sys/fs/bpf; `unload --all` unmounts it");
    }
}

/// Reports the action done to these algorithms.
pub(crate) fn done(common: &Common, what: &str, names: &[&str]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::print_json(&json!({ what: names }))?);
    }
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    Ok(output::print(&format!("{what}: {names}\n"))?)
}
