//! `fairwave check`: what is wrong with scenario files.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output::{self, GOOD, styled};
use fairwave_scenario::plan::{LoadError, Plan};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Checks every file, whatever is wrong with those before it.
pub(crate) fn run(common: &Common, files: &[PathBuf]) -> Result<(), Failure> {
    let checks: Vec<_> = files.iter().map(|file| (file, super::load(common, file, &[]))).collect();
    if common.json {
        let values: Vec<Value> = checks.iter().map(|(file, check)| as_json(file, check)).collect();
        output::print_json(&json!({ "files": values }))?;
    } else {
        for (file, check) in &checks {
            show(file, check)?;
        }
    }
    if checks.iter().all(|(_, check)| check.is_ok()) { Ok(()) } else { Err(Failure::Invalid) }
}

fn show(file: &Path, check: &Result<Plan, LoadError>) -> Result<(), Failure> {
    match check {
        Ok(plan) => {
            let (points, jobs) = (plan.points.len(), plan.jobs().len());
            let ok = styled(GOOD, "ok");
            let file = file.display();
            Ok(output::print(&format!("{file}: {ok}, {points} points, {jobs} runs\n"))?)
        }
        Err(error) => {
            output::complain(&error.to_string());
            Ok(())
        }
    }
}

fn as_json(file: &Path, check: &Result<Plan, LoadError>) -> Value {
    let file = file.display().to_string();
    match check {
        Ok(plan) => {
            let (points, runs) = (plan.points.len(), plan.jobs().len());
            json!({ "file": file, "valid": true, "points": points, "runs": runs })
        }
        Err(LoadError::Scenario(diagnostics)) => {
            json!({ "file": file, "valid": false, "diagnostics": diagnostics })
        }
        Err(error) => json!({ "file": file, "valid": false, "error": error.to_string() }),
    }
}
