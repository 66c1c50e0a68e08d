//! The paper's bars, ours beside them, and the table of the mixes.

use super::experiments::{LARGE, LINUX, MIXES, QUEUE, SMALL, XP};
use super::measure::{self, mix, of_stack, split, unfair, worst_share};
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::run::Run;
use fairwave_study::measure::{
    ack_drop_share, jain, mean_ap_queue, over, show, show_share, timeouts_per_flow, total_mbps,
};
use fairwave_study::{Exhibit, ResultTable, Results};

/// A figure of the paper: its number, the buffer, the number of terminals of each stack, and its
/// content.
type Shown = (u32, &'static str, [&'static str; 2], &'static str);

const SHOWN: [Shown; 8] = [
    (4, LARGE, ["2", "1"], "three terminals have about the same in every repetition"),
    (5, LARGE, ["3", "2"], "five terminals are unfair"),
    (7, SMALL, ["1", "1"], "two terminals are fair"),
    (8, SMALL, ["2", "1"], "the third terminal, a Linux 2.4, is treated unfairly"),
    (9, SMALL, ["2", "2"], "the fourth terminal, a Linux 2.4, is treated unfairly"),
    (10, SMALL, ["3", "2"], "five terminals; the text calls this mix fair"),
    (11, SMALL, ["3", "3"], "six terminals in two groups, though not unfair"),
    (12, SMALL, ["4", "3"], "seven terminals; the text calls this mix fair"),
];

fn runs<'r>(
    results: &'r Results,
    queue: &str,
    [linux, xp]: [&str; 2],
    every_segment: bool,
) -> Vec<&'r Run> {
    let mut runs = results.select(MIXES, &[(QUEUE, queue), (LINUX, linux), (XP, xp)]);
    runs.retain(|run| measure::acknowledges_all(run) == every_segment);
    runs
}

pub(super) fn repetitions(results: &Results) -> Vec<Exhibit> {
    SHOWN
        .into_iter()
        .filter_map(|(number, queue, of, paper)| repetition(results, number, queue, of, paper))
        .collect()
}

fn repetition(
    results: &Results,
    number: u32,
    queue: &str,
    of: [&str; 2],
    paper: &str,
) -> Option<Exhibit> {
    let runs = runs(results, queue, of, false);
    let first = runs.first()?;
    let series = |i: usize| BarSeries {
        label: measure::terminal(&first.summary.flows[i]).to_owned(),
        values: runs
            .iter()
            .map(|run| run.summary.flows.get(i))
            .map(|flow| flow.map(|f| Interval::exact(f.goodput_bps as f64 / 1e6)))
            .collect(),
    };
    let terminals = measure::terminals(first);
    Some(Exhibit {
        id: format!("fig{number}"),
        claims: if queue == LARGE { &["BUF-2"] } else { &["BUF-3"] },
        paper: format!("Fig. {number}: {paper}."),
        ours: format!(
            "Goodput of each of {terminals} terminals ({}) in each repetition. Unfair: {}; split: \
             {}; Jain's index {}.",
            mix(first),
            show_share(unfair(&runs)),
            show_share(split(&runs)),
            show(over(&runs, jain), 3),
        ),
        figure: Figure {
            title: format!("{terminals} terminals, access point with {queue}"),
            x_label: "Repetition".into(),
            y_label: "Goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: (1..=runs.len()).map(|k| k.to_string()).collect(),
                series: (0..terminals).map(series).collect(),
            },
        },
    })
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    let mut rows = Vec::new();
    for queue in results.axis(MIXES, QUEUE) {
        for linux in results.axis(MIXES, LINUX) {
            for xp in results.axis(MIXES, XP) {
                for every_segment in [false, true] {
                    let runs = runs(results, &queue, [&linux, &xp], every_segment);
                    rows.push(row(&queue, &runs));
                }
            }
        }
    }
    rows.sort_by(|a, b| measure::packets(&b[0]).total_cmp(&measure::packets(&a[0])));
    let header = [
        "Buffer",
        "ACKs",
        "Terminals",
        "Mix",
        "Unfair runs",
        "Split runs",
        "Jain",
        "Worst of equal share",
        "Linux (Mbps each)",
        "XP (Mbps each)",
        "Total (Mbps)",
        "ACKs dropped (share)",
        "AP queue (packets)",
        "Timeouts per flow",
    ];
    let header = header.map(str::to_owned).into();
    vec![ResultTable { title: "Mixes of stacks".into(), header, rows }]
}

fn every(run: &Run) -> &'static str {
    if measure::acknowledges_all(run) { "every segment" } else { "every second" }
}

fn row(queue: &str, runs: &[&Run]) -> Vec<String> {
    let first = runs.first();
    vec![
        queue.to_owned(),
        first.map_or("", |run| every(run)).to_owned(),
        first.map_or(0, |run| measure::terminals(run)).to_string(),
        first.map_or(String::new(), |run| mix(run)),
        show_share(unfair(runs)),
        show_share(split(runs)),
        show(over(runs, jain), 3),
        show(over(runs, worst_share), 2),
        show(over(runs, |run| of_stack(run, "linux")), 2),
        show(over(runs, |run| of_stack(run, "xp")), 2),
        show(over(runs, total_mbps), 2),
        show(over(runs, ack_drop_share), 3),
        show(over(runs, mean_ap_queue), 1),
        show(over(runs, timeouts_per_flow), 1),
    ]
}
