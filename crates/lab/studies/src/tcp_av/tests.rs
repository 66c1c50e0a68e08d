//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::*;
use fairwave_lab::run::Run;
use fairwave_study::made;

/// A run whose first flow has 24 bins, of which the second is below 6.25 Mbps if it misses.
fn run(axes: &[(&str, &str)], seed: u64, misses: bool) -> Run {
    let mut run = made::run(axes, seed, &[6.6, 4.3, 4.3, 4.3, 4.3], 0.0);
    for (i, flow) in run.summary.flows.iter_mut().enumerate() {
        flow.name = if i == 0 { FIRST.to_owned() } else { format!("reno{}", i + 1) };
    }
    run.summary.flows[0].bins_bps = vec![6_600_000; 24];
    run.summary.flows[0].bins_bps[0] = 0;
    if misses {
        run.summary.flows[0].bins_bps[1] = 6_249_999;
    }
    run
}

/// All but the axes under test stand at the values that the claims look at.
fn results(misses: bool) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    let mut put = |name: &str, axes: &[Vec<(&str, &str)>], misses| {
        let of = |axes: &Vec<_>| (1..=3).map(|seed| run(axes, seed, misses)).collect::<Vec<_>>();
        results.runs.insert(name.to_owned(), axes.iter().flat_map(of).collect());
    };
    let delays = ["2.5 ms", "5 ms"];
    let above = (TARGET, claims::ABOVE);
    put(EFFECTIVE, &delays.map(|delay| vec![(DELAY, delay)]), false);
    put(RENO, &delays.map(|delay| vec![(DELAY, delay)]), true);
    put(TARGETS, &delays.map(|delay| vec![(DELAY, delay), above]), misses);
    let buffers = [NEAR, WIDE];
    let window = |buffer| vec![(BUFFER, buffer), (QUEUE, LARGE)];
    put(WINDOWS, &buffers.map(|buffer| [window(buffer), vec![above]].concat()), misses);
    put(WINDOWS_RENO, &buffers.map(window), true);
    results
}

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS {
        for quick in [false, true] {
            let plan = experiment.plan(quick).unwrap_or_else(|e| panic!("{e}"));
            assert!(!plan.jobs().is_empty(), "{}", experiment.name);
        }
    }
}

/// 23 of 23 bins against 22 of 23.
#[test]
fn the_claims_hold_if_every_bin_reaches_the_target_and_fail_if_one_does_not() {
    for misses in [false, true] {
        let judged = claims::all(&results(misses));
        let verdicts: Vec<_> =
            judged.iter().map(|claim| (claim.id, claim.verdict.holds())).collect();
        assert_eq!(verdicts, [("BUF-6", Some(!misses)), ("AV-X1", Some(!misses))]);
        let avr = judged[0].measured["avr_2_5_ms"].as_f64().expect("a number");
        let expected = if misses { 22.0 / 23.0 } else { 1.0 };
        assert!((avr - expected).abs() < 1e-6, "{avr}");
        assert_eq!(judged[0].measured["avr_reno_5_ms"], serde_json::json!(0.956522));
    }
}

/// At twice the delay, where the paper has "almost the same result", 22 of 23 bins are enough and
/// 21 are not; the claim on larger windows has no such delay.
#[test]
fn at_twice_the_delay_one_bin_may_be_missed() {
    for (missed, holds) in [(1, true), (2, false)] {
        let mut results = results(false);
        let runs = results.runs.get_mut(TARGETS).expect("made above");
        for run in runs.iter_mut().filter(|run| run.axis(DELAY) == "5 ms") {
            run.summary.flows[0].bins_bps[1..=missed].fill(0);
        }
        assert_eq!(claims::all(&results)[0].verdict.holds(), Some(holds), "{missed}");
    }
}

#[test]
fn nothing_is_decided_without_runs() {
    let judged = claims::all(&Results::default());
    assert!(judged.iter().all(|claim| claim.verdict.holds().is_none()));
}

#[test]
fn figures_and_tables_are_made_of_what_there_is() {
    let findings = TcpAv.evaluate(&results(false)).expect("made by hand");
    assert_eq!(findings.exhibits.len(), 2);
    let of = |title: &str| {
        let table = findings.tables.iter().find(|table| table.title.starts_with(title));
        table.expect("it is there").rows.len()
    };
    assert_eq!((of("Targets"), of("Larger windows"), of("Three")), (4, 4, 0));
    assert!(TcpAv.evaluate(&Results::default()).is_ok());
}
