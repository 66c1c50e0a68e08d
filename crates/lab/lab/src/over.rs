//! Figures of runs: results of a sweep over one of its axes, or a series of one run over time.

use crate::plot::{BarSeries, Content, Curve, Figure, Interval, Mark};
use crate::points::Point;
use crate::results::{Error, Series};
use std::collections::BTreeMap;
use std::path::Path;

/// A quantity of an axis: `10 ms` is the number 10 and the unit `ms`.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    Some((number.parse().ok()?, unit))
}

/// The number of the axis `x`, which its last part may name.
fn axis(point: &Point, x: &str) -> Option<usize> {
    let whole = point.axes.iter().position(|(key, _)| key == x);
    whole.or_else(|| point.axes.iter().position(|(key, _)| last(key) == x))
}

/// The last part of a key.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// The figures `ys` over the axis `x`: a curve for each combination of the other axes, bars where
/// the values of `x` are no quantities of one unit. `None` where no point has both.
pub fn over_axis<'p>(points: &'p [Point], x: &str, ys: &[String]) -> Option<Figure> {
    let with_value = |point: &'p Point| Some((point, point.axes[axis(point, x)?].1.as_str()));
    let with_x: Vec<(&Point, &str)> = points.iter().filter_map(with_value).collect();
    let numbers: Option<Vec<(f64, &str)>> = with_x.iter().map(|(_, v)| quantity(v)).collect();
    let numbers = numbers.filter(|all| all.iter().all(|(_, unit)| *unit == all[0].1));
    let unit = numbers.as_ref().and_then(|all| all.first()).map_or("", |(_, unit)| unit);
    let mut series: Vec<(String, Vec<(&str, Interval)>)> = Vec::new();
    for (point, value) in &with_x {
        for y in ys {
            let Some(estimate) = point.metric(y) else { continue };
            let label = label(point, x, y, ys.len() > 1);
            let entry = (*value, Interval::from(*estimate));
            match series.iter_mut().find(|(known, _)| *known == label) {
                Some((_, entries)) => entries.push(entry),
                None => series.push((label, vec![entry])),
            }
        }
    }
    if series.is_empty() {
        return None;
    }
    let content = match numbers {
        Some(_) => Content::Curves(
            series.into_iter().map(|(label, entries)| curve(label, entries)).collect(),
        ),
        None => bars(&with_x, &series),
    };
    let x_label = if unit.is_empty() { x.to_owned() } else { format!("{x} ({unit})") };
    let y_label = ys.join(", ");
    let title = format!("{y_label} over {x}, means with 95 % intervals");
    Some(Figure { title, x_label, y_label, y_range: None, content })
}

