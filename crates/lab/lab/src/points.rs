//! Runs of a sweep by point: means over seeds with their confidence intervals.

use crate::means::MeanSummary;
use crate::metrics::{Metric, metrics};
use crate::results::{Error, csv_field, read_meta, read_summary};
use crate::run::Run;
use crate::stats::Estimate;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Part of a run that is kept where many are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Digest {
    /// Sweep axes and their values.
    pub axes: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// Whether it was simulated. Two measurements that agree are two samples.
    pub is_simulated: bool,
    /// Its figures.
    pub metrics: Vec<Metric>,
}

impl Digest {
    /// The digest of a finished run.
    pub fn of(run: &Run) -> Self {
        let axes = run.axes.keys().map(|key| (key.clone(), run.axis(key).to_owned())).collect();
        Self { axes, seed: run.seed, is_simulated: true, metrics: metrics(&run.summary) }
    }

    /// The digests of the complete runs in `directory` and below it, in the order of their sweep:
    /// by point, then by seed. Sweeps beside each other are in the order of their paths.
    ///
    /// # Errors
    /// A directory or a file of a run that cannot be read.
    pub fn read_all(directory: &Path) -> Result<Vec<Self>, Error> {
        let found = Self::read_all_with_places(directory)?;
        Ok(found.into_iter().map(|(_, digest)| digest).collect())
    }

    /// The same, each with its run directory.
    ///
    /// # Errors
    /// As [`Self::read_all`].
    pub fn read_all_with_places(directory: &Path) -> Result<Vec<(PathBuf, Self)>, Error> {
        let found = Self::read_numbered(directory)?;
        Ok(found.into_iter().map(|(_, place, digest)| (place, digest)).collect())
    }

    /// The digests, each with the number of its point in its sweep, and its run directory.
    fn read_numbered(directory: &Path) -> Result<Vec<(usize, PathBuf, Self)>, Error> {
        let mut digests = Vec::new();
        if directory.join("summary.json").exists() && directory.join("meta.json").exists() {
            let (meta, summary) = (read_meta(directory)?, read_summary(directory)?);
            let (axes, seed) = (meta.axes, meta.seed.0);
            let digest = Self::of(&Run { axes, seed, summary, directory: None });
            digests.push((meta.point, directory.to_owned(), digest));
        }
        let mut inner = Vec::new();
        for entry in fs::read_dir(directory).map_err(Error::io(directory))? {
            let entry = entry.map_err(Error::io(directory))?;
            // Without links, which would count the runs behind them twice, or lead in a circle.
            if entry.file_type().map_err(Error::io(directory))?.is_dir() {
                inner.push(entry.path());
            }
        }
        inner.sort();
        let parts: Result<Vec<_>, Error> =
            inner.iter().map(|path| Self::read_numbered(path)).collect();
        let mut parts = parts?;
        // The sort is stable: runs with the same numbers stay in the order of their paths.
        parts.sort_by_key(|part| part.first().map(|(point, _, digest)| (*point, digest.seed)));
        digests.extend(parts.into_iter().flatten());
        Ok(digests)
    }

    /// The value of a figure.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// A point of a sweep, over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Sweep axes and their values.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub axes: Vec<(String, String)>,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    /// Each figure over those of its runs that measured it. A name ends in its unit where it has
    /// one, as `flow.up.delay_p99_ms`.
    #[serde(serialize_with = "as_means")]
    #[schemars(with = "BTreeMap<String, MeanSummary>")]
    pub metrics: Vec<(String, Estimate)>,
}

fn as_map<S: Serializer>(list: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(list.iter().map(|(key, value)| (key, value)))
}

