//! Functions that several commands share.

use crate::args::Common;
use crate::outcome::Failure;
use fairwave_lab::report::Refusal;
use fairwave_scenario::OwnAlgorithms;
use fairwave_scenario::plan::{LoadError, Override, Plan};
use fairwave_text::quoted;
use std::fmt::Display;
use std::path::Path;

/// Reads a scenario file with the command line's settings: `--set` first, then `--seed`, then those
/// of the command's own options.
pub(super) fn load(common: &Common, file: &Path, own: &[Override]) -> Result<Plan, LoadError> {
    Plan::load_with(file, &settings(common, own), &OwnAlgorithms::default())
}

/// Settings of the command line, in the order of [`load`].
pub(super) fn settings(common: &Common, own: &[Override]) -> Vec<Override> {
    let seed = common.seed.map(|seed| option("--seed", seed, format!("seed={seed}")));
    let set = common.set.iter().map(|setting| Override::set(setting));
    set.chain(seed).chain(own.iter().cloned()).collect()
}

/// The setting that an option of a command makes; messages name the option.
pub(super) fn option(name: &str, value: impl Display, setting: String) -> Override {
    let value = quoted(&value.to_string());
    Override { setting, name: format!("{name} {value}") }
}

/// The setting that an option without a value makes.
pub(super) fn flag(name: &str, setting: &str) -> Override {
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

/// Name for the results of a scenario: the name of its file.
pub(super) fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Request(text) => Self::Usage(text),
            Refusal::Results(text) => Self::Run(text),
        }
    }
}
