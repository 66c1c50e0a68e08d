//! SHK-X3: a coupled algorithm beside one TCP.
//!
//! The criterion, set before the first run, for each of LIA, OLIA and BALIA, after the goals of RFC
//! 6356 section 3: two paths through one bottleneck carry at most 1.15 times what one path there
//! carries (the end of the 95 % interval), and two paths with bottlenecks of their own at least
//! 0.95 of what the better one alone carries.

use super::experiments::{APART, GROWTH, SHARED, VARIANT};
use super::measure::mbps;
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::measure::{over, paired_ratio, show};
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, Reading, ResultTable, Results};

const UNCOUPLED: &str = "uncoupled";
const COUPLED: [&str; 3] = ["lia", "olia", "balia"];
const BOTH: &str = "both";
const FIRST: &str = "first";
const SECOND: &str = "second";

fn at<'r>(results: &'r Results, file: &str, growth: &str, paths: &str) -> Vec<&'r Run> {
    results.select(file, &[(GROWTH, growth), (VARIANT, paths)])
}

/// Two paths over one of them, by an algorithm; one path alone grows as Reno under every algorithm.
fn gain(results: &Results, file: &str, growth: &str) -> Option<Estimate> {
    let alone = [FIRST, SECOND].map(|path| at(results, file, UNCOUPLED, path));
    let better = alone.into_iter().max_by(|a, b| {
        let rate = |runs: &[&Run]| over(runs, mbps).map_or(0.0, |rate| rate.mean);
        rate(a).total_cmp(&rate(b))
    })?;
    paired_ratio(&at(results, file, growth, BOTH), &better, mbps)
}

/// Goodput of the TCP connection beside path 1.
fn tcp(run: &Run) -> f64 {
    let flow = run.summary.flows.iter().find(|flow| flow.name == "tcp1");
    flow.map_or(f64::NAN, |flow| flow.goodput_bps as f64 / 1e6)
}

pub(super) fn claim(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[SHARED, APART]);
    for growth in [UNCOUPLED].into_iter().chain(COUPLED) {
        measured.estimate(format!("{growth}_shared"), gain(results, SHARED, growth));
        measured.estimate(format!("{growth}_apart"), gain(results, APART, growth));
    }
    let high = COUPLED.map(|growth| Reading::high(gain(results, SHARED, growth)));
    let shared_high_most = measured.number("shared_high_most", Reading::extreme(high, f64::max));
    let apart = COUPLED.map(|growth| Reading::mean(gain(results, APART, growth)));
    let apart_least = measured.number("apart_least", Reading::extreme(apart, f64::min));
    Claim::judge(
        Criterion {
            id: "SHK-X3",
            statement: "Ours: under LIA, OLIA and BALIA two paths through one bottleneck take no \
                        more than one would, and two with bottlenecks of their own carry at least \
                        what the better one would",
            meaning: "Goodput of two paths over that of one (apart: of the better one), each \
                      beside a TCP connection in every bottleneck, seed by seed; shared_high_most: \
                      the end of the interval, the most of the three algorithms; apart_least: the \
                      mean, the least",
        },
        measured.tested([shared_high_most.below(1.15), apart_least.at_least(0.95)]),
        shares(results),
    )
    .ours()
}

/// Shares of the bottleneck.
fn shares(results: &Results) -> String {
    let text = |growth: &str, paths: &str, name: &str| {
        let runs = at(results, SHARED, growth, paths);
        format!("{name}: {} beside {}", show(over(&runs, mbps), 2), show(over(&runs, tcp), 2))
    };
    let algorithms =
        [UNCOUPLED].into_iter().chain(COUPLED).map(|growth| text(growth, BOTH, growth));
    let texts: Vec<String> =
        [text(UNCOUPLED, FIRST, "one path")].into_iter().chain(algorithms).collect();
    format!("Mbps of the transfer and of TCP in the shared bottleneck of 20. {}.", texts.join("; "))
}

pub(super) fn exhibit(results: &Results) -> Exhibit {
    let groups: Vec<String> = [UNCOUPLED].into_iter().chain(COUPLED).map(str::to_owned).collect();
    let series = [(SHARED, "one bottleneck, over one path"), (APART, "two, over the better path")];
    let series = series.map(|(file, label)| BarSeries {
        label: label.to_owned(),
        values: groups
            .iter()
            .map(|growth| gain(results, file, growth).map(Interval::from))
            .collect(),
    });
    Exhibit {
        id: "shkx3".into(),
        claims: &["SHK-X3"],
        paper: "Nothing: windows grow each for itself.".into(),
        ours: "What two paths carry over what one does, by the algorithm of growth".into(),
        figure: Figure {
            title: "Two paths beside TCP, by the algorithm of growth".into(),
            x_label: "Growth".into(),
            y_label: "Goodput over that of one path".into(),
            y_range: None,
            content: Content::Bars { groups, series: series.into() },
        },
    }
}

pub(super) fn table(results: &Results) -> ResultTable {
    let mut rows = Vec::new();
    for (file, name) in [(SHARED, "shared"), (APART, "apart")] {
        for growth in results.axis(file, GROWTH) {
            for paths in results.axis(file, VARIANT) {
                let runs = at(results, file, &growth, &paths);
                let mut row = vec![name.to_owned(), growth.clone(), paths];
                row.extend([show(over(&runs, mbps), 2), show(over(&runs, tcp), 2)]);
                rows.push(row);
            }
        }
    }
    let header = ["Bottlenecks", "Growth", "Paths", "Transfer (Mbps)", "TCP beside path 1 (Mbps)"];
    ResultTable {
        title: "Two paths beside TCP".into(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}
