//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::*;
use fairwave_lab::results::{FindingSummary, IntervalSummary, ProbeSummary, SizeSummary};
use fairwave_lab::run::Run;
use fairwave_study::{Claim, made};

fn finding(verdict: &str) -> FindingSummary {
    let verdict = Some(verdict.to_owned()).filter(|verdict| !verdict.is_empty());
    FindingSummary { verdict, evidence: String::new() }
}

/// A run whose probe found so much.
fn run(axes: &[(&str, &str)], seed: u64, naive: f64, corrected: f64, words: [&str; 5]) -> Run {
    let mut run = made::run(axes, seed, &[1.0], 0.0);
    let interval = |mean| Some(IntervalSummary { n: 10, mean, half_width: Some(0.1) });
    let size = SizeSummary {
        payload_bytes: 1472,
        trains: 10,
        naive: interval(naive),
        corrected: interval(corrected),
        corrected_min: Some(corrected),
        corrected_max: Some(corrected),
        later: None,
        by_rates: Some(corrected + 1.0),
        sent_per_s: Some(8000.0),
        drained_per_s: interval(2000.0),
    };
    let [limit, policy, radio, company, sharing] = words.map(finding);
    let found = ProbeSummary {
        ended: "complete".into(),
        sizes: vec![size],
        limit,
        policy,
        radio,
        company,
        sharing: None,
    };
    let mut watch = run.summary.flows[0].clone();
    (run.summary.flows[0].name, watch.name) = ("probe".into(), "watch".into());
    if axes.iter().any(|(key, _)| *key == VARIANT) {
        watch.probe = Some(ProbeSummary { sharing: Some(sharing), ..found.clone() });
        run.summary.flows.push(watch);
    }
    run.summary.flows[0].probe = Some(found);
    run
}

/// `off` is what is added to the estimate of a buffer, `aqm` what is said of such a queue. The
/// paper's count is a third too large.
fn results(off: impl Fn(&str, f64) -> f64, aqm: &str) -> Results {
    counted(off, aqm, |_| 4.0 / 3.0)
}

/// `count` is what the paper's count is of a buffer, by the radio.
fn counted(off: impl Fn(&str, f64) -> f64, aqm: &str, count: impl Fn(&str) -> f64) -> Results {
    let mut results = Results::default();
    for (experiment, company) in [(IDLE, "alone"), (BESIDE, "beside")] {
        let mut runs = Vec::new();
        for packets in [255.0, 31.0] {
            for standard in ["802.11b", "802.11g"] {
                let queue = format!("{packets} packets");
                let axes = [(QUEUE, queue.as_str()), (STANDARD, standard)];
                let words = ["", "drop-tail", "clean", company, ""];
                for seed in 1..=3 {
                    let found = packets + off(experiment, packets);
                    runs.push(run(&axes, seed, packets * count(standard), found, words));
                }
            }
        }
        results.runs.insert(experiment.into(), runs);
    }
    let mut runs = Vec::new();
    for (variant, words) in [
        ("bytes", ["bytes", "drop-tail", "clean", "", "shared"]),
        ("fq-codel", ["", aqm, "clean", "", "separate"]),
    ] {
        runs.push(run(&[(VARIANT, variant), (ERRORS, "snr")], 1, 100.0, 80.0, words));
    }
    results.runs.insert(KINDS.into(), runs);
    results
}

fn judged(results: &Results) -> Vec<Claim> {
    ApBuffer.evaluate(results).expect("there is nothing to read").claims
}

#[test]
fn a_packet_or_two_per_cent_may_be_missing() {
    let claims = judged(&results(|_, packets| -f64::max(1.0, 0.02 * packets), "aqm"));
    assert_eq!(claims[2].verdict.holds(), Some(true), "{:?}", claims[2]);
    assert_eq!(claims[1].verdict.holds(), Some(true), "{:?}", claims[1]);
    assert_eq!(claims[1].note, "Every finding is right.");
}

/// A count that is 9 % too large or too small over every radio is the buffer, one of 11 % is not.
#[test]
fn the_papers_count_must_be_the_buffer_by_itself() {
    let with = |b: f64, g: f64| {
        let count = |standard: &str| if standard == "802.11b" { b } else { g };
        judged(&counted(|_, _| 0.0, "aqm", count)).swap_remove(0)
    };
    let holds = |b, g| with(b, g).verdict.holds();
    assert_eq!(holds(1.09, 0.91), Some(true));
    assert_eq!((holds(1.11, 1.0), holds(1.0, 0.89)), (Some(false), Some(false)));
    let claim = with(1.05, 1.5);
    assert_eq!((claim.id, claim.is_ours), ("BUF-1", false));
    assert_eq!(claim.measured["count_off_most_802_11b"], 0.05);
    assert_eq!(claim.measured["count_off_most"], 0.5);
}

#[test]
fn an_idle_buffer_that_is_off_fails_the_claim() {
    for (bad, holds) in [(IDLE, false), (BESIDE, true)] {
        let off = |experiment: &str, packets: f64| {
            if experiment == bad && packets == 31.0 { 1.1 } else { 0.0 }
        };
        let claims = judged(&results(off, "aqm"));
        assert_eq!(claims[2].verdict.holds(), Some(holds), "{bad}");
        assert_eq!(claims[2].measured[&format!("{bad}_runs_within")], 0.5);
    }
    assert!(judged(&Results::default()).iter().all(|claim| claim.verdict.holds().is_none()));
}

#[test]
fn one_kind_that_is_left_open_or_mistaken_fails_the_claim() {
    let open = judged(&results(|_, _| 0.0, ""));
    assert!(
        open[1].verdict.holds() == Some(false) && open[1].measured["most_wrong"] == 0.0,
        "{:?}",
        open[1]
    );
    assert!(open[1].note.contains("policy, where it is aqm: cannot tell 1 times"));
    let wrong = judged(&results(|_, _| 0.0, "drop-tail"));
    assert!(
        wrong[1].verdict.holds() == Some(false) && wrong[1].measured["most_wrong"] == 1.0,
        "{:?}",
        wrong[1]
    );
}

#[test]
fn the_tables_show_what_was_expected_of_the_naive_count() {
    let findings = ApBuffer.evaluate(&results(|_, _| 0.0, "aqm")).expect("nothing to read");
    // (255 + 1) / (1 - 2000 / 8000)
    assert_eq!(findings.tables[0].rows[0][4], "341.3 ± 0.0");
    let right = ["policy", "drop-tail", "25", "25", "0", "0"].map(str::to_owned);
    assert!(findings.tables[2].rows.contains(&right.into()), "{:?}", findings.tables[2].rows);
    assert_eq!(findings.exhibits.len(), 2);
}

#[test]
fn the_plans_are_right() {
    for experiment in EXPERIMENTS {
        for quick in [false, true] {
            experiment.plan(quick).unwrap_or_else(|why| panic!("{}: {why}", experiment.name));
        }
    }
}
