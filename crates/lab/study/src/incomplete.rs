//! Reason for which a directory of runs cannot be judged.

use std::path::PathBuf;

/// Maximum number of runs that a message names.
const NAMED: usize = 8;

/// Runs of a study's plan that a directory does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}: not the runs of this study in this form{}{}", .root.display(),
    listed("missing", .missing), listed("of another scenario", .other))]
pub struct Incomplete {
    /// The directory.
    pub root: PathBuf,
    /// Runs that are missing or not complete.
    pub missing: Vec<PathBuf>,
    /// Complete runs of another scenario.
    pub other: Vec<PathBuf>,
}

impl Incomplete {
    /// Whether all runs are as planned.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.other.is_empty()
    }
}

fn listed(what: &str, runs: &[PathBuf]) -> String {
    let named: Vec<String> = runs.iter().take(NAMED).map(|run| run.display().to_string()).collect();
    let more = runs.len().saturating_sub(NAMED);
    match (named.as_slice(), more) {
        ([], _) => String::new(),
        (_, 0) => format!("; {what}: {}", named.join(", ")),
        _ => format!("; {what}: {} and {more} more", named.join(", ")),
    }
}
