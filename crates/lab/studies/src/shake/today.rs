//! SHK-X1: Wi-Fi, LTE and 5G as one, at today's rates.
//!
//! The criterion, set before the first run, for `blest` with windows that grow each for itself and
//! a receive buffer of twice the sum of rates times the longest round trip: every two and all three
//! of the paths carry at least 95 % of their capacities less heads where round-trip times differ by
//! no more than twice, and 85 % where by more; where one of them is lossy or has a second of queue,
//! the same parts of what each carries alone; and never under 98 % of what the best of them carries
//! alone under the same circumstances, with half the buffer too.

use super::experiments::{
    GROWTH, SCHEDULER, TODAY, TODAY_LOSSY, TODAY_PATHS, TODAY_PATHS_LOSSY, VARIANT,
};
use super::measure::{mbps, mean, of};
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::measure::{NO_RUNS, over, show};
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, Reading, ResultTable, Results};

/// A path: its name, rate in Mbps, and round-trip time in ms.
type Path = (&'static str, f64, f64);
const WIFI: Path = ("wifi", 50.0, 20.0);
const LTE: Path = ("lte", 20.0, 100.0);
const NR: Path = ("nr", 100.0, 60.0);
const SINGLE: [&[Path]; 3] = [&[WIFI], &[LTE], &[NR]];
const SETS: [&[Path]; 4] = [&[WIFI, LTE], &[WIFI, NR], &[LTE, NR], &[WIFI, LTE, NR]];
/// Circumstances: names of variants, and the file.
type Circumstance = (&'static str, &'static str);
const CLEAN: &str = "";
const HALF: &str = "half";
const CIRCUMSTANCES: [Circumstance; 5] = [
    (CLEAN, TODAY_PATHS),
    ("bloated", TODAY_PATHS),
    (HALF, TODAY_PATHS),
    ("lossy Wi-Fi", TODAY_PATHS_LOSSY),
    ("lossy 5G", TODAY_PATHS_LOSSY),
];
/// Payload of a segment over its length on the wire: 1400 of 1480 bytes.
const PAYLOAD: f64 = 1400.0 / 1480.0;
const BLEST: &str = "blest";
const UNCOUPLED: &str = "uncoupled";

/// Results of some paths together.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    paths: String,
    circumstance: &'static str,
    /// Whether round-trip times differ by no more than twice.
    is_even: bool,
    goodput: Estimate,
    /// Over capacities less heads.
    of_capacity: f64,
    /// Goodput over the sum of the single paths, and over the best of them.
    of_alone: f64,
    of_best: f64,
}

fn variant(paths: &[Path], circumstance: &str) -> String {
    let names: Vec<&str> = paths.iter().map(|(name, ..)| *name).collect();
    match circumstance {
        CLEAN => names.join("+"),
        _ => format!("{}, {circumstance}", names.join("+")),
    }
}

fn carried(results: &Results, paths: &[Path], circumstance: Circumstance) -> Option<Estimate> {
    let (circumstance, file) = circumstance;
    over(&of(results, file, &variant(paths, circumstance)), mbps)
}

fn points(results: &Results) -> Vec<Point> {
    let mut all = Vec::new();
    for circumstance in CIRCUMSTANCES {
        for paths in SETS {
            let alone = paths.iter().map(|path| {
                let single = SINGLE.into_iter().find(|single| single[0] == *path)?;
                mean(carried(results, single, circumstance))
            });
            let alone: Option<Vec<f64>> = alone.collect();
            let goodput = carried(results, paths, circumstance);
            let Some((goodput, alone)) = goodput.zip(alone) else { continue };
            let trips = || paths.iter().map(|(.., ms)| *ms);
            let (minimum, maximum) =
                trips().fold((f64::MAX, 0.0_f64), |(a, b), t| (a.min(t), b.max(t)));
            let capacity: f64 = paths.iter().map(|(_, rate, _)| rate * PAYLOAD).sum();
            all.push(Point {
                paths: variant(paths, CLEAN),
                circumstance: circumstance.0,
                is_even: maximum <= 2.0 * minimum,
                goodput,
                of_capacity: goodput.mean / capacity,
                of_alone: goodput.mean / alone.iter().sum::<f64>(),
                of_best: goodput.mean / alone.iter().copied().fold(0.0, f64::max),
            });
        }
    }
    all
}

