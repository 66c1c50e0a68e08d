//! The paper's four claims and ours, and the mechanisms behind how they come out.

use super::experiments::{ALGORITHM, COUNT, DELAYED, ERRORS, HIGH, LOW, PAPER_UPLOADS};
use super::experiments::{UNREPAIRED, UP_DOWN, UPLOADS};
use super::measure::{self, NO_RUNS, over, paired, show};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::{Claim, Criterion, Evidence, Reading, Results, Tested, Verdict};
use fairwave_units::math;

/// High for errors that TCP sees: it halves its window for each.
const UNREPAIRED_HIGH: &str = "0.03";
/// The paper's words, for a receiver that acknowledges every segment.
const REMEDY: &str = "ack-loss-literal+";

pub(super) fn all(results: &Results) -> Vec<Claim> {
    let papers = [ack_1(results), ack_2(results), ack_3(results), ack_4(results)];
    papers.into_iter().chain(super::remedies::claims(results)).collect()
}

fn uploads<'a>(results: &'a Results, algorithm: &str) -> Vec<&'a Run> {
    results.select(UPLOADS, &[(COUNT, PAPER_UPLOADS), (ALGORITHM, algorithm)])
}

/// The runs of `algorithm` with the remedy.
fn remedied<'a>(algorithm: &str, select: impl Fn(&str) -> Vec<&'a Run>) -> Vec<&'a Run> {
    select(&format!("{REMEDY}{algorithm}"))
}

fn up_down<'a>(results: &'a Results, errors: &str, algorithm: &str) -> Vec<&'a Run> {
    results.select(UP_DOWN, &[(ERRORS, errors), (ALGORITHM, algorithm)])
}

fn ack_1(results: &Results) -> Claim {
    let runs = uploads(results, "compound");
    let starved: Vec<_> = runs.iter().flat_map(|run| measure::starved_flows(run)).collect();
    let longest = starved.iter().max_by_key(|(_, stretch)| stretch.length_ns);
    let mut measured = Evidence::of(results, &[UPLOADS]);
    let any = |run: &Run| f64::from(u8::from(!measure::starved_flows(run).is_empty()));
    let share = Reading::mean(over(&runs, any));
    measured.fact("runs", runs.len());
    let share = measured.number("share_of_runs_with_starved_flow", share);
    measured.estimate("starved_flows", over(&runs, |r| measure::starved_flows(r).len() as f64));
    // Where nobody starves, the longest starvation takes no time.
    let length = longest.map_or(0.0, |(_, stretch)| measure::seconds(stretch));
    let length = (!runs.is_empty()).then_some(length);
    let longest_s = measured.number("longest_starvation_s", length);
    let note = match longest {
        None => format!(
            "No upload starved so. Longest time of any window at its floor: {} s; ACKs dropped: \
             {} of those sent; timeouts per flow: {}.",
            show(over(&runs, measure::longest_collapse_s), 1),
            show(over(&runs, measure::ack_drop_share), 3),
            show(over(&runs, measure::timeouts_per_flow), 1),
        ),
        Some((flow, stretch)) => format!(
            "The longest: {} from {:.1} s on, for {:.1} s. Its sink sent {} ACKs in that time, \
             of which {} were dropped at the full queue of the access point, and its timer \
             expired {} times. Over all flows {} of the ACKs are dropped.",
            flow.name,
            stretch.start_ns as f64 / 1e9,
            measure::seconds(stretch),
            stretch.acks_sent,
            stretch.acks_dropped_at_ap,
            stretch.timeouts,
            show(over(&runs, measure::ack_drop_share), 3),
        ),
    };
    Claim::judge(
        Criterion {
            id: "ACK-1",
            statement: "Compound, 16 uploads: starved flows appear, whose window stays at about \
                        one segment for tens of seconds while their ACKs are dropped at the access \
                        point",
            meaning: "A flow is starved if its window, sampled every 100 ms, is at most 2 \
                      segments for at least 10 s on end while at least half of the ACKs that its \
                      receiver sends are dropped at the access point's full queue (the paper's \
                      has a window of one for 55 s). 2 segments, 10 s and half of the ACKs, and \
                      that it happens in half of the runs and for 20 s in one, are ours",
        },
        measured.tested([share.at_least(0.5), longest_s.at_least(20.0)]),
        note,
    )
}

