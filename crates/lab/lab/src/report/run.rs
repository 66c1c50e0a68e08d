//! A run for JSON.

use super::cost::SpeedSummary;
use crate::results::Summary;
use crate::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One run.
#[derive(Serialize, JsonSchema)]
pub struct RunOfSweep {
    /// Sweep axes and their values, as TOML writes them.
    pub axes: BTreeMap<String, String>,
    /// Its master seed.
    pub seed: u64,
    /// Its run directory.
    pub directory: Option<String>,
    /// Results of the run: the content of `summary.json`.
    pub summary: Summary,
    /// Warnings for the reader of the results.
    pub warnings: Vec<String>,
}

impl RunOfSweep {
    /// A run with the warnings about it.
    pub fn new(run: Run, warnings: Vec<String>) -> Self {
        let directory = run.directory.as_ref().map(|path| path.display().to_string());
        Self { axes: run.axes, seed: run.seed, directory, summary: run.summary, warnings }
    }
}

/// Length of a run in virtual time, in seconds.
pub fn simulated_s(run: &Run) -> f64 {
    run.summary.simulated_ns as f64 / 1e9
}

/// Output of `fairwave run --json`.
#[derive(Serialize, JsonSchema)]
pub struct RunOutput {
    #[serde(flatten)]
    run: RunOfSweep,
    /// The scenario file.
    scenario: String,
    /// Results in sentences, which answer the scenario's question. Empty for the replay of flows
    /// on sockets, which leave no figures.
    answer: Vec<String>,
    #[serde(flatten)]
    speed: SpeedSummary,
}

impl RunOutput {
    /// A run of the scenario file `scenario`, its answer, and the cost of simulating it.
    pub const fn new(
        run: RunOfSweep,
        scenario: String,
        answer: Vec<String>,
        speed: SpeedSummary,
    ) -> Self {
        Self { run, scenario, answer, speed }
    }
}
