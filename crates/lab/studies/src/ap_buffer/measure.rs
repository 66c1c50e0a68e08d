//! Measures of a run, and the truth that the probe should have found.

use super::experiments::{BESIDE, ERRORS, IDLE, KINDS, QUEUE, STANDARD, VARIANT};
use fairwave_lab::results::{ProbeSummary, SizeSummary};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::Results;
use fairwave_study::measure::over;

/// Findings of the probe of a run.
pub(super) fn probe(run: &Run) -> Option<&ProbeSummary> {
    run.summary.flows.iter().find(|flow| flow.name == "probe")?.probe.as_ref()
}

/// Findings with its only or first size.
pub(super) fn size(run: &Run) -> Option<&SizeSummary> {
    probe(run)?.sizes.first()
}

/// Packets that the access point's queue was given.
pub(super) fn configured(run: &Run) -> f64 {
    let text = run.axis(QUEUE).trim_end_matches(" packets");
    text.parse().unwrap_or(f64::NAN)
}

/// The corrected estimate; not a number where there is none.
pub(super) fn corrected(run: &Run) -> f64 {
    size(run).and_then(|size| size.corrected).map_or(f64::NAN, |found| found.mean)
}

/// The paper's count.
pub(super) fn naive(run: &Run) -> f64 {
    size(run).and_then(|size| size.naive).map_or(f64::NAN, |found| found.mean)
}

/// The paper's count corrected by the rates: `N1 (1 - mu / lambda)`.
pub(super) fn by_rates(run: &Run) -> f64 {
    size(run).and_then(|size| size.by_rates).unwrap_or(f64::NAN)
}

/// The drain's rate over the train's, `mu / lambda`.
pub(super) fn load(run: &Run) -> f64 {
    let rates = size(run).and_then(|size| Some((size.drained_per_s?.mean, size.sent_per_s?)));
    rates.map_or(f64::NAN, |(drained, sent)| drained / sent)
}

/// Error of the corrected estimate, in units of the error that the claim allows: one packet, or 2 %
/// of the buffer if that is more.
pub(super) fn misses(run: &Run) -> f64 {
    let buffer = configured(run);
    (corrected(run) - buffer).abs() / (0.02 * buffer).max(1.0)
}

/// An access point with a standard, and its runs.
pub(super) struct Point<'a> {
    pub(super) queue: String,
    pub(super) standard: String,
    pub(super) runs: Vec<&'a Run>,
}

impl Point<'_> {
    pub(super) fn over(&self, value: impl Fn(&Run) -> f64) -> Option<Estimate> {
        over(&self.runs, value)
    }
}

/// Every access point with every standard, in the order of the plan.
pub(super) fn points<'a>(results: &'a Results, experiment: &str) -> Vec<Point<'a>> {
    let mut points = Vec::new();
    for queue in results.axis(experiment, QUEUE) {
        for standard in results.axis(experiment, STANDARD) {
            let runs = results.select(experiment, &[(QUEUE, &queue), (STANDARD, &standard)]);
            points.push(Point { queue: queue.clone(), standard, runs });
        }
    }
    points
}

/// Number of times that a question had this answer, and that each verdict was given.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    pub(super) question: &'static str,
    /// The truth; `None` where the probe cannot observe it.
    pub(super) truth: Option<&'static str>,
    /// Verdicts and their number; `None` is "undecided".
    pub(super) reported: Vec<(Option<String>, u64)>,
}

impl Answers {
    pub(super) fn count(&self, which: impl Fn(Option<&str>) -> bool) -> u64 {
        let counts = self.reported.iter().filter(|(verdict, _)| which(verdict.as_deref()));
        counts.map(|(_, count)| count).sum()
    }

    pub(super) fn right(&self) -> u64 {
        self.count(|verdict| verdict == self.truth)
    }

    pub(super) fn wrong(&self) -> u64 {
        self.count(|verdict| verdict.is_some() && verdict != self.truth)
    }
}

/// The truth about the probed queue of a run, question by question.
fn truths(experiment: &str, run: &Run) -> Vec<(&'static str, Option<&'static str>)> {
    if experiment != KINDS {
        let company = if experiment == IDLE { "alone" } else { "beside" };
        let known = [("policy", "drop-tail"), ("radio", "clean"), ("company", company)];
        return known.map(|(question, truth)| (question, Some(truth))).into();
    }
    let (limit, policy, sharing) = match run.axis(VARIANT) {
        "packets" => (Some("packets"), "drop-tail", "shared"),
        "bytes" => (Some("bytes"), "drop-tail", "shared"),
        // Their limits of thousands of packets are not reached.
        _ => (None, "aqm", "separate"),
    };
    let radio = if run.axis(ERRORS) == "snr" { "clean" } else { "lossy" };
    let rest = [("policy", policy), ("radio", radio), ("sharing", sharing)];
    let rest = rest.map(|(question, truth)| (question, Some(truth)));
    [("limit", limit)].into_iter().chain(rest).collect()
}

/// The verdict on a question; the flow that watches decides on the sharing of queues.
fn verdict<'a>(run: &'a Run, question: &str) -> Option<&'a str> {
    let probes = run.summary.flows.iter().filter_map(|flow| flow.probe.as_ref());
    let mut found = probes.filter(|probe| (question == "sharing") == probe.sharing.is_some());
    let findings = found.next()?.findings();
    let (_, finding) = findings.into_iter().find(|(name, _)| *name == question)?;
    finding.verdict.as_deref()
}

/// All questions with their answers, over all experiments.
pub(super) fn answers(results: &Results) -> Vec<Answers> {
    let mut all: Vec<Answers> = Vec::new();
    for experiment in [IDLE, BESIDE, KINDS] {
        for run in results.select(experiment, &[]) {
            for (question, truth) in truths(experiment, run) {
                let reported = verdict(run, question).map(str::to_owned);
                note(&mut all, question, truth, reported);
            }
        }
    }
    all.sort_by_key(|answers| (answers.question, answers.truth));
    all
}

fn note(
    all: &mut Vec<Answers>,
    question: &'static str,
    truth: Option<&'static str>,
    reported: Option<String>,
) {
    let same = |answers: &Answers| answers.question == question && answers.truth == truth;
    let place = all.iter().position(same).unwrap_or_else(|| {
        all.push(Answers { question, truth, reported: Vec::new() });
        all.len() - 1
    });
    let list = &mut all[place].reported;
    match list.iter_mut().find(|(verdict, _)| *verdict == reported) {
        Some((_, count)) => *count += 1,
        None => list.push((reported, 1)),
    }
}
