//! The paper's figures, ours beside them, and the tables.

use super::experiments::{ALGORITHM, COUNT, DELAYED, DETAIL, ERRORS, HIGH, LOST_ACKS, LOW};
use super::experiments::{PAPER_UPLOADS, THRESHOLD, UNREPAIRED, UP_DOWN, UPLOADS};
use super::measure::{self, over, show};
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval, Mark};
use fairwave_lab::results::{DROPS, FLOWS, FlowSummary, QUEUES, Series};
use fairwave_lab::run::Run;
use fairwave_study::{Error, Exhibit, ResultTable, Results};
use std::path::Path;

const MSS_BYTES: f64 = 1460.0;

pub(super) fn exhibits(results: &Results) -> Result<Vec<Exhibit>, Error> {
    let mut exhibits = Vec::new();
    if let Some(run) = results.select(DETAIL, &[]).first()
        && let Some(directory) = &run.directory
    {
        exhibits.extend(figure_2(run, directory)?);
    }
    exhibits.push(figure_3(results, "reno", "fig3-reno", &["ACK-2"]));
    exhibits.push(figure_3(results, "compound", "fig3-compound", &["ACK-1"]));
    exhibits.push(figure_4(results));
    for axis in [UPLOADS_AXIS, THRESHOLD_AXIS] {
        let (jain, total) = (measure::jain, measure::total_mbps);
        exhibits.push(axis.exhibit(results, "jain", "Jain's index", Some((0.0, 1.02)), jain));
        exhibits.push(axis.exhibit(results, "total", "Total goodput (Mbps)", None, total));
    }
    exhibits.push(delayed(results));
    Ok(exhibits)
}

/// By rule: the starved flow is the one with the longest collapse, the normal flow the one with
/// the shortest (of equals the first).
fn normal_and_starved(run: &Run) -> Option<(&FlowSummary, &FlowSummary)> {
    let flows = &run.summary.flows;
    let starved = flows.iter().rev().max_by_key(|flow| flow.collapsed.length_ns)?;
    let normal = flows.iter().min_by_key(|flow| flow.collapsed.length_ns)?;
    Some((normal, starved))
}

fn exact(points: Vec<(f64, f64)>) -> Vec<(f64, Interval)> {
    points.into_iter().map(|(x, y)| (x, Interval::exact(y))).collect()
}

/// Figs. 2(a) and 2(b), of a normal and a starved flow of one run.
fn figure_2(run: &Run, directory: &Path) -> Result<Vec<Exhibit>, Error> {
    let Some((normal, starved)) = normal_and_starved(run) else { return Ok(Vec::new()) };
    Ok(vec![windows(directory, normal, starved)?, queue(directory, normal, starved)?])
}

fn windows(
    directory: &Path,
    normal: &FlowSummary,
    starved: &FlowSummary,
) -> Result<Exhibit, Error> {
    let flows = Series::read(directory, FLOWS.file, &["t_ns", "flow", "cwnd_bytes"])?;
    let window = |label: &str, flow: &FlowSummary| -> Result<Curve, Error> {
        let points = flows.points(&[("flow", &flow.name)], "cwnd_bytes", 1.0 / MSS_BYTES)?;
        let label = format!("{label}: {}", flow.name);
        Ok(Curve { label, points: exact(points), mark: Mark::Line })
    };
    let figure = Figure {
        title: "Congestion windows of a normal and a starved upload (Compound, 16 uploads)".into(),
        x_label: "Time (s)".into(),
        y_label: "Congestion window (segments)".into(),
        y_range: None,
        content: Content::Curves(vec![window("normal", normal)?, window("starved", starved)?]),
    };
    let ours = format!(
        "{} is the flow with the longest time at a window of at most two segments: {:.1} s from \
         {:.1} s on. {} is the one with the shortest: {:.1} s.",
        starved.name,
        measure::seconds(&starved.collapsed),
        starved.collapsed.start_ns as f64 / 1e9,
        normal.name,
        measure::seconds(&normal.collapsed),
    );
    let paper = "Fig. 2(a): the normal flow's window rises and falls; the starved flow's hardly \
                 leaves 1 from about 55 s to about 110 s.";
    let claims = &["ACK-1"];
    Ok(Exhibit { id: "fig2a-windows".into(), claims, paper: paper.into(), ours, figure })
}

