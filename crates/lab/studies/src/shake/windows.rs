//! SHK-5: the windows of the three paths.
//!
//! The criterion, set before the first run, from 10 s after the start to the last byte: path 1's
//! mean window and its standard deviation over time exceed those of each other path, seed by seed
//! (95 %); and in fewer than half of the transfers do all three windows stand at one segment at
//! once, so that one transfer, as the paper's, more likely than not does not show it.

use super::experiments::{REPETITION, TRANSFER, VARIANT, WIDEST};
use super::measure::{Acks, judge, transfer};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::results::{PATHS, Series};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate};
use fairwave_study::measure::show;
use fairwave_study::{Claim, Criterion, Error, Evidence, Exhibit, Reading, ResultTable, Results};
use std::path::Path;
use std::sync::Arc;

/// Payload of a segment.
const MSS: f64 = 1460.0;
/// End of the first slow start, in seconds.
const SETTLED_S: f64 = 10.0;
/// The neighbours, the widest path first.
const PHONES: [&str; 3] = ["phone1", "phone2", "phone3"];

/// The windows of one transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Windows {
    variant: String,
    seed: u64,
    seconds: Vec<f64>,
    /// In segments, path by path, at each of these times.
    paths: [Vec<f64>; 3],
    /// Mean and standard deviation of each path's window once the first slow start is over.
    mean: [f64; 3],
    deviation: [f64; 3],
    /// The smallest sum of the windows from then on.
    lowest_total: f64,
    /// The share of samples from then on in which every window is one segment.
    collapsed: f64,
}

impl Windows {
    /// Windows in segments, path by path, at these times in seconds.
    pub(super) fn new(variant: String, seed: u64, seconds: Vec<f64>, paths: [Vec<f64>; 3]) -> Self {
        let from = seconds.partition_point(|t| *t < SETTLED_S);
        let settled = [0, 1, 2].map(|path: usize| paths[path].get(from..).unwrap_or_default());
        let length = settled.iter().map(|windows| windows.len()).min().unwrap_or(0);
        let totals = (0..length).map(|k| settled.iter().map(|windows| windows[k]).sum());
        let totals: Vec<f64> = totals.collect();
        let minimum = totals.iter().filter(|total| **total < 3.5).count();
        Self {
            mean: settled.map(|windows| stats::mean(windows).unwrap_or(f64::NAN)),
            deviation: settled.map(stats::std_dev),
            lowest_total: totals.iter().copied().fold(f64::INFINITY, f64::min),
            collapsed: minimum as f64 / totals.len() as f64,
            variant,
            seed,
            seconds,
            paths,
        }
    }
}

/// The windows of every transfer whose widest path repeats.
pub(super) fn read(results: &Results) -> Result<Vec<Arc<Windows>>, Error> {
    let mut all = Vec::new();
    for run in results.runs.get(REPETITION).into_iter().flatten() {
        if Acks::ALL.iter().any(|acks| acks.of(WIDEST) == run.axis(VARIANT)) {
            all.extend(results.cache.get(run, |directory| windows(run, directory))?);
        }
    }
    Ok(all)
}

fn windows(run: &Run, directory: &Path) -> Result<Windows, Error> {
    let series = Series::read(directory, PATHS.file, &["t_ns", "flow", "path", "cwnd_bytes"])?;
    let end = transfer(run).and_then(|flow| flow.completed_ns).unwrap_or(run.summary.simulated_ns);
    let mut seconds = Vec::new();
    let mut paths = [const { Vec::new() }; 3];
    for (phone, windows) in PHONES.iter().zip(&mut paths) {
        let filters = [("flow", TRANSFER), ("path", *phone)];
        let mut points = series.points(&filters, "cwnd_bytes", 1.0 / MSS)?;
        points.retain(|(t, _)| *t <= end as f64 / 1e9);
        (seconds, *windows) = points.into_iter().unzip();
    }
    Ok(Windows::new(run.axis(VARIANT).to_owned(), run.seed, seconds, paths))
}

fn of_variant<'a>(all: &'a [Arc<Windows>], variant: &str) -> Vec<&'a Windows> {
    let of = all.iter().filter(|windows| windows.variant == variant);
    of.map(|windows| &**windows).collect()
}

fn estimate(all: &[&Windows], value: impl Fn(&Windows) -> f64) -> Option<Estimate> {
    Estimate::of(&all.iter().map(|windows| value(windows)).collect::<Vec<f64>>())
}

