//! The paper's claims, and the mechanisms behind how they come out.

use super::experiments::{DELAY, DISCONNECTION, LIMIT_KBPS, NEAR, PAPERS, PROFILE, STEADY, WIRE};
use super::points::{Point, at, point};
use fairwave_study::measure::show;
use fairwave_study::{Claim, Criterion, Error, Evidence, Reading, Results};
use std::collections::BTreeMap;

/// Points by the edition of TFRC.
pub(super) type Editions = BTreeMap<String, Vec<Point>>;

pub(super) fn all(plain: &Editions) -> Vec<Claim> {
    vec![ho_1(plain), ho_2(plain), ho_3(plain)]
}

fn papers(plain: &Editions) -> &[Point] {
    plain.get(PAPERS).map_or(&[][..], Vec::as_slice)
}

/// When the mobile had caught up; a curve that never does counts with its length.
fn caught(points: &[Point], seconds: f64) -> Option<f64> {
    let point = at(points, seconds)?;
    Some(point.caught_up.unwrap_or(point.length))
}

/// Until when the mobile was below the residents; a curve that never comes to theirs counts with
/// its length.
fn below(points: &[Point], seconds: f64) -> Option<f64> {
    let point = at(points, seconds)?;
    Some(point.below.unwrap_or(point.length))
}

fn ho_1(plain: &Editions) -> Claim {
    let mut measured = Evidence::default();
    let mut put = |key: &str, of: fn(&[Point], f64) -> Option<f64>, seconds: f64| {
        let newer = plain.get("rfc5348").and_then(|points| of(points, seconds));
        measured.number(format!("{key}_rfc5348"), newer);
        measured.number(key, of(papers(plain), seconds))
    };
    let after_1_5 = put("below_1_5_s", below, 1.5);
    let after_2_5 = put("below_2_5_s", below, 2.5);
    let after_3 = put("back_3_s", caught, 3.0);
    let after_3_5 = put("back_3_5_s", caught, 3.5);
    let extreme = |times: [f64; 2], pick: fn(f64, f64) -> f64| {
        Reading::extreme(times.map(|seconds| below(papers(plain), seconds)), pick).value()
    };
    let short = extreme([1.5, 2.5], f64::min).zip(extreme([3.0, 3.5], f64::max));
    let longer =
        measured.number("short_below_longer_by_s", short.map(|(short, long)| short - long));
    Claim::judge(
        Criterion {
            id: "HO-1",
            statement: "After 1.5 and 2.5 s without an access point the mobile stays below the \
                        residents' mean sending rate for more than 10 s; after 3.0 and 3.5 s it is \
                        back in 2 to 3 s",
            meaning: "Seconds from the end of the handover, by the mean over seeds. below: until \
                      the mobile's sending rate, averaged over the second that follows, comes to \
                      the residents'; back: until it first comes to 90 % of theirs, where 2 to 3 \
                      s is taken from 1 to 4 s; short_below_longer_by_s: the least time below \
                      after 1.5 and 2.5 s less the greatest after 3.0 and 3.5 s. RFC 3448, as in \
                      the paper",
        },
        measured.tested([
            longer.above(0.0),
            after_1_5.at_least(10.0),
            after_2_5.at_least(10.0),
            after_3.at_least(1.0),
            after_3.below(4.0),
            after_3_5.at_least(1.0),
            after_3_5.below(4.0),
        ]),
        halvings(papers(plain)),
    )
}

