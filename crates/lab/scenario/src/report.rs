//! Reports about scenario files: results of checks as JSON and as text, and explanations of keys.

use crate::diagnostic::Diagnostic;
use crate::plan::{LoadError, Plan};
use crate::reference::{KeyHelp, TableHelp};
use fairwave_text::{GOOD, printable, styled};
use fairwave_units::several;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Output of `fairwave check --json`.
#[derive(Serialize, JsonSchema)]
pub struct CheckOutput {
    /// Each file, in the order of the command line.
    pub files: Vec<FileCheck>,
}

/// Errors of a scenario file, or its size.
#[derive(Default, Serialize, JsonSchema)]
pub struct FileCheck {
    /// The file.
    pub file: String,
    /// Whether it is a valid scenario.
    pub valid: bool,
    /// Number of points of its sweep; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<usize>,
    /// Number of runs that a sweep makes, over all points and seeds; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// Settings that are valid but probably a mistake; only if the file is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// Errors, in the order of the file; only if the file is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// Reason why the file could not be read; only in that case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl FileCheck {
    /// Builds the report from the result of loading `file`.
    pub fn new(file: &Path, loaded: &Result<Plan, LoadError>) -> Self {
        let found = Self { file: file.display().to_string(), ..Self::default() };
        match loaded {
            Ok(plan) => Self {
                valid: true,
                points: Some(plan.points.len()),
                runs: Some(plan.jobs().len()),
                warnings: Some(plan.warnings()),
                ..found
            },
            Err(LoadError::Scenario(errors)) => {
                Self { diagnostics: Some(errors.0.clone()), ..found }
            }
            Err(error) => Self { error: Some(error.to_string()), ..found },
        }
    }

    /// Returns a line with the numbers of points and runs of a valid file, and a line for each
    /// warning.
    pub fn text(&self) -> (String, Vec<String>) {
        let (points, runs) = (self.points.unwrap_or(0), self.runs.unwrap_or(0));
        let (file, ok) = (printable(&self.file), styled(GOOD, "ok"));
        let lints = self.warnings.iter().flatten().map(|lint| format!("{file}: {lint}"));
        let lints = lints.collect();
        let (points, runs) = (several(points, "point"), several(runs, "run"));
        (format!("{file}: {ok}, {points}, {runs}\n"), lints)
    }
}

impl TableHelp {
    /// Returns the table's path and conditions, and the names of its keys.
    pub fn text(&self) -> String {
        let place = if self.key.is_empty() { "(top level)" } else { self.key.as_str() };
        let names: Vec<&str> =
            self.keys.iter().filter_map(|key| key.key.rsplit('.').next()).collect();
        format!("{place}{}\n    {}\n", conditions(&self.conditions), names.join(", "))
    }
}

impl KeyHelp {
    /// Returns the documentation of the key, in several lines.
    pub fn text(&self) -> String {
        let required = self.required.then(|| "yes".to_owned());
        let words = (!self.words.is_empty()).then(|| self.words.join(", "));
        let lines = [
            ("unit", self.unit.clone()),
            ("range", self.range.clone()),
            ("words", words),
            ("default", self.default.clone()),
            ("required", required),
            ("example", self.example.clone()),
        ];
        let mut text =
            format!("{}{}\n    {}\n", self.key, conditions(&self.conditions), self.about);
        for (name, value) in lines {
            text += &value.map_or_else(String::new, |value| format!("    {name}: {value}\n"));
        }
        text
    }
}

fn conditions(conditions: &[String]) -> String {
    match conditions {
        [] => String::new(),
        conditions => format!(" (where {})", conditions.join(", ")),
    }
}
