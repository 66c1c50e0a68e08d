//! Estimates beside the configured buffers, and the share of right findings.

use super::experiments::{BESIDE, IDLE};
use super::measure::{self, Point, answers, points};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::run::Run;
use fairwave_study::measure::show;
use fairwave_study::{Exhibit, ResultTable, Results};

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    [(IDLE, "idle"), (BESIDE, "beside other traffic")]
        .into_iter()
        .map(|(experiment, words)| exhibit(results, experiment, words))
        .collect()
}

fn curve(points: &[Point<'_>], label: String, mark: Mark, value: fn(&Run) -> f64) -> Curve {
    let of = |point: &Point<'_>| {
        let configured = measure::configured(point.runs.first()?);
        Some((configured, Interval::from(point.over(value)?)))
    };
    let mut points: Vec<(f64, Interval)> = points.iter().filter_map(of).collect();
    points.retain(|(_, estimate)| estimate.mean.is_finite());
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve { label, points, mark }
}

fn exhibit(results: &Results, experiment: &str, words: &str) -> Exhibit {
    let mut curves = Vec::new();
    for standard in results.axis(experiment, super::experiments::STANDARD) {
        let mut points = points(results, experiment);
        points.retain(|point| point.standard == standard);
        let naive = format!("naive, {standard}");
        curves.push(curve(&points, naive, Mark::DottedLine, measure::naive));
        let corrected = format!("corrected, {standard}");
        curves.push(curve(&points, corrected, Mark::Dots, measure::corrected));
    }
    let line = curve(&points(results, experiment), "configured".into(), Mark::Line, |run| {
        measure::configured(run)
    });
    curves.push(line);
    let figure = Figure {
        title: format!("Estimated and configured buffer, {words}"),
        x_label: "Configured (packets)".into(),
        y_label: "Estimated (packets)".into(),
        y_range: None,
        content: Content::Curves(curves),
    };
    Exhibit {
        id: format!("estimates-{experiment}"),
        claims: if experiment == IDLE { &["BUF-1", "BUF-X7"] } else { &["BUF-X7"] },
        paper: "Section 3: a list of six access points with the naive count of each, the mean of \
                ten runs."
            .into(),
        ours: format!(
            "The corrected estimates lie on the line of what was configured; the naive counts \
             lie above it, further for 802.11g, whose radio drains more while the buffer fills \
             ({words})."
        ),
        figure,
    }
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    vec![
        estimates(results, IDLE, "Estimates, idle (packets)"),
        estimates(results, BESIDE, "Estimates, beside other traffic (packets)"),
        confusion(results),
    ]
}

/// The naive count that the drain predicts: the buffer and the frame that the radio holds, divided
/// by the share of each packet that is not drained.
fn expected(run: &Run) -> f64 {
    (measure::configured(run) + 1.0) / (1.0 - measure::load(run))
}

fn estimates(results: &Results, experiment: &str, title: &str) -> ResultTable {
    let header = [
        "Configured",
        "Standard",
        "Runs",
        "Naive N1",
        "Expected (B + 1) / (1 - mu/lambda)",
        "N1 (1 - mu/lambda)",
        "Corrected",
        "Off by",
    ];
    let row = |point: &Point<'_>| {
        let value = |value: fn(&Run) -> f64, digits| show(point.over(value), digits);
        vec![
            point.queue.clone(),
            point.standard.clone(),
            point.runs.len().to_string(),
            value(measure::naive, 1),
            value(expected, 1),
            value(measure::by_rates, 1),
            value(measure::corrected, 2),
            value(|run| measure::corrected(run) - measure::configured(run), 2),
        ]
    };
    ResultTable {
        title: title.into(),
        header: header.map(str::to_owned).into(),
        rows: points(results, experiment).iter().map(row).collect(),
    }
}

fn confusion(results: &Results) -> ResultTable {
    let header = ["Question", "Truth", "Runs", "Right", "Wrong", "Cannot tell"];
    let rows = answers(results).into_iter().map(|answers| {
        let numbers = [
            answers.count(|_| true),
            answers.right(),
            answers.wrong(),
            answers.count(|v| v.is_none()),
        ];
        let words = [answers.question, answers.truth.unwrap_or("cannot be told")];
        words.map(str::to_owned).into_iter().chain(numbers.map(|n| n.to_string())).collect()
    });
    ResultTable {
        title: "Findings: right, wrong, left open".into(),
        header: header.map(str::to_owned).into(),
        rows: rows.collect(),
    }
}
