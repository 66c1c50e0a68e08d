//! SHK-1 and SHK-2: which path repeats, and SACK; both by how bytes in order grow (Figs 6 and 7).
//!
//! The criteria, set before the first run:
//! - SHK-1: repeating on the widest path ends sooner than on the same one, seed by seed (95 %).
//! - SHK-2: with SACK a transfer stands still for less of its time than without, seed by seed
//!   (95 %), for less than 10 %, and for less than half of the share that it does without.
//!
//! SHK-2 asked until 2026-11-25 that a transfer with SACK end sooner, which no sentence says: it is
//! told.
//!
//! To stand still is to deliver nothing for 2 s or more: four times the round trip without queues,
//! and twice the least timeout. Time counts from the first byte to the last.

use super::experiments::{NO_SACK, REPETITION, SAME, TRANSFER, VARIANT, WIDEST};
use super::measure::{Acks, all_end, counter, judge, mean, of, seconds};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::results::{FLOWS, FlowSummary, Series};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::measure::{over, paired, paired_ratio, show};
use fairwave_study::{Claim, Condition, Criterion, Error, Evidence, Exhibit, ResultTable, Results};
use std::path::Path;
use std::sync::Arc;

/// From here on `rcv_nxt` stands still, in seconds.
const STANDS_S: f64 = 2.0;

/// Growth of one transfer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Course {
    variant: String,
    seed: u64,
    /// Bytes in order over seconds, up to the last.
    points: Vec<(f64, f64)>,
    /// The longest spell without a byte, in seconds.
    pub(super) longest: f64,
    /// The share of its time that it stands still.
    pub(super) still: f64,
}

impl Course {
    /// A transfer with these bytes in order over seconds, up to the last.
    pub(super) fn new(variant: String, seed: u64, points: Vec<(f64, f64)>) -> Self {
        let spells = spells(&points);
        let all: f64 = spells.iter().sum();
        let still: f64 = spells.iter().filter(|spell| **spell >= STANDS_S).sum();
        let longest = spells.into_iter().fold(0.0, f64::max);
        Self { variant, seed, points, longest, still: still / all }
    }
}

/// Seconds of every spell without a byte, from the first byte on.
fn spells(points: &[(f64, f64)]) -> Vec<f64> {
    let mut spells = Vec::new();
    let mut since: Option<(f64, f64)> = None;
    for &(t, bytes) in points {
        match since {
            None if bytes > 0.0 => since = Some((t, bytes)),
            Some((from, before)) if bytes > before => {
                spells.push(t - from);
                since = Some((t, bytes));
            }
            _ => {}
        }
    }
    spells
}

/// The bytes in order of a run's transfer.
fn course(run: &Run, directory: &Path) -> Result<Course, Error> {
    let series = Series::read(directory, FLOWS.file, &["t_ns", "flow", "delivered_bytes"])?;
    let mut points = series.points(&[("flow", TRANSFER)], "delivered_bytes", 1.0)?;
    let last = points.last().map_or(0.0, |(_, bytes)| *bytes);
    let end = points.partition_point(|(_, bytes)| *bytes < last);
    points.truncate(end + 1);
    Ok(Course::new(run.axis(VARIANT).to_owned(), run.seed, points))
}

/// The course of every run that left a directory.
pub(super) fn read(results: &Results) -> Result<Vec<Arc<Course>>, Error> {
    let mut all = Vec::new();
    for run in results.runs.get(REPETITION).into_iter().flatten() {
        all.extend(results.cache.get(run, |directory| course(run, directory))?);
    }
    Ok(all)
}

/// By how much the share of time that stands still exceeds that of the other variant, seed by seed.
fn stiller(all: &[Arc<Course>], still: &str, other: &str) -> Option<Estimate> {
    let of = |variant: &str, seed: Option<u64>| {
        let is_it = move |course: &&Arc<Course>| seed.is_none_or(|seed| course.seed == seed);
        let variant = variant.to_owned();
        all.iter().filter(move |course| course.variant == variant).filter(is_it)
    };
    let pairs = of(still, None)
        .filter_map(|course| Some(course.still - of(other, Some(course.seed)).next()?.still));
    Estimate::of(&pairs.collect::<Vec<f64>>())
}

