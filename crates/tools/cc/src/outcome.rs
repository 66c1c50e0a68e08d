//! Outcome of an action: the report that it is done, or the error.

use crate::report;
use fairwave_bpf::{Error, Store};
use fairwave_console::{Console, Failure};
use serde_json::json;

/// Converts an error of the kernel's algorithms, for `map_err`.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Unknown { .. } => Failure::Usage(error.to_string()),
        _ => Failure::run(error),
    }
}

/// Notes that the BPF file system was mounted for the store.
pub(crate) fn announce(console: &dyn Console, store: &Store) {
    if store.mounted() && !console.is_json() {
        console.note("mounted the BPF file system at /sys/fs/bpf; `unload --all` unmounts it");
    }
    if store.is_fleeting() {
        console.warn(
            "this is a mount namespace of its own, as in `ip netns exec`: algorithms loaded here \
             are unloaded with its last process; load them outside, they serve all namespaces",
        );
    }
}

/// Reports the action that was applied to these algorithms.
pub(crate) fn done(console: &dyn Console, action: &str, names: &[&str]) -> Result<(), Failure> {
    console.show(&json!({ action: names }), &report::done(action, names))
}
