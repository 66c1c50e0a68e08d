//! The figure that a user requests of earlier runs.

use super::refusal::Refusal;
use crate::nearest;
use crate::over::{is_series, over_axis, over_time};
use crate::plot::Figure;
use crate::points::{Digest, Point};
use crate::results::Error;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Output of `fairwave plot --json`.
#[derive(Serialize, JsonSchema)]
pub struct PlotOutput {
    /// Title of the figure.
    pub figure: String,
    /// The files that were written.
    pub files: Vec<String>,
}

/// A request for a figure.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Directory of a sweep or of one run; several runs are drawn over each other.
    pub directories: &'a [PathBuf],
    /// Figures on the y axis, or one column of a run's tables.
    pub y: &'a [String],
    /// The sweep's axis on the x axis; by default its first axis, or time.
    pub x: Option<&'a str>,
}

impl Request<'_> {
    /// Draws the figure.
    pub fn figure(&self) -> Result<Figure, Refusal> {
        if self.y.iter().any(|y| is_series(y)) { self.series() } else { self.means() }
    }

    /// Output files: `file`, or one of each format beside the runs.
    pub fn files(&self, file: Option<&Path>) -> Result<Vec<PathBuf>, Refusal> {
        let Some(file) = file else {
            let name = self.y.join("-");
            let name = self.x.map_or_else(|| name.clone(), |x| format!("{name}-over-{x}"));
            let in_first = |kind| self.directories[0].join(format!("{name}.{kind}"));
            return Ok(["svg", "png"].map(in_first).into());
        };
        match file.extension().and_then(|kind| kind.to_str()) {
            Some("svg" | "png") => Ok(vec![file.to_owned()]),
            _ => Err(refused(format!("{}: a figure is a .svg or a .png", file.display()))),
        }
    }

    /// A column of the tables of a run, or of several, over time.
    fn series(&self) -> Result<Figure, Refusal> {
        let [y] = self.y else {
            return Err(refused("a series over time is drawn alone: give one --y".to_owned()));
        };
        if self.x.is_some_and(|x| x != "time") {
            return Err(refused(format!("{y} is a series of one run: its --x is time")));
        }
        let is_run = |directory: &&PathBuf| directory.join("summary.json").exists();
        if let Some(other) = self.directories.iter().find(|directory| !is_run(directory)) {
            let shown = other.display();
            let text = format!("{shown}: not the directory of one run; {y} is a series of one run");
            return Err(refused(text));
        }
        let named = names(self.directories);
        let runs: Vec<(&str, &Path)> =
            named.iter().zip(self.directories).map(|(name, run)| (&**name, &**run)).collect();
        over_time(&runs, y).map_err(|error| match error {
            // As for a figure that no run has.
            Error::NoColumn { .. } => refused(error.to_string()),
            _ => Refusal::Results(error.to_string()),
        })
    }

    /// Means of a sweep over one of its axes.
    fn means(&self) -> Result<Figure, Refusal> {
        let [directory] = self.directories else {
            let text = "several runs are drawn over each other as series over time, such as --y \
                        flows.cwnd_bytes; `fairwave compare` sets means side by side";
            return Err(refused(text.to_owned()));
        };
        let points = Point::all(&digests(directory)?);
        let axes: Vec<&str> = points
            .iter()
            .take(1)
            .flat_map(|point| &point.axes)
            .map(|(key, _)| key.as_str())
            .collect();
        let x = self.x.or(axes.first().copied()).unwrap_or_default();
        let has = |y: &String| points.iter().any(|point| point.metric(y).is_some());
        if let Some(unknown) = self.y.iter().find(|y| !has(y)) {
            return Err(no_figure(&points, unknown, &axes));
        }
        over_axis(&points, x, self.y).ok_or_else(|| match axes.as_slice() {
            [] => refused("the runs have no axis: they are no sweep".to_owned()),
            axes => refused(format!("there is no axis {x:?}; the axes are: {}", axes.join(", "))),
        })
    }
}

/// The complete runs in a directory and below it.
///
/// # Errors
/// Besides unreadable files: no run, or two runs of one point and seed. These belong to different
/// sweeps, such as those of a kernel and a simulator, and their mean would be that of neither.
pub fn digests(directory: &Path) -> Result<Vec<Digest>, Refusal> {
    let found = Digest::read_all_with_places(directory);
    let found = found.map_err(|error| Refusal::Results(error.to_string()))?;
    if found.is_empty() {
        return Err(Refusal::Results(format!("{}: no complete run is there", directory.display())));
    }
    let mut known = BTreeMap::new();
    for (place, digest) in &found {
        if let Some(other) = known.insert((&digest.axes, digest.seed), place) {
            let (a, b) = (other.display(), place.display());
            let text = "have the same point and seed: name the directory of one sweep";
            return Err(refused(format!("{a} and {b} {text}")));
        }
    }
    Ok(found.into_iter().map(|(_, digest)| digest).collect())
}

const fn refused(text: String) -> Refusal {
    Refusal::Request(text)
}

/// Names of runs: the parts of their directories' paths that differ.
fn names(directories: &[PathBuf]) -> Vec<String> {
    let parts = |path: &PathBuf| -> Vec<String> {
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    };
    let paths: Vec<Vec<String>> = directories.iter().map(parts).collect();
    let minimum = paths.iter().map(Vec::len).min().unwrap_or(0);
    let are_same = |part: &dyn Fn(&Vec<String>) -> String| {
        paths.windows(2).all(|pair| part(&pair[0]) == part(&pair[1]))
    };
    let before = (0..minimum).take_while(|i| are_same(&|path| path[*i].clone())).count();
    let after =
        // The parts that precede are excluded, so that equal paths are not counted from both ends.
        (0..minimum - before).take_while(|i| are_same(&|path| path[path.len() - 1 - i].clone()));
    let after = after.count();
    let name = |path: &Vec<String>| match &path[before..path.len() - after] {
        [] => path.last().cloned().unwrap_or_default(),
        parts => parts.join("/"),
    };
    paths.iter().map(name).collect()
}

/// Error for an unknown figure. Lists the nearest figures and the axes.
fn no_figure(points: &[Point], requested: &str, axes: &[&str]) -> Refusal {
    let known = points.iter().flat_map(|point| &point.metrics).map(|(name, _)| name.as_str());
    let known: BTreeSet<&str> = known.collect();
    let (names, axes) = (nearest::listed(requested, known.into_iter()), axes.join(", "));
    refused(format!("there is no figure {requested:?}; {names}; the axes are: {axes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_the_parts_of_their_paths_that_differ() {
        let of = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["out/kernel", "out/simulator"]), ["kernel", "simulator"]);
        assert_eq!(of(&["o/kernel/x/seed-1", "o/simulator/x/seed-1"]), ["kernel", "simulator"]);
        assert_eq!(of(&["o/a/seed-1", "o/b/seed-2"]), ["a/seed-1", "b/seed-2"]);
        assert_eq!(of(&["o", "o/x"]), ["o", "x"]);
        assert_eq!(of(&["o/a", "o/a"]), ["a", "a"]);
    }
}
