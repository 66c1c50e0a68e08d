//! Passages by hand, and the claims on short runs and on results that contradict them.

use super::experiments::*;
use super::passages::Passages;
use super::shown::*;
use super::*;
use fairwave_lab::run::{self, Output};
use fairwave_lab::stats::Estimate;
use fairwave_scenario::plan::Plan;
use fairwave_units::{Duration, Instant};
use passages::Way;
use std::path::Path;

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// One packet every 10 ms for a second, there after `delay_ms`; of each four the last is lost, if
/// wished.
fn way(delay_ms: u64, loses: bool) -> Way {
    let arrived = |i: u64| (!loses || i % 4 != 3).then(|| at_ms(10 * i + delay_ms));
    Way { packets: (0..100).map(|i| (at_ms(10 * i), arrived(i))).collect() }
}

#[test]
fn what_is_measured_of_a_way_by_hand() {
    let (whole, lossy) = (way(5, false), way(5, true));
    assert_eq!((whole.lost(), whole.delay_ms()), (Some(0.0), Some(5.0)));
    // Sent by 990 ms - 200 ms: 80 packets, of which 20 are lost.
    assert_eq!((lossy.lost(), lossy.delay_ms()), (Some(0.25), Some(5.0)));
    let tenth = Duration::from_millis(100);
    assert_eq!(whole.in_intervals(tenth)[..3], [[10, 10], [10, 10], [10, 10]]);
    assert_eq!(whole.interval_difference(tenth), Some(0.0));
    // 25 ms later the last two of the first ten are there in the next interval, and of the last
    // ten after the end: 100 sent in ten whole intervals.
    assert_eq!(way(25, false).in_intervals(tenth)[..2], [[10, 8], [10, 10]]);
    assert_eq!(way(25, false).interval_difference(tenth), Some(2.0 / 100.0));
    assert_eq!(whole.so_far(true, at_ms(25)), [(0.005, 1.0), (0.015, 2.0), (0.025, 3.0)]);
    let none = Way::default();
    assert_eq!((none.lost(), none.delay_ms(), none.interval_difference(tenth)), (None, None, None));
}

/// Short runs of all four experiments.
fn short(root: &Path) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    let experiments = [TCP_EXPERIMENT, UDP_EXPERIMENT, LOAD_EXPERIMENT, BLOCKING_EXPERIMENT];
    for experiment in experiments {
        let sets = [experiment.quick, &["duration=1500 ms"]].concat();
        let sets: Vec<String> = sets.into_iter().map(str::to_owned).collect();
        let plan = Plan::parse(experiment.file, experiment.text, &sets);
        let plan = plan.unwrap_or_else(|e| panic!("{e}"));
        let directory = root.join(experiment.name);
        let output = match experiment.series {
            true => Output::Full(&directory),
            false => Output::Nothing,
        };
        let runs = run::sweep(&plan, 1, output, &|_| {}).unwrap_or_else(|e| panic!("{e}"));
        results.runs.insert(experiment.name.into(), runs);
    }
    results
}

/// From captures of short runs: TCP passes unchanged, of UDP arrives what the radio carries, 30 of
/// 54 Mbps. That it be half whatever the load is not so.
#[test]
fn findings_follow_from_captures() {
    let directory = tempfile::tempdir().unwrap();
    let results = short(directory.path());
    let shown = Shown::read(&results).unwrap();
    let found = findings(&results).unwrap();
    let [written, ours] = &found.claims[..] else { panic!("{:?}", found.claims) };
    let value = |key: &str| written.measured[key].as_f64().unwrap();
    assert!(value("tcp_lost") < 0.001 && value("tcp_interval_difference") < 0.05, "{written:?}");
    assert!(written.verdict.holds() == Some(true) && value("udp_least_share") < 0.4, "{written:?}");
    assert_eq!(ours.verdict.holds(), Some(true), "{ours:?}");
    // Captures and the receiver's own count agree.
    let summary = 1.0 - arrived(shown.udp[0].runs[0]);
    let captured = shown.udp[0].passages[0].lost().unwrap();
    assert!((summary - captured).abs() < 0.03, "{summary} and {captured}");
    for id in ["BUF-5", "BUF-X5"] {
        assert!(found.exhibits.iter().any(|exhibit| exhibit.claims.contains(&id)), "{id}");
    }
    for exhibit in &found.exhibits {
        exhibit.figure.to_svg().unwrap();
    }
    assert_eq!((found.exhibits.len(), found.tables[0].rows.len()), (5, 6));
}

fn load(offered_mbps: f64, share: f64) -> Load {
    Load { offered_mbps, share: Estimate::of(&[share]).unwrap() }
}

fn point(delay_ms: u64, loses: bool) -> Point<'static> {
    let passages = Passages { data: way(delay_ms, loses), acks: way(1, false) };
    Point { runs: Vec::new(), passages: vec![passages] }
}

/// What the claim describes: half of the datagrams whatever the load, and TCP alone.
fn as_claimed() -> Shown<'static> {
    let share = |share: f64| Estimate::of(&[share]).unwrap();
    let half = || {
        let packets = (0..100).map(|i| (at_ms(10 * i), (i % 2 == 0).then(|| at_ms(10 * i + 5))));
        let passages = Passages { data: Way { packets: packets.collect() }, acks: Way::default() };
        Point { runs: Vec::new(), passages: vec![passages] }
    };
    Shown {
        tcp: [point(5, false), point(5, false)],
        udp: [half(), half()],
        loads: vec![load(20.0, 1.0), load(40.0, 0.5), load(90.0, 0.5)],
        blocking: [Some((share(0.3), 30.0)), Some((share(1.0), 30.0))],
    }
}

#[test]
fn the_claim_can_hold_and_each_part_can_fail() {
    let holds = |shown: &Shown<'_>| claims::all(shown)[0].verdict.holds().expect("decided");
    assert!(holds(&as_claimed()), "{:?}", claims::all(&as_claimed())[0]);
    let slower = Shown { tcp: [point(7, false), point(5, false)], ..as_claimed() };
    let lossy = Shown { tcp: [point(5, true), point(5, false)], ..as_claimed() };
    let all = Shown { udp: [point(5, false), point(5, false)], ..as_claimed() };
    assert!([slower, lossy, all].iter().all(|shown| !holds(shown)));
    assert!(
        claims::all(&Shown::read(&Results::default()).unwrap())
            .iter()
            .all(|c| c.verdict.holds().is_none())
    );
}
