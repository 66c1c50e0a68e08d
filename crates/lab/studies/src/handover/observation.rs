//! HO-X3: whether a sender observes the new cell as those do that were there.

use super::experiments::{NEAR, PAPERS, PRESENT};
use super::points::Point;
use super::remedies::Remedies;
use fairwave_study::{Claim, Criterion, Evidence, Reading, ResultTable};

/// As near to the residents' mean loss interval as HO-X3 asks for: a factor.
const FACTOR: f64 = 2.0;

/// Mean loss interval of the mobile over the residents', in the 10 s after the handover.
fn interval_ratio(point: &Point) -> Option<f64> {
    Some(point.interval_after()? / point.residents_interval?)
}

/// Smallest and largest over disconnections.
fn range(points: &[Point], of: fn(&Point) -> Option<f64>) -> [Reading; 2] {
    [f64::min as fn(f64, f64) -> f64, f64::max]
        .map(|pick| Reading::extreme(points.iter().map(of), pick))
}

pub(super) fn claim(remedies: &Remedies) -> Claim {
    let mut measured = Evidence::default();
    let mut conditions = Vec::new();
    for profile in [PAPERS, PRESENT] {
        let edition = remedies.edition(profile);
        let points = edition.points("B");
        let mut of = |what: &str, of: fn(&Point) -> Option<f64>| {
            let [least, most] = range(points, of);
            [
                measured.number(format!("least_{what}_{profile}"), least),
                measured.number(format!("most_{what}_{profile}"), most),
            ]
        };
        let [least, most] = of("rtt_over_residents", Point::rtt_ratio);
        conditions.extend([least.above(1.0 - NEAR), most.below(1.0 + NEAR)]);
        let [least, most] = of("interval_over_residents", interval_ratio);
        conditions.extend([least.above(1.0 / FACTOR), most.below(FACTOR)]);
    }
    Claim::judge(
        Criterion {
            id: "HO-X3",
            statement: "Where the receiver leaves out what it observed before a handover and \
                        during it (remedy B), the mobile's observations after it are those of the \
                        residents of the new cell, for every disconnection, with RFC 3448 and RFC \
                        5348",
            meaning: "Smoothed round-trip time at the mobile over the residents' mean, in the 2 s \
                      after the handover, within a fifth; mean loss interval at the mobile over \
                      the residents', in the 10 s after, within a factor of two; seeds averaged, \
                      those without a loss left out. How to observe correctly across a handover is \
                      the paper's first question for later",
        },
        measured.tested(conditions),
        note(remedies),
    )
    .ours()
}

/// The same ranges of other combinations, in words.
fn note(remedies: &Remedies) -> String {
    let edition = remedies.edition(PRESENT);
    let text = |range: [Reading; 2]| {
        let [least, most] = range.map(Reading::value);
        Some(format!("{:.2} to {:.2}", least?, most?))
    };
    let of = |name: &&str| {
        let points = edition.points(name);
        let rtt = text(range(points, Point::rtt_ratio))?;
        let interval = text(range(points, interval_ratio)).unwrap_or_else(|| "not known".into());
        Some(format!("{name}: round-trip time {rtt}, interval {interval}"))
    };
    let texts: Vec<String> = ["none", "B", "B'", "D", "E"].iter().filter_map(of).collect();
    if texts.is_empty() {
        return String::new();
    }
    format!(
        "Over the residents', RFC 5348. {}. B takes from the receiver what it observed, and leaves \
         the sender its average of round-trip times from before.",
        texts.join("; ")
    )
}

/// Observations with each combination, by disconnection.
pub(super) fn tables(remedies: &Remedies) -> Vec<ResultTable> {
    let table = |profile: &str| {
        let edition = remedies.edition(profile);
        let times = edition.combinations.first().map_or(&[][..], |(_, points)| points);
        let columns = times.iter().map(|p| format!("{} s", p.disconnection));
        let or_dash = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
        let cell =
            |p: &Point| format!("{} / {}", or_dash(p.rtt_ratio()), or_dash(interval_ratio(p)));
        let row = |(name, points): &(String, Vec<Point>)| {
            [name.clone()].into_iter().chain(points.iter().map(cell)).collect()
        };
        ResultTable {
            title: format!("Round-trip time / mean loss interval over the residents', {profile}"),
            header: ["Remedies".to_owned()].into_iter().chain(columns).collect(),
            rows: edition.combinations.iter().map(row).collect(),
        }
    };
    [PAPERS, PRESENT].map(table).to_vec()
}
