//! What goes beyond the paper, on hand-made results: each claim can hold and can fail.

use super::super::experiments::{ARQ, MODERN_TCP, VARIANT};
use super::super::filters::{self, Followed};
use super::super::modern;
use super::*;
use fairwave_soc::Evaluation;
use fairwave_study::made;
use fairwave_units::{Db, Duration};

/// Mbps of each host with TCP and of each with voice under a scheme.
fn mixed(tcp: f64, voice: f64) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    for (experiment, is_swapped) in [(BAD_MIXED, false), (SWAPPED, true)] {
        let mut runs = Vec::new();
        for arq in ["false", "true"] {
            for (scheme, tcp, voice) in
                [(FIFO, 0.2, 0.08), (PW, 0.1, 0.09), (BY_TRAFFIC, tcp, voice)]
            {
                let rates: Vec<f64> = (1..=8)
                    .map(|host| if (host <= 4) == is_swapped { tcp } else { voice })
                    .collect();
                for seed in 1..=3 {
                    let mut run = made::run(&[(VARIANT, scheme), (ARQ, arq)], seed, &rates, 0.0);
                    for (host, flow) in (1..).zip(&mut run.summary.flows) {
                        flow.name = format!("c{host}");
                    }
                    runs.push(run);
                }
            }
        }
        results.runs.insert(experiment.into(), runs);
    }
    results
}

#[test]
fn switching_has_to_serve_both_groups() {
    let both = claim(&mixed(0.195, 0.088));
    assert_eq!(both.verdict.holds(), Some(true), "{both:?}");
    assert_eq!(both.measured["arq_holds"], true);
    // 0.195 of 0.2 Mbps.
    assert_eq!(both.measured["swapped_tcp_over_fifo"], 0.975);
    assert_eq!(
        claim(&mixed(0.18, 0.088)).verdict.holds(),
        Some(false),
        "TCP gets 0.9 of what it has behind the FIFO"
    );
    assert_eq!(
        claim(&mixed(0.195, 0.08)).verdict.holds(),
        Some(false),
        "voice gets 0.89 of what it has under PW"
    );
    assert_eq!(claim(&Results::default()).verdict.holds(), None);
    assert_eq!(table(&mixed(0.195, 0.088)).rows.len(), 12);
}

/// Every filter at three speeds, with these errors and totals of the median; the others have an
/// error of 3 dB and carry 1.5 Mbps.
fn followed(error_db: f64, total_mbps: f64) -> Vec<Followed> {
    let mut all = Vec::new();
    for speed in ["0.5 m/s", "1.5 m/s", "3 m/s"] {
        for filter in ["mean", "ewma", "median", "kalman"] {
            let is = filter == "median";
            let (error, total) = if is { (error_db, total_mbps) } else { (3.0, 1.5) };
            let lag = Some(Duration::from_millis(200));
            let seen =
                Evaluation { reports: 0, bias: Db(-1.0), error: Db(error), noise: Db(1.0), lag };
            all.push(Followed {
                filter: filter.into(),
                interval: "200 ms".into(),
                speed: speed.into(),
                rice: "none".into(),
                seen,
                total_mbps: total,
                walker_mbps: 0.3,
            });
        }
    }
    all
}

#[test]
fn a_better_filter_has_a_lesser_error_and_carries_as_much() {
    let better = filters::claim(&followed(2.4, 1.5));
    assert_eq!(better.verdict.holds(), Some(true), "{better:?}");
    assert_eq!(better.measured["best"], "median");
    // 2.4 dB of 3.
    assert_eq!(better.measured["error_over_mean_most"], 0.8);
    assert_eq!(
        filters::claim(&followed(2.8, 1.5)).verdict.holds(),
        Some(false),
        "0.93 of the mean's error"
    );
    assert_eq!(filters::claim(&followed(2.4, 1.4)).verdict.holds(), Some(false), "it carries less");
    assert_eq!(filters::claim(&[]).verdict.holds(), None);
    let printed = filters::answer(&followed(2.4, 1.5)).expect("there are runs");
    assert!(
        printed.contains("median has the least error") && printed.contains("0.80 at 3 m/s"),
        "{printed}"
    );
    assert_eq!(filters::answer(&[]), None);
}

/// Totals of PW, FQ-CoDel and airtime fairness, in Mbps, on both standards.
fn totals(pw: f64, fq: f64, airtime: f64) -> Results {
    let mut results = Results { quick: true, ..Results::default() };
    let mut runs = Vec::new();
    for standard in ["802.11n", "802.11ax"] {
        for (scheme, total) in
            [("pw", pw), ("fq-codel", fq), ("airtime-drr", airtime), ("pw-rate", pw)]
        {
            let axes = [("cell.standard", standard), (VARIANT, scheme)];
            for seed in 1..=3 {
                let mut run = made::run(&axes, seed, &[total / 2.0, total / 2.0, 9.0], 0.0);
                for (flow, name) in run.summary.flows.iter_mut().zip(["near1", "far", "voice-far"])
                {
                    name.clone_into(&mut flow.name);
                }
                runs.push(run);
            }
        }
    }
    results.runs.insert(MODERN_TCP.into(), runs);
    results
}

#[test]
fn on_modern_standards_it_has_to_beat_one_and_match_the_other() {
    let holds = |results: Results| modern::claim(&results, &[]).verdict.holds().expect("decided");
    assert!(holds(totals(40.0, 30.0, 42.0)));
    assert!(!holds(totals(40.0, 39.0, 42.0)), "FQ-CoDel carries 0.98 of it");
    assert!(!holds(totals(40.0, 30.0, 60.0)), "airtime fairness carries half as much again");
    assert_eq!(modern::claim(&Results::default(), &[]).verdict.holds(), None);
    // A call is no data: 40 Mbps, not 49.
    let claim = modern::claim(&totals(40.0, 30.0, 42.0), &[]);
    assert_eq!(claim.measured["n_pw_mbps"], 40.0);
}
