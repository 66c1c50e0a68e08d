//! `fairwave check`: errors of scenario files.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output::{self, GOOD, styled};
use crate::printed::{CheckOutput, FileCheck};
use fairwave_scenario::plan::{LoadError, Plan};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Checks every file, also after errors in earlier ones.
pub(crate) fn run(common: &Common, files: &[PathBuf]) -> Result<(), Failure> {
    let checks: Vec<_> = files.iter().map(|file| (file, super::load(common, file, &[]))).collect();
    if common.json {
        let files = checks.iter().map(|(file, check)| printed(file, check)).collect();
        output::print_json(&json!(CheckOutput { files }))?;
    } else {
        for (file, check) in &checks {
            show(file, check)?;
        }
    }
    let errors = || checks.iter().filter_map(|(_, check)| check.as_ref().err());
    match errors().count() {
        0 => Ok(()),
        _ if errors().any(|error| matches!(error, LoadError::Scenario(_))) => Err(Failure::Invalid),
        _ => Err(Failure::unread()),
    }
}

fn show(file: &Path, check: &Result<Plan, LoadError>) -> Result<(), Failure> {
    match check {
        Ok(plan) => {
            let (points, jobs) = (plan.points.len(), plan.jobs().len());
            let ok = styled(GOOD, "ok");
            let file = output::printable(&file.display().to_string());
            output::print(&format!("{file}: {ok}, {points} points, {jobs} runs\n"))?;
            plan.warnings().iter().for_each(|doubt| output::warn(&format!("{file}: {doubt}")));
            Ok(())
        }
        Err(error) => {
            output::complain(&error.to_string());
            Ok(())
        }
    }
}

fn printed(file: &Path, check: &Result<Plan, LoadError>) -> FileCheck {
    let found = FileCheck { file: file.display().to_string(), ..FileCheck::default() };
    match check {
        Ok(plan) => FileCheck {
            valid: true,
            points: Some(plan.points.len()),
            runs: Some(plan.jobs().len()),
            warnings: Some(plan.warnings()),
            ..found
        },
        Err(LoadError::Scenario(found_wrong)) => {
            FileCheck { diagnostics: Some(found_wrong.0.clone()), ..found }
        }
        Err(error) => FileCheck { error: Some(error.to_string()), ..found },
    }
}