fn ack_2(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[UPLOADS]);
    let mut notes = Vec::new();
    let [reno, _] = ["reno", "compound"].map(|algorithm| {
        let without = uploads(results, algorithm);
        let with = remedied(algorithm, |algorithm| uploads(results, algorithm));
        let unfair =
            measured.estimate(format!("jain_{algorithm}_without"), over(&without, measure::jain));
        let fair = measured.estimate(format!("jain_{algorithm}_with"), over(&with, measure::jain));
        let gain = paired(&with, &without, measure::jain);
        let gain = measured.estimate(format!("jain_{algorithm}_gain"), gain);
        if !without.is_empty() || !with.is_empty() {
            notes.push(format!("{algorithm}: {}", contrast(&without, &with)));
        }
        [gain.low.above(0.0), unfair.high.below(0.9), fair.low.above(0.95)]
    });
    Claim::judge(
        Criterion {
            id: "ACK-2",
            statement: "Reno with the remedy, 16 uploads, no radio loss: fairness among uploads is \
                        greatly improved (Fig. 3)",
            meaning: "Jain's index with and without the remedy, ends of 95 % confidence intervals \
                      over seeds; gain: with less without, of runs with the same seed. Greatly: \
                      from below 0.9 to above 0.95, which is ours. Compound, which the sentence \
                      does not name, is told and not judged",
        },
        measured.tested(reno),
        notes.join(" "),
    )
}

/// Changes by the remedy other than in fairness: loss of ACKs, timeouts, total.
fn contrast(without: &[&Run], with: &[&Run]) -> String {
    let line = |value: fn(&Run) -> f64, digits| {
        format!(
            "{} without, {} with",
            show(over(without, value), digits),
            show(over(with, value), digits)
        )
    };
    format!(
        "share of ACKs dropped {} the remedy; timeouts per flow {}; flows below a tenth of the \
         fair share {}; total Mbps {}.",
        line(measure::ack_drop_share, 3),
        line(measure::timeouts_per_flow, 1),
        line(measure::starved_by_share, 1),
        line(measure::total_mbps, 2),
    )
}

fn ack_3(results: &Results) -> Claim {
    let without = up_down(results, LOW, "compound");
    let with = remedied("compound", |algorithm| up_down(results, LOW, algorithm));
    let distance = |run: &Run| measure::log_ratio(run).abs();
    let mut measured = Evidence::of(results, &[UP_DOWN]);
    measured.estimate("distance_without", over(&without, distance));
    measured.estimate("distance_with", over(&with, distance));
    let distance_shrinks_by =
        measured.estimate("distance_shrinks_by", paired(&without, &with, distance));
    measured.estimate("total_mbps_without", over(&without, measure::total_mbps));
    measured.estimate("total_mbps_with", over(&with, measure::total_mbps));
    let total_falls_by_mbps =
        measured.estimate("total_falls_by_mbps", paired(&without, &with, measure::total_mbps));
    let mean = |runs: &[&Run]| over(runs, measure::total_mbps).map(|e| e.mean);
    let kept = mean(&with).zip(mean(&without)).map(|(with, without)| with / without);
    let total_kept = measured.number("total_kept", kept);
    let note = format!(
        "Uploads over downloads: {} without, {} with. {}",
        ratio_text(over(&without, measure::log_ratio)),
        ratio_text(over(&with, measure::log_ratio)),
        contrast(&without, &with),
    );
    Claim::judge(
        Criterion {
            id: "ACK-3",
            statement: "Compound, 8 uploads and 8 downloads, low packet error rate: shares of \
                        uploads and downloads come together; the total falls, slightly (Fig. 4a, \
                        section 4)",
            meaning: "At a packet error rate of 0.001. Distance is |ln(uploads / downloads)|, \
                      zero for equal shares; differences are of runs with the same seed, and their \
                      intervals' lower ends must be above zero; slightly: at least four fifths of \
                      the total are kept, a bound of ours",
        },
        measured.tested([
            distance_shrinks_by.low.above(0.0),
            total_falls_by_mbps.low.above(0.0),
            total_kept.at_least(0.8),
        ]),
        note,
    )
}

