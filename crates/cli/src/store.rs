//! The store of results that a command uses.

use crate::output;
use clap::Args;
use fairwave_lab::store::{Store, Version};
use serde_json::Value;
use std::path::PathBuf;

/// Location of the stored results.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreChoice {
    /// Store results of runs in this directory, and reuse results from there [default:
    /// $XDG_CACHE_HOME/fairwave, or ~/.cache/fairwave]
    #[arg(long = "store", value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl StoreChoice {
    /// Whether the user named a directory.
    pub(crate) const fn is_given(&self) -> bool {
        self.directory.is_some()
    }
}

/// Text behind "interrupted" if results are stored.
pub(crate) const GOES_ON: &str = "; the same command reuses the stored runs";

/// Opens the store, unless the user disabled it. If it cannot be used, a warning is printed and
/// every run is made.
pub(crate) fn open(choice: &StoreChoice, no_store: bool) -> Option<Store> {
    if no_store {
        return None;
    }
    let Some(path) = path(choice) else {
        output::warn("there is no home directory: results are not kept; --store DIR keeps them");
        return None;
    };
    match Store::open(&path, Version::of_build(), Box::new(output::warn)) {
        Ok(store) => Some(store),
        Err(error) => {
            output::warn(&format!("{error}; results are not kept"));
            None
        }
    }
}

/// Number of results that were taken from the store, in words; empty if none was.
pub(crate) fn taken(store: Option<&Store>) -> String {
    match store.filter(|store| store.taken() > 0) {
        Some(store) => {
            format!("{} of them from the store {}\n", store.taken(), store.path().display())
        }
        None => String::new(),
    }
}

/// Removes the simulation rates from the output of `reproduce --json` if results came from the
/// store: the time is then not that of their simulation.
pub(crate) fn without_rates(store: Option<&Store>, summary: &mut Value) {
    if store.is_some_and(|store| store.taken() > 0) {
        for rate in ["frames_per_s", "frames_per_cpu_s", "simulated_s_per_cpu_s"] {
            summary[rate] = Value::Null;
        }
    }
}

/// Directory of the store: the user's choice, or in the user's cache (XDG Base Directory
/// Specification 0.8).
pub(crate) fn path(choice: &StoreChoice) -> Option<PathBuf> {
    let of = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    choice.directory.clone().or_else(|| Some(cache()?.join("fairwave")))
}
