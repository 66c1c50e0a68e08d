//! Plans: a scenario with its sweep, resolved into points and jobs.

mod axis;
mod label;

use crate::diagnostic::{Diagnostics, Problem, Refusal, Sources};
use crate::model::{Origin, Scenario};
use crate::own::OwnAlgorithms;
use crate::path;
use crate::value::{self, Data, Entry, Span, Table, Value};
use axis::Axis;
use std::io::Read;
use std::path::Path;

pub use crate::limits::MAX_JOBS;
/// Maximum number of points of a plan.
pub const MAX_POINTS: usize = 10_000;
/// The largest scenario file in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Maximum size in bytes of all points as text: bounds the plan's memory.
const MAX_POINT_BYTES: usize = 64 << 20;

/// The runs to carry out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The question that the scenario answers: the file's first line, if that is a comment.
    pub question: String,
    /// The combinations of the sweep, the last axis fastest; one without a sweep.
    pub points: Vec<Point>,
    /// Runs of each point.
    pub seeds: u64,
    /// Algorithms from outside that its scenarios may name.
    pub own: OwnAlgorithms,
}

/// One combination of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its index in [`Plan::points`].
    pub index: usize,
    /// Distinguishing dotted keys with their values, in the order of the file.
    pub axes: Vec<(String, String)>,
    /// Name of the directory of its runs, which no other point of its plan has; empty without axes.
    /// [`Plan::label_points`] sets it.
    pub label: String,
    /// Arguments of `--set` that select this point alone, one for each axis.
    pub picks: Vec<String>,
    /// Its scenario, whose seed is the first of its runs'.
    pub scenario: Scenario,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Index into [`Plan::points`].
    pub point: usize,
    /// Its master seed.
    pub seed: u64,
}

/// A setting from outside the scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// `key=value`, as [`Plan::parse`] takes it.
    pub setting: String,
    /// Name in messages: the option as it was written, such as `--for '10 s'`.
    pub name: String,
}

impl Override {
    /// A setting that was written after `--set`.
    pub fn set(setting: &str) -> Self {
        Self { setting: setting.to_owned(), name: format!("--set {setting}") }
    }
}

/// Error of making a plan.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] Diagnostics),
}

impl Point {
    /// Whether a point with these keys and values, in any order, can have this label.
    pub fn is_label(name: &str, axes: &[(String, String)]) -> bool {
        label::is_label(name, axes)
    }
}

