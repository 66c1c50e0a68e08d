//! Runs for the store of another process, on this machine or another one.

use super::stored::{self, SUMMARY};
use super::{Error, Output, SERIES, execute};
use crate::store::{Part, Version};
use fairwave_scenario::Diagnostics;
use fairwave_scenario::plan::Plan;
use std::path::Path;

/// Reason why a run was not made for another process.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The code there makes other results.
    #[error("this machine has version {here} of the simulator, and its results are for {there}")]
    Version {
        /// Version of this program.
        here: String,
        /// Version of the program that wants the result.
        there: String,
    },
    /// A scenario that is wrong.
    #[error(transparent)]
    Scenario(#[from] Diagnostics),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] Error),
    /// A part that no store has, or a scenario with defaults left open or of several runs.
    #[error("{0:?} is no part of one run's results that a store keeps")]
    Part(String),
    /// The result does not fit into a store.
    #[error("the run with seed {0} gives a result that a store does not keep")]
    NotKept(u64),
}

/// Checks that this program makes the results that another one of this version wants.
///
/// # Errors
/// [`MakeError::Version`].
pub fn check_version(version: &Version) -> Result<(), MakeError> {
    let here = Version::of_build();
    if *version == here {
        return Ok(());
    }
    Err(MakeError::Version { here: here.short(), there: version.short() })
}

/// Makes the run of a resolved scenario, as a store's key has it, and returns the parts of its
/// result: `part`, and all others that come with it. `place` is an empty directory for its files.
///
/// # Errors
/// Any [`MakeError`].
pub fn make(
    version: &Version,
    part: &str,
    scenario: &str,
    place: &Path,
) -> Result<Vec<Part>, MakeError> {
    check_version(version)?;
    let plan = Plan::parse("resolved scenario", scenario, &[])?;
    let [job] = plan.jobs()[..] else { return Err(MakeError::Part(part.to_owned())) };
    let words: Vec<&str> = part.split(' ').collect();
    let output = match words[..] {
        [SUMMARY] => Output::Nothing,
        [SERIES] => Output::Full(place),
        [SERIES, ref tables @ ..] => Output::Tables(place, tables),
        _ => return Err(MakeError::Part(part.to_owned())),
    };
    // Another text would be another key.
    if plan.scenario(job).to_toml() != scenario {
        return Err(MakeError::Part(part.to_owned()));
    }
    let run = execute(&plan, job, output, &mut |_| {})?;
    stored::parts(&run, output.series().as_deref()).ok_or(MakeError::NotKept(job.seed))
}
