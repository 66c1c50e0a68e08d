//! Plans: scenarios with their sweeps, and their runs.

use crate::attended::{Ending, Share, Stop, attended};
use crate::carried::Carried;
use crate::errors::{RunError, ScenarioError, of_load, of_run};
use crate::own::{self, Raised, Registered};
use crate::place::Claim;
use crate::reply::Reply;
use crate::table::{Axis, Rows, Table, of_runs};
use crate::tables;
use fairwave_lab::axes;
use fairwave_lab::run::{self, Before, Output, SweepOptions, Watch};
use fairwave_scenario::plan::{self, Job, Override};
use fairwave_sim::world::World;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A scenario with its sweep, resolved into points and seeds.
#[pyclass(frozen, module = "fairwave._fairwave")]
pub(crate) struct Plan {
    plan: plan::Plan,
    /// Exceptions of algorithms in Python.
    pub(crate) raised: Raised,
    axes: OnceLock<Vec<Axis>>,
}

#[pymethods]
impl Plan {
    /// The text of a scenario file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<String> {
        plan::read_text(&path).map_err(of_load)
    }

    /// Reads a scenario from its text with settings `key=value`. It may name the algorithms `own`,
    /// and files beside `name`, which is its name in messages.
    #[staticmethod]
    fn parse(
        name: &str,
        text: &str,
        settings: Vec<String>,
        own: Vec<Registered>,
    ) -> PyResult<Self> {
        let (own, raised) = own::algorithms(own)?;
        let plan = plan::Plan::parse_with(name, text, &overrides(&settings), &own);
        let plan = plan.map_err(|wrong| ScenarioError::new_err(wrong.to_string()))?;
        Ok(Self::new(plan, raised))
    }

    /// The parts from which another process makes the plan anew, without the files that it names.
    #[getter]
    fn carried(&self) -> Carried {
        Carried::of(&self.plan)
    }

    /// The plan that was carried here; it may name the algorithms `own`.
    #[staticmethod]
    fn restored(carried: Carried, own: Vec<Registered>) -> PyResult<Self> {
        let (own, raised) = own::algorithms(own)?;
        Ok(Self::new(carried.plan(own)?, raised))
    }

    /// Locks the directory of this sweep against other processes. Complete runs of something else,
    /// which it would replace, are refused without `force`.
    fn claim(&self, py: Python<'_>, directory: PathBuf, force: bool) -> PyResult<Claim> {
        py.detach(|| Claim::new(&self.plan, &directory, force))
    }

    /// A scenario as TOML, from the tables and lists of a dict.
    #[staticmethod]
    fn toml_of(scenario: &Bound<'_, PyDict>) -> PyResult<String> {
        tables::toml_of(scenario)
    }

    /// Keys and values of each point, in the order of the sweep.
    #[getter]
    fn points(&self) -> Vec<Vec<(&str, &str)>> {
        let mut points = Vec::new();
        for point in &self.plan.points {
            points.push(point.axes.iter().map(|(key, value)| (&key[..], &value[..])).collect());
        }
        points
    }

    /// Keys of the sweep that have columns, in order, and the types of those.
    #[getter]
    fn axis_types(&self) -> Vec<(&str, String)> {
        let of = |axis: &'_ Axis| axis.kind.to_string().to_lowercase();
        self.axes().iter().map(|axis| (&axis.key[..], of(axis))).collect()
    }

    /// Point and seed of each run.
    #[getter]
    fn jobs(&self) -> Vec<(usize, u64)> {
        self.plan.jobs().into_iter().map(|job| (job.point, job.seed)).collect()
    }

    /// Valid settings that are likely to give meaningless results.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.plan.warnings()
    }

    /// Whether a point has an algorithm from outside: its text then does not suffice for a run.
    #[getter]
    fn has_own_algorithms(&self) -> bool {
        self.plan.points.iter().any(|point| point.scenario.has_own_algorithms())
    }

    /// The resolved scenario of a run as TOML.
    fn resolved(&self, point: usize, seed: u64) -> PyResult<String> {
        Ok(self.plan.scenario(self.job(point, seed)?).to_toml())
    }

    /// Simulates one run into a run directory.
    #[pyo3(signature = (point, seed, directory, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        point: usize,
        seed: u64,
        directory: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let job = self.job(point, seed)?;
        let whole_s = self.plan.points[point].scenario.duration.as_secs_f64();
        let reply = Reply::new(progress);
        let mut goes_on =
            |now: fairwave_units::Instant| reply.goes_on(now.as_nanos() as f64 / 1e9 / whole_s);
        let output = Output::Full(&directory);
        let _under_way = self.raised.begin();
        let done = py.detach(|| run::execute_while(&self.plan, job, output, &mut goes_on));
        done.map(drop).map_err(|error| self.raised.or(reply.or(of_run(error))))
    }

    /// Simulates every run on `workers` threads. Returns a table of all runs' flows, queues,
    /// stations or pairs. Run directories are left below `directory`, if it is given; those that
    /// are complete there are read.
    #[pyo3(signature = (rows, workers, directory = None, progress = None))]
    fn sweep(
        &self,
        py: Python<'_>,
        rows: &str,
        workers: usize,
        directory: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        let rows = Rows::named(rows)?;
        let (ending, share) = (Ending::default(), Share::new(progress));
        let watch = Watch { progress: &|now| share.set(now), stop: &ending.stop };
        let how = SweepOptions { end: Some(&ending.stop), ..how(directory.as_deref()).into() };
        let work = || run::sweep_with(&self.plan, workers, how, watch, &|run| run);
        let _under_way = self.raised.begin();
        let runs = attended(py, &ending, &|py| share.report(py), work);
        let ended = ending.raised();
        let runs = runs.map_err(|error| self.raised.or(of_run(error)));
        ended?;
        let runs = runs?;
        share.report(py)?;
        Ok(of_runs(&runs, self.axes(), rows)?.0)
    }

    /// Rows of some runs, each a point and a seed, as [`Plan::sweep`] makes them: their directories
    /// are below `out`, if that is given, and a run that is complete there is read. Beside the
    /// table each run has its number of rows or the reason of its failure. `stop` ends them early.
    #[pyo3(signature = (jobs, rows, out = None, stop = None))]
    fn rows(
        &self,
        py: Python<'_>,
        jobs: Vec<(usize, u64)>,
        rows: &str,
        out: Option<PathBuf>,
        stop: Option<Py<Stop>>,
    ) -> PyResult<(Table, Vec<Outcome>)> {
        let rows = Rows::named(rows)?;
        let end = stop.as_ref().map(|stop| &stop.get().0);
        let how = SweepOptions { end, ..how(out.as_deref()).into() };
        let (mut runs, mut failures) = (Vec::new(), Vec::new());
        let _under_way = self.raised.begin();
        for (point, seed) in jobs {
            let job = self.job(point, seed)?;
            let made = py.detach(|| how.run(&self.plan, job, &mut |_| {}));
            failures.push(match made {
                Ok(run) => {
                    runs.push(run);
                    None
                }
                Err(error) => Some(Outcome::Failed(self.why(py, error)?)),
            });
        }
        let (table, counts) = of_runs(&runs, self.axes(), rows)?;
        let mut counts = counts.into_iter().map(Outcome::Rows);
        let outcomes = failures.into_iter().filter_map(|failure| failure.or_else(|| counts.next()));
        Ok((table, outcomes.collect()))
    }
}

