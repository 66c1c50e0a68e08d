//! The claims on hand-made results: each can hold and each can fail.

use super::experiments::*;
use super::measure::Acks;
use super::repetition::Course;
use super::windows::Windows;
use super::*;
use fairwave_lab::run::Run;
use fairwave_study::{Claim, made};
use std::sync::Arc;

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS {
        for quick in [false, true] {
            let plan =
                experiment.plan(quick).unwrap_or_else(|e| panic!("{}: {e}", experiment.name));
            assert!(!plan.jobs().is_empty(), "{}", experiment.name);
        }
    }
}

#[test]
fn nothing_is_decided_without_runs() {
    let findings = Shake.evaluate(&Results::default()).expect("nothing to read");
    assert_eq!(findings.claims.len(), 11);
    assert!(findings.claims.iter().all(|claim| claim.verdict.holds().is_none()));
}

/// A transfer that took this long. A little spread over seeds gives intervals a width.
fn timed(axes: &[(&str, &str)], seed: u64, seconds: f64) -> Run {
    let mut run = made::run(axes, seed, &[1.0], 0.0);
    let flow = &mut run.summary.flows[0];
    flow.name = TRANSFER.into();
    flow.completion_ns = Some(((seconds + 1e-3 * seed as f64) * 1e9) as u64);
    run
}

/// A transfer that carried this much.
fn carried(axes: &[(&str, &str)], seed: u64, mbps: f64) -> Run {
    let mut run = made::run(axes, seed, &[mbps + 1e-3 * seed as f64, mbps], 0.0);
    run.summary.flows[0].name = TRANSFER.into();
    run.summary.flows[1].name = "tcp1".into();
    run
}

fn add(results: &mut Results, experiment: &str, run: Run) {
    results.runs.entry(experiment.into()).or_default().push(run);
}

const SEEDS: [u64; 3] = [1, 2, 3];

/// Times of the paper's experiments, by experiment, variant and point.
fn transfers(time: impl Fn(&str, &str, &str) -> f64) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    let files: [(&str, &str, &[&str], &[&str]); 5] = [
        (REPETITION, "", &[WIDEST, SAME, NO_SACK], &[""]),
        (LOSSES, SIZE, &["4/4/4", "1/4/4", "1/4/2"], &["100 KB", "1000 KB"]),
        (
            BURSTS,
            BURST,
            &["1: widest, no SACK", "2: widest, SACK", "3: same, no SACK", "4: same, SACK"],
            &["1", "2", "5"],
        ),
        (CONNECTIONS_SHAKE, SIZE, &["shake"], &["100 KB", "1000 KB"]),
        (CONNECTIONS_TCP, SIZE, &["weighted", "equal"], &["100 KB", "1000 KB"]),
    ];
    for (experiment, key, variants, points) in files {
        for acks in Acks::ALL {
            for variant in variants {
                for point in points {
                    for seed in SEEDS {
                        let name = acks.of(variant);
                        let axes = [(VARIANT, name.as_str()), (key, *point)];
                        let seconds = time(experiment, variant, point);
                        add(&mut results, experiment, timed(&axes, seed, seconds));
                    }
                }
            }
        }
    }
    results
}

fn as_in_the_paper(experiment: &str, variant: &str, _: &str) -> f64 {
    match (experiment, variant) {
        (REPETITION, WIDEST) => 100.0,
        (REPETITION, _) => 130.0,
        (BURSTS, name) if name.contains("widest") => 50.0,
        (BURSTS, _) => 60.0,
        (CONNECTIONS_TCP, "equal") => 130.0,
        _ => 100.0,
    }
}

/// A transfer of 100 s, a kilobyte each 0.5 s, but for one spell.
fn courses(variant: &str, spell: f64) -> Vec<Arc<Course>> {
    let course = |(seed, acks): (u64, Acks)| {
        let times = (0..=200).map(|k| 0.5 * f64::from(k));
        let points = times.map(|t| (t, if t < 50.0 { t } else { t.max(50.0 + spell) - spell }));
        Course::new(acks.of(variant), seed, points.collect())
    };
    let all = SEEDS.into_iter().flat_map(|seed| Acks::ALL.map(|acks| (seed, acks)));
    all.map(course).map(Arc::new).collect()
}