fn queue(directory: &Path, normal: &FlowSummary, starved: &FlowSummary) -> Result<Exhibit, Error> {
    let queues = Series::read(directory, QUEUES.file, &["t_ns", "queue", "length_packets"])?;
    let length = queues.points(&[("queue", "ap")], "length_packets", 1.0)?;
    let columns = ["t_ns", "queue", "cause", "flow", "payload_bytes"];
    let drops = Series::read(directory, DROPS.file, &columns)?;
    let strokes = |label: &str, flow: &FlowSummary, y: f64| -> Result<Curve, Error> {
        let filters = [("queue", "ap"), ("cause", "queue_full"), ("flow", flow.name.as_str())];
        let dropped = drops.points(&filters, "payload_bytes", 1.0)?;
        let points = dropped.into_iter().map(|(x, _)| (x, Interval::exact(y))).collect();
        Ok(Curve { label: format!("ACK dropped: {label}"), points, mark: Mark::Strokes })
    };
    let figure = Figure {
        title: "Queue of the access point and ACKs that it refuses".into(),
        x_label: "Time (s)".into(),
        y_label: "Packets waiting".into(),
        y_range: Some((0.0, 125.0)),
        content: Content::Curves(vec![
            Curve { label: "queue of the AP".into(), points: exact(length), mark: Mark::Dots },
            strokes("starved", starved, 110.0)?,
            strokes("normal", normal, 118.0)?,
        ]),
    };
    let ours = format!(
        "In its longest collapse the starved flow's receiver sent {} ACKs, of which the full \
         queue of the access point refused {}.",
        starved.collapsed.acks_sent, starved.collapsed.acks_dropped_at_ap,
    );
    let paper = "Fig. 2(b): while it starves, the flow's ACKs do not enter the access point's \
                 buffer but are dropped.";
    let claims = &["ACK-1"];
    Ok(Exhibit { id: "fig2b-queue".into(), claims, paper: paper.into(), ours, figure })
}

/// Goodput of the best, second best, ... flow of a run, over seeds.
fn ranked(runs: &[&Run]) -> Vec<Option<Interval>> {
    let sorted: Vec<Vec<f64>> = runs
        .iter()
        .map(|run| {
            let mut rates = run.summary.goodputs();
            rates.sort_by(|a, b| b.total_cmp(a));
            rates
        })
        .collect();
    let flows = sorted.iter().map(Vec::len).min().unwrap_or(0);
    let rank = |k: usize| sorted.iter().map(|rates| rates[k] / 1e6).collect::<Vec<f64>>();
    (0..flows).map(|k| fairwave_lab::stats::Estimate::of(&rank(k)).map(Interval::from)).collect()
}

fn figure_3(
    results: &Results,
    algorithm: &str,
    id: &str,
    claims: &'static [&'static str],
) -> Exhibit {
    let of = |algorithm: &str| {
        results.select(UPLOADS, &[(COUNT, PAPER_UPLOADS), (ALGORITHM, algorithm)])
    };
    let (without, with) = (of(algorithm), of(&format!("ack-loss-literal+{algorithm}")));
    let groups = (1..=ranked(&without).len()).map(|k| k.to_string()).collect();
    let figure = Figure {
        title: format!("Goodput of each of 16 uploads ({algorithm}), from the best to the worst"),
        x_label: "Rank of the flow in its run".into(),
        y_label: "Goodput (Mbps)".into(),
        y_range: None,
        content: Content::Bars {
            groups,
            series: vec![
                BarSeries { label: algorithm.to_owned(), values: ranked(&without) },
                BarSeries { label: format!("{algorithm} with the remedy"), values: ranked(&with) },
            ],
        },
    };
    Exhibit {
        id: id.to_owned(),
        claims,
        paper: "Fig. 3 (Reno): the throughputs of 16 uploads differ widely without the remedy and \
                are much closer to one another with it."
            .into(),
        ours: format!(
            "Mean over seeds of the k-th best flow with its 95 % confidence interval. Jain's index \
             {} without and {} with the remedy.",
            show(over(&without, measure::jain), 3),
            show(over(&with, measure::jain), 3),
        ),
        figure,
    }
}

fn figure_4(results: &Results) -> Exhibit {
    let points = results.axis(UP_DOWN, ERRORS);
    let series = |label: &str, algorithm: &str, value: fn(&Run) -> f64| {
        let of = |errors: &String| {
            let runs = results.select(UP_DOWN, &[(ERRORS, errors), (ALGORITHM, algorithm)]);
            over(&runs, value).map(Interval::from)
        };
        BarSeries { label: label.to_owned(), values: points.iter().map(of).collect() }
    };
    let up = |run: &Run| run.summary.totals.up_bps as f64 / 1e6;
    let down = |run: &Run| run.summary.totals.down_bps as f64 / 1e6;
    let remedy = "ack-loss-literal+compound";
    Exhibit {
        id: "fig4-up-down".into(),
        claims: &["ACK-3", "ACK-4"],
        paper: format!(
            "Fig. 4(a), low packet error rate: uploads and downloads come together with the \
             remedy, and the total falls. Fig. 4(b), high rate: fair even without it. The paper \
             does not say which rates; we take {LOW} for low and {HIGH} for high."
        ),
        ours: "Sums over the 8 uploads and the 8 downloads, with 95 % confidence intervals over \
               seeds, by the error probability of one transmission of a data frame."
            .into(),
        figure: Figure {
            title: "Eight uploads and eight downloads (Compound)".into(),
            x_label: "Packet error rate".into(),
            y_label: "Goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: points.clone(),
                series: vec![
                    series("uploads", "compound", up),
                    series("downloads", "compound", down),
                    series("uploads, remedy", remedy, up),
                    series("downloads, remedy", remedy, down),
                ],
            },
        },
    }
}

/// An experiment whose results are drawn along one axis, with a curve for each algorithm.
#[derive(Clone, Copy)]
struct Along {
    experiment: &'static str,
    key: &'static str,
    label: &'static str,
    claims: &'static [&'static str],
    paper: &'static str,
}

