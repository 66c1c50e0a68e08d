//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::*;
use fairwave_lab::results::Stretch;
use fairwave_lab::run::Run;
use fairwave_study::Claim;
use fairwave_study::made::{self, FAIR, Shape};

/// A run of 16 flows; those of the experiments with errors are half downloads.
fn run(axes: &[(&str, &str)], seed: u64, shape: Shape) -> Run {
    let down = axes.iter().any(|(key, _)| *key == ERRORS);
    made::shaped(axes, seed, 16, down, shape)
}

/// Ten seeds of each point; `shape` says what each algorithm does at each packet error rate.
pub(super) fn results(shape: impl Fn(&str, &str) -> Shapes) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    for algorithm in ["reno", "ack-loss-literal+reno", "compound", "ack-loss-literal+compound"] {
        for seed in 1..=10 {
            let axes = [(COUNT, PAPER_UPLOADS), (ALGORITHM, algorithm)];
            let one = run(&axes, seed, shape(algorithm, "").0);
            results.runs.entry(UPLOADS.into()).or_default().push(one);
            for errors in [LOW, HIGH] {
                let axes = [(ERRORS, errors), (ALGORITHM, algorithm)];
                let one = run(&axes, seed, shape(algorithm, errors).0);
                results.runs.entry(UP_DOWN.into()).or_default().push(one);
            }
        }
    }
    for threshold in ["1", "8"] {
        let axes = [(LOST_ACKS, threshold), (ALGORITHM, "ack-loss-literal+reno")];
        let one = run(&axes, 1, shape("ack-loss-literal+reno", "").0);
        results.runs.entry(THRESHOLD.into()).or_default().push(one);
    }
    add_remedies(&mut results, shape);
    results
}

/// Adds ten seeds of each remedy to the experiments that compare them.
fn add_remedies(results: &mut Results, shape: impl Fn(&str, &str) -> Shapes) {
    for queue in ["drop-tail", "fq-codel"] {
        for algorithm in ["compound", "ack-loss-literal+compound"] {
            for seed in 1..=10 {
                let limit = ("node.ap.queue.limit", "100 packets");
                let axes = [("node.ap.queue.discipline", queue), limit, (ALGORITHM, algorithm)];
                let one = run(&axes, seed, shape(algorithm, queue).0);
                for experiment in [REMEDIES, REMEDIES_UP_DOWN] {
                    results.runs.entry(experiment.into()).or_default().push(one.clone());
                }
            }
        }
    }
}

/// Keeps [`Shape`] private to these helpers.
pub(super) struct Shapes(Shape);

/// What the paper reports.
pub(super) fn as_in_the_paper(algorithm: &str, errors: &str) -> Shapes {
    let remedy = algorithm.contains('+');
    Shapes(match errors {
        "" if remedy => FAIR,
        "" => Shape { first: 12.0, collapse_s: 55, acks_dropped: 9, overflow: 500, ..FAIR },
        LOW if remedy => Shape { up_mbps: 4, down_mbps: 5, ..FAIR },
        LOW => Shape { up_mbps: 7, down_mbps: 3, ..FAIR },
        "drop-tail" if !remedy => Shape { first: 8.0, ..FAIR },
        "fq-codel" => Shape { up_mbps: 2, ..FAIR },
        _ => FAIR,
    })
}

fn verdicts(results: &Results) -> Vec<(&'static str, Option<bool>)> {
    claims::all(results).iter().map(|claim: &Claim| (claim.id, claim.verdict.holds())).collect()
}

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS {
        let full = experiment.plan(false).unwrap_or_else(|e| panic!("{e}"));
        let quick = experiment.plan(true).unwrap_or_else(|e| panic!("{e}"));
        assert!(quick.jobs().len() <= full.jobs().len());
        for plan in [&full, &quick] {
            for algorithm in
                plan.points.iter().flat_map(|p| &p.axes).filter(|(key, _)| key == ALGORITHM)
            {
                let name = algorithm.1.trim_matches('"');
                assert!(fairwave_cc::ALL.iter().any(|l| name.ends_with(l.name)), "{name}");
            }
        }
    }
}

#[test]
fn the_papers_results_satisfy_its_claims() {
    let found = verdicts(&results(as_in_the_paper));
    let all = ["ACK-1", "ACK-2", "ACK-3", "ACK-4", "ACK-X1", "ACK-X2"];
    assert_eq!(found, all.map(|id| (id, Some(true))));
}

