//! Meaning of the keys of scenario files, and of the figures in the commands' JSON.

use crate::schema::Figure;
use fairwave_scenario::{KeyHelp, TableHelp};
use schemars::JsonSchema;

/// Output of `fairwave explain --json`: the requested keys or figures, or all tables.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum ExplainOutput {
    /// The requested keys.
    Keys(Vec<KeyHelp>),
    /// Every table of scenario files.
    Tables(Vec<TableHelp>),
    /// The requested figures of `fairwave probe`.
    Figures(Vec<Figure>),
}
