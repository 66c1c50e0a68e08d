//! The claims on hand-made results: each can hold and each can fail.

use super::*;
use crate::results::{
    Direction, FlowSummary, QueueSummary, StationSummary, Stretch, Summary, Totals,
};
use crate::run::Run;
use crate::stats;
use crate::study::Claim;

/// What of a run matters to the claims.
#[derive(Clone, Copy)]
struct Shape {
    /// The first flow's goodput as a share of the others'.
    first: f64,
    up_mbps: u64,
    down_mbps: u64,
    overflow: u64,
    collapse_s: u64,
    acks_dropped: u64,
}

const FAIR: Shape =
    Shape { first: 1.0, up_mbps: 1, down_mbps: 1, overflow: 0, collapse_s: 0, acks_dropped: 0 };

fn flow(i: u64, bps: u64, direction: Direction, shape: Shape) -> FlowSummary {
    let collapsed = Stretch {
        start_ns: 30_000_000_000,
        length_ns: if i == 0 { shape.collapse_s * 1_000_000_000 } else { 0 },
        acks_sent: 10,
        acks_dropped_at_ap: shape.acks_dropped,
        timeouts: 6,
    };
    FlowSummary {
        name: format!("flow{i}"),
        direction,
        start_ns: i * 1_000_000,
        goodput_bps: bps,
        sent_packets: 1000,
        retransmissions: 3,
        timeouts: 2,
        fast_recoveries: 1,
        acks_sent: 900,
        acks_dropped: 100,
        acks_dropped_at_ap_all_run: 100,
        acks_filtered: 0,
        acks_lost_inferred: 0,
        srtt_end_ns: Some(210_000_000),
        longest_silence_ns: 1_000_000,
        collapsed,
        completed_ns: None,
        completion_ns: None,
        datagrams: None,
        web: None,
        video: None,
        bins_bps: Vec::new(),
        proxy: None,
        probe: None,
        shake: None,
        paths: Vec::new(),
    }
}

fn run(axes: &[(&str, &str)], seed: u64, flows: usize, shape: Shape) -> Run {
    let down = axes.iter().any(|(key, _)| *key == ERRORS);
    // A little spread over seeds, so that intervals have a width.
    let wobble = 10_000 * seed;
    let flows: Vec<FlowSummary> = (0..flows as u64)
        .map(|i| {
            let toward_station = down && i % 2 == 1;
            let mbps = if toward_station { shape.down_mbps } else { shape.up_mbps };
            let share = if i == 0 { shape.first } else { 1.0 };
            let bps = (mbps as f64 * 1e6 * share) as u64 + wobble;
            flow(i, bps, if toward_station { Direction::Down } else { Direction::Up }, shape)
        })
        .collect();
    let toward = |d| flows.iter().filter(|f| f.direction == d).map(|f| f.goodput_bps).sum();
    let rates: Vec<f64> = flows.iter().map(|f| f.goodput_bps as f64).collect();
    let totals = Totals {
        goodput_bps: flows.iter().map(|f| f.goodput_bps).sum(),
        up_bps: toward(Direction::Up),
        down_bps: toward(Direction::Down),
        jain: stats::jain(&rates),
        starved_flows: stats::starved(&rates, 0.1),
        drops_queue_full: shape.overflow,
        drops_retry_limit: 0,
        drops_link_loss: 0,
        drops_no_route: 0,
        drops_aqm: 0,
        drops_ack_filtered: 0,
    };
    let queue = QueueSummary {
        name: "ap".into(),
        access_point: true,
        enqueued: 1000,
        drops_queue_full: shape.overflow,
        drops_retry_limit: 0,
        drops_link_loss: 0,
        drops_no_route: 0,
        drops_aqm: 0,
        drops_ack_filtered: 0,
        peak_packets: 100,
        mean_packets: 90.5,
    };
    let station = StationSummary {
        name: "ap".into(),
        attempts: 10,
        failures: 1,
        collisions: 1,
        successes: 9,
        retry_drops: 0,
        airtime_share: 0.1,
    };
    let summary = Summary {
        schema_version: 1,
        simulated_ns: 120_000_000_000,
        measured_ns: 100_000_000_000,
        bin_ns: None,
        frames: 1000,
        events: 5000,
        flows,
        queues: vec![queue],
        stations: vec![station],
        totals,
    };
    let axes = axes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Run { axes, seed, summary, directory: None }
}

/// A run of equal uploads.
pub(super) fn made_run(axes: &[(&str, &str)], seed: u64, flows: usize) -> Run {
    run(axes, seed, flows, FAIR)
}

/// Ten seeds of each point; `shape` says what each law does at each packet error rate.
pub(super) fn results(shape: impl Fn(&str, &str) -> Shapes) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    for law in ["reno", "ack-loss-literal+reno", "compound", "ack-loss-literal+compound"] {
        for seed in 1..=10 {
            let axes = [(COUNT, PAPER_UPLOADS), (LAW, law)];
            let one = run(&axes, seed, 16, shape(law, "").0);
            results.runs.entry(UPLOADS.into()).or_default().push(one);
            for errors in [LOW, HIGH] {
                let axes = [(ERRORS, errors), (LAW, law)];
                let one = run(&axes, seed, 16, shape(law, errors).0);
                results.runs.entry(UP_DOWN.into()).or_default().push(one);
            }
        }
    }
    add_remedies(&mut results, shape);
    results
}

