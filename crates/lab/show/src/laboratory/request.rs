//! Requests of the laboratory's page, and the answers, as JSON.

use super::network::NetworkOutput;
use fairwave_lab::points::{Digest, Point};
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
    /// Name of the file in commands, if `file` has another text than `text`.
    pub saved_as: Option<String>,
    /// Settings `key=value`, as the command's `--set` takes them.
    pub settings: Vec<String>,
    /// The first seed; `None` for that of the scenario.
    pub seed: Option<u64>,
    /// Index of the point of the sweep.
    pub point: usize,
    /// Whether the run keeps no files, and only its figures are wanted.
    pub only_figures: bool,
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
    /// The command that makes all runs.
    pub sweep: String,
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
    /// It is complete, and only its figures were wanted.
    Figures(Digest),
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

/// Figures of the runs of a sweep, ordered by point and then by seed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeansRequest {
    /// Names of all figures. The runs of a large sweep together repeat each name thousands of
    /// times, so that they refer to it by its index.
    pub names: Vec<String>,
    /// The runs.
    pub runs: Vec<RunFigures>,
}

/// Figures of one run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFigures {
    /// Sweep axes and their values.
    pub axes: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// Index of each figure's name, and its value, in the order of the run.
    pub metrics: Vec<(usize, f64)>,
}

/// Result of a request for means.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Averaged {
    /// The means.
    Means(MeansOutput),
    /// The request is wrong.
    Refused(RefusedOutput),
}

/// Means over the seeds of each point.
#[derive(Debug, Serialize)]
pub struct MeansOutput {
    /// The points, in the order of their first runs.
    pub points: Vec<Point>,
    /// The result in sentences.
    pub answer: Vec<String>,
    /// The points as `fairwave sweep --csv` prints them.
    pub csv: String,
}
