//! SHK-3 and SHK-6: how long transfers of 100 to 1000 KB take, by losses and by means.
//!
//! The criteria. Both sentences are about curves in a figure over all sizes, so curves are compared
//! by the sum of their points, means over seeds:
//! - SHK-3, "hardly any difference": the slowest of the three scenarios is at most 10 % slower than
//!   the fastest. (At first at every size, where 3 s of 10 are 30 % that no figure shows.)
//! - SHK-6, "hardly any difference": the weighted connections take within 10 % of what TCP SHAKE
//!   takes, either way; "throughput fell": the equal ones take longer than the weighted ones, by
//!   the end of an interval. (At first 20 % longer at every size, for which there is no number.)
//!
//! Every transfer must end.

use super::experiments::{CONNECTIONS_SHAKE, CONNECTIONS_TCP, LOSSES, SIZE, VARIANT};
use super::measure::{Acks, all_end, counter, judge, mean, of, seconds};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::measure::{over, paired_ratio, show};
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, Reading, ResultTable, Results};
use fairwave_units::Bytes;
use std::collections::BTreeMap;

/// Losses of the three paths in Table 3, in per cent, without the bit errors.
const SCENARIOS: [&str; 3] = ["4/4/4", "1/4/4", "1/4/2"];
/// Kinds of transfers in Fig. 11, and the paper's names for them.
const SHAKE: &str = "shake";
const EQUAL: &str = "equal";
const WEIGHTED: &str = "weighted";
const ADAPTIVE: &str = "adaptive";

fn at<'r>(results: &'r Results, experiment: &str, variant: &str, size: &str) -> Vec<&'r Run> {
    results.select(experiment, &[(VARIANT, variant), (SIZE, size)])
}

/// Label of the connections that decide SHK-6, which the map gives all runs, as the paper does not
/// say whether they have SACK. Without the label they have.
const CONNECTIONS: &str = "connections";
const NO_SACK: &str = "no SACK";

/// The variant of this name whose connections decide.
fn judged(results: &Results, name: &str) -> String {
    let bare = results.axis(CONNECTIONS_TCP, CONNECTIONS).iter().any(|label| label == NO_SACK);
    if bare && name != SHAKE { format!("{name}, {NO_SACK}") } else { name.to_owned() }
}

/// The file that has this variant.
fn experiment(variant: &str) -> &'static str {
    if variant.starts_with(SHAKE) { CONNECTIONS_SHAKE } else { CONNECTIONS_TCP }
}

pub(super) fn claims(results: &Results) -> [Claim; 2] {
    [shk_3(results), shk_6(results)]
}

fn shk_3(results: &Results) -> Claim {
    let measure = |acks: Acks| {
        let runs = |scenario: &str, size: &str| at(results, LOSSES, &acks.of(scenario), size);
        let mut map = Evidence::of(results, &[LOSSES]);
        let sizes = results.axis(LOSSES, SIZE);
        let time = |scenario: &str, size: &String| mean(over(&runs(scenario, size), seconds));
        let sizes_apart = sizes.iter().map(|size| apart(SCENARIOS.map(|s| time(s, size))));
        map.number("apart_most", Reading::extreme(sizes_apart, f64::max));
        let curves = SCENARIOS.map(|scenario| sum(sizes.iter().map(|size| time(scenario, size))));
        let curves_apart = map.number("curves_apart", apart(curves));
        if let Some(size) = sizes.last() {
            for (key, scenario) in ["s_4_4_4", "s_1_4_4", "s_1_4_2"].into_iter().zip(SCENARIOS) {
                map.estimate(key, over(&runs(scenario, size), seconds));
            }
        }
        let ends = all_end(&mut map, &SCENARIOS.map(|s| of(results, LOSSES, &acks.of(s))));
        map.tested([curves_apart.below(0.1), ends])
    };
    let criterion = Criterion {
        id: "SHK-3",
        statement: "100 to 1000 KB, losses of 4/4/4, 1/4/4 and 1/4/2 % besides bit errors: times \
                    differ hardly between the scenarios (Table 3, Fig. 8)",
        meaning: "curves_apart: the slowest scenario's mean times, added over sizes, over the \
                  fastest's, less one, so that the largest sizes decide; 10 % is ours; apart_most: \
                  the same at one size, the most over sizes; s_4_4_4 and others: seconds for the \
                  largest size",
    };
    judge(criterion, measure, shares(results))
}