const UPLOADS_AXIS: Along = Along {
    experiment: UPLOADS,
    key: COUNT,
    label: "Uploads",
    claims: &["ACK-2"],
    paper: "Not in the paper, which shows 16 uploads only.",
};
const THRESHOLD_AXIS: Along = Along {
    experiment: THRESHOLD,
    key: LOST_ACKS,
    label: "Threshold of lost ACKs",
    claims: &["ACK-2"],
    paper: "Not in the paper, whose runs have thresh_ack_losses = 1.",
};

impl Along {
    fn exhibit(
        self,
        results: &Results,
        id: &str,
        y_label: &str,
        y_range: Option<(f64, f64)>,
        value: fn(&Run) -> f64,
    ) -> Exhibit {
        let Self { experiment, key, label, claims, paper } = self;
        let places = results.axis(experiment, key);
        let curve = |algorithm: String| {
            let point = |place: &String| {
                let runs = results.select(experiment, &[(key, place), (ALGORITHM, &algorithm)]);
                Some((place.parse().ok()?, over(&runs, value)?.into()))
            };
            let points = places.iter().filter_map(point).collect();
            Curve { label: algorithm, points, mark: Mark::DottedLine }
        };
        let curves = results.axis(experiment, ALGORITHM).into_iter().map(curve).collect();
        let by = label.to_lowercase().replace("acks", "ACKs");
        Exhibit {
            id: format!("{experiment}-{id}"),
            claims,
            paper: paper.into(),
            ours: format!("{y_label} by {by}, with 95 % confidence intervals."),
            figure: Figure {
                title: format!("{} by {by}", y_label.split(" (").next().unwrap_or("")),
                x_label: label.to_owned(),
                y_label: y_label.to_owned(),
                y_range,
                content: Content::Curves(curves),
            },
        }
    }
}

fn delayed(results: &Results) -> Exhibit {
    let counts = results.axis(DELAYED, COUNT);
    let series = |algorithm: String| {
        let of = |count: &String| {
            let runs = results.select(DELAYED, &[(COUNT, count), (ALGORITHM, &algorithm)]);
            over(&runs, measure::total_mbps).map(Interval::from)
        };
        let values = counts.iter().map(of).collect();
        BarSeries { label: algorithm, values }
    };
    Exhibit {
        id: "delayed-ack".into(),
        claims: &[],
        paper: "Not in the paper, whose receivers acknowledge every segment.".into(),
        ours: "Total goodput with delayed ACKs, by the number of uploads. The literal rule takes \
               every delayed ACK for a loss; the learnt stride does not."
            .into(),
        figure: Figure {
            title: "Total goodput with delayed ACKs".into(),
            x_label: "Uploads".into(),
            y_label: "Goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: counts.clone(),
                series: results.axis(DELAYED, ALGORITHM).into_iter().map(series).collect(),
            },
        },
    }
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    [
        (UPLOADS, "Uploads, an ACK for every segment", "Uploads", COUNT),
        (THRESHOLD, "16 uploads by threshold", "Lost ACKs", LOST_ACKS),
        (DELAYED, "Uploads, delayed ACKs", "Uploads", COUNT),
        (UP_DOWN, "Eight uploads and eight downloads", "Packet error rate", ERRORS),
        (UNREPAIRED, "The same, the MAC repairing nothing", "Packet error rate", ERRORS),
    ]
    .map(|(experiment, title, name, axis)| table(results, experiment, title, name, axis))
    .into()
}

fn table(results: &Results, experiment: &str, title: &str, name: &str, axis: &str) -> ResultTable {
    type Measure = fn(&Run) -> f64;
    let columns: [(&str, Measure, usize); 9] = [
        ("Jain", measure::jain, 3),
        ("Total (Mbps)", measure::total_mbps, 2),
        ("Up (Mbps)", |run| run.summary.totals.up_bps as f64 / 1e6, 2),
        ("Down (Mbps)", |run| run.summary.totals.down_bps as f64 / 1e6, 2),
        ("Flows below a tenth of fair", measure::starved_by_share, 1),
        ("ACKs dropped (share)", measure::ack_drop_share, 3),
        ("AP overflow (share)", measure::overflow_share, 3),
        ("Timeouts per flow", measure::timeouts_per_flow, 1),
        ("Longest collapse (s)", measure::longest_collapse_s, 1),
    ];
    let mut rows = Vec::new();
    for point in results.axis(experiment, axis) {
        for algorithm in results.axis(experiment, ALGORITHM) {
            let runs = results.select(experiment, &[(axis, &point), (ALGORITHM, &algorithm)]);
            let mut row = vec![point.clone(), algorithm, runs.len().to_string()];
            row.extend(columns.iter().map(|&(_, value, digits)| show(over(&runs, value), digits)));
            rows.push(row);
        }
    }
    let fixed = [name, "Algorithm", "Seeds"].map(str::to_owned);
    let header = fixed.into_iter().chain(columns.map(|c| c.0.to_owned())).collect();
    ResultTable { title: title.to_owned(), header, rows }
}