/// What the gap does to the rate.
fn halvings(points: &[Point]) -> String {
    let of = |seconds: f64| {
        let point = at(points, seconds)?;
        Some((point.mobile.first().copied()?, caught(points, seconds)?))
    };
    let texts = [0.5, 1.5, 3.0, 4.5, 6.0].iter().filter_map(|&seconds| {
        let (rate, back) = of(seconds)?;
        Some(format!("{seconds} s: {rate:.0} kbps, {back:.1} s"))
    });
    let texts: Vec<String> = texts.collect();
    let back = |seconds| of(seconds).map(|(_, back)| back);
    let no_shorter = matches!((back(1.5), back(6.0)), (Some(short), Some(long)) if long >= short);
    let so =
        if no_shorter { " The way back is no shorter after 6 s than after 1.5 s." } else { "" };
    format!(
        "What the nofeedback timer leaves of the rate at the end of the gap, and how long the way \
         back takes: {}. The timer halves the rate every four round trips, or twice the time from \
         packet to packet; the longer the gap, the longer the round-trip time that the packets \
         from the MAC queue then show, and the rate doubles once in such a round trip.{so}",
        texts.join("; ")
    )
}

fn ho_2(plain: &Editions) -> Claim {
    let points = papers(plain);
    let mut measured = Evidence::default();
    let ratio = |value: Option<f64>, point: &Point| Some(value? / point.residents_interval?);
    let short = [0.5, 1.0].iter().filter_map(|&s| at(points, s));
    let short = Reading::extreme(short.map(|p| ratio(p.interval_after(), p)), f64::max);
    let over_to_1_s = measured.number("mean_over_residents_to_1_s", short);
    let long = || [4.5, 5.0, 5.5, 6.0].iter().filter_map(|&s| at(points, s));
    let least = Reading::extreme(long().map(|p| ratio(p.interval_after(), p)), f64::min);
    let over_from_4_5_s = measured.number("mean_over_residents_from_4_5_s", least);
    let mean = |pick| Reading::extreme(long().map(Point::interval_after), pick);
    let least = measured.number("least_mean_from_4_5_s", mean(f64::min));
    let most = measured.number("most_mean_from_4_5_s", mean(f64::max));
    let texts: Vec<String> = points
        .iter()
        .filter_map(|p| Some(format!("{} s: {:.0}", p.disconnection, p.interval_after()?)))
        .collect();
    Claim::judge(
        Criterion {
            id: "HO-2",
            statement: "After short disconnections the mobile's mean loss interval falls below \
                        the residents'; after long ones it is far too high, about 4000 packets \
                        from 4.5 s on, for a run of losses is one loss event",
            meaning: "Mean loss interval at the sender over 10 s from the end of the handover, \
                      seeds averaged, and the residents' in the same time; seeds that lost nothing \
                      have none and are left out. About 4000: from 2000 to 8000. RFC 3448",
        },
        measured.tested([
            over_to_1_s.below(1.0),
            over_from_4_5_s.above(2.0),
            least.at_least(2000.0),
            most.below(8000.0),
        ]),
        format!(
            "Mean intervals in packets: {}. The run of losses is one event, as RFC 4342 section \
             10.2 has it: nothing arrived in between. Where it is the mobile's first, which lost \
             nothing alone at its old access point, the interval before it is not measured but \
             stands for the rate that was received (RFC 5348 section 6.3.1).",
            texts.join(", ")
        ),
    )
}

fn ho_3(plain: &Editions) -> Claim {
    let points = papers(plain);
    let mut measured = Evidence::default();
    let to = |least: f64, most: f64| {
        let within = points.iter().filter(move |p| (least..=most).contains(&p.disconnection));
        within.map(Point::rtt_ratio)
    };
    let least = Reading::extreme(to(0.0, 3.5), f64::min);
    let to_3_5_s = measured.number("least_over_residents_to_3_5_s", least);
    let most = Reading::extreme(to(4.5, 6.0), f64::max);
    let from_4_5_s = measured.number("most_over_residents_from_4_5_s", most);
    let texts: Vec<String> = points
        .iter()
        .filter_map(|p| Some(format!("{} s: {:.1}", p.disconnection, p.rtt_ratio()?)))
        .collect();
    Claim::judge(
        Criterion {
            id: "HO-3",
            statement: "After up to 3.5 s the mobile's round-trip time is above the residents', \
                        since packets waited in the MAC's buffer; from 4.5 s on it is equal or \
                        lower",
            meaning: "Smoothed round-trip time at the mobile over the residents' mean, in the 2 s \
                      after the handover, seeds averaged; about equal is up to a fifth more, what \
                      this study takes for near elsewhere. RFC 3448",
        },
        measured.tested([to_3_5_s.above(1.0), from_4_5_s.below(1.0 + NEAR)]),
        format!(
            "The mobile's over the residents': {}. The MAC keeps the oldest packets, those of the \
             gap's beginning, so the first sample is as long as the gap, whatever that is. For a \
             time that falls again after 4.5 s a MAC must have lost what it held.",
            texts.join(", ")
        ),
    )
}

