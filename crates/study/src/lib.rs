//! Studies: a paper's experiments as plans, its claims as criteria over what they measured.
//!
//! [`ALL`] is the one list; command line and documentation are views of it. A verdict comes out
//! of measured values by a written criterion ([`Claim::judge`]); nobody writes it by hand.

mod claim;
pub mod made;
pub mod measure;
pub mod report;

pub use claim::{Bound, Claim, Test};

use fairwave_capture::file as capture;
use fairwave_lab::plot::Figure;
use fairwave_lab::run::{self, Output, Progress, Run};
use fairwave_lab::{plot, results};
use fairwave_scenario::Diagnostics;
use fairwave_scenario::plan::Plan;
use fairwave_units::Duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// A paper's experiments and claims.
pub trait Study: std::fmt::Debug + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Authors, title, where it appeared.
    fn paper(&self) -> &'static str;
    /// What the paper says, in a few sentences.
    fn statement(&self) -> &'static str;
    /// What is run.
    fn experiments(&self) -> &'static [Experiment];
    /// What of the paper's set-up is not modelled, or had to be assumed.
    fn limits(&self) -> &'static [&'static str];
    /// Judges the claims and draws the figures, from results and run directories alone.
    ///
    /// # Errors
    /// When a run directory cannot be read.
    fn evaluate(&self, results: &Results) -> Result<Findings, Error>;
}

/// One scenario file of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its name, and its directory's under the study's.
    pub name: &'static str,
    /// The scenario file, in the repository.
    pub file: &'static str,
    /// Its text, inside the binary.
    pub text: &'static str,
    /// What `--quick` sets in it, as `key=value`.
    pub quick: &'static [&'static str],
    /// Whether its runs keep their series, or summaries only.
    pub series: bool,
}

impl Experiment {
    /// The plan, or a smaller one with fewer points and seeds.
    ///
    /// # Errors
    /// When the file is wrong.
    pub fn plan(&self, quick: bool) -> Result<Plan, Diagnostics> {
        let sets = if quick { self.quick } else { &[] };
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        Plan::parse(self.file, self.text, &sets)
    }
}

/// The runs of every experiment, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Whether this was the quick form.
    pub quick: bool,
    /// The runs.
    pub runs: BTreeMap<String, Vec<Run>>,
}

impl Results {
    /// The runs of `experiment` with these values on their axes, in the order of seeds.
    pub fn select(&self, experiment: &str, axes: &[(&str, &str)]) -> Vec<&Run> {
        let of = self.runs.get(experiment).map_or(&[][..], Vec::as_slice);
        of.iter().filter(|run| axes.iter().all(|(key, value)| run.axis(key) == *value)).collect()
    }

    /// The values of an axis, in the order of the plan.
    pub fn axis(&self, experiment: &str, key: &str) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for run in self.runs.get(experiment).map_or(&[][..], Vec::as_slice) {
            if !values.iter().any(|value| value == run.axis(key)) {
                values.push(run.axis(key).to_owned());
            }
        }
        values
    }

    /// Simulated time, frames on the air, and the greatest number of seeds of a point.
    fn effort(&self) -> (Duration, u64, usize) {
        let all = || self.runs.values().flatten();
        let simulated = all().map(|run| run.summary.simulated_ns).sum();
        let mut seeds: Vec<u64> = all().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let frames = all().map(|run| run.summary.frames).sum();
        (Duration::from_nanos(simulated), frames, seeds.len())
    }
}

/// A figure of ours beside the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Exhibit {
    /// Name of its files.
    pub id: String,
    /// What the paper shows there, in words.
    pub paper: String,
    /// What ours shows: also the alternative text.
    pub ours: String,
    /// The figure.
    pub figure: Figure,
}

/// A table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    /// Its title.
    pub title: String,
    /// Names of the columns, with units.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// What a study found.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The claims with their verdicts.
    pub claims: Vec<Claim>,
    /// The figures.
    pub exhibits: Vec<Exhibit>,
    /// The tables.
    pub tables: Vec<ResultTable>,
    /// Mechanisms, each with the numbers that show it.
    pub explanations: Vec<String>,
}

/// What a study took. The lab has no clock: the caller measures the times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in seconds, over all workers; `None` where it is not known.
    pub cpu_s: Option<f64>,
}

/// Why a study could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Diagnostics),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] run::Error),
    /// A run directory or report could not be written or read.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A capture of a run could not be read.
    #[error(transparent)]
    Capture(#[from] capture::Error),
    /// A figure could not be drawn.
    #[error(transparent)]
    Plot(#[from] plot::Error),
}

/// Runs every experiment of `study` on `workers` threads; run directories go under `root`.
/// `progress` counts over all experiments.
///
/// # Errors
/// When a scenario is wrong or a run fails.
pub fn simulate(
    study: &dyn Study,
    quick: bool,
    workers: usize,
    root: &Path,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Results, Error> {
    let plans: Result<Vec<_>, _> =
        study.experiments().iter().map(|e| e.plan(quick).map(|plan| (e, plan))).collect();
    let plans = plans?;
    let total = plans.iter().map(|(_, plan)| plan.jobs().len()).sum();
    let mut results = Results { quick, runs: BTreeMap::new() };
    let mut before = Progress { done: 0, total, simulated: Duration::ZERO };
    for (experiment, plan) in plans {
        let directory = root.join(experiment.name);
        let output = match experiment.series {
            true => Output::Full(&directory),
            false => Output::Summary(&directory),
        };
        let base = before;
        let last = Mutex::new(base);
        let report = |now: Progress| {
            let sum = Progress {
                done: base.done + now.done,
                total,
                simulated: base.simulated + now.simulated,
            };
            if let Ok(mut last) = last.lock() {
                *last = sum;
            }
            progress(sum);
        };
        let runs = run::sweep(&plan, workers, output, &report)?;
        before = last.into_inner().unwrap_or(base);
        before.done = base.done + runs.len();
        results.runs.insert(experiment.name.to_owned(), runs);
    }
    Ok(results)
}

/// What `reproduce --json` prints.
pub fn to_json(study: &dyn Study, results: &Results, findings: &Findings, cost: Cost) -> Value {
    let (simulated, frames, seeds) = results.effort();
    let claims: Vec<Value> = findings.claims.iter().map(Claim::to_json).collect();
    let per_cpu = |amount: f64| cost.cpu_s.filter(|&s| s > 0.0).map(|s| amount / s);
    json!({
        "study": study.name(),
        "claims": claims,
        "wall_s": cost.wall_s,
        "simulated_s": simulated.as_secs_f64(),
        "quick": results.quick,
        "seeds": seeds,
        "runs": results.runs.values().map(Vec::len).sum::<usize>(),
        "frames": frames,
        "frames_per_s": (cost.wall_s > 0.0).then(|| frames as f64 / cost.wall_s),
        "frames_per_cpu_s": per_cpu(frames as f64),
        "simulated_s_per_cpu_s": per_cpu(simulated.as_secs_f64()),
        "fairwave_version": env!("CARGO_PKG_VERSION"),
    })
}