fn as_means<S: Serializer>(list: &[(String, Estimate)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(list.iter().map(|(key, value)| (key, MeanSummary::from(*value))))
}

impl Point {
    /// The points of some runs, in the order in which their first runs stand.
    pub fn all(runs: &[Digest]) -> Vec<Self> {
        let mut order: Vec<&[(String, String)]> = Vec::new();
        let mut members: BTreeMap<&[(String, String)], Vec<&Digest>> = BTreeMap::new();
        for run in runs {
            let members = members.entry(&run.axes).or_default();
            if members.is_empty() {
                order.push(&run.axes);
            }
            members.push(run);
        }
        order.into_iter().map(|axes| Self::of(axes, &members[axes])).collect()
    }

    fn of(axes: &[(String, String)], runs: &[&Digest]) -> Self {
        let seeds = runs.iter().map(|run| run.seed).collect();
        let runs = distinct(runs);
        let mut names: Vec<&str> = Vec::new();
        let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (name, value) in runs.iter().flat_map(|run| &run.metrics) {
            let values = values.entry(name).or_default();
            if values.is_empty() {
                names.push(name);
            }
            values.push(*value);
        }
        let estimate = |name: &&str| Some(((*name).to_owned(), Estimate::of(&values[name])?));
        Self { axes: axes.to_vec(), seeds, metrics: names.iter().filter_map(estimate).collect() }
    }

    /// The estimate of a figure.
    pub fn metric(&self, name: &str) -> Option<&Estimate> {
        self.metrics.iter().find(|(known, _)| known == name).map(|(_, estimate)| estimate)
    }

    /// Runs that its figures are over, where all have a figure; runs without it leave `n` smaller.
    pub fn samples(&self) -> usize {
        self.metrics.iter().map(|(_, estimate)| estimate.n).max().unwrap_or(0)
    }

    /// Its point of the sweep, in a few words.
    pub fn label(&self) -> String {
        let axes = self.axes.iter().map(|(key, value)| format!("{key} = {value}"));
        axes.collect::<Vec<_>>().join(", ")
    }
}

/// The runs of one point; the first alone where all were simulated and are identical. Nothing in it
/// depends on the seed then, and more of them are no further sample.
pub(crate) fn distinct<'r>(runs: &'r [&'r Digest]) -> &'r [&'r Digest] {
    let are_identical = runs.iter().all(|run| run.is_simulated && run.metrics == runs[0].metrics);
    if are_identical { &runs[..runs.len().min(1)] } else { runs }
}

/// Points as CSV (RFC 4180): a line for each point and figure, the axes first.
pub fn to_csv(points: &[Point]) -> String {
    let keys: Vec<&str> = points
        .first()
        .map_or_else(Vec::new, |point| point.axes.iter().map(|(key, _)| key.as_str()).collect());
    let last = ["metric", "runs", "mean", "low", "high", "std_dev"];
    let heads = keys.iter().copied().chain(last).map(csv_field).collect::<Vec<_>>();
    let mut text = heads.join(",") + "\r\n";
    for point in points {
        let axes: Vec<String> = point.axes.iter().map(|(_, value)| csv_field(value)).collect();
        for (name, estimate) in &point.metrics {
            let Estimate { n, mean, std_dev, half_width } = estimate;
            let [low, high] = match half_width {
                Some(_) => [estimate.low().to_string(), estimate.high().to_string()],
                None => [String::new(), String::new()],
            };
            let figures = [csv_field(name), n.to_string(), mean.to_string(), low, high];
            let line = axes.iter().chain(&figures).cloned().chain([std_dev.to_string()]);
            text.push_str(&(line.collect::<Vec<_>>().join(",") + "\r\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(axis: &str, seed: u64, delay: Option<f64>) -> Digest {
        let delay = delay.map(|delay| ("flow.up.delay_mean_ms".to_owned(), delay));
        let goodput = ("goodput_mbps".to_owned(), 10.0 * seed as f64);
        let axes = vec![("algorithm".to_owned(), axis.to_owned())];
        Digest {
            axes,
            seed,
            is_simulated: true,
            metrics: [goodput].into_iter().chain(delay).collect(),
        }
    }

    /// Goodputs 10, 20, 30: mean 20, s = 10, t(2) = 4.3027, half width 4.3027 * 10 / sqrt(3).
    #[test]
    fn a_point_has_the_means_and_intervals_of_its_runs() {
        let runs = [run("b", 1, None), run("b", 2, Some(4.0)), run("b", 3, Some(6.0))];
        let points = Point::all(&runs);
        assert_eq!(points.len(), 1);
        let goodput = points[0].metric("goodput_mbps").unwrap();
        assert_eq!((goodput.n, goodput.mean), (3, 20.0));
        assert!((goodput.half_width.unwrap() - 24.841).abs() < 0.001, "{goodput:?}");
        let delay = points[0].metric("flow.up.delay_mean_ms").unwrap();
        assert_eq!((delay.n, delay.mean), (2, 5.0), "of the runs that measured it");
    }

    #[test]
    fn points_keep_the_order_of_the_sweep_and_csv_quotes_what_it_must() {
        let runs = [run("b, \"c\"", 1, None), run("a", 1, None), run("a", 2, None)];
        let points = Point::all(&runs);
        assert_eq!(points[0].label(), "algorithm = b, \"c\"");
        let csv = to_csv(&points);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "algorithm,metric,runs,mean,low,high,std_dev");
        assert_eq!(lines[1], "\"b, \"\"c\"\"\",goodput_mbps,1,10,,,0", "no interval of one");
        assert!(lines[2].starts_with("a,goodput_mbps,2,15,-48.5"), "{}", lines[2]);
    }
}