/// A mean of logarithms as a ratio.
fn ratio_text(estimate: Option<Estimate>) -> String {
    estimate.map_or(NO_RUNS.to_owned(), |e| format!("{:.2}", math::exp(e.mean)))
}

/// Whether uploads and downloads share fairly because the access point's queue does not overflow.
fn fairness(mut measured: Evidence, runs: &[&Run]) -> Tested {
    let ratio = over(runs, measure::log_ratio).map(|log| math::exp(log.mean));
    let up_over_down = measured.number("up_over_down", ratio);
    let jain = measured.estimate("jain", over(runs, measure::jain));
    let overflow = measured.estimate("ap_overflow_share", over(runs, measure::overflow_share));
    measured.tested([
        up_over_down.at_least(0.67),
        up_over_down.below(1.5),
        jain.low.above(0.9),
        overflow.mean.below(0.01),
    ])
}

/// The smallest packet error rate of an experiment from which on Compound without the remedy is
/// fair at every rate.
fn fair_from(results: &Results, experiment: &str) -> Option<String> {
    let is_fair = |errors: &String| {
        let runs = results.select(experiment, &[(ERRORS, errors), (ALGORITHM, "compound")]);
        Verdict::of(&fairness(Evidence::default(), &runs).conditions) == Verdict::Holds
    };
    let rates = results.axis(experiment, ERRORS);
    rates.into_iter().rev().take_while(is_fair).last()
}

fn ack_4(results: &Results) -> Claim {
    let mut measured = Evidence::of(results, &[UP_DOWN]);
    let from = fair_from(results, UP_DOWN);
    measured.fact("fair_from_rate", from.clone());
    let tested = fairness(measured, &up_down(results, HIGH, "compound"));
    let rates = results.axis(UP_DOWN, ERRORS);
    let note = format!(
        "Of the rates {} to {} that were tried, the criterion is met {}. Without the remedy, by \
         packet error rate, the MAC making up to 7 attempts: {}. With one attempt, so that \
         errors and collisions reach TCP: {}.",
        rates.first().map_or("none", String::as_str),
        rates.last().map_or("none", String::as_str),
        from.map_or("at none up to the highest".to_owned(), |rate| format!("from {rate} on")),
        by_error_rate(results, UP_DOWN),
        by_error_rate(results, UNREPAIRED),
    );
    Claim::judge(
        Criterion {
            id: "ACK-4",
            statement: "The same with a high packet error rate: no unfairness even without the \
                        remedy, because the access point's queue does not overflow",
            meaning: "At a packet error rate of 0.3, the highest of the range set for this study \
                      before it ran, without the remedy; up_over_down is the geometric mean over \
                      seeds, jain_low the lower end of its confidence interval, ap_overflow_share \
                      the share of packets that the access point's full queue refuses (the \
                      paper's reason, which it calls a thought); fair_from_rate is the least rate \
                      tried from which on all of this is met. 0.67 to 1.5, 0.9 and 1 % are ours",
        },
        tested,
        note,
    )
}

/// Fairness of Compound without the remedy at each packet error rate of an experiment.
fn by_error_rate(results: &Results, experiment: &str) -> String {
    let points = results.axis(experiment, ERRORS).into_iter().map(|errors| {
        let runs = results.select(experiment, &[(ERRORS, &errors), (ALGORITHM, "compound")]);
        format!(
            "{errors}: up/down {}, Jain {}, AP overflow {}, AP queue {} packets, total {} Mbps",
            ratio_text(over(&runs, measure::log_ratio)),
            show(over(&runs, measure::jain), 2),
            show(over(&runs, measure::overflow_share), 3),
            show(over(&runs, measure::mean_ap_queue), 1),
            show(over(&runs, measure::total_mbps), 1),
        )
    });
    points.collect::<Vec<_>>().join("; ")
}