/// All of some times together, if each is known.
fn sum(times: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let times: Option<Vec<f64>> = times.collect();
    times.filter(|times| !times.is_empty()).map(|times| times.iter().sum())
}

/// The time of some runs over that of others, all sizes of a seed together: a single small transfer
/// says little.
fn by_seed(a: Vec<&Run>, b: Vec<&Run>) -> Option<Estimate> {
    let [a, b] = [a, b].map(|runs| {
        let mut totals: BTreeMap<u64, f64> = BTreeMap::new();
        for run in runs {
            *totals.entry(run.seed).or_default() += seconds(run);
        }
        totals
    });
    let ratios = a.iter().filter_map(|(seed, time)| Some(time / b.get(seed)?));
    Estimate::of(&ratios.collect::<Vec<f64>>())
}

/// The longest of some times over the shortest, less one.
fn apart(times: [Option<f64>; 3]) -> Option<f64> {
    let times: Option<Vec<f64>> = times.into_iter().collect();
    let times = times?;
    let minimum = times.iter().copied().reduce(f64::min)?;
    Some(times.iter().copied().reduce(f64::max)? / minimum - 1.0)
}

/// Losses and retransmissions of a transfer of the largest size under each scenario.
fn shares(results: &Results) -> String {
    let Some(size) = results.axis(LOSSES, SIZE).pop() else { return String::new() };
    let texts = SCENARIOS.map(|scenario| {
        let runs = at(results, LOSSES, scenario, &size);
        format!(
            "{scenario}: {} s, {} timeouts, {} of {} segments repeated",
            show(over(&runs, seconds), 1),
            show(counter(&runs, |flow| flow.timeouts), 1),
            show(counter(&runs, |flow| flow.retransmissions), 1),
            show(counter(&runs, |flow| flow.sent_packets), 0),
        )
    });
    format!("{size}, losses both ways. {}.", texts.join("; "))
}

fn shk_6(results: &Results) -> Claim {
    let sizes = results.axis(CONNECTIONS_SHAKE, SIZE);
    let measure = |acks: Acks| {
        let runs = |name: &str, size: &str| {
            at(results, experiment(name), &acks.of(&judged(results, name)), size)
        };
        let each = |a: &'static str, b: &'static str| {
            let ratio = |size: &String| paired_ratio(&runs(a, size), &runs(b, size), seconds);
            sizes.iter().map(ratio).collect::<Vec<_>>()
        };
        let means = |ratios: Vec<Option<Estimate>>, pick| {
            Reading::extreme(ratios.into_iter().map(mean), pick)
        };
        let mut map = Evidence::of(results, &[CONNECTIONS_SHAKE, CONNECTIONS_TCP]);
        map.number("weighted_over_shake_least", means(each(WEIGHTED, SHAKE), f64::min));
        map.number("weighted_over_shake_most", means(each(WEIGHTED, SHAKE), f64::max));
        map.number("equal_over_weighted_least", means(each(EQUAL, WEIGHTED), f64::min));
        let curve =
            |name: &str| sum(sizes.iter().map(|size| mean(over(&runs(name, size), seconds))));
        let ratio = curve(WEIGHTED).zip(curve(SHAKE)).map(|(weighted, shake)| weighted / shake);
        let ratio = map.number("weighted_curve_over_shake", ratio);
        let all_sizes = |name: &str| sizes.iter().flat_map(|size| runs(name, size)).collect();
        let equal = by_seed(all_sizes(EQUAL), all_sizes(WEIGHTED));
        let equal = map.estimate("equal_curve_over_weighted", equal).low;
        if let Some(size) = sizes.last() {
            for (key, name) in [("shake_s", SHAKE), ("weighted_s", WEIGHTED), ("equal_s", EQUAL)] {
                map.estimate(key, over(&runs(name, size), seconds));
            }
        }
        let all = [SHAKE, WEIGHTED, EQUAL];
        let ends = all_end(
            &mut map,
            &all.map(|name| of(results, experiment(name), &acks.of(&judged(results, name)))),
        );
        map.tested([ratio.at_least(0.9), ratio.below(1.1), equal.above(1.0), ends])
    };
    let criterion = Criterion {
        id: "SHK-6",
        statement: "100 to 1000 KB, losses of 3/5/4 %: connections weighted 2:1:1 take about as \
                    long as TCP SHAKE, equal ones longer (Tables 7 and 8, Fig. 11)",
        meaning: "Ratios of times, means over seeds; curve: of times added over sizes; least, \
                  most: over sizes; *_low: the end of the interval; *_s: seconds for the largest \
                  size. 10 % is ours. Connections have SACK where no map says otherwise",
    };
    judge(criterion, measure, other_readings(results, &sizes))
}