/// Adds ten seeds of each remedy to the experiments that compare them.
fn add_remedies(results: &mut Results, shape: impl Fn(&str, &str) -> Shapes) {
    for queue in ["drop-tail", "fq-codel"] {
        for law in ["compound", "ack-loss-literal+compound"] {
            for seed in 1..=10 {
                let limit = ("node.ap.queue.limit", "100 packets");
                let axes = [("node.ap.queue.discipline", queue), limit, (LAW, law)];
                let one = run(&axes, seed, 16, shape(law, queue).0);
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
pub(super) fn as_in_the_paper(law: &str, errors: &str) -> Shapes {
    let remedy = law.contains('+');
    Shapes(match errors {
        "" if remedy => FAIR,
        "" => Shape { first: 12.0, collapse_s: 55, acks_dropped: 9, overflow: 500, ..FAIR },
        LOW if remedy => FAIR,
        LOW => Shape { up_mbps: 3, ..FAIR },
        "drop-tail" if !remedy => Shape { first: 8.0, ..FAIR },
        "fq-codel" => Shape { up_mbps: 2, ..FAIR },
        _ => FAIR,
    })
}

fn verdicts(results: &Results) -> Vec<(&'static str, bool)> {
    claims::all(results).iter().map(|claim: &Claim| (claim.id, claim.holds)).collect()
}

#[test]
fn every_scenario_is_read_in_both_forms() {
    for experiment in EXPERIMENTS {
        let full = experiment.plan(false).unwrap_or_else(|e| panic!("{e}"));
        let quick = experiment.plan(true).unwrap_or_else(|e| panic!("{e}"));
        assert!(quick.jobs().len() <= full.jobs().len());
        for plan in [&full, &quick] {
            for law in plan.points.iter().flat_map(|p| &p.axes).filter(|(key, _)| key == LAW) {
                let name = law.1.trim_matches('"');
                assert!(fairwave_cc::ALL.iter().any(|l| name.ends_with(l.name)), "{name}");
            }
        }
    }
}

#[test]
fn the_papers_results_satisfy_its_claims() {
    let found = verdicts(&results(as_in_the_paper));
    let all = ["ACK-1", "ACK-2", "ACK-3", "ACK-4", "ACK-X1", "ACK-X2"];
    assert_eq!(found, all.map(|id| (id, true)));
}

#[test]
fn a_fair_network_satisfies_only_the_papers_last_claim() {
    let found = verdicts(&results(|_, _| Shapes(FAIR)));
    assert_eq!(found[..4], [("ACK-1", false), ("ACK-2", false), ("ACK-3", false), ("ACK-4", true)]);
    // Ours hold too: where nothing is lost, anything loses nothing.
    assert_eq!(found[4..], [("ACK-X1", true), ("ACK-X2", true)]);
}

#[test]
fn a_remedy_that_does_nothing_fails() {
    let found = verdicts(&results(|_, errors| as_in_the_paper("reno", errors)));
    assert_eq!(found[1..3], [("ACK-2", false), ("ACK-3", false)]);
}

#[test]
fn overflow_at_a_high_error_rate_fails_the_last_claim() {
    let found = verdicts(&results(|_, _| Shapes(Shape { overflow: 200, ..FAIR })));
    assert_eq!(found[3], ("ACK-4", false));
}

#[test]
fn a_collapse_whose_acks_arrive_is_not_starvation_as_described() {
    let quiet = Shape { first: 0.0, collapse_s: 60, acks_dropped: 1, ..FAIR };
    assert_eq!(verdicts(&results(|_, _| Shapes(quiet)))[0], ("ACK-1", false));
}

#[test]
fn a_remedy_must_be_fair_and_lose_nothing() {
    let with = |fq_codel: Shape| {
        let shape = |law: &str, errors: &str| match errors {
            "fq-codel" => Shapes(fq_codel),
            _ => as_in_the_paper(law, errors),
        };
        verdicts(&results(shape))[4].1
    };
    assert!(!with(FAIR), "fair, but 16 of 23 Mbps");
    assert!(!with(Shape { first: 12.0, up_mbps: 2, ..FAIR }), "much, but unfair");
    assert!(with(Shape { up_mbps: 2, ..FAIR }));
}

#[test]
fn without_runs_nothing_holds() {
    assert!(verdicts(&Results::default()).iter().all(|(_, holds)| !holds));
}

#[test]
fn findings_follow_the_runs() {
    let findings = AckLoss.evaluate(&results(as_in_the_paper)).unwrap();
    assert_eq!(findings.tables[0].rows.len(), 4);
    assert!(findings.exhibits.iter().any(|exhibit| exhibit.id == "fig3-reno"));
    for exhibit in &findings.exhibits {
        exhibit.figure.to_svg().unwrap();
    }
}
