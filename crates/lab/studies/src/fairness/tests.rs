//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::*;
use fairwave_lab::run::Run;
use fairwave_study::made;
use std::collections::BTreeSet;

/// Goodputs of `n` terminals, of which one starves.
fn starving(n: usize) -> Vec<f64> {
    let mut rates = vec![24.0 / (n - 1) as f64; n];
    rates[0] = 0.1;
    rates
}

fn equal(n: usize) -> Vec<f64> {
    (0..n).map(|i| 24.0 / n as f64 + 0.001 * i as f64).collect()
}

/// Two groups, apart by a factor of two.
fn two_groups(n: usize) -> Vec<f64> {
    let low = |i: usize| if i.is_multiple_of(2) { 2.0 } else { 5.0 };
    (0..n).map(|i| low(i) + 0.01 * i as f64).collect()
}

type Rates = fn(queue: &str, n: usize, seed: u64) -> Vec<f64>;

const EVERY_SECOND: &str = "{ every = 2, timeout = 40 ms }";

/// What the paper reports.
fn as_in_the_paper(queue: &str, n: usize, seed: u64) -> Vec<f64> {
    match (queue, n) {
        (LARGE, 5..) => starving(n),
        (LARGE, _) | (_, 2) => equal(n),
        (_, 6) if seed > 2 => two_groups(n),
        _ if seed.is_multiple_of(3) => starving(n),
        _ => equal(n),
    }
}

fn mixes(rates: Rates) -> Vec<Run> {
    let mut runs = Vec::new();
    for queue in [LARGE, SMALL] {
        for (linux, xp) in (1..=4).flat_map(|l| (1..=3).map(move |x| (l, x))) {
            let (l, x) = (linux.to_string(), xp.to_string());
            for (acks, seed) in (1..=10).flat_map(|s| [(EVERY_SECOND, s), ("off", s)]) {
                let axes = [(QUEUE, queue), (ACKS, acks), (LINUX, &*l), (XP, &*x)];
                runs.push(made::run(&axes, seed, &rates(queue, linux + xp, seed), 0.1));
            }
        }
    }
    runs
}

/// A map in which ACKs are dropped from `onset` terminals on.
fn map(onset: impl Fn(&str, &str) -> f64) -> Vec<Run> {
    let mut runs = Vec::new();
    for queue in [LARGE, SMALL] {
        for acks in [EVERY_SECOND, "off"] {
            for n in 2..=10 {
                let dropped = if n as f64 > onset(queue, acks) { 0.2 } else { 0.0 };
                runs.push(made::run(&[(QUEUE, queue), (ACKS, acks)], 1, &equal(n), dropped));
            }
        }
    }
    runs
}

fn results(rates: Rates) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    results.runs.insert(MIXES.into(), mixes(rates));
    results.runs.insert(MAP.into(), map(measure::onset));
    results
}

fn verdicts(results: &Results) -> Vec<(&'static str, Option<bool>)> {
    claims::all(results, None).iter().map(|claim| (claim.id, claim.verdict.holds())).collect()
}

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS {
        let full = experiment.plan(false).unwrap_or_else(|e| panic!("{e}"));
        let quick = experiment.plan(true).unwrap_or_else(|e| panic!("{e}"));
        assert!(quick.jobs().len() <= full.jobs().len());
    }
    let mixes = EXPERIMENTS[3].plan(false).unwrap();
    let maximum = mixes.points.iter().map(|p| p.scenario.to_world(1).flows.len()).max();
    assert_eq!((mixes.points.len(), maximum), (48, Some(7)));
}

#[test]
fn the_papers_results_satisfy_its_claims() {
    let found = verdicts(&results(as_in_the_paper));
    let expected = [
        ("BUF-2", Some(true)),
        ("BUF-3", Some(true)),
        ("BUF-4", None),
        ("BUF-X1", Some(true)),
        ("BUF-X2", Some(true)),
    ];
    assert_eq!(found[..5], expected, "without captures there is nothing to say of BUF-4");
}

#[test]
fn all_fair_fails_both_claims() {
    let found = verdicts(&results(|_, n, _| equal(n)));
    assert_eq!(found[..2], [("BUF-2", Some(false)), ("BUF-3", Some(false))]);
}

/// A tenth of the runs with many terminals is unfair, or none with five: neither is "unfairness
/// occurs" beside "fair".
#[test]
fn a_few_unfair_runs_are_no_threshold() {
    let hardly: Rates = |queue, n, seed| match (queue, n) {
        (LARGE, 5..) if seed > 1 => equal(n),
        _ => as_in_the_paper(queue, n, seed),
    };
    let found = claims::all(&results(hardly), None).swap_remove(0);
    assert_eq!(found.measured["unfair_5"], 0.1);
    // The interval of a tenth of sixty runs ends above zero, but not above that of none of sixty.
    assert_eq!(found.verdict.holds(), Some(false), "{found:?}");
    let not_five: Rates = |queue, n, seed| match (queue, n) {
        (LARGE, 5) => equal(n),
        _ => as_in_the_paper(queue, n, seed),
    };
    assert_eq!(verdicts(&results(not_five))[0], ("BUF-2", Some(false)));
}

