//! The paper's claim and ours, and why they come out so.
//!
//! The paper uses the number before the first gap as the size of the buffer, without a correction:
//! BUF-1 judges that count, and BUF-X7 ours, which subtracts the packets that drained meanwhile.
//! Until 2026-11-25 BUF-1 was the present BUF-X7.

use super::experiments::{BESIDE, IDLE, KINDS};
use super::measure::{self, Point, points};
use fairwave_lab::run::Run;
use fairwave_study::measure::show;
use fairwave_study::{Claim, Criterion, Evidence, Reading, Results};

pub(super) fn all(results: &Results) -> Vec<Claim> {
    vec![buf_1(results), buf_x6(results), buf_x7(results)]
}

/// Share of runs whose estimate is as near as the claim says.
fn within(points: &[Point<'_>]) -> Option<f64> {
    let runs = || points.iter().flat_map(|point| &point.runs);
    let near = runs().filter(|run| measure::misses(run) <= 1.0).count();
    (runs().count() > 0).then(|| near as f64 / runs().count() as f64)
}

/// The point whose value is largest in the mean, with it.
fn worst<'p, 'r>(points: &'p [Point<'r>], value: fn(&Run) -> f64) -> Option<(&'p Point<'r>, f64)> {
    let means = points.iter().filter_map(|point| Some((point, point.over(value)?.mean)));
    means.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn bias(run: &Run) -> f64 {
    measure::naive(run) - measure::configured(run)
}

/// Error of the paper's count, as a part of the buffer.
fn off(point: &Point<'_>) -> Reading {
    let count = point.over(measure::naive).zip(point.over(measure::configured));
    count.map(|(count, buffer)| (count.mean - buffer.mean).abs() / buffer.mean).into()
}

fn buf_1(results: &Results) -> Claim {
    let idle = points(results, IDLE);
    let mut measured = Evidence::of(results, &[IDLE]);
    let maximum = Reading::extreme(idle.iter().map(off), f64::max);
    let off_most = measured.number("count_off_most", maximum);
    for (key, standard) in
        [("count_off_most_802_11b", "802.11b"), ("count_off_most_802_11g", "802.11g")]
    {
        let of = idle.iter().filter(|point| point.standard == standard);
        measured.number(key, Reading::extreme(of.map(off), f64::max));
    }
    let lows = idle.iter().map(|point| Reading::low(point.over(bias)));
    measured.number("least_bias_low", Reading::extreme(lows, f64::min));
    let note = worst(&idle, bias).map(|(point, bias)| {
        format!(
            "The count is furthest off at {} over {}: {} packets, {bias:.0} too many, for the \
             radio drained {} of what the train brought. Less that, it is BUF-X7.",
            point.queue,
            point.standard,
            show(point.over(measure::naive), 1),
            show(point.over(measure::load), 3),
        )
    });
    Claim::judge(
        Criterion {
            id: "BUF-1",
            statement: "The number just before the first gap is the access point's buffer (the \
                        paper's method, mean of its counts)",
            meaning: "count_off_most: distance of the mean count from the buffer, as a part of it, \
                      the greatest over access points and radios; a tenth is ours, the paper gives \
                      no accuracy. By radio it is told and not judged, like the least lower end of \
                      the 95 % interval of the count less the buffer",
        },
        measured.tested([off_most.below(0.1)]),
        note.unwrap_or_default(),
    )
}

fn buf_x7(results: &Results) -> Claim {
    let (idle, beside) = (points(results, IDLE), points(results, BESIDE));
    let mut measured = Evidence::of(results, &[IDLE, BESIDE]);
    let idle_within = measured.number("idle_runs_within", within(&idle));
    measured.number("beside_runs_within", within(&beside));
    let mut notes = Vec::new();
    for (name, points) in [(IDLE, &idle), (BESIDE, &beside)] {
        let Some((point, misses)) = worst(points, measure::misses) else { continue };
        measured.number(format!("{name}_worst"), misses);
        notes.push(format!(
            "Furthest off, {name}: {} over {} is estimated as {} packets, {:.0} % of what is \
             allowed.",
            point.queue,
            point.standard,
            show(point.over(measure::corrected), 2),
            100.0 * misses
        ));
    }
    Claim::judge(
        Criterion {
            id: "BUF-X7",
            statement: "Ours: with what drained meanwhile taken off, the count is the buffer, \
                        within 1 packet or 2 %, for access points with 802.11b and g",
            meaning: "Shares of runs, each the mean over its trains, whose estimate is off by at \
                      most 1 packet or 2 % of the buffer, whichever is more (asked of the probe \
                      was one packet: 2 % of 255 are 5). Beside other traffic it is told and not \
                      judged",
        },
        measured.tested([idle_within.at_least(1.0)]),
        notes.join(" "),
    )
    .ours()
}

fn buf_x6(results: &Results) -> Claim {
    let answers = measure::answers(results);
    let share =
        |part: u64, answers: &measure::Answers| part as f64 / answers.count(|_| true) as f64;
    let right = Reading::extreme(answers.iter().map(|a| share(a.right(), a)), f64::min);
    let wrong = Reading::extreme(answers.iter().map(|a| share(a.wrong(), a)), f64::max);
    let mut measured = Evidence::of(results, &[IDLE, BESIDE, KINDS]);
    let findings = answers.iter().map(|a| a.count(|_| true)).sum::<u64>();
    measured.fact("findings", findings);
    let least_right = measured.number("least_right", right);
    let most_wrong = measured.number("most_wrong", wrong);
    let lacking = answers.iter().filter(|a| a.right() < a.count(|_| true)).map(|answers| {
        let truth = answers.truth.unwrap_or("cannot tell");
        let reported = answers.reported.iter().map(|(verdict, count)| {
            format!("{} {count} times", verdict.as_deref().unwrap_or("cannot tell"))
        });
        format!(
            "{}, where it is {truth}: {}.",
            answers.question,
            reported.collect::<Vec<_>>().join(", ")
        )
    });
    let lacking: Vec<String> = lacking.collect();
    let note = match lacking.is_empty() {
        true => "Every finding is right.".to_owned(),
        false => format!("Not all right: {}", lacking.join(" ")),
    };
    Claim::judge(
        Criterion {
            id: "BUF-X6",
            statement: "Ours: the trains tell packets from bytes, drop-tail from AQM, a shared \
                        queue from separate ones and a lossy radio from a clean one; what they \
                        cannot tell they leave open",
            meaning: "Over the questions and what is so (the rows of the table of findings), the \
                      least share of right findings and the largest of wrong ones. Right is also \
                      to leave open what the trains do not reach: the limit of a queue that they \
                      do not fill",
        },
        measured.tested([least_right.at_least(0.9), most_wrong.below(0.05)]),
        note,
    )
    .ours()
}

pub(super) fn explanations(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for standard in ["802.11b", "802.11g"] {
        let of = |point: &Point<'_>| point.standard == standard;
        let Some(point) = points(results, IDLE).into_iter().find(of) else { continue };
        lines.push(format!(
            "{standard}, {}: the radio drains {} of what the train brings, so the buffer fills \
             only after {} packets. Times one less that share this is {}; the one more is the \
             frame that the radio holds. The count of what had drained gives {}.",
            point.queue,
            show(point.over(measure::load), 3),
            show(point.over(measure::naive), 1),
            show(point.over(measure::by_rates), 1),
            show(point.over(measure::corrected), 2),
        ));
    }
    let beside = points(results, BESIDE);
    if let Some(point) = beside.first() {
        lines.push(format!(
            "Beside other traffic, {} over {}: {} packets of it were the probe's when the first \
             was dropped. Others brought about 43 packets a second against the train's 7900.",
            point.queue,
            point.standard,
            show(point.over(measure::corrected), 2),
        ));
    }
    lines
}
