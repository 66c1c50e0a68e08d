//! What `fairwave cc` says when it has done something.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use fairwave_bpf::Store;
use serde_json::json;

/// Says what a user should know of a store that was made ready.
pub(crate) fn announce(store: &Store) {
    if store.mounted() {
        output::note("mounted the BPF file system at /sys/fs/bpf; `unload --all` unmounts it");
    }
}

/// What was done to these laws.
pub(crate) fn done(common: &Common, what: &str, names: &[&str]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::print_json(&json!({ what: names }))?);
    }
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    Ok(output::print(&format!("{what}: {names}\n"))?)
}
