//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::points::Point;
use super::*;
use fairwave_lab::stats::Estimate;
use fairwave_study::Claim;
use std::collections::BTreeMap;
use std::sync::Arc;

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS.iter().chain(EMULATED) {
        for quick in [false, true] {
            let plan =
                experiment.plan(quick).unwrap_or_else(|e| panic!("{}: {e}", experiment.name));
            assert!(!plan.jobs().is_empty(), "{}", experiment.name);
        }
    }
}

#[test]
fn nothing_is_decided_without_runs() {
    let findings = TfrcHandover.evaluate(&Results::default()).expect("nothing to read");
    assert_eq!(findings.claims.len(), 7);
    assert!(findings.claims.iter().all(|claim| claim.verdict.holds().is_none()));
}

/// As the paper says: slow to 2.5 s, fast from 3 s on; intervals and round-trip times likewise.
fn as_in_the_paper() -> BTreeMap<String, Vec<Point>> {
    let point = |tenths: u32| {
        let disconnection = f64::from(tenths) * 0.5;
        let (short, long) = (disconnection < 3.0, disconnection >= 4.5);
        Point {
            disconnection,
            below: Some(if short { 11.0 } else { 2.8 }),
            recovery: Estimate::of(&[if short { 11.0 } else { 3.0 }; 3]),
            length: 20.0,
            mobile: vec![100.0; 200],
            residents: vec![400.0; 200],
            interval: vec![(0.0, if long { 4000.0 } else { 100.0 })],
            residents_interval: Some(500.0),
            rtt: vec![(0.0, if long { 0.3 } else { 0.9 })],
            residents_rtt: Some(0.3),
            ..Point::default()
        }
    };
    BTreeMap::from([(PAPERS.to_owned(), (1..=12).map(point).collect())])
}

fn verdicts(claims: &[Claim]) -> Vec<bool> {
    claims.iter().map(|claim| claim.verdict.holds().expect("decided")).collect()
}

#[test]
fn the_claims_hold_if_it_is_as_in_the_paper() {
    assert_eq!(verdicts(&claims::all(&as_in_the_paper())), [true, true, true]);
}

#[test]
fn each_claim_fails_by_one_point() {
    let changed = |change: fn(&mut Point), index: usize| {
        let mut points = as_in_the_paper();
        change(&mut points.get_mut(PAPERS).expect("made above")[index]);
        verdicts(&claims::all(&points))
    };
    // 1.5 s is the third, 4.5 s the ninth.
    assert_eq!(changed(|p| p.below = Some(9.0), 2), [false, true, true]);
    assert_eq!(changed(|p| p.below = Some(11.0), 6), [false, true, true], "no shorter than 11 s");
    assert_eq!(changed(|p| p.below = None, 5), [false, true, true], "3.0 s: never");
    assert_eq!(changed(|p| p.below = Some(4.0), 6), [false, true, true], "3.5 s: late");
    assert_eq!(changed(|p| p.recovery = Estimate::of(&[11.0; 3]), 11), [false, true, true]);
    assert_eq!(changed(|p| p.recovery = Estimate::of(&[3.0; 3]), 0), [false, true, true]);
    assert_eq!(changed(|p| p.interval = vec![(0.0, 600.0)], 2), [true, false, true]);
    assert_eq!(changed(|p| p.interval = vec![(0.0, 600.0)], 0), [true; 3], "0.5 s is told");
    assert_eq!(changed(|p| p.interval = vec![(0.0, 9000.0)], 8), [true, false, true]);
    assert_eq!(changed(|p| p.interval = vec![(0.0, 6500.0)], 8), [true, false, true], "no plateau");
    // Residents have 0.3 s: a fifth more is 0.36 s.
    assert_eq!(changed(|p| p.rtt = vec![(0.0, 0.4)], 8), [true, true, false]);
    assert_eq!(changed(|p| p.rtt = vec![(0.0, 0.35)], 8), [true; 3]);
    assert_eq!(changed(|p| p.rtt = vec![(0.0, 0.35)], 0), [true, true, false], "not higher");
}

/// Ten flows that stand at 400 kbps, but the mobile at 100 until 3 s after its handover: the
/// deviation is sqrt(0.1 * 0.9) * 300 = 90 kbps (of the population) until then, and 0 afterwards.
#[test]
fn recovery_is_when_the_rates_come_together() {
    use super::measure::{Course, Courses};
    let course = |rates: Vec<f64>| Course { rate: rates, ..Course::default() };
    let late: Vec<f64> = (0..200).map(|k| if k < 80 { 100.0 } else { 400.0 }).collect();
    let courses = Courses::new(course(late), vec![course(vec![400.0; 200]); 9], 50);
    assert_eq!(courses.recovery(85.0).map(|s| (10.0 * s).round()), Some(30.0));
    assert_eq!(courses.recovery(0.0), None);
    // Over the second of which it stands at 100 for one half its mean is 250: 0.3 * 150 = 45 kbps.
    assert!((courses.deviation(60) - 90.0).abs() < 1e-9);
    assert!((courses.steady_deviation(75).unwrap_or(0.0) - 45.0).abs() < 1e-9);
    assert_eq!(courses.steady_deviation(191), None);
    let rates = measure::rates(&[Arc::new(courses)]);
    assert_eq!(measure::caught_up(&rates, 0.9).map(|s| (10.0 * s).round()), Some(30.0));
    // One sample at 100 kbps in the second that follows leaves its mean below 400.
    assert_eq!(measure::stays_below(&rates).map(|s| (10.0 * s).round()), Some(30.0));
    assert_eq!(measure::within(&rates, 0.2, 2.0).map(|s| (10.0 * s).round()), Some(30.0));
}