#[test]
fn six_that_are_split_by_starving_are_not_polarized_short_of_unfairness() {
    let starved: Rates = |queue, n, seed| match n {
        6 if queue == SMALL => vec![0.01, 0.02, 5.9, 6.0, 6.1, 6.2],
        _ => as_in_the_paper(queue, n, seed),
    };
    let found = claims::all(&results(starved), None).swap_remove(1);
    assert_eq!(found.measured["split_6"], 1.0);
    assert_eq!(found.measured["split_not_unfair_6"], 0.0);
    assert_eq!(found.verdict.holds(), Some(false), "{found:?}");
}

#[test]
fn six_without_groups_fail_the_claim_on_the_small_buffer() {
    let no_groups: Rates = |queue, n, seed| match n {
        6 if queue == SMALL => equal(n),
        _ => as_in_the_paper(queue, n, seed),
    };
    assert_eq!(verdicts(&results(no_groups))[1], ("BUF-3", Some(false)));
}

#[test]
fn overflow_elsewhere_than_the_rule_says_fails() {
    let mut results = results(as_in_the_paper);
    results.runs.insert(MAP.into(), map(|_, _| 1.0));
    assert_eq!(verdicts(&results)[3], ("BUF-X1", Some(false)));
}

/// Runs of the variants over two and ten minutes; `long` says what the latter come to.
fn variants(long: fn(usize) -> Vec<f64>) -> Vec<Run> {
    let names = ["as the paper's", "an ACK for every segment"];
    let longer = ["ten minutes", "the same, ten minutes"];
    let mut runs = Vec::new();
    for seed in 1..=10 {
        let slow = if seed % 2 == 0 { starving(6) } else { two_groups(6) };
        runs.extend(names.map(|name| made::run(&[("variant", name)], seed, &slow, 0.4)));
        runs.extend(longer.map(|name| made::run(&[("variant", name)], seed, &long(6), 0.4)));
    }
    runs
}

#[test]
fn groups_that_even_out_are_told_from_groups_that_stay() {
    for (long, holds) in [(equal as fn(usize) -> Vec<f64>, true), (starving, false)] {
        let mut results = results(as_in_the_paper);
        results.runs.insert(SPLIT.into(), variants(long));
        assert_eq!(verdicts(&results)[5], ("BUF-X3", Some(holds)));
    }
}

/// Runs at the corrected buffer in which ACKs are dropped from `from` terminals on.
fn corrected(from: usize) -> Vec<Run> {
    let dropped = |n| if n >= from { 0.1 } else { 0.0 };
    let at = |n| made::run(&[(QUEUE, "179 packets")], 1, &equal(n), dropped(n));
    (2..=7).flat_map(|n| [at(n), at(n)]).collect()
}

#[test]
fn only_an_overflow_from_five_on_is_the_papers_threshold() {
    for (from, holds) in [(4, false), (5, true), (6, false)] {
        let mut results = Results::default();
        results.runs.insert(CORRECTED.into(), corrected(from));
        assert_eq!(verdicts(&results)[6], ("BUF-X4", Some(holds)), "from {from}");
    }
}

#[test]
fn the_rule_of_onset_by_hand() {
    // 64 KB are 44.9 segments: 255 packets hold the ACKs of 5.7 terminals, 31 of 0.7, and
    // twice as many if every second segment is acknowledged.
    let table = [(LARGE, "off", 5.68), (SMALL, "off", 0.69), (LARGE, "on", 11.36)];
    for (queue, acks, expected) in table {
        assert!((measure::onset(queue, acks) - expected).abs() < 0.01, "{queue} {acks}");
    }
}

#[test]
fn without_runs_nothing_is_decided() {
    assert!(verdicts(&Results::default()).iter().all(|(_, holds)| holds.is_none()));
}

#[test]
fn findings_follow_the_runs() {
    let findings = Fairness.evaluate(&results(as_in_the_paper)).unwrap();
    let ids: Vec<&str> = findings.exhibits.iter().map(|exhibit| exhibit.id.as_str()).collect();
    assert!(ids.contains(&"fig11") && ids.contains(&"map-unfair-1"), "{ids:?}");
    let claims: BTreeSet<&str> = findings.exhibits.iter().flat_map(|e| e.claims).copied().collect();
    assert!(["BUF-2", "BUF-3", "BUF-X1"].iter().all(|id| claims.contains(id)), "{claims:?}");
    assert_eq!(findings.tables[0].rows.len(), 48);
    for exhibit in &findings.exhibits {
        exhibit.figure.to_svg().unwrap();
    }
}