/// Mechanisms, each from the runs.
pub(super) fn explanations(results: &Results) -> Vec<String> {
    let runs = uploads(results, "compound");
    let with = uploads(results, "ack-loss-literal+compound");
    vec![
        format!(
            "Where ACKs drop: with 16 Compound uploads {} of all ACKs are dropped, {} of a flow; \
             the access point's queue holds {} of its 100 packets on average and refuses {} of \
             what arrives. With the remedy it refuses {}.",
            show(over(&runs, measure::ack_drop_share), 3),
            show(over(&runs, measure::acks_dropped_per_flow), 0),
            show(over(&runs, measure::mean_ap_queue), 0),
            show(over(&runs, measure::overflow_share), 3),
            show(over(&with, measure::overflow_share), 3),
        ),
        format!(
            "Start order: the correlation of a flow's start with its throughput is {} without \
             the remedy (negative: who starts first gets more).",
            show(over(&runs, measure::start_correlation), 2),
        ),
        packet_errors(results),
        delayed_ack(results),
    ]
}

/// The reason for which a high packet error rate does or does not cure the unfairness.
fn packet_errors(results: &Results) -> String {
    let line = |experiment: &str, errors: &str| {
        let runs = results.select(experiment, &[(ERRORS, errors), (ALGORITHM, "compound")]);
        format!(
            "at a rate of {errors} {} of the packets are lost to TCP, the access point's queue \
             holds {} packets on average, and uploads over downloads are {}",
            show(over(&runs, measure::unrepaired_share), 4),
            show(over(&runs, measure::mean_ap_queue), 1),
            ratio_text(over(&runs, measure::log_ratio)),
        )
    };
    let queue = |experiment: &str, errors: &str| {
        let runs = results.select(experiment, &[(ERRORS, errors), (ALGORITHM, "compound")]);
        over(&runs, measure::mean_ap_queue).map(|estimate| estimate.mean)
    };
    let mechanism = match (queue(UP_DOWN, HIGH), queue(UNREPAIRED, UNREPAIRED_HIGH)) {
        (Some(repaired), Some(not)) if 2.0 * not < repaired => {
            " Loss that TCP sees keeps the queue short; loss that the MAC repairs does not."
        }
        _ => "",
    };
    format!(
        "Packet errors: where the MAC makes up to 7 attempts, {}. Where it makes one, {}.\
         {mechanism} The paper does not say which of the two it simulated.",
        line(UP_DOWN, HIGH),
        line(UNREPAIRED, UNREPAIRED_HIGH),
    )
}

fn delayed_ack(results: &Results) -> String {
    let line = |algorithm: &str| {
        let runs = results.select(DELAYED, &[(COUNT, PAPER_UPLOADS), (ALGORITHM, algorithm)]);
        format!(
            "{algorithm} {} Mbps, Jain {}, ACKs dropped {}",
            show(over(&runs, measure::total_mbps), 2),
            show(over(&runs, measure::jain), 2),
            show(over(&runs, measure::ack_drop_share), 3),
        )
    };
    let algorithms = results.axis(DELAYED, ALGORITHM);
    let compound = algorithms.iter().filter(|algorithm| algorithm.ends_with("compound"));
    let lines: Vec<String> = compound.map(|algorithm| line(algorithm)).collect();
    format!(
        "Delayed ACKs, 16 uploads: {}. The literal rule takes every delayed ACK, which \
         advances by two segments, for a lost one, and halves the window every round trip; \
         learnt strides and timestamps do not.",
        if lines.is_empty() { NO_RUNS.to_owned() } else { lines.join("; ") },
    )
}
