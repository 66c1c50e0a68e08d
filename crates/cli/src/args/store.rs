//! Options of `fairwave store`, and the options by which other commands choose a store.

use clap::{Args, Subcommand};
use fairwave_units::Bytes;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  fairwave store
  fairwave store verify
  fairwave store limit '500 MB'
  fairwave store clear --others
  fairwave store --store out/store stat --json

`fairwave reproduce` keeps the result of each run here, by what it is of: the resolved scenario with
its seed, and the version of the code that simulates. What is there is not run again.

Exit code 1: the store cannot be read or written, or `verify` found damage.";

/// Location of the stored results.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreChoice {
    /// Store results of runs in this directory, and reuse results from there [default:
    /// $XDG_CACHE_HOME/fairwave, or ~/.cache/fairwave]
    #[arg(long = "store", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// Options of `fairwave store`.
#[derive(Args, Debug)]
pub(crate) struct Store {
    #[command(subcommand)]
    pub(crate) task: Option<StoreTask>,
    #[command(flatten)]
    pub(crate) choice: StoreChoice,
}

/// Commands of `fairwave store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreTask {
    /// Show the contents of the store by version of the code (the default)
    Stat,
    /// Read every byte, and name the damaged files
    Verify,
    /// Set the maximum size: results of other versions are removed first, then the oldest
    Limit {
        /// The maximum size, such as "500 MB"
        size: Bytes,
    },
    /// Remove the results
    Clear {
        /// Only results of other versions, which this program cannot use
        #[arg(long)]
        others: bool,
    },
}
