//! Reports of a run: JSON, tables and sentences, a page.

mod page;
mod words;

pub(crate) use page::page;
pub(crate) use words::words;

use crate::results::{Record, Summary};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave fairness run --json` and `fairwave fairness show --json`.
#[derive(Serialize, JsonSchema)]
pub struct FairnessOutput {
    /// Figures computed from the record.
    pub summary: Summary,
    /// Whether the shares are equal, and a target was reached, in sentences.
    pub answer: Vec<String>,
    /// Counts of all intervals.
    pub record: Record,
    /// Warnings for the reader of the figures.
    pub warnings: Vec<String>,
    /// Reason why the measurement ended early; null if it did not.
    pub error: Option<String>,
}

impl FairnessOutput {
    /// The output for a record.
    pub fn of(record: Record, error: Option<String>) -> Self {
        let (summary, warnings) = (Summary::of(&record), words::warnings(&record));
        let answer = words::answer(&summary);
        Self { summary, answer, record, warnings, error }
    }
}
