//! `fairwave check`: errors of scenario files.

use super::shared::load;
use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_scenario::plan::LoadError;
use fairwave_scenario::report::{CheckOutput, FileCheck};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fairwave check scenarios/ack-loss.toml
  fairwave check scenarios/ack-loss.toml --json

Exit code 2: at least one file is not valid.";

/// Check scenario files, and report their errors
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The scenario files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Checks every file, also after errors in earlier ones.
pub(super) fn run(common: &Common, args: &Check) -> Result<(), Failure> {
    let loaded: Vec<_> = args.files.iter().map(|file| load(common, file, &[])).collect();
    let checks = args.files.iter().zip(&loaded).map(|(file, found)| FileCheck::new(file, found));
    if common.json {
        output::print_json(&json!(CheckOutput { files: checks.collect() }))?;
    } else {
        for (check, found) in checks.zip(&loaded) {
            if let Err(error) = found {
                output::complain(&error.to_string());
                continue;
            }
            let (line, warnings) = check.text();
            output::print(&line)?;
            warnings.iter().for_each(|warning| output::warn(warning));
        }
    }
    let errors = || loaded.iter().filter_map(|found| found.as_ref().err());
    match errors().count() {
        0 => Ok(()),
        _ if errors().any(|error| matches!(error, LoadError::Scenario(_))) => Err(Failure::Invalid),
        _ => Err(Failure::unread()),
    }
}