fn courses(all: &[Arc<Course>], variant: &str, value: impl Fn(&Course) -> f64) -> Option<Estimate> {
    let of = all.iter().filter(|course| course.variant == variant);
    Estimate::of(&of.map(|course| value(course)).collect::<Vec<f64>>())
}

/// Puts in times under two variants and their difference. The conditions: the first takes less
/// time, and all transfers end.
fn put_times(map: &mut Evidence, a: (&str, &[&Run]), b: (&str, &[&Run])) -> [Condition; 2] {
    for (name, runs) in [a, b] {
        map.estimate(format!("{name}_s"), over(runs, seconds));
    }
    let less = format!("{}_less_{}_s", a.0, b.0);
    let less = map.estimate(less, paired(a.1, b.1, seconds));
    map.estimate(format!("{}_over_{}", a.0, b.0), paired_ratio(a.1, b.1, seconds));
    [less.high.below(0.0), all_end(map, &[a.1.to_vec(), b.1.to_vec()])]
}

pub(super) fn claims(results: &Results, all: &[Arc<Course>]) -> Vec<Claim> {
    vec![shk_1(results, all), shk_2(results, all)]
}

fn shk_1(results: &Results, all: &[Arc<Course>]) -> Claim {
    let measure = |acks: Acks| {
        let runs = |variant: &str| of(results, REPETITION, &acks.of(variant));
        let mut map = Evidence::of(results, &[REPETITION]);
        let sooner = put_times(&mut map, ("widest", &runs(WIDEST)), ("same", &runs(SAME)));
        map.tested(sooner)
    };
    let criterion = Criterion {
        id: "SHK-1",
        statement: "1000 KB, losses 1/4/4 %, bit errors 1/1/1 %: repeating on the widest path is \
                    better than on the same path (Table 2, Fig. 6)",
        meaning: "Seconds of a transfer, means over seeds with 95 % intervals; widest_less_same_s \
                  is the difference seed by seed",
    };
    let still = |variant: &str| show(courses(all, variant, |course| course.still), 3);
    let note = format!(
        "Shares of time without a byte in order for 2 s and more: {} where the widest path \
         repeats, {} where the same does. {}",
        still(WIDEST),
        still(SAME),
        repairs(results)
    );
    judge(criterion, measure, note)
}

/// Retransmissions, and numbers of timeouts.
fn repairs(results: &Results) -> String {
    let texts = [WIDEST, SAME, NO_SACK].map(|variant| {
        let runs = of(results, REPETITION, variant);
        let flow = |value: fn(&FlowSummary) -> u64| show(counter(&runs, value), 1);
        format!(
            "{variant}: {} timeouts, {} segments repeated of {}",
            flow(|flow| flow.timeouts),
            flow(|flow| flow.retransmissions),
            flow(|flow| flow.sent_packets)
        )
    });
    format!("In a transfer: {}.", texts.join("; "))
}

fn shk_2(results: &Results, all: &[Arc<Course>]) -> Claim {
    let measure = |acks: Acks| {
        let runs = |variant: &str| of(results, REPETITION, &acks.of(variant));
        let mut map = Evidence::of(results, &[REPETITION]);
        let [_, ends] = put_times(&mut map, ("sack", &runs(WIDEST)), ("none", &runs(NO_SACK)));
        let of = |variant: &str, value: fn(&Course) -> f64| courses(all, &acks.of(variant), value);
        let still_sack = map.estimate("still_sack", of(WIDEST, |course| course.still));
        map.estimate("still_none", of(NO_SACK, |course| course.still));
        map.estimate("longest_sack_s", of(WIDEST, |course| course.longest));
        map.estimate("longest_none_s", of(NO_SACK, |course| course.longest));
        let less = stiller(all, &acks.of(NO_SACK), &acks.of(WIDEST));
        let less = map.estimate("still_none_less_sack", less);
        let still = |variant: &str| mean(of(variant, |course| course.still));
        // Where neither stands still they are alike.
        let over = |(sack, none): (f64, f64)| if sack == none { 1.0 } else { sack / none };
        let ratio = still(WIDEST).zip(still(NO_SACK)).map(over);
        let ratio = map.number("still_sack_over_none", ratio);
        map.tested([less.low.above(0.0), still_sack.mean.below(0.1), ratio.below(0.5), ends])
    };
    let criterion = Criterion {
        id: "SHK-2",
        statement: "The same: with SACK rcv_nxt hardly stands still and grows at a nearly \
                    constant rate, without it stands still for long (Fig. 7)",
        meaning: "still_*: share of a transfer's time in spells of 2 s and more without a byte in \
                  order; longest_*: the longest spell; means over seeds; still_none_less_sack: \
                  difference of shares, seed by seed; sack_less_none_s, of times, is told and not \
                  judged. 2 s, 10 % and half are ours",
    };
    judge(criterion, measure, repairs(results))
}

