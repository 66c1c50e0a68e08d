//! `fairwave plot`: figures of earlier runs.

use crate::args::{Common, Plot};
use crate::outcome::Failure;
use crate::output;
use crate::printed::PlotOutput;
use fairwave_lab::over::{is_series, over_axis, over_time};
use fairwave_lab::plot::{Figure, to_png};
use fairwave_lab::points::Point;
use fairwave_lab::results::write_file;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Draws the requested figure, and prints the files' names.
pub(crate) fn run(common: &Common, asked: &Plot) -> Result<(), Failure> {
    let figure = if asked.y.iter().any(|y| is_series(y)) { series(asked)? } else { means(asked)? };
    let svg = figure.to_svg().map_err(Failure::run)?;
    let files = files(asked)?;
    for file in &files {
        let is_png = file.extension().is_some_and(|extension| extension == "png");
        let bytes = if is_png { to_png(&svg).map_err(Failure::run)? } else { svg.clone().into() };
        write_file(file, &bytes).map_err(Failure::run)?;
    }
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if common.json {
        let value = PlotOutput { figure: figure.title, files: names };
        return Ok(output::print_json(&json!(value))?);
    }
    Ok(output::print(&format!("{}\n", names.join("\n")))?)
}

/// A column of the tables of a run, or of several, over time.
fn series(asked: &Plot) -> Result<Figure, Failure> {
    let [y] = asked.y.as_slice() else {
        return Err(Failure::Usage("a series over time is drawn alone: give one --y".to_owned()));
    };
    if asked.x.as_deref().is_some_and(|x| x != "time") {
        return Err(Failure::Usage(format!("{y} is a series of one run: its --x is time")));
    }
    let is_run = |directory: &&PathBuf| directory.join("summary.json").exists();
    if let Some(other) = asked.directories.iter().find(|directory| !is_run(directory)) {
        let shown = other.display();
        let text = format!("{shown}: not the directory of one run; {y} is a series of one run");
        return Err(Failure::Usage(text));
    }
    let named = names(&asked.directories);
    let runs: Vec<(&str, &Path)> =
        named.iter().zip(&asked.directories).map(|(name, run)| (&**name, &**run)).collect();
    over_time(&runs, y).map_err(Failure::run)
}

/// Names of runs: the parts of their directories' paths that differ.
fn names(directories: &[PathBuf]) -> Vec<String> {
    let parts = |path: &PathBuf| -> Vec<String> {
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
    };
    let paths: Vec<Vec<String>> = directories.iter().map(parts).collect();
    let least = paths.iter().map(Vec::len).min().unwrap_or(0);
    let are_same = |part: &dyn Fn(&Vec<String>) -> String| {
        paths.windows(2).all(|pair| part(&pair[0]) == part(&pair[1]))
    };
    let before = (0..least).take_while(|i| are_same(&|path| path[*i].clone())).count();
    let after =
        // The parts that precede are excluded, so that equal paths are not counted from both ends.
        (0..least - before).take_while(|i| are_same(&|path| path[path.len() - 1 - i].clone()));
    let after = after.count();
    let name = |path: &Vec<String>| match &path[before..path.len() - after] {
        [] => path.last().cloned().unwrap_or_default(),
        parts => parts.join("/"),
    };
    paths.iter().map(name).collect()
}

/// Means of a sweep over one of its axes.
fn means(asked: &Plot) -> Result<Figure, Failure> {
    let [directory] = asked.directories.as_slice() else {
        let text = "several runs are drawn over each other as series over time, such as --y \
                    flows.cwnd_bytes; `fairwave compare` sets means side by side";
        return Err(Failure::Usage(text.to_owned()));
    };
    let points = Point::all(&super::digests(directory)?);
    let axes: Vec<&str> =
        points.iter().take(1).flat_map(|point| &point.axes).map(|(key, _)| key.as_str()).collect();
    let x = asked.x.as_deref().or(axes.first().copied()).unwrap_or_default();
    let has = |y: &String| points.iter().any(|point| point.metric(y).is_some());
    if let Some(unknown) = asked.y.iter().find(|y| !has(y)) {
        return Err(no_figure(&points, unknown, &axes));
    }
    over_axis(&points, x, &asked.y).ok_or_else(|| match axes.as_slice() {
        [] => Failure::Usage("the runs have no axis: they are no sweep".to_owned()),
        axes => {
            Failure::Usage(format!("there is no axis {x:?}; the axes are: {}", axes.join(", ")))
        }
    })
}

/// Error for an unknown figure. Lists the figures whose names contain the requested text, or all of
/// them if none does, and the axes.
fn no_figure(points: &[Point], asked: &str, axes: &[&str]) -> Failure {
    let known = points.iter().flat_map(|point| &point.metrics).map(|(name, _)| name.as_str());
    let known: BTreeSet<&str> = known.collect();
    let alike: Vec<&str> = known.iter().copied().filter(|name| name.contains(asked)).collect();
    let (which, names) = match alike.as_slice() {
        [] => ("those that there are:", known.into_iter().collect()),
        _ => ("those with that in their names:", alike),
    };
    let (names, axes) = (names.join(", "), axes.join(", "));
    Failure::Usage(format!("there is no figure {asked:?}; {which} {names}; the axes are: {axes}"))
}

/// Output files: the named one, or one of each format beside the runs.
fn files(asked: &Plot) -> Result<Vec<PathBuf>, Failure> {
    let Some(file) = &asked.file else {
        let name = asked.y.join("-");
        let name = asked.x.as_ref().map_or_else(|| name.clone(), |x| format!("{name}-over-{x}"));
        return Ok(["svg", "png"]
            .map(|kind| asked.directories[0].join(format!("{name}.{kind}")))
            .into());
    };
    let kind = Path::new(file).extension().and_then(|kind| kind.to_str());
    match kind {
        Some("svg" | "png") => Ok(vec![file.clone()]),
        _ => Err(Failure::Usage(format!("{}: a figure is a .svg or a .png", file.display()))),
    }
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
