//! The paper's open question, why six terminals split in two: one thing is switched at a time.

use super::experiments::SPLIT;
use super::measure::{is_split, is_unfair, of_stack, split, unfair, worst_share};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate, Proportion};
use fairwave_study::measure::{
    ack_drop_share, jain, over, show, show_share, timeouts_per_flow, total_mbps,
};
use fairwave_study::{Claim, Criterion, Evidence, ResultTable, Results};

const VARIANT: &str = "variant";
const BASE: &str = "as the paper's";
/// Beginning of the names of variants of the one with an ACK for every segment.
const THE_SAME: &str = "the same, ";
const EVERY_SEGMENT: &str = "an ACK for every segment";
const TEN_MINUTES: &str = "ten minutes";
const EVERY_SEGMENT_TEN_MINUTES: &str = "the same, ten minutes";
const SHORT_TIMER: &str = "RTO of at most 1 s";
const EVERY_SEGMENT_SHORT_TIMER: &str = "the same, RTO of at most 1 s";
/// Below this part of the equal share a terminal counts as slow.
const SLOW: f64 = 0.5;

fn of<'r>(results: &'r Results, variant: &str) -> Vec<&'r Run> {
    results.select(SPLIT, &[(VARIANT, variant)])
}

/// Number of runs that are split or unfair: in either, some terminals are far below the others.
fn apart(runs: &[&Run]) -> Option<Proportion> {
    Proportion::among(runs, |run| is_split(run) || is_unfair(run))
}

/// Goodput below [`SLOW`] of the equal share.
fn slow(run: &Run, stack: &str) -> usize {
    let equal = stats::mean(&run.summary.goodputs()).unwrap_or(0.0);
    let of = run.summary.flows.iter().filter(|flow| flow.name.starts_with(stack));
    of.filter(|flow| (flow.goodput_bps as f64) < SLOW * equal).count()
}

/// The estimate of the difference of the runs with the same seed.
fn gain(longer: &[&Run], shorter: &[&Run]) -> Option<Estimate> {
    fairwave_study::measure::paired(longer, shorter, jain)
}

pub(super) fn claim(results: &Results) -> Claim {
    let [short, long] = [BASE, TEN_MINUTES].map(|name| of(results, name));
    let [short_all, long_all] =
        [EVERY_SEGMENT, EVERY_SEGMENT_TEN_MINUTES].map(|name| of(results, name));
    let mut measured = Evidence::of(results, &[SPLIT]);
    measured.share("apart_two_minutes", apart(&short));
    measured.share("apart_ten_minutes", apart(&long));
    let jain_gain = measured.estimate("jain_gain", gain(&long, &short));
    measured.share("every_segment_apart_two_minutes", apart(&short_all));
    measured.share("every_segment_apart_ten_minutes", apart(&long_all));
    let every_segment_jain_gain =
        measured.estimate("every_segment_jain_gain", gain(&long_all, &short_all));
    let index = |name: &str| show(over(&of(results, name), jain), 3);
    let note = format!(
        "Jain's index over two and ten minutes: {} and {}; with an ACK for every segment {} and \
         {}. Over two minutes with a retransmission timer that backs off to 1 s at most: {} and \
         {}. The stacks' own timers double with each loss of a lone ACK, up to 120 s.",
        index(BASE),
        index(TEN_MINUTES),
        index(EVERY_SEGMENT),
        index(EVERY_SEGMENT_TEN_MINUTES),
        index(SHORT_TIMER),
        index(EVERY_SEGMENT_SHORT_TIMER),
    );
    Claim::judge(
        Criterion {
            id: "BUF-X3",
            statement: "Ours, on the paper's open question: the groups of six terminals are no \
                        fixed sets; who is slow recovers for long, but not for ever, so that ten \
                        minutes are fairer than two",
            meaning: "jain_gain is Jain's index over ten minutes less that over two, of runs with \
                      the same seed; the 95 % confidence interval must end above zero, however the \
                      host acknowledges. apart: split, or unfair as in BUF-2",
        },
        measured.tested([jain_gain.low.above(0.0), every_segment_jain_gain.low.above(0.0)]),
        note,
    )
    .ours()
}

/// Switches that change Jain's index beyond chance, of all that differ from `base`.
fn effects(results: &Results, base: &str, names: &[String]) -> String {
    let before = of(results, base);
    let (mut fairer, mut less, mut neither) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let Some(change) = gain(&of(results, name), &before) else { continue };
        let text = format!("{name} ({:+.3})", change.mean);
        match change.half_width {
            Some(half) if change.mean > half => fairer.push(text),
            Some(half) if change.mean < -half => less.push(text),
            _ => neither.push(text),
        }
    }
    let list = |what: &[String]| match what {
        [] => "nothing".to_owned(),
        some => some.join(", "),
    };
    format!(
        "Beside \"{base}\", by Jain's index of runs with the same seed (95 %). Fairer with: {}. \
         Less fair with: {}. No clear change with: {}.",
        list(&fairer),
        list(&less),
        list(&neither),
    )
}

/// The effect of each switch, in words.
pub(super) fn in_words(results: &Results) -> Vec<String> {
    let base = of(results, BASE);
    if base.is_empty() {
        return Vec::new();
    }
    let all_names = results.axis(SPLIT, VARIANT);
    let (every, second): (Vec<String>, Vec<String>) =
        all_names.into_iter().partition(|name| name.starts_with(THE_SAME));
    let count = |stack| base.iter().map(|run| slow(run, stack)).sum::<usize>();
    let all = of(results, EVERY_SEGMENT);
    let count_all = |stack| all.iter().map(|run| slow(run, stack)).sum::<usize>();
    vec![
        effects(results, BASE, &second),
        effects(results, EVERY_SEGMENT, &every),
        format!(
            "Which stack is slow (below half of the equal share) of three terminals each in {} \
             runs: Linux 2.4 {} times, Windows XP {} times; with an ACK for every segment {} and \
             {} times.",
            base.len(),
            count("linux"),
            count("xp"),
            count_all("linux"),
            count_all("xp"),
        ),
    ]
}

pub(super) fn table(results: &Results) -> ResultTable {
    let header = [
        "Variant",
        "Seeds",
        "Split runs",
        "Unfair runs",
        "Jain",
        "Worst of equal share",
        "Linux (Mbps each)",
        "XP (Mbps each)",
        "Total (Mbps)",
        "ACKs dropped (share)",
        "Timeouts per flow",
    ];
    let row = |name: &String| {
        let runs = of(results, name);
        vec![
            name.clone(),
            runs.len().to_string(),
            show_share(split(&runs)),
            show_share(unfair(&runs)),
            show(over(&runs, jain), 3),
            show(over(&runs, worst_share), 2),
            show(over(&runs, |run| of_stack(run, "linux")), 2),
            show(over(&runs, |run| of_stack(run, "xp")), 2),
            show(over(&runs, total_mbps), 2),
            show(over(&runs, ack_drop_share), 3),
            show(over(&runs, timeouts_per_flow), 1),
        ]
    };
    let rows = results.axis(SPLIT, VARIANT).iter().map(row).collect();
    let title = "Six terminals at 31 packets, one thing switched at a time".into();
    ResultTable { title, header: header.map(str::to_owned).into(), rows }
}
