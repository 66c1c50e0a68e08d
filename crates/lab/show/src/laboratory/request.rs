//! Requests of the laboratory's page, and the answers, as JSON.

use super::network::NetworkOutput;
use fairwave_scenario::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A scenario with settings, and the run of it that is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Name of the scenario in messages, such as `scenarios/home.toml`.
    pub file: String,
    /// The scenario as TOML.
    pub text: String,
    /// Settings `key=value`, as the command's `--set` takes them.
    pub settings: Vec<String>,
    /// The first seed; `None` for that of the scenario.
    pub seed: Option<u64>,
    /// Index of the point of the sweep.
    pub point: usize,
}

/// Result of reading a scenario.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Planned {
    /// The runs that the scenario makes.
    Plan(PlanOutput),
    /// Its errors.
    Refused(RefusedOutput),
}

/// The runs that a scenario makes.
#[derive(Debug, Serialize)]
pub struct PlanOutput {
    /// The question in the first line of the scenario.
    pub question: String,
    /// Points of its sweep.
    pub points: Vec<PointOutput>,
    /// Number of runs of each point.
    pub seeds: u64,
    /// Valid settings that are likely to give meaningless results.
    pub warnings: Vec<String>,
    /// The network of the requested point; `None` if there is no such point.
    pub network: Option<NetworkOutput>,
    /// The keys that its text writes, without the settings.
    pub written: Value,
}

/// A point of a sweep.
#[derive(Debug, Serialize)]
pub struct PointOutput {
    /// Its keys and values, for people; empty without a sweep.
    pub label: String,
    /// The first of its seeds.
    pub seed: u64,
    /// Length of its runs in seconds.
    pub seconds: f64,
    /// The command that makes the run of the first seed.
    pub command: String,
}

/// Errors of a scenario, or of a run.
#[derive(Debug, Serialize)]
pub struct RefusedOutput {
    /// All errors in the words of the command.
    pub text: String,
    /// The errors of a scenario, each with its place and its remedy.
    pub diagnostics: Vec<Diagnostic>,
}

/// Result of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Performed {
    /// It is complete.
    Run(RunOutput),
    /// It could not be made.
    Refused(RefusedOutput),
}

/// A complete run.
#[derive(Debug, Serialize)]
pub struct RunOutput {
    /// Words and figures of its page, as `fairwave show` has them. The tables of its first run are
    /// numbered in the order of `tables`.
    pub page: Value,
    /// Names of the files of the run directory, sorted.
    pub files: Vec<String>,
    /// Names of the Parquet files among them, in the order of their numbers.
    pub tables: Vec<String>,
}