/// Result of a run: its number of rows, or the reason of its failure.
#[derive(IntoPyObject)]
enum Outcome {
    Rows(usize),
    Failed(String),
}

impl Plan {
    const fn new(plan: plan::Plan, raised: Raised) -> Self {
        Self { plan, raised, axes: OnceLock::new() }
    }

    /// Keys of the sweep that have columns. The types depend on all points, of which a sweep with a
    /// call for each run would otherwise look at each in each call.
    fn axes(&self) -> &[Axis] {
        self.axes.get_or_init(|| self.all_axes())
    }

    fn all_axes(&self) -> Vec<Axis> {
        let points = &self.plan.points;
        let value =
            |point: &'_ plan::Point, at: usize| point.axes[at].1.trim_matches('"').to_owned();
        let mut axes = Vec::new();
        let keys = points.first().into_iter().flat_map(|point| point.axes.iter().enumerate());
        for (at, (key, _)) in keys.filter(|(_, (key, _))| axes::has_column(key)) {
            let values: Vec<String> = points.iter().map(|point| value(point, at)).collect();
            axes.push(Axis::new(key, values.iter().map(String::as_str)));
        }
        axes
    }

    /// The simulator's input for a run.
    pub(crate) fn world(&self, point: usize, seed: u64) -> PyResult<World> {
        Ok(self.plan.scenario(self.job(point, seed)?).to_world(seed))
    }

    /// The reason of a run's failure. An exception of an algorithm in Python, or Ctrl-C, is raised.
    fn why(&self, py: Python<'_>, error: run::Error) -> PyResult<String> {
        let error = self.raised.or(of_run(error));
        match error.is_instance_of::<RunError>(py) {
            true => Ok(error.value(py).to_string()),
            false => Err(error),
        }
    }

    fn job(&self, point: usize, seed: u64) -> PyResult<Job> {
        if point >= self.plan.points.len() {
            return Err(PyIndexError::new_err(format!("the plan has no point {point}")));
        }
        Ok(Job { point, seed })
    }
}

/// Whether runs leave directories, and whether those that are there are taken.
fn how(directory: Option<&Path>) -> (Output<'_>, Before) {
    match directory {
        Some(directory) => (Output::Full(directory), Before::Resume),
        None => (Output::Nothing, Before::Rerun),
    }
}

fn overrides(settings: &[String]) -> Vec<Override> {
    settings.iter().map(|setting| Override::set(setting)).collect()
}