/// Identity of a series: the other axes, and the figure if there are several. Axes whose last parts
/// are the same are called by their whole keys.
fn label(point: &Point, x: &str, y: &str, are_many: bool) -> String {
    let drawn = axis(point, x);
    let others = point.axes.iter().enumerate().filter(|(i, _)| Some(*i) != drawn);
    let is_shared =
        |key: &str| point.axes.iter().filter(|(other, _)| last(other) == last(key)).count() > 1;
    let name = |key: &str| if is_shared(key) { key.to_owned() } else { last(key).to_owned() };
    let others = others.map(|(_, (key, value))| format!("{} = {value}", name(key)));
    let figure = are_many.then(|| y.to_owned());
    figure.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn curve(label: String, entries: Vec<(&str, Interval)>) -> Curve {
    let point = |(value, y): (&str, Interval)| Some((quantity(value)?.0, y));
    let mut points: Vec<(f64, Interval)> = entries.into_iter().filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve { label, points, mark: Mark::DottedLine }
}

fn bars(points: &[(&Point, &str)], series: &[(String, Vec<(&str, Interval)>)]) -> Content {
    let mut groups: Vec<String> = Vec::new();
    for (_, value) in points {
        if !groups.iter().any(|group| group == value) {
            groups.push((*value).to_owned());
        }
    }
    let bars = series.iter().map(|(label, entries)| {
        let of_group = |group: &String| entries.iter().find(|(v, _)| v == group).map(|(_, y)| *y);
        BarSeries { label: label.clone(), values: groups.iter().map(of_group).collect() }
    });
    let series = bars.collect();
    Content::Bars { groups, series }
}

/// Tables of a run directory that have a series for each name, or pair of names, in columns.
const TABLES: [(&str, &[&str]); 7] = [
    (FLOWS, &["flow"]),
    (WINDOWS, &["flow", "path"]),
    ("delays", &["flow"]),
    ("queues", &["queue"]),
    ("stations", &["station"]),
    ("pairs", &["pair"]),
    ("paths", &["path"]),
];

const FLOWS: &str = "flows";
/// Windows at each ACK, which runs of the kernel can have.
const WINDOWS: &str = "windows";

/// Whether `y` names a column of a table of a run: `flows.cwnd_bytes`.
pub fn is_series(y: &str) -> bool {
    y.split_once('.').is_some_and(|(table, _)| TABLES.iter().any(|(known, _)| *known == table))
}

/// Points of a curve.
type Points = Vec<(f64, Interval)>;

/// The column `y` of runs over time, times in milliseconds: a curve for each flow, queue, station,
/// pair of radios or path. Where there are several runs, curves begin with their run's name. A run
/// without windows at each ACK is drawn from its flows, which have samples under the same names.
///
/// # Errors
/// A table that cannot be read or has no such column.
pub fn over_time(runs: &[(&str, &Path)], y: &str) -> Result<Figure, Error> {
    let (_, column) = y.split_once('.').unwrap_or((y, ""));
    let (y_label, scale) = match column.strip_suffix("_ns") {
        Some(time) => (format!("{time} (ms)"), 1e-6),
        None => (column.to_owned(), 1.0),
    };
    let mut curves = Vec::new();
    for (name, run) in runs {
        for (of, points) in series(run, y, scale)? {
            let label = if runs.len() > 1 { format!("{name}: {of}") } else { of };
            curves.push(Curve { label, points, mark: Mark::Line });
        }
    }
    Ok(Figure {
        title: format!("{y} over time"),
        x_label: "time (s)".to_owned(),
        y_label,
        y_range: None,
        content: Content::Curves(curves),
    })
}

/// The points of the column `y` of a run, `scale` times its values, for each name in its table.
fn series(run: &Path, y: &str, scale: f64) -> Result<BTreeMap<String, Points>, Error> {
    let (table, column) = y.split_once('.').unwrap_or((y, ""));
    let has = |table: &str| run.join(format!("{table}.parquet")).exists();
    let table = if table == WINDOWS && !has(table) { FLOWS } else { table };
    let named = TABLES.iter().find(|(known, _)| *known == table);
    let named = named.map_or(["flow"].as_slice(), |(_, columns)| columns);
    let columns = [&["t_ns", column], named].concat();
    let series = Series::read(run, &format!("{table}.parquet"), &columns)?;
    let mut curves: BTreeMap<String, Points> = BTreeMap::new();
    let names: Vec<_> = named.iter().map(|name| series.texts(name)).collect::<Result<_, _>>()?;
    let times = series.integers("t_ns")?;
    for (row, (at, value)) in times.iter().zip(series.integers(column)?).enumerate() {
        let of: Vec<&str> = names.iter().filter_map(|names| names[row].as_deref()).collect();
        if let (Some(at), Some(value), false) = (at, value, of.is_empty()) {
            let point = (*at as f64 / 1e9, Interval::exact(*value as f64 * scale));
            curves.entry(of.join(" via ")).or_default().push(point);
        }
    }
    Ok(curves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Digest;

    fn points(values: &[(&str, &str, f64)]) -> Vec<Point> {
        let run = |&(delay, algorithm, y): &(&str, &str, f64)| Digest {
            axes: vec![
                ("link.a-b.delay".to_owned(), delay.to_owned()),
                ("algorithm".to_owned(), algorithm.to_owned()),
            ],
            seed: 1,
            is_simulated: true,
            metrics: vec![("goodput_mbps".to_owned(), y)],
        };
        Point::all(&values.iter().map(run).collect::<Vec<_>>())
    }

    #[test]
    fn quantities_of_one_unit_make_curves_and_other_axes_make_series() {
        let points = points(&[("10 ms", "a", 1.0), ("5 ms", "a", 2.0), ("5 ms", "b", 3.0)]);
        let figure = over_axis(&points, "delay", &["goodput_mbps".to_owned()]).unwrap();
        assert_eq!(figure.x_label, "delay (ms)");
        let Content::Curves(curves) = &figure.content else { panic!("{figure:?}") };
        let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(labels, ["algorithm = a", "algorithm = b"]);
        assert_eq!(curves[0].points[0], (5.0, Interval::exact(2.0)), "in order of x");
        assert!(figure.to_svg().unwrap().contains("delay (ms)"));
    }

    /// Two links of the same delay are a point of the series of the second link's delay.
    #[test]
    fn an_axis_keeps_its_series_where_its_value_is_that_of_x() {
        let run = |(a, b): (&str, &str)| Digest {
            axes: [("link.a.delay", a), ("link.b.delay", b)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec(),
            seed: 1,
            is_simulated: true,
            metrics: vec![("goodput_mbps".to_owned(), 1.0)],
        };
        let runs = [("5 ms", "5 ms"), ("9 ms", "5 ms"), ("5 ms", "9 ms"), ("9 ms", "9 ms")];
        let points = Point::all(&runs.map(run));
        for (x, other) in [("link.b.delay", "link.a.delay"), ("delay", "link.b.delay")] {
            let figure = over_axis(&points, x, &["goodput_mbps".to_owned()]).unwrap();
            let Content::Curves(curves) = &figure.content else { panic!("{figure:?}") };
            let shown = curves.iter().map(|curve| (curve.label.clone(), curve.points.len()));
            let expected = ["5 ms", "9 ms"].map(|value| (format!("{other} = {value}"), 2));
            assert_eq!(shown.collect::<Vec<_>>(), expected, "over {x}");
        }
    }

    #[test]
    fn words_make_bars_and_what_nobody_measured_makes_nothing() {
        let points = points(&[("10 ms", "a", 1.0), ("1 s", "a", 2.0), ("1 s", "b", 3.0)]);
        let goodput = ["goodput_mbps".to_owned()];
        let figure = over_axis(&points, "algorithm", &goodput).unwrap();
        let Content::Bars { groups, series } = &figure.content else { panic!("{figure:?}") };
        assert_eq!((groups.len(), series.len()), (2, 2));
        assert_eq!(series[0].values, [Some(Interval::exact(1.0)), None]);
        assert!(over_axis(&points, "algorithm", &["none".to_owned()]).is_none());
        assert!(over_axis(&points, "none", &goodput).is_none());
    }
}