/// The other readings of Table 8 and of the timers, and our split.
fn other_readings(results: &Results, sizes: &[String]) -> String {
    let Some(size) = sizes.last() else { return String::new() };
    let of = |name: &str| over(&at(results, experiment(name), name, size), seconds);
    format!(
        "{size}: with exact timers instead of ticks of 500 ms SHAKE takes {} s, connections \
         {} s weighted and {} s equal. Connections without SACK take {} s weighted and {} s equal; \
         split by what they acknowledge, {} s. Segments of SHAKE and of TCP have 40 bytes of \
         heads; blocks of connections have heads of their own.",
        show(of("shake, exact timers"), 1),
        show(of("weighted, exact timers"), 1),
        show(of("equal, exact timers"), 1),
        show(of("weighted, no SACK"), 1),
        show(of("equal, no SACK"), 1),
        show(of(ADAPTIVE), 1),
    )
}

/// Times by size, a curve for each variant.
fn curves(results: &Results, variants: &[(&'static str, &str)]) -> Content {
    let curve = |&(experiment, variant): &(&'static str, &str)| Curve {
        label: variant.to_owned(),
        points: results
            .axis(experiment, SIZE)
            .iter()
            .filter_map(|size| {
                let time = over(&at(results, experiment, variant, size), seconds)?;
                Some((kilobytes(size), Interval::from(time)))
            })
            .collect(),
        mark: Mark::DottedLine,
    };
    Content::Curves(variants.iter().map(curve).collect())
}

fn kilobytes(size: &str) -> f64 {
    size.parse::<Bytes>().map_or(0.0, |bytes| bytes.0 as f64 / 1e3)
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let figure = |title: &str, content| Figure {
        title: title.to_owned(),
        x_label: "Size (KB)".into(),
        y_label: "Time (s)".into(),
        y_range: None,
        content,
    };
    let fig_8 = SCENARIOS.map(|scenario| (LOSSES, scenario));
    let fig_11 = [EQUAL, WEIGHTED, SHAKE, ADAPTIVE].map(|name| (experiment(name), name));
    vec![
        Exhibit {
            id: "fig8".into(),
            claims: &["SHK-3"],
            paper: "Fig. 8: three lines that lie on each other.".into(),
            ours: "Time by size and losses, mean and 95 % interval over seeds".into(),
            figure: figure("Times of transfers by the losses of paths", curves(results, &fig_8)),
        },
        Exhibit {
            id: "fig11".into(),
            claims: &["SHK-6"],
            paper: "Fig. 11: equal connections lie above weighted ones and TCP SHAKE, which lie \
                    together."
                .into(),
            ours: "Time by size and means, mean and 95 % interval over seeds".into(),
            figure: figure("Times of transfers by TCP SHAKE and by TCPs", curves(results, &fig_11)),
        },
    ]
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    let of_file = |experiment: &'static str, title: &str| {
        let variants = results.axis(experiment, VARIANT);
        let variants: Vec<_> = variants.into_iter().map(|v| (experiment, v)).collect();
        table(results, title, &variants)
    };
    let both = [CONNECTIONS_SHAKE, CONNECTIONS_TCP].into_iter().flat_map(|experiment| {
        results.axis(experiment, VARIANT).into_iter().map(move |variant| (experiment, variant))
    });
    vec![
        of_file(LOSSES, "Times by losses of the three paths (s)"),
        table(
            results,
            "Times of TCP SHAKE and of several connections (s)",
            &both.collect::<Vec<_>>(),
        ),
    ]
}

fn table(results: &Results, title: &str, variants: &[(&'static str, String)]) -> ResultTable {
    let first = variants.first().map_or(LOSSES, |(experiment, _)| experiment);
    let header = variants.iter().map(|(_, variant)| variant.clone());
    let row = |size: String| {
        let times = variants.iter().map(|(experiment, variant)| {
            let time: Option<Estimate> = over(&at(results, experiment, variant, &size), seconds);
            show(time, 1)
        });
        [size.clone()].into_iter().chain(times).collect()
    };
    ResultTable {
        title: title.to_owned(),
        header: ["Size".to_owned()].into_iter().chain(header).collect(),
        rows: results.axis(first, SIZE).into_iter().map(row).collect(),
    }
}
