//! Unfairness over the size of the buffer and the number of terminals.

use super::experiments::{ACKS, MAP, QUEUE};
use super::measure::{self, onset, terminals, unfair};
use fairwave_lab::plot::{Content, Figure, Map};
use fairwave_lab::run::Run;
use fairwave_study::measure::{ack_drop_share, jain, over, show};
use fairwave_study::{Exhibit, ResultTable, Results};

/// The runs of one point of the map.
pub(super) struct Cell<'r> {
    pub(super) queue: String,
    pub(super) acks: String,
    pub(super) terminals: usize,
    pub(super) runs: Vec<&'r Run>,
}

impl Cell<'_> {
    /// The access point and its peer, in words.
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.queue, in_words(&self.acks))
    }
}

fn in_words(acks: &str) -> &'static str {
    if acks == "off" { "an ACK for every segment" } else { "an ACK for two segments" }
}

fn at<'r>(results: &'r Results, queue: &str, acks: &str, n: usize) -> Vec<&'r Run> {
    measure::with_terminals(results, MAP, &[(QUEUE, queue), (ACKS, acks)], n..=n)
}

fn counts(results: &Results) -> Vec<usize> {
    let mut counts: Vec<usize> =
        results.runs.get(MAP).into_iter().flatten().map(terminals).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Every point, access point by access point.
pub(super) fn cells(results: &Results) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for acks in results.axis(MAP, ACKS) {
        for queue in results.axis(MAP, QUEUE) {
            for n in counts(results) {
                let runs = at(results, &queue, &acks, n);
                let (queue, acks) = (queue.clone(), acks.clone());
                cells.push(Cell { queue, acks, terminals: n, runs });
            }
        }
    }
    cells
}

/// The access point that the paper measured so.
fn access_point(queue: &str) -> String {
    let name = match measure::packets(queue) as u32 {
        255 => "WZR-AMPG300NH",
        172 => "GW-AP54SAG",
        149 => "WLA-11G",
        135 => "WHR-HP-AMPG",
        49 => "PA-WR8500N",
        31 => "WHR-AM54-G54",
        _ => return queue.to_owned(),
    };
    format!("{name}: {}", measure::packets(queue))
}

type Measure = fn(&[&Run]) -> Option<f64>;

const MEASURES: [(&str, &str, Measure); 3] = [
    ("jain", "Jain's index", |runs| over(runs, jain).map(|e| e.mean)),
    ("unfair", "Share of unfair runs", |runs| unfair(runs).map(|share| share.share)),
    ("ack-drops", "Share of ACKs dropped", |runs| over(runs, ack_drop_share).map(|e| e.mean)),
];

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let all = results.axis(MAP, ACKS);
    let of_acks = |acks: &String| {
        MEASURES.map(|(id, name, measure)| exhibit(results, acks, id, name, measure))
    };
    all.iter().flat_map(of_acks).collect()
}

fn exhibit(results: &Results, acks: &str, id: &str, name: &str, measure: Measure) -> Exhibit {
    let (queues, counts) = (results.axis(MAP, QUEUE), counts(results));
    let first = counts.first().copied().unwrap_or(0) as f64;
    let row = |queue: &String| {
        counts.iter().map(|&n| measure(&at(results, queue, acks, n))).collect::<Vec<_>>()
    };
    let map = Map {
        columns: counts.iter().map(ToString::to_string).collect(),
        rows: queues.iter().map(|queue| access_point(queue)).collect(),
        cells: queues.iter().map(row).collect(),
        line: queues.iter().map(|queue| Some(onset(queue, acks) - first)).collect(),
    };
    let every = if acks == "off" { 1 } else { 2 };
    Exhibit {
        id: format!("map-{id}-{every}"),
        claims: if id == "ack-drops" { &["BUF-X1"] } else { &[] },
        paper: "Not in the paper, which has two access points and up to seven terminals.".into(),
        ours: format!(
            "{name} by the buffer of the access point and the number of uploads, {}; half of the \
             terminals Linux 2.4, half Windows XP. Right of the line the ACKs of all windows \
             outnumber the buffer (n W / b > B).",
            in_words(acks),
        ),
        figure: Figure {
            title: format!("{name}, {}", in_words(acks)),
            x_label: "Uploading terminals".into(),
            y_label: "Access point: buffer (packets)".into(),
            y_range: Some((0.0, 1.0)),
            content: Content::Map(map),
        },
    }
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    let mut rows = Vec::new();
    for acks in results.axis(MAP, ACKS) {
        rows.extend(results.axis(MAP, QUEUE).iter().map(|queue| row(results, queue, &acks)));
    }
    let header = [
        "Access point: buffer (packets)",
        "ACKs",
        "Overflow by the rule from",
        "1 % of ACKs dropped from",
        "Jain below 0.9 from",
        "Half of the runs unfair from",
        "ACKs dropped with 10",
        "Jain with 10",
    ];
    let header = header.map(str::to_owned).into();
    vec![ResultTable { title: "Onset by access point (terminals)".into(), header, rows }]
}

fn row(results: &Results, queue: &str, acks: &str) -> Vec<String> {
    let counts = counts(results);
    let first = |holds: &dyn Fn(&[&Run]) -> bool| {
        let found = counts.iter().find(|&&n| holds(&at(results, queue, acks, n)));
        found.map_or("none up to 10".to_owned(), ToString::to_string)
    };
    let mean = |runs: &[&Run], value: fn(&Run) -> f64| over(runs, value).map(|e| e.mean);
    let max = at(results, queue, acks, counts.last().copied().unwrap_or(0));
    vec![
        access_point(queue),
        in_words(acks).to_owned(),
        (onset(queue, acks).floor() + 1.0).to_string(),
        first(&|runs| mean(runs, ack_drop_share).is_some_and(|share| share > 0.01)),
        first(&|runs| mean(runs, jain).is_some_and(|index| index < 0.9)),
        first(&|runs| unfair(runs).is_some_and(|share| share.share >= 0.5)),
        show(over(&max, ack_drop_share), 3),
        show(over(&max, jain), 3),
    ]
}