impl Plan {
    /// Reads the scenario file at `path`; `overrides` are `key=value`, as [`Plan::parse`] takes.
    ///
    /// # Errors
    /// If the file cannot be read, or the scenario or an override is wrong.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, LoadError> {
        Self::load_with(path, &of_set(overrides), &OwnAlgorithms::default())
    }

    /// The same with settings that messages call by names of their own, and names for the
    /// algorithms of `own`.
    ///
    /// # Errors
    /// As those of [`Self::load`].
    pub fn load_with(
        path: &Path,
        overrides: &[Override],
        own: &OwnAlgorithms,
    ) -> Result<Self, LoadError> {
        let text = read_text(path)?;
        Ok(Self::parse_with(&path.display().to_string(), &text, overrides, own)?)
    }

    /// Reads a scenario from `bytes`, which should be UTF-8.
    ///
    /// # Errors
    /// Everything that was found wrong.
    pub fn parse_bytes(file: &str, bytes: &[u8], sets: &[String]) -> Result<Self, Diagnostics> {
        Self::parse(file, value::decode_utf8(file, bytes)?, sets)
    }

    /// Reads a scenario with its sweep from `text`; `file` is its name in messages.
    ///
    /// Each of `overrides` is `key=value` with a dotted key, as in `node.sta.count=8`. The value
    /// is TOML, or else taken as text. On an axis of the sweep it leaves the one value, or those of
    /// a list; `sweep.node.sta.count=[2, 4]` makes or replaces an axis, and `sweep.seeds=3` counts
    /// runs. An axis of several keys, `"a, b" = [[1, 2], [3, 4]]`, changes them together: `a=1`
    /// leaves its steps with that value; a value that no step has, `a=5`, takes `a` out of it. The
    /// values of the axis `variant` are tables: each has a name, and sets the keys that it writes;
    /// `variant=NAME` leaves one of them, `variant=['NAME', 'OTHER']` several.
    ///
    /// # Errors
    /// Everything that was found wrong; of the points of a sweep, the first that is wrong.
    pub fn parse(file: &str, text: &str, overrides: &[String]) -> Result<Self, Diagnostics> {
        Self::parse_with(file, text, &of_set(overrides), &OwnAlgorithms::default())
    }

    /// The same with settings that messages call by names of their own, and names for the
    /// algorithms of `own`.
    ///
    /// # Errors
    /// As those of [`Self::parse`].
    pub fn parse_with(
        file: &str,
        text: &str,
        overrides: &[Override],
        own: &OwnAlgorithms,
    ) -> Result<Self, Diagnostics> {
        let mut sources = Sources::new(file, text);
        let result = plan(text, overrides, own, &mut sources);
        result.map_err(|problems| sources.diagnose(problems))
    }

    /// Sets the labels of its points, after these have changed.
    pub fn label_points(&mut self) {
        let labels = label::labels(self.points.iter().map(|point| &point.axes[..]));
        for (point, label) in self.points.iter_mut().zip(labels) {
            point.label = label;
        }
    }

    /// Every run, point by point.
    pub fn jobs(&self) -> Vec<Job> {
        let runs = |p: &Point| (0..self.seeds).map(|k| Job::new(p, k)).collect::<Vec<_>>();
        self.points.iter().flat_map(runs).collect()
    }

    /// The runs of the points with these indices, of all points for `None`.
    pub fn jobs_of(&self, points: Option<&[usize]>) -> Vec<Job> {
        let mut jobs = self.jobs();
        jobs.retain(|job| points.is_none_or(|points| points.contains(&job.point)));
        jobs
    }

    /// Valid settings of some point that are likely to give meaningless results.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<(String, usize)> = Vec::new();
        let of = |point: &Point| [point.scenario.idle(), point.scenario.warnings()].concat();
        for warning in self.points.iter().flat_map(of) {
            match warnings.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, times)) => *times += 1,
                None => warnings.push((warning, 1)),
            }
        }
        let points = self.points.len();
        let say = |(warning, times): (String, usize)| match times == points {
            true => warning,
            false => format!("{warning} (at {times} of {points} points)"),
        };
        warnings.into_iter().map(say).collect()
    }

    /// The scenario of one run with its seed, for the run directory.
    pub fn scenario(&self, job: Job) -> Scenario {
        Scenario { seed: job.seed, ..self.points[job.point].scenario.clone() }
    }
}

impl Job {
    fn new(point: &Point, k: u64) -> Self {
        Self { point: point.index, seed: point.scenario.seed + k }
    }
}

/// The text of the scenario file at `path`.
///
/// # Errors
/// If the file cannot be read, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, LoadError> {
    let file = path.display().to_string();
    let bytes = read(path).map_err(|source| LoadError::Io { file: file.clone(), source })?;
    Ok(value::decode_utf8(&file, &bytes)?.to_owned())
}

/// Reads the file at `path`, but no more of it than shows that it is too long: it may be a device
/// without an end.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Default)]
struct Sweep {
    axes: Vec<Axis>,
    seeds: Option<(u64, Span)>,
}

fn of_set(settings: &[String]) -> Vec<Override> {
    settings.iter().map(|setting| Override::set(setting)).collect()
}