pub(super) fn claim(all: &[Arc<Windows>]) -> Claim {
    let measure = |acks: Acks| {
        let variant = acks.of(WIDEST);
        let of = of_variant(all, &variant);
        let mut map = Evidence::default();
        for (k, name) in ["path_1", "path_2", "path_3"].into_iter().enumerate() {
            map.estimate(format!("{name}_mean"), estimate(&of, |w| w.mean[k]));
            map.estimate(format!("{name}_deviation"), estimate(&of, |w| w.deviation[k]));
        }
        let low = |value: fn(&Windows) -> &[f64; 3]| {
            [1, 2].map(|k| Reading::low(estimate(&of, |w| value(w)[0] - value(w)[k])))
        };
        let larger = map.number("larger_by_low", Reading::extreme(low(|w| &w.mean), f64::min));
        let livelier =
            map.number("livelier_by_low", Reading::extreme(low(|w| &w.deviation), f64::min));
        map.estimate("share_of_time_at_one", estimate(&of, |w| w.collapsed));
        let some = of.iter().filter(|w| w.collapsed > 0.0).count() as f64;
        let some = (!of.is_empty()).then(|| some / of.len() as f64);
        let at_one = map.number("transfers_at_one", some);
        map.number("least_total", of.iter().map(|w| w.lowest_total).reduce(f64::min));
        map.tested([larger.above(0.0), livelier.above(0.0), at_one.below(0.5)])
    };
    let criterion = Criterion {
        id: "SHK-5",
        statement: "1000 KB, losses 1/4/4 %: path 1's window is the largest and varies most, and \
                    the three together do not fall to the least when a timer expires (Table 6, \
                    Fig. 10)",
        meaning: "Segments, means over seeds; *_by_low: by how much path 1's mean and standard \
                  deviation exceed those of each other path, the end of the interval, the least of \
                  two; transfers_at_one: the part of the transfers in which all three windows are \
                  one segment at once; share_of_time_at_one: for how much of the time. From 10 s \
                  on, and in fewer than half of the transfers as the paper shows one, are ours",
    };
    judge(criterion, measure, note(all))
}

fn note(all: &[Arc<Windows>]) -> String {
    let of = of_variant(all, WIDEST);
    let path = |k: usize| {
        let mean = estimate(&of, |w| w.mean[k]);
        let deviation = estimate(&of, |w| w.deviation[k]);
        let relative = estimate(&of, |w| w.deviation[k] / w.mean[k]);
        format!(
            "path {}: {} segments, deviation {}, over the mean {}",
            k + 1,
            show(mean, 2),
            show(deviation, 2),
            show(relative, 2)
        )
    };
    let paths: Vec<String> = (0..3).map(path).collect();
    format!(
        "{}. What is in flight on path 1 without a queue is 64 kbps times 0.45 s, or 2.5 segments, \
         on the others 2.",
        paths.join("; ")
    )
}

pub(super) fn exhibit(all: &[Arc<Windows>]) -> Exhibit {
    let of = all.iter().filter(|windows| windows.variant == WIDEST);
    let first = of.min_by_key(|windows| windows.seed);
    let curve = |label: &str, values: Vec<f64>| {
        let times = first.map_or(&[][..], |windows| &windows.seconds);
        let points = times.iter().zip(values).map(|(t, w)| (*t, Interval::exact(w)));
        Curve { label: label.to_owned(), points: points.collect(), mark: Mark::Line }
    };
    let curves = first.map_or_else(Vec::new, |windows| {
        let paths = [("path 1", 0), ("path 2", 1), ("path 3", 2)];
        paths.map(|(label, k)| curve(label, windows.paths[k].clone())).into()
    });
    Exhibit {
        id: "fig10".into(),
        claims: &["SHK-5"],
        paper: "Fig. 10: path 1's window is the largest and swings most; the others stay low."
            .into(),
        ours: "Windows over time, the first seed".into(),
        figure: Figure {
            title: "Windows of the three paths".into(),
            x_label: "Time (s)".into(),
            y_label: "Window (segments)".into(),
            y_range: None,
            content: Content::Curves(curves),
        },
    }
}

pub(super) fn table(all: &[Arc<Windows>]) -> ResultTable {
    let mut rows = Vec::new();
    for acks in Acks::ALL {
        let variant = acks.of(WIDEST);
        let of = of_variant(all, &variant);
        for (k, phone) in PHONES.iter().enumerate() {
            rows.push(vec![
                variant.clone(),
                (*phone).to_owned(),
                show(estimate(&of, |w| w.mean[k]), 2),
                show(estimate(&of, |w| w.deviation[k]), 2),
            ]);
        }
    }
    let header = ["Variant", "By way of", "Mean (segments)", "Deviation over time"];
    ResultTable {
        title: "Windows of the three paths".into(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}