impl Point {
    /// The part that the criterion is about; none where the buffer is halved.
    fn part(&self) -> Option<f64> {
        match self.circumstance {
            CLEAN => Some(self.of_capacity),
            HALF => None,
            _ => Some(self.of_alone),
        }
    }
}

pub(super) fn claim(results: &Results) -> Claim {
    let points = points(results);
    let mut measured = Evidence::of(results, &[TODAY_PATHS, TODAY_PATHS_LOSSY]);
    let parts = |is_even: bool, is_clean: bool| {
        let of = points
            .iter()
            .filter(move |p| p.is_even == is_even && (p.circumstance == CLEAN) == is_clean);
        of.filter_map(Point::part).map(Some).collect::<Vec<_>>()
    };
    let mut minimum = |key: &str, values: Vec<Option<f64>>| {
        measured.number(key, Reading::extreme(values, f64::min))
    };
    let even = minimum("of_capacity_to_ratio_2", parts(true, true));
    let uneven = minimum("of_capacity_beyond", parts(false, true));
    let even_alone = minimum("of_alone_to_ratio_2", parts(true, false));
    let uneven_alone = minimum("of_alone_beyond", parts(false, false));
    let best = minimum("of_best_least", points.iter().map(|p| Some(p.of_best)).collect());
    Claim::judge(
        Criterion {
            id: "SHK-X1",
            statement: "Ours: over Wi-Fi, LTE and 5G, two of them or all, SHAKE carries 95 % of \
                        the sum where round-trip times differ by no more than twice, 85 % \
                        elsewhere, and never under 98 % of the best path alone",
            meaning: "Profile modern (blest, uncoupled). of_capacity_*: goodput over the rates \
                      less heads; of_alone_*: over the sum of what each path carries alone, where \
                      one is lossy or bloated; of_best_least: over the best of them alone, under \
                      all circumstances and with half the buffer; the least of all combinations",
        },
        measured.tested([
            even.at_least(0.95),
            uneven.at_least(0.85),
            even_alone.at_least(0.95),
            uneven_alone.at_least(0.85),
            best.at_least(0.98),
        ]),
        worst(&points),
    )
    .ours()
}

fn worst(points: &[Point]) -> String {
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| a.of_alone.total_cmp(&b.of_alone));
    let say = |p: &&Point| {
        let circumstance = if p.circumstance == CLEAN { "clean" } else { p.circumstance };
        format!(
            "{}, {circumstance}: {} Mbps, {:.3} of the sum alone, {:.3} of the best",
            p.paths,
            show(Some(p.goodput), 1),
            p.of_alone,
            p.of_best
        )
    };
    let texts: Vec<String> = sorted.iter().take(4).map(say).collect();
    format!("The four worst of {}. {}.", points.len(), texts.join("; "))
}

/// Goodput of all three paths by scheduler and growth.
fn grid<'r>(
    results: &'r Results,
    circumstance: Circumstance,
    scheduler: &str,
    growth: &str,
) -> Vec<&'r Run> {
    let (circumstance, file) = circumstance;
    results.select(file, &[(VARIANT, circumstance), (SCHEDULER, scheduler), (GROWTH, growth)])
}

/// Capacity of three paths: a circumstance of the grid, and the goodput of each path alone.
const GRID: [(Circumstance, Circumstance); 4] = [
    (("clean", TODAY), (CLEAN, TODAY_PATHS)),
    (("bloated", TODAY), ("bloated", TODAY_PATHS)),
    (("lossy Wi-Fi", TODAY_LOSSY), ("lossy Wi-Fi", TODAY_PATHS_LOSSY)),
    (("lossy 5G", TODAY_LOSSY), ("lossy 5G", TODAY_PATHS_LOSSY)),
];

