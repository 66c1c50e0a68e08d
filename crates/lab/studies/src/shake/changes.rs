//! SHK-7: a path slows down in mid-transfer. SHK-X4: it dies and comes back, of which the paper
//! says nothing.
//!
//! The criterion, set before the first run. A transport adapts if it carries at least 90 % of what
//! it carries where the paths are that way from the start and the sender knows it: from 20 s after
//! path 1 has fallen to a quarter, from 20 s after it has died, and from 20 s after it has come
//! back (beside paths that never changed). TCP SHAKE does, and the weighted connections do neither
//! after the fall nor while the path is dead. The paper speaks of bandwidths that change; a death
//! was part of SHK-7 at first, and is judged apart since.

use super::experiments::{CHANGES_SHAKE, CHANGES_TCP};
use super::measure::{mean, of, transfer};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate};
use fairwave_study::measure::{over, paired_ratio, show};
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, Quantity, ResultTable, Results};

/// Times at which path 1 changes and is as before again, in seconds; bins have one.
const CHANGE_S: usize = 60;
const BACK_S: usize = 150;
/// Time that a transport may take to adapt.
const GRACE_S: usize = 20;

/// Name, variant, from, to, and the variant that knew.
type Span = (&'static str, &'static str, usize, usize, &'static str);

/// The spans that are judged.
const SPANS: [Span; 3] = [
    ("slower", "slower", CHANGE_S + GRACE_S, usize::MAX, "slower, known"),
    ("dead", "dead", CHANGE_S + GRACE_S, BACK_S, "dead, known"),
    ("revived", "dead", BACK_S + GRACE_S, usize::MAX, "steady"),
];

/// Transport of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    Paper,
    Modern,
    Weighted,
    Adaptive,
}

impl Means {
    const ALL: [Self; 4] = [Self::Paper, Self::Modern, Self::Weighted, Self::Adaptive];

    const fn name(self) -> &'static str {
        match self {
            Self::Paper => "TCP SHAKE",
            Self::Modern => "SHAKE, modern",
            Self::Weighted => "weighted",
            Self::Adaptive => "adaptive",
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Paper => "shake",
            Self::Modern => "shake_modern",
            Self::Weighted => "weighted",
            Self::Adaptive => "adaptive",
        }
    }

    fn runs<'r>(self, results: &'r Results, event: &str) -> Vec<&'r Run> {
        match self {
            Self::Paper => of(results, CHANGES_SHAKE, event),
            Self::Modern => of(results, CHANGES_SHAKE, &format!("{event}, modern")),
            Self::Weighted | Self::Adaptive => {
                of(results, CHANGES_TCP, &format!("{event}, {}", self.name()))
            }
        }
    }
}

/// Mean goodput in kbps from one second of the run to another.
fn kbps(run: &Run, from: usize, to: usize) -> f64 {
    let bins = transfer(run).map_or(&[][..], |flow| &flow.bins_bps);
    let part = bins.get(from..to.min(bins.len())).unwrap_or_default();
    let rates: Vec<f64> = part.iter().map(|bps| *bps as f64 / 1e3).collect();
    stats::mean(&rates).unwrap_or(f64::NAN)
}

/// Goodput in a span, over that of the same transport with knowledge of the change.
fn adapts(results: &Results, means: Means, span: usize) -> Option<Estimate> {
    let (_, event, from, to, known) = SPANS[span];
    let (runs, knew) = (means.runs(results, event), means.runs(results, known));
    paired_ratio(&runs, &knew, |run| kbps(run, from, to))
}

pub(super) fn claims(results: &Results) -> [Claim; 2] {
    [slows(results), dies(results)]
}

const MEANING: &str = "Goodput from 20 s after path 1 has fallen to a quarter (slower), while it \
                       is dead, and from 20 s after it has come back (revived), over that of the \
                       same means in the same time where the paths are that way from the start \
                       and weights or bandwidths say so; means over seeds";

