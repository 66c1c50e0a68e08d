//! One module for each command, and functions that several commands share.

#[cfg(all(target_os = "linux", feature = "kernel-laws"))]
pub(crate) mod cc;
pub(crate) mod check;
pub(crate) mod compare;
#[cfg(target_os = "linux")]
pub(crate) mod dccp;
#[cfg(target_os = "linux")]
pub(crate) mod emulate;
#[cfg(target_os = "linux")]
pub(crate) mod emulate_ctl;
pub(crate) mod explain;
#[cfg(target_os = "linux")]
pub(crate) mod fairness;
#[cfg(target_os = "linux")]
pub(crate) mod figures;
pub(crate) mod list;
pub(crate) mod manual;
#[cfg(target_os = "linux")]
pub(crate) mod matrix;
#[cfg(target_os = "linux")]
pub(crate) mod packets;
pub(crate) mod plot;
#[cfg(target_os = "linux")]
pub(crate) mod probe;
#[cfg(target_os = "linux")]
pub(crate) mod proxy;
pub(crate) mod reproduce;
pub(crate) mod reproduce_map;
#[cfg(target_os = "linux")]
pub(crate) mod reproduce_real;
pub(crate) mod run;
#[cfg(target_os = "linux")]
pub(crate) mod soc;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod trace;

use crate::args::Common;
use crate::outcome::Failure;
use crate::printed::RunOfSweep;
use fairwave_lab::points::Digest;
use fairwave_lab::run::Run;
use fairwave_scenario::plan::{LoadError, Override, Plan};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Reads a scenario file with the command line's settings: `--set` first, then `--seed`, then those
/// of the command's own options.
fn load(common: &Common, file: &Path, own: &[Override]) -> Result<Plan, LoadError> {
    Plan::load_with(file, &settings(common, own))
}

/// Settings of the command line, in the order of [`load`].
fn settings(common: &Common, own: &[Override]) -> Vec<Override> {
    let seed = common.seed.map(|seed| option("--seed", seed, format!("seed={seed}")));
    let set = common.set.iter().map(|setting| Override::set(setting));
    set.chain(seed).chain(own.iter().cloned()).collect()
}

/// The setting that an option of a command makes; messages name the option.
fn option(name: &str, value: impl Display, setting: String) -> Override {
    let value = crate::output::quoted(&value.to_string());
    Override { setting, name: format!("{name} {value}") }
}

/// The path of this program, which starts itself again as a keeper or a proxy.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(Failure::run)
}

/// The setting that an option without a value makes.
fn flag(name: &str, setting: &str) -> Override {
    Override { setting: setting.to_owned(), name: name.to_owned() }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Io { .. } => Self::Run(error.to_string()),
            LoadError::Scenario(_) => Self::Usage(error.to_string()),
        }
    }
}

/// The complete runs in a directory and below it.
fn digests(directory: &Path) -> Result<Vec<Digest>, Failure> {
    let digests = Digest::read_all(directory).map_err(Failure::run)?;
    match digests.is_empty() {
        true => Err(Failure::Run(format!("{}: no complete run is there", directory.display()))),
        false => Ok(digests),
    }
}

/// Name for the results of a scenario: the name of its file.
fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Length of a run in virtual time.
fn simulated_s(run: &Run) -> f64 {
    run.summary.simulated_ns as f64 / 1e9
}

/// A run as `--json` shows it.
fn printed(run: Run, warnings: Vec<String>) -> RunOfSweep {
    let directory = run.directory.as_ref().map(|path| path.display().to_string());
    RunOfSweep { axes: run.axes, seed: run.seed, directory, summary: run.summary, warnings }
}