fn plan(
    text: &str,
    overrides: &[Override],
    own: &OwnAlgorithms,
    sources: &mut Sources,
) -> Result<Plan, Vec<Problem>> {
    if text.len() > MAX_BYTES {
        let refusal = Refusal::new(format!("more than {MAX_BYTES} bytes"));
        return Err(vec![Problem { span: 0..0, key: "(file)".to_owned(), refusal }]);
    }
    let mut root = value::document(text)?;
    let mut sweep = Sweep::default();
    if let Some(entry) = root.take("sweep") {
        sweep.read(entry)?;
    }
    for one in overrides {
        apply(&mut root, &mut sweep, one, sources).map_err(|p| vec![p])?;
    }
    let seeds = sweep.check_size(text.len()).map_err(|p| vec![p])?;
    let origin = Origin { base: sources.directory(), own: own.clone() };
    let points = points(&root, &sweep.axes, &origin)?;
    for point in &points {
        if point.scenario.seed.checked_add(seeds - 1).is_none_or(|s| s > i64::MAX as u64) {
            let refusal = Refusal::new("the last run's seed would not be below 2^63");
            let span = sweep.seeds.map_or(0..0, |(_, span)| span);
            return Err(vec![Problem { span, key: "sweep.seeds".to_owned(), refusal }]);
        }
    }
    let mut plan = Plan { question: question(text), points, seeds, own: origin.own };
    plan.label_points();
    Ok(plan)
}

/// The first line of a scenario file, if it is a comment. A user's file need not begin with one.
pub(crate) fn question(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix('#').map_or_else(String::new, |text| text.trim().to_owned())
}

fn points(root: &Table, axes: &[Axis], origin: &Origin) -> Result<Vec<Point>, Vec<Problem>> {
    let count: usize = axes.iter().map(|a| a.steps.len()).product();
    let mut points = Vec::with_capacity(count);
    for index in 0..count {
        let mut table = root.clone();
        let mut labels = Vec::with_capacity(axes.len());
        let mut picks = Vec::with_capacity(axes.len());
        let mut stride = count;
        for axis in axes {
            stride /= axis.steps.len();
            let step = &axis.steps[index / stride % axis.steps.len()];
            labels.extend(step.labels.iter().cloned());
            picks.push(axis.pick(step));
            for (key, value) in &step.sets {
                path::set(&mut table, key, axis.span.clone(), value.clone())
                    .map_err(|p| vec![p])?;
            }
        }
        let scenario = Scenario::from_table(&table, origin)?;
        let label = String::new();
        points.push(Point { index, axes: labels, label, picks, scenario });
    }
    Ok(points)
}

/// Applies one setting.
fn apply(
    root: &mut Table,
    sweep: &mut Sweep,
    Override { setting, name }: &Override,
    sources: &mut Sources,
) -> Result<(), Problem> {
    let base = sources.add(name, setting);
    let Some((key, text)) = setting.split_once('=') else {
        let refusal = Refusal::new("this has no \"=\"").help("write --set key=value");
        let span = base..base + setting.len();
        return Err(Problem { span, key: setting.clone(), refusal });
    };
    let span = base..base + key.len();
    let value = value::argument(text, base + key.len() + 1);
    let key = key.trim();
    if let Some(axis) = key.strip_prefix("sweep.") {
        return sweep.replace(axis, span, value);
    }
    match sweep.axes.iter_mut().find(|a| a.answers_to(key)) {
        Some(axis) if axis.is_called(key) => axis.fix(span, value),
        Some(axis) => {
            let values = axis.values(&[key.to_owned()], value);
            let mut values = axis.fix_part(key, &span, values)?;
            match values.len() {
                0 => {}
                1 => path::set(root, key, span, values.remove(0))?,
                _ => sweep.axes.push(Axis::read(key, span, values)?),
            }
            Ok(())
        }
        None => path::set(root, key, span, value),
    }
}