/// Goodput of each transport in a span, over that of the same with knowledge of the change.
fn put(measured: &mut Evidence, results: &Results, span: usize) -> [Quantity; Means::ALL.len()] {
    Means::ALL.map(|means| {
        let key = format!("{}_{}", means.key(), SPANS[span].0);
        measured.estimate(key, adapts(results, means, span)).mean
    })
}

fn slows(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[CHANGES_SHAKE, CHANGES_TCP]);
    let [shake, _, weighted, _] = put(&mut measured, results, 0);
    Claim::judge(
        Criterion {
            id: "SHK-7",
            statement: "Ours: when a path's bandwidth falls, TCP SHAKE adapts, and several \
                        connections with fixed weights do not, as the paper says without an \
                        experiment",
            meaning: MEANING,
        },
        measured.tested([shake.at_least(0.9), weighted.below(0.9)]),
        absolute(results, &SPANS[..1]),
    )
    .ours()
}

fn dies(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[CHANGES_SHAKE, CHANGES_TCP]);
    let [dead, _, weighted, _] = put(&mut measured, results, 1);
    let [revived, ..] = put(&mut measured, results, 2);
    Claim::judge(
        Criterion {
            id: "SHK-X4",
            statement: "Ours: when a path dies and comes back, TCP SHAKE adapts, and several \
                        connections with fixed weights do not",
            meaning: MEANING,
        },
        measured.tested([dead.at_least(0.9), revived.at_least(0.9), weighted.below(0.9)]),
        absolute(results, &SPANS[1..]),
    )
    .ours()
}

/// Goodputs behind the ratios.
fn absolute(results: &Results, spans: &[Span]) -> String {
    let texts = Means::ALL.map(|means| {
        let spans: Vec<String> = spans
            .iter()
            .map(|&(name, event, from, to, known)| {
                let rate = |event: &str| {
                    mean(over(&means.runs(results, event), |run| kbps(run, from, to)))
                        .map_or("none".to_owned(), |rate| format!("{rate:.1}"))
                };
                format!("{name} {} for {}", rate(event), rate(known))
            })
            .collect();
        format!("{}: {}", means.name(), spans.join(", "))
    });
    format!("Goodput in kbps beside that of those who knew. {}.", texts.join("; "))
}

/// Goodput over time, the mean over seeds in spans of ten seconds.
fn curve(results: &Results, means: Means, event: &str) -> Curve {
    let runs = means.runs(results, event);
    let bins = runs.iter().filter_map(|run| Some(transfer(run)?.bins_bps.len())).min();
    let points = (0..bins.unwrap_or(0) / 10).filter_map(|k| {
        let rate = over(&runs, |run| kbps(run, 10 * k, 10 * k + 10))?;
        Some((10.0 * k as f64 + 5.0, Interval::from(rate)))
    });
    Curve { label: means.name().to_owned(), points: points.collect(), mark: Mark::Line }
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    [("slower", "Path 1 falls to a quarter"), ("dead", "Path 1 is down from 60 to 150 s")]
        .map(|(event, title)| Exhibit {
            id: format!("shk7-{event}"),
            claims: if event == "slower" { &["SHK-7"] } else { &["SHK-X4"] },
            paper: "Nothing: the paper says so without an experiment.".into(),
            ours: format!("{title}: goodput over time, mean and 95 % interval over seeds"),
            figure: Figure {
                title: title.to_owned(),
                x_label: "Time (s)".into(),
                y_label: "Goodput (kbps)".into(),
                y_range: None,
                content: Content::Curves(
                    Means::ALL.map(|means| curve(results, means, event)).into(),
                ),
            },
        })
        .into()
}

pub(super) fn table(results: &Results) -> ResultTable {
    let row = |means: Means| {
        let spans = (0..SPANS.len()).map(|span| show(adapts(results, means, span), 2));
        [means.name().to_owned()].into_iter().chain(spans).collect()
    };
    let header = ["Means", "Path 1 at a quarter", "Path 1 dead", "Path 1 back"];
    ResultTable {
        title: "Goodput after a change, over that of the same means that knew".into(),
        header: header.map(str::to_owned).into(),
        rows: Means::ALL.into_iter().map(row).collect(),
    }
}
