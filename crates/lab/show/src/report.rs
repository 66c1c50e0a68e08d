//! Output of `fairwave show`.

use schemars::JsonSchema;
use serde::Serialize;

/// Output of `fairwave show --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShowOutput {
    /// The page that was written.
    pub page: String,
    /// Its heading: the question that it answers.
    pub heading: String,
    /// The answer in sentences.
    pub answer: Vec<String>,
    /// Its size.
    pub page_bytes: u64,
    /// Whether a browser was started with it.
    pub is_opened: bool,
}