#[test]
fn a_fair_network_satisfies_only_the_papers_last_claim() {
    let found = verdicts(&results(|_, _| Shapes(FAIR)));
    assert_eq!(
        found[..4],
        [
            ("ACK-1", Some(false)),
            ("ACK-2", Some(false)),
            ("ACK-3", Some(false)),
            ("ACK-4", Some(true))
        ]
    );
    // Ours hold too: where nothing is lost, anything loses nothing.
    assert_eq!(found[4..], [("ACK-X1", Some(true)), ("ACK-X2", Some(true))]);
}

#[test]
fn a_remedy_that_does_nothing_fails() {
    let found = verdicts(&results(|_, errors| as_in_the_paper("reno", errors)));
    assert_eq!(found[1..3], [("ACK-2", Some(false)), ("ACK-3", Some(false))]);
}

#[test]
fn fairness_among_uploads_is_judged_by_the_algorithm_that_the_paper_names() {
    let unfair = Shapes(Shape { first: 12.0, ..FAIR });
    let but = |named: &str| {
        let shape = |algorithm: &str, errors: &str| match errors {
            "" if algorithm.contains('+') && algorithm.ends_with(named) => Shapes(unfair.0),
            _ => as_in_the_paper(algorithm, errors),
        };
        verdicts(&results(shape))[1]
    };
    assert_eq!(but("compound"), ("ACK-2", Some(true)));
    assert_eq!(but("reno"), ("ACK-2", Some(false)));
}

/// 7 of 10 Mbps for each pair of flows are less than four fifths, 9 are more.
#[test]
fn a_total_that_falls_by_more_than_a_fifth_does_not_fall_slightly() {
    let with = |down_mbps: u64| {
        let shape = move |algorithm: &str, errors: &str| match errors {
            LOW if algorithm.contains('+') => Shapes(Shape { up_mbps: 4, down_mbps, ..FAIR }),
            _ => as_in_the_paper(algorithm, errors),
        };
        verdicts(&results(shape))[2].1.expect("decided")
    };
    assert!(with(5) && !with(3));
}

#[test]
fn overflow_at_a_high_error_rate_fails_the_last_claim() {
    let found = verdicts(&results(|_, _| Shapes(Shape { overflow: 200, ..FAIR })));
    assert_eq!(found[3], ("ACK-4", Some(false)));
}

#[test]
fn a_collapse_whose_acks_arrive_is_not_starvation_as_described() {
    let quiet = Shape { first: 0.0, collapse_s: 60, acks_dropped: 1, ..FAIR };
    let mut results = results(|_, _| Shapes(quiet));
    assert_eq!(verdicts(&results)[0], ("ACK-1", Some(false)));
    // Beside it, the flow starves for a shorter time.
    for run in results.runs.values_mut().flatten() {
        let flow = &mut run.summary.flows[0];
        let starved = Stretch {
            length_ns: 21_000_000_000,
            acks_sent: 4,
            acks_dropped_at_ap: 2,
            ..flow.collapsed
        };
        flow.collapsed_by_ack_loss = Some(starved);
    }
    let claims = claims::all(&results);
    assert_eq!(claims[0].measured["longest_starvation_s"], 21.0);
    assert_eq!(claims[0].verdict.holds(), Some(true));
}

#[test]
fn a_remedy_must_be_fair_and_lose_nothing() {
    let with = |fq_codel: Shape| {
        let shape = |algorithm: &str, errors: &str| match errors {
            "fq-codel" => Shapes(fq_codel),
            _ => as_in_the_paper(algorithm, errors),
        };
        verdicts(&results(shape))[4].1.expect("decided")
    };
    assert!(!with(FAIR), "fair, but 16 of 23 Mbps");
    assert!(!with(Shape { first: 12.0, up_mbps: 2, ..FAIR }), "much, but unfair");
    assert!(with(Shape { up_mbps: 2, ..FAIR }));
}

#[test]
fn without_runs_nothing_is_decided() {
    assert!(verdicts(&Results::default()).iter().all(|(_, holds)| holds.is_none()));
}

#[test]
fn findings_follow_the_runs() {
    let findings = AckLoss.evaluate(&results(as_in_the_paper)).unwrap();
    assert_eq!(findings.tables[0].rows.len(), 4);
    assert_eq!(findings.tables[1].rows.len(), 2);
    assert!(findings.exhibits.iter().any(|exhibit| exhibit.id == "fig3-reno"));
    for exhibit in &findings.exhibits {
        exhibit.figure.to_svg().unwrap();
    }
}