/// Switched copies: times without the suspected cause.
pub(super) fn explanation(results: &Results) -> Option<String> {
    let copies = [
        WIDEST,
        NO_SACK,
        "threshold 3",
        "threshold 3, no SACK",
        "buffers of 360",
        "no loss",
        "no loss, buffers of 360",
    ];
    let time = |variant: &str| {
        let time = over(&of(results, REPETITION, variant), seconds)?;
        Some(format!("{variant} {} s", show(Some(time), 1)))
    };
    let times: Option<Vec<String>> = copies.into_iter().map(time).collect();
    Some(format!(
        "Switched copies of the transfer of 1000 KB: {}. Heads included, 128 kbps take 64 s for \
         it. Of 36 segments of buffer path 1 may fill most with its queue where nothing lowers its \
         window, and ten acknowledgements that do not advance come late, or not at all, where few \
         segments fly.",
        times?.join(", ")
    ))
}

/// Bytes in order of the first seed under two variants.
fn figure(title: &str, all: &[Arc<Course>], variants: [(&str, &str); 2]) -> Figure {
    let seed = all.iter().map(|course| course.seed).min().unwrap_or(0);
    let curve = |(variant, label): (&str, &str)| {
        let course = all.iter().find(|course| course.variant == variant && course.seed == seed);
        let points = course.map_or(&[][..], |course| &course.points);
        Curve {
            label: label.to_owned(),
            points: points.iter().map(|(t, b)| (*t, Interval::exact(b / 1e3))).collect(),
            mark: Mark::Line,
        }
    };
    Figure {
        title: title.to_owned(),
        x_label: "Time (s)".into(),
        y_label: "rcv_nxt (KB)".into(),
        y_range: None,
        content: Content::Curves(variants.map(curve).into()),
    }
}

pub(super) fn exhibits(all: &[Arc<Course>]) -> Vec<Exhibit> {
    let paths = [(WIDEST, "widest path repeats"), (SAME, "same path repeats")];
    let sack = [(WIDEST, "SACK"), (NO_SACK, "no SACK")];
    vec![
        Exhibit {
            id: "fig6".into(),
            claims: &["SHK-1"],
            paper: "Fig. 6: rcv_nxt grows faster where the widest path repeats.".into(),
            ours: "rcv_nxt over time, the first seed, by the path that repeats".into(),
            figure: figure("Bytes in order by the path that repeats", all, paths),
        },
        Exhibit {
            id: "fig7".into(),
            claims: &["SHK-2"],
            paper: "Fig. 7: without SACK rcv_nxt has plateaus, with it hardly any.".into(),
            ours: "rcv_nxt over time, the first seed, with and without SACK".into(),
            figure: figure("Bytes in order with and without SACK", all, sack),
        },
    ]
}

pub(super) fn table(results: &Results, all: &[Arc<Course>]) -> ResultTable {
    let row = |variant: String| {
        let runs = of(results, REPETITION, &variant);
        let course =
            |value: fn(&Course) -> f64, digits| show(courses(all, &variant, value), digits);
        vec![
            variant.clone(),
            show(over(&runs, seconds), 1),
            course(|course| course.still, 3),
            course(|course| course.longest, 1),
        ]
    };
    let header = ["Variant", "Time (s)", "Share of time still", "Longest spell (s)"];
    ResultTable {
        title: "1000 KB: time, and how long no byte came in order".into(),
        header: header.map(str::to_owned).into(),
        rows: results.axis(REPETITION, VARIANT).into_iter().map(row).collect(),
    }
}