/// The sum of the goodputs of single paths, and the best of them.
fn alone(results: &Results, circumstance: Circumstance) -> Option<(f64, f64)> {
    let each = SINGLE.map(|single| mean(carried(results, single, circumstance)));
    let each: Option<Vec<f64>> = each.into_iter().collect();
    let each = each?;
    Some((each.iter().sum(), each.iter().copied().fold(0.0, f64::max)))
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let groups = results.axis(TODAY, SCHEDULER);
    let figure = |(at, beside): (Circumstance, Circumstance)| {
        let sum = alone(results, beside).map(|(sum, _)| sum);
        let series = results.axis(at.1, GROWTH).into_iter().map(|growth| BarSeries {
            values: groups
                .iter()
                .map(|scheduler| {
                    let rate = over(&grid(results, at, scheduler, &growth), mbps)?;
                    let part = |value: f64| Some(value / sum?);
                    let [mean, low, high] = [rate.mean, rate.low(), rate.high()].map(part);
                    Some(Interval { mean: mean?, low: low?, high: high? })
                })
                .collect(),
            label: growth,
        });
        Content::Bars { groups: groups.clone(), series: series.collect() }
    };
    GRID.map(|(at, beside)| Exhibit {
        id: format!("shkx1-{}", at.0.replace(' ', "-").to_lowercase()),
        claims: &["SHK-X1"],
        paper: "Nothing: the paper's paths have 64 and 32 kbps.".into(),
        ours: format!("Wi-Fi, LTE and 5G, {}: goodput over the sum of each alone", at.0),
        figure: Figure {
            title: format!("Wi-Fi, LTE and 5G, {}", at.0),
            x_label: "Scheduler".into(),
            y_label: "Goodput over the sum of each alone".into(),
            y_range: Some((0.0, 1.1)),
            content: figure((at, beside)),
        },
    })
    .into()
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    vec![combinations(results), by_scheduler(results)]
}

fn combinations(results: &Results) -> ResultTable {
    let row = |p: Point| {
        let circumstance = if p.circumstance == CLEAN { "clean" } else { p.circumstance };
        vec![
            p.paths,
            circumstance.to_owned(),
            show(Some(p.goodput), 1),
            format!("{:.3}", p.of_capacity),
            format!("{:.3}", p.of_alone),
            format!("{:.3}", p.of_best),
        ]
    };
    let header =
        ["Paths", "Circumstance", "Mbps", "Of capacity", "Of the sum alone", "Of the best alone"];
    ResultTable {
        title: "Paths of today together (modern: blest, uncoupled)".into(),
        header: header.map(str::to_owned).into(),
        rows: points(results).into_iter().map(row).collect(),
    }
}

fn by_scheduler(results: &Results) -> ResultTable {
    let mut rows = Vec::new();
    for scheduler in results.axis(TODAY, SCHEDULER) {
        for growth in results.axis(TODAY, GROWTH) {
            let mut row = vec![scheduler.clone(), growth.clone()];
            for (at, beside) in GRID {
                let rate = over(&grid(results, at, &scheduler, &growth), mbps);
                let parts = alone(results, beside).zip(rate);
                row.push(parts.map_or(NO_RUNS.into(), |((sum, best), rate)| {
                    format!("{:.1} ({:.2}, {:.2})", rate.mean, rate.mean / sum, rate.mean / best)
                }));
            }
            rows.push(row);
        }
    }
    let header = ["Scheduler", "Growth"].map(str::to_owned).into_iter();
    ResultTable {
        title: "Wi-Fi, LTE and 5G by scheduler and growth: Mbps (of the sum alone, of the best \
                alone)"
            .into(),
        header: header.chain(GRID.iter().map(|(at, _)| at.0.to_owned())).collect(),
        rows,
    }
}

/// The best and the worst of scheduler and growth under every circumstance.
pub(super) fn explanation(results: &Results) -> Option<String> {
    let mut texts = Vec::new();
    for (at, _) in GRID {
        let mut all = Vec::new();
        for scheduler in results.axis(at.1, SCHEDULER) {
            for growth in results.axis(at.1, GROWTH) {
                let rate = mean(over(&grid(results, at, &scheduler, &growth), mbps));
                all.extend(rate.map(|rate| (rate, format!("{scheduler}/{growth}"))));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let usual = all.iter().find(|(_, name)| *name == format!("{BLEST}/{UNCOUPLED}"));
        let (Some(first), Some(last), Some(usual)) = (all.first(), all.last(), usual) else {
            continue;
        };
        texts.push(format!(
            "{}: {} {:.1} Mbps first, {} {:.1} last, {} {:.1}",
            at.0, first.1, first.0, last.1, last.0, usual.1, usual.0
        ));
    }
    (!texts.is_empty()).then(|| format!("Scheduler and growth. {}.", texts.join("; ")))
}