pub(super) fn explanations(results: &Results, plain: &Editions) -> Result<Vec<String>, Error> {
    Ok([steady(results)?, plateau(plain), wires(results)?].into_iter().flatten().collect())
}

/// How far apart the rates are without a handover, where the paper saw 81 kbps at most.
fn steady(results: &Results) -> Result<Option<String>, Error> {
    let mut texts = Vec::new();
    for profile in results.axis(STEADY, PROFILE) {
        let runs = results.select(STEADY, &[(PROFILE, &profile)]);
        let Some(point) = point(&runs)? else { continue };
        texts.push(format!(
            "{profile}: {:.0} kbps in the mean, {:.0} at most",
            point.mean_deviation, point.most_deviation
        ));
    }
    Ok((!texts.is_empty()).then(|| {
        format!(
            "Steady state. The paper calls ten sending rates steady while their standard deviation \
             is below {LIMIT_KBPS} kbps, for it never saw more than 81 without a handover. Here it \
             is {}. The rates that are allowed swing more than the paper's, so its recovery time \
             ends with the first calm moment; the table has it, the verdicts rest on means over \
             seeds.",
            texts.join("; ")
        )
    }))
}

/// What the loss interval does instead of a plateau.
fn plateau(plain: &Editions) -> Option<String> {
    let points = papers(plain);
    let (first, last) = (points.first()?, points.last()?);
    Some(format!(
        "The plateau near 4000 packets. A first loss interval is what the throughput equation \
         makes of the receive rate; for the source's 62.9 kB/s it is 4000 packets where the \
         round-trip time is 0.77 s, and grows with its square. Here the mobile's mean interval in \
         the 10 s after is {} packets after {} s and {} after {} s: the receive rate of a sender \
         that the timer has slowed down is low, and the interval with it. A plateau at 4000 would \
         need the source's full rate received with the gap's round-trip time: a sender that its \
         timer does not slow down.",
        first.interval_after().map_or("no".into(), |i| format!("{i:.0}")),
        first.disconnection,
        last.interval_after().map_or("no".into(), |i| format!("{i:.0}")),
        last.disconnection,
    ))
}

fn wires(results: &Results) -> Result<Option<String>, Error> {
    let mut texts = Vec::new();
    for delay in results.axis(WIRE, DELAY) {
        let axes = [(DELAY, delay.as_str()), (PROFILE, ""), (DISCONNECTION, "3 s")];
        let given: Vec<_> = axes.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let Some(point) = point(&results.select(WIRE, &given))? else { continue };
        texts.push(format!(
            "{delay} each way: back after {}, recovery {} s, loss interval {}",
            point.caught_up.map_or("the run's end".into(), |s| format!("{s:.1} s")),
            show(point.recovery, 1),
            point.interval_after().map_or("not known, nothing lost".into(), |i| format!("{i:.0}")),
        ));
    }
    Ok((!texts.is_empty()).then(|| {
        format!(
            "The wire. How many packets the sender makes in the gap, before its timer has slowed \
             it down, goes with the round trip before it. After 3 s: {}.",
            texts.join("; ")
        )
    }))
}