#[test]
fn a_course_tells_how_long_it_stands_still() {
    let course = &courses(WIDEST, 4.5)[0];
    // The first byte comes at 0.5 s, so 99.5 s count; the spell is 4.5 s and the step after it.
    assert_eq!(course.longest, 5.0);
    assert!((course.still - 5.0 / 99.5).abs() < 1e-9);
}

/// Windows that go up and down by `swing` around `mean`.
fn windows(shape: [(f64, f64); 3]) -> Vec<Arc<Windows>> {
    let path = |seed: u64, (mean, swing): (f64, f64)| {
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let scale = 1.0 + 1e-3 * seed as f64;
        (0..100).map(|k| scale * (mean + sign(k) * swing)).collect()
    };
    let of = |(seed, acks): (u64, Acks)| {
        let seconds = (0..100).map(f64::from).collect();
        Windows::new(acks.of(WIDEST), seed, seconds, shape.map(|shape| path(seed, shape)))
    };
    let all = SEEDS.into_iter().flat_map(|seed| Acks::ALL.map(|acks| (seed, acks)));
    all.map(of).map(Arc::new).collect()
}

fn verdicts(claims: &[Claim]) -> Vec<bool> {
    claims.iter().map(|claim| claim.verdict.holds().expect("decided")).collect()
}

/// SHK-1, 2, 3, 4 and 6.
fn judged(results: &Results, none: f64) -> Vec<bool> {
    let all = [courses(WIDEST, 1.0), courses(NO_SACK, none)].concat();
    let mut claims = repetition::claims(results, &all);
    let [shk_3, shk_6] = transfers::claims(results);
    claims.extend([shk_3, bursts::claim(results), shk_6]);
    for claim in &claims {
        let beside = claim.measured["acks_kept_holds"].as_bool();
        assert_eq!(beside, claim.verdict.holds(), "the same numbers stand beside {}", claim.id);
    }
    verdicts(&claims)
}

#[test]
fn the_papers_claims_hold_if_it_is_as_in_the_paper() {
    assert_eq!(judged(&transfers(as_in_the_paper), 20.0), [true; 5]);
    let seen = windows([(6.0, 3.0), (2.0, 0.5), (2.5, 0.5)]);
    assert_eq!(windows::claim(&seen).verdict.holds(), Some(true));
}

#[test]
fn each_of_the_papers_claims_fails_by_itself() {
    let changed = |experiment: &'static str, variant: &'static str, seconds: f64, none: f64| {
        let results = transfers(|e, v, point| {
            let is_it = e == experiment && v == variant;
            if is_it { seconds } else { as_in_the_paper(e, v, point) }
        });
        judged(&results, none)
    };
    // The same path repeats no later than the widest.
    assert_eq!(changed(REPETITION, SAME, 100.0, 20.0), [false, true, true, true, true]);
    // No slower without SACK, which no sentence asks for; as still with it as without, which is 1 s
    // beside 10 % of 100 s.
    assert_eq!(changed(REPETITION, NO_SACK, 99.0, 20.0), [true; 5]);
    assert_eq!(changed("", "", 0.0, 1.0), [true, false, true, true, true]);
    assert_eq!(changed(LOSSES, "1/4/2", 85.0, 20.0), [true, true, false, true, true]);
    // SACK matters where the widest path repeats, and the path only with it.
    assert_eq!(changed(BURSTS, "1: widest, no SACK", 60.0, 20.0), [true, true, true, false, true]);
    // The path matters by a twelfth with SACK: no more than what is hardly an effect.
    assert_eq!(changed(BURSTS, "2: widest, SACK", 55.0, 20.0), [true, true, true, false, true]);
    assert_eq!(changed(CONNECTIONS_TCP, "equal", 100.0, 20.0), [true, true, true, true, false]);
    assert_eq!(changed(CONNECTIONS_SHAKE, "shake", 85.0, 20.0), [true, true, true, true, false]);
}

/// Times of Table 5's scenarios, and what SHK-4 comes to.
fn bursts_of(times: [f64; 4]) -> Claim {
    let results = transfers(|experiment, variant, point| {
        let scenario = variant.split(':').next().and_then(|number| number.parse::<usize>().ok());
        match (experiment, scenario) {
            (BURSTS, Some(scenario)) => times[scenario - 1],
            _ => as_in_the_paper(experiment, variant, point),
        }
    });
    bursts::claim(&results)
}

