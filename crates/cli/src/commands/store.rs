//! `fairwave store`: size and contents of the store of results.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use crate::store::{StoreChoice, path};
use clap::{Args, Subcommand};
use fairwave_lab::report::store::{StoreOutput, megabytes};
use fairwave_lab::store::{self as lab, Content, Version};
use fairwave_units::{Bytes, several};
use serde_json::json;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  fairwave store
  fairwave store verify
  fairwave store limit '500 MB'
  fairwave store clear --others
  fairwave store --store out/store stat --json

`fairwave reproduce` keeps the result of each run here, under a key of the resolved scenario, its
seed, and the version of the code that simulates. A stored run is not repeated.

Exit code 1: the store cannot be read or written, or `verify` found damage.";

/// Show, limit or remove the stored results of simulation runs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Store {
    #[command(subcommand)]
    task: Option<StoreTask>,
    #[command(flatten)]
    choice: StoreChoice,
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

/// Shows, checks, limits or empties the store.
pub(super) fn run(common: &Common, args: &Store) -> Result<(), Failure> {
    let path = path(&args.choice)
        .ok_or_else(|| Failure::Usage("there is no home directory: name the store".into()))?;
    let own = Version::of_build();
    if common.json && !matches!(args.task, None | Some(StoreTask::Stat)) {
        return Err(Failure::Usage("--json goes with stat alone".into()));
    }
    match args.task.as_ref().unwrap_or(&StoreTask::Stat) {
        StoreTask::Limit { size } => lab::set_limit(&path, *size).map_err(Failure::run),
        // No result has been stored there yet.
        _ if !path.exists() => show(common, &StoreOutput::new(&path, &Content::none(), &own)),
        StoreTask::Stat => {
            let content = lab::stat(&path, &own).map_err(Failure::run)?;
            show(common, &StoreOutput::new(&path, &content, &own))
        }
        StoreTask::Verify => verify(&path),
        StoreTask::Clear { others } => {
            let freed = lab::clear(&path, others.then_some(&own)).map_err(Failure::run)?;
            Ok(output::print(&format!("Removed {}\n", megabytes(freed)))?)
        }
    }
}

fn show(common: &Common, store: &StoreOutput) -> Result<(), Failure> {
    match common.json {
        true => Ok(output::print_json(&json!(store))?),
        false => Ok(output::print(&store.text())?),
    }
}

fn verify(path: &Path) -> Result<(), Failure> {
    let verified = lab::verify(path).map_err(Failure::run)?;
    let whole = several(verified.whole, "result");
    if verified.damaged.is_empty() {
        return Ok(output::print(&format!("{whole}, each as it was written\n"))?);
    }
    verified.damaged.iter().for_each(|damage| output::warn(damage));
    let count = several(verified.damaged.len() as u64, "place");
    Err(Failure::Run(format!("{count} damaged beside {whole}; those runs are made again")))
}