impl Sweep {
    fn read(&mut self, Entry { value, .. }: Entry) -> Result<(), Vec<Problem>> {
        let Data::Table(table) = value.data else {
            let refusal = Refusal::new("the sweep must be a table").help("write [sweep]");
            return Err(vec![Problem { span: value.span, key: "sweep".to_owned(), refusal }]);
        };
        let mut problems = Vec::new();
        self.flatten("", table, &mut problems);
        if problems.is_empty() && self.axes.is_empty() && self.seeds.is_none() {
            let refusal = Refusal::new("the sweep is empty").help("add an axis, or remove it");
            let key = "sweep".to_owned();
            problems.push(Problem { span: value.span, key, refusal });
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Reads axes; a dotted key without quotes makes tables, which mean the same.
    fn flatten(&mut self, prefix: &str, table: Table, problems: &mut Vec<Problem>) {
        for Entry { key, key_span, value } in table.0 {
            let key = format!("{prefix}{key}");
            let result = match value.data {
                Data::Table(inner) => {
                    self.flatten(&format!("{key}."), inner, problems);
                    Ok(())
                }
                _ if self.axes.iter().any(|a| a.is_called(&key)) => {
                    let refusal = Refusal::new("this axis is there twice");
                    Err(Problem { span: key_span, key: format!("sweep.{key}"), refusal })
                }
                _ => self.insert(&key, key_span, value, false),
            };
            problems.extend(result.err());
        }
    }

    /// Makes or replaces an axis. Of several keys that change together, it narrows one.
    fn replace(&mut self, key: &str, span: Span, mut value: Value) -> Result<(), Problem> {
        let is_part = |a: &&mut Axis| a.keys_are_apart() && a.has_part(key);
        if let (Some(axis), Data::List(values)) =
            (self.axes.iter_mut().find(is_part), &mut value.data)
            && !values.is_empty()
        {
            *values = axis.fix_part(key, &span, std::mem::take(values))?;
            if values.is_empty() {
                return Ok(());
            }
        }
        self.insert(key, span, value, true)
    }

    /// Reads `sweep.KEY` of a file, where no two axes may change one key, or of an override
    /// (`replaces`), which replaces axes.
    fn insert(
        &mut self,
        key: &str,
        span: Span,
        value: Value,
        replaces: bool,
    ) -> Result<(), Problem> {
        let fail = |span, refusal| Err(Problem { span, key: format!("sweep.{key}"), refusal });
        if key == "seeds" {
            let maximum = MAX_JOBS as i64;
            return match value.data {
                Data::Integer(n @ 1..) if n <= maximum => {
                    self.seeds = Some((n as u64, value.span));
                    Ok(())
                }
                _ => fail(value.span, Refusal::new(format!("this must be 1 to {maximum} runs"))),
            };
        }
        let values = match value.data {
            Data::List(values) if !values.is_empty() => values,
            Data::List(_) => return fail(value.span, Refusal::new("this axis has no values")),
            _ => {
                let refusal = Refusal::new("an axis is a list of values");
                return fail(value.span, refusal.help("write it as [2, 4, 8]"));
            }
        };
        let axis = Axis::read(key, span.clone(), values)?;
        let is_replaced = |old: &Axis| replaces && (old.is_called(key) || old.is_within(&axis));
        if let Some(old) = self.axes.iter().find(|old| old.meets(&axis) && !is_replaced(old)) {
            return fail(span, old.is_joint());
        }
        let at = self.axes.iter().position(|old| old.meets(&axis)).unwrap_or(self.axes.len());
        self.axes.retain(|old| !old.meets(&axis));
        self.axes.insert(at, axis);
        Ok(())
    }

    /// Refuses a plan that is too large to run or to hold; returns the runs of each point.
    fn check_size(&self, text_bytes: usize) -> Result<u64, Problem> {
        let seeds = self.seeds.as_ref().map_or(1, |(n, _)| *n);
        let multiply = |n: usize, a: &Axis| n.checked_mul(a.steps.len());
        let points = self.axes.iter().try_fold(1, multiply).unwrap_or(usize::MAX);
        let jobs = points.saturating_mul(usize::try_from(seeds).unwrap_or(usize::MAX));
        let message = if jobs > MAX_JOBS {
            format!("this sweep makes more than {MAX_JOBS} runs")
        } else if points > MAX_POINTS {
            format!("this sweep makes more than {MAX_POINTS} points")
        } else if points.saturating_mul(text_bytes) > MAX_POINT_BYTES.max(text_bytes) {
            "this sweep has too many points for so long a file".to_owned()
        } else {
            return Ok(seeds);
        };
        let spans = self.axes.iter().map(|a| &a.span).chain(self.seeds.iter().map(|(_, s)| s));
        let span = spans.min_by_key(|s| s.start).cloned().unwrap_or(0..0);
        let refusal = Refusal::new(message).help("split it into several files");
        Err(Problem { span, key: "sweep".to_owned(), refusal })
    }
}