/// A fifth less on the one path and a fifth more on the other are no effect only in the mean; and a
/// path that is better without SACK and worse with it is neither.
#[test]
fn opposite_effects_do_not_cancel_and_do_not_add_up() {
    let claim = bursts_of([50.0, 40.0, 60.0, 72.0]);
    assert_eq!(claim.verdict.holds(), Some(false), "{claim:?}");
    let sack = claim.measured["sack_changes"].as_f64().expect("a number");
    assert!((sack - 0.2).abs() < 1e-3, "{sack}");
    let claim = bursts_of([50.0, 66.0, 60.0, 55.0]);
    assert!(claim.measured["path_changes"].as_f64() < Some(0.0), "{claim:?}");
    assert_eq!(claim.verdict.holds(), Some(false));
    assert!(claim.note.contains("Neither path"), "{}", claim.note);
    // Either side will do: the paper's text and table say different ones.
    assert_eq!(bursts_of([60.0, 58.0, 50.0, 51.0]).verdict.holds(), Some(true));
}

#[test]
fn windows_must_be_larger_and_livelier_and_stay_up() {
    assert_eq!(
        windows::claim(&windows([(2.0, 1.0), (3.0, 0.5), (1.5, 0.5)])).verdict.holds(),
        Some(false)
    );
    assert_eq!(
        windows::claim(&windows([(6.0, 0.2), (2.0, 0.5), (2.5, 0.5)])).verdict.holds(),
        Some(false)
    );
    assert_eq!(
        windows::claim(&windows([(2.0, 1.0), (1.1, 0.1), (1.1, 0.1)])).verdict.holds(),
        Some(false)
    );
}

#[test]
fn a_transfer_that_does_not_end_lets_its_claim_fail() {
    let mut results = transfers(as_in_the_paper);
    let runs = results.runs.get_mut(LOSSES).expect("made above");
    runs[0].summary.flows[0].completion_ns = None;
    runs[0].summary.simulated_ns = 100_000_000_000;
    let [shk_3, _] = transfers::claims(&results);
    assert_eq!(shk_3.verdict.holds(), Some(false));
    assert_eq!(shk_3.measured["unfinished"], 1);
}

/// Goodput in kbps before and after path 1 changes, and once it is back.
fn changing(rate: impl Fn(&str, bool) -> [f64; 3]) -> Results {
    let mut results = Results::default();
    let events = ["steady", "slower", "slower, known", "dead", "dead, known"];
    for (experiment, suffix) in [(CHANGES_SHAKE, ""), (CHANGES_TCP, ", weighted")] {
        for event in events {
            for seed in SEEDS {
                let name = format!("{event}{suffix}");
                let mut run = carried(&[(VARIANT, &name)], seed, 0.1);
                let [before, after, back] = rate(event, experiment == CHANGES_SHAKE);
                let kbps = |t: u32| match t {
                    0..60 => before,
                    60..150 => after,
                    _ => back,
                };
                run.summary.flows[0].bins_bps =
                    (0..300).map(|t| (kbps(t) * 1e3) as u64 + seed).collect();
                add(&mut results, experiment, run);
            }
        }
    }
    results
}

#[test]
fn who_adapts_is_as_good_as_who_knew() {
    let adapts = |event: &str, is_shake: bool| match (event, is_shake) {
        ("steady", _) => [120.0; 3],
        ("slower", true) | ("slower, known", _) => [75.0; 3],
        ("slower", false) => [120.0, 30.0, 30.0],
        ("dead", true) => [120.0, 60.0, 115.0],
        ("dead", false) => [120.0, 0.0, 115.0],
        _ => [60.0; 3],
    };
    let verdicts = |results| changes::claims(&results).map(|claim| claim.verdict.holds());
    assert_eq!(verdicts(changing(adapts)), [Some(true); 2]);
    let stays = |event: &str, is_shake: bool| match event {
        "dead" if is_shake => [120.0, 60.0, 70.0],
        _ => adapts(event, is_shake),
    };
    assert_eq!(verdicts(changing(stays)), [Some(true), Some(false)]);
    let others_adapt = |event: &str, _: bool| adapts(event, true);
    assert_eq!(verdicts(changing(others_adapt)), [Some(false); 2]);
}

/// Goodput of paths of today, together and alone.
fn paths(rate: impl Fn(&str, &str) -> f64) -> Results {
    let mut results = Results::default();
    let sets = ["wifi", "lte", "nr", "wifi+lte", "wifi+nr", "lte+nr", "wifi+lte+nr"];
    let circumstances = [
        ("", TODAY_PATHS),
        (", bloated", TODAY_PATHS),
        (", half", TODAY_PATHS),
        (", lossy Wi-Fi", TODAY_PATHS_LOSSY),
        (", lossy 5G", TODAY_PATHS_LOSSY),
    ];
    for (suffix, file) in circumstances {
        for set in sets {
            let name = format!("{set}{suffix}");
            add(&mut results, file, carried(&[(VARIANT, &name)], 1, rate(set, suffix)));
        }
    }
    results
}

/// The rates of its paths, less heads.
fn sum(set: &str) -> f64 {
    let rate = |name: &str| match name {
        "wifi" => 50.0,
        "lte" => 20.0,
        _ => 100.0,
    };
    set.split('+').map(rate).sum::<f64>() * 1400.0 / 1480.0
}

#[test]
fn paths_of_today_must_add_up_and_beat_the_best() {
    assert_eq!(today::claim(&paths(|set, _| sum(set))).verdict.holds(), Some(true));
    let less = |which: &'static str, circumstance: &'static str, part: f64| {
        let rate = move |set: &str, suffix: &str| {
            sum(set) * if set == which && suffix == circumstance { part } else { 1.0 }
        };
        today::claim(&paths(rate)).verdict.holds().expect("decided")
    };
    assert!(!less("lte+nr", "", 0.94), "round-trip times differ by less than twice");
    assert!(less("wifi+lte", "", 0.86));
    assert!(!less("wifi+lte", "", 0.84));
    assert!(!less("wifi+lte+nr", ", lossy 5G", 0.8));
    // Half the buffer may cost the sum, but not the best path: 50 of 70 Mbps.
    assert!(less("wifi+lte", ", half", 0.72));
    assert!(!less("wifi+lte", ", half", 0.69));
}

#[test]
fn the_better_choice_must_pay_where_it_should_and_cost_nothing() {
    let chosen = |paper: f64, lossy: f64| {
        let mut results = Results::default();
        for (setting, ratio) in [("paper", paper), ("lossy", lossy), ("far", 0.9)] {
            for (policy, seconds) in [("widest", 100.0), ("least-rtt-over-delivery", 100.0 * ratio)]
            {
                for seed in SEEDS {
                    let axes = [(VARIANT, setting), (RETRANSMISSION, policy)];
                    add(&mut results, POLICY, timed(&axes, seed, seconds));
                }
            }
        }
        policy::claim(&results).verdict.holds().expect("decided")
    };
    assert!(chosen(1.01, 0.9));
    assert!(!chosen(1.03, 0.9));
    assert!(!chosen(1.01, 1.0));
}

#[test]
fn a_coupled_algorithm_must_be_fair_and_worth_it() {
    let fair = |shared: f64, apart: f64| {
        let mut results = Results::default();
        for growth in ["uncoupled", "lia", "olia", "balia"] {
            let both = |gain: f64| if growth == "olia" { gain } else { 1.0 };
            for seed in SEEDS {
                for (file, paths, mbps) in [
                    (SHARED, "both", 10.0 * both(shared)),
                    (SHARED, "first", 10.0),
                    (APART, "both", 10.0 * both(apart)),
                    (APART, "first", 10.0),
                    (APART, "second", 5.0),
                ] {
                    let axes = [(GROWTH, growth), (VARIANT, paths)];
                    add(&mut results, file, carried(&axes, seed, mbps));
                }
            }
        }
        coupled::claim(&results).verdict.holds().expect("decided")
    };
    assert!(fair(1.1, 0.97));
    assert!(!fair(1.2, 0.97));
    assert!(!fair(1.1, 0.9));
}
