//! The paper's claims, and the mechanisms behind how they come out.

use super::points::{Point, at, point};
use super::{DELAY, DISCONNECTION, LIMIT_KBPS, PAPERS, PROFILE, STEADY, WIRE};
use fairwave_study::measure::{round, show};
use fairwave_study::{Bound, Claim, Error, Results, Test};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Points by the edition of TFRC.
pub(super) type Editions = BTreeMap<String, Vec<Point>>;

pub(super) fn all(plain: &Editions) -> Vec<Claim> {
    vec![ho_1(plain), ho_2(plain), ho_3(plain)]
}

fn papers(plain: &Editions) -> &[Point] {
    plain.get(PAPERS).map_or(&[][..], Vec::as_slice)
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        map.insert(key.to_owned(), json!(round(value)));
    }
}

/// When the mobile had caught up; a curve that never does counts with its length.
fn caught(points: &[Point], seconds: f64) -> Option<f64> {
    let point = at(points, seconds)?;
    Some(point.caught_up.unwrap_or(point.length))
}

fn ho_1(plain: &Editions) -> Claim {
    let mut measured = Map::new();
    for (key, seconds) in
        [("back_1_5_s", 1.5), ("back_2_5_s", 2.5), ("back_3_s", 3.0), ("back_3_5_s", 3.5)]
    {
        put(&mut measured, key, caught(papers(plain), seconds));
        let newer = plain.get("rfc5348").and_then(|points| caught(points, seconds));
        put(&mut measured, &format!("{key}_rfc5348"), newer);
    }
    Claim::judge(
        "HO-1",
        "After 1.5 and 2.5 s without an access point the mobile stays below the residents' mean \
         sending rate for more than 10 s; after 3.0 and 3.5 s it is back in 2 to 3 s",
        "Seconds from the end of the handover until the mobile's sending rate, the mean over \
         seeds, first comes to 90 % of the residents'; 2 to 3 s is taken from 1 to 4 s. RFC 3448, \
         as in the paper",
        &[
            Test("back_1_5_s", Bound::Above(10.0)),
            Test("back_2_5_s", Bound::Above(10.0)),
            Test("back_3_s", Bound::AtLeast(1.0)),
            Test("back_3_s", Bound::Below(4.0)),
            Test("back_3_5_s", Bound::AtLeast(1.0)),
            Test("back_3_5_s", Bound::Below(4.0)),
        ],
        measured,
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
    let mut measured = Map::new();
    let ratio = |value: Option<f64>, point: &Point| Some(value? / point.residents_interval?);
    let short = [0.5, 1.0].iter().filter_map(|&s| at(points, s));
    let short = short.filter_map(|p| ratio(p.interval_after(), p)).reduce(f64::max);
    put(&mut measured, "mean_over_residents_to_1_s", short);
    let long = || [4.5, 5.0, 5.5, 6.0].iter().filter_map(|&s| at(points, s));
    let least = long().filter_map(|p| ratio(p.interval_after(), p)).reduce(f64::min);
    put(&mut measured, "mean_over_residents_from_4_5_s", least);
    let means: Vec<f64> = long().filter_map(Point::interval_after).collect();
    put(&mut measured, "least_mean_from_4_5_s", means.iter().copied().reduce(f64::min));
    put(&mut measured, "most_mean_from_4_5_s", means.iter().copied().reduce(f64::max));
    let texts: Vec<String> = points
        .iter()
        .filter_map(|p| Some(format!("{} s: {:.0}", p.disconnection, p.interval_after()?)))
        .collect();
    Claim::judge(
        "HO-2",
        "After short disconnections the mobile's mean loss interval falls below the residents'; \
         after long ones it is far too high, about 4000 packets from 4.5 s on, for a run of losses \
         is one loss event",
        "Mean loss interval at the sender over 10 s from the end of the handover, seeds averaged, \
         and the residents' in the same time; seeds that lost nothing have none and are left out. \
         About 4000: from 2000 to 8000. RFC 3448",
        &[
            Test("mean_over_residents_to_1_s", Bound::Below(1.0)),
            Test("mean_over_residents_from_4_5_s", Bound::Above(2.0)),
            Test("least_mean_from_4_5_s", Bound::AtLeast(2000.0)),
            Test("most_mean_from_4_5_s", Bound::Below(8000.0)),
        ],
        measured,
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
    let mut measured = Map::new();
    let to = |least: f64, most: f64| {
        let within = points.iter().filter(move |p| (least..=most).contains(&p.disconnection));
        within.filter_map(Point::rtt_ratio)
    };
    put(&mut measured, "least_over_residents_to_3_5_s", to(0.0, 3.5).reduce(f64::min));
    put(&mut measured, "most_over_residents_from_4_5_s", to(4.5, 6.0).reduce(f64::max));
    let texts: Vec<String> = points
        .iter()
        .filter_map(|p| Some(format!("{} s: {:.1}", p.disconnection, p.rtt_ratio()?)))
        .collect();
    Claim::judge(
        "HO-3",
        "After up to 3.5 s the mobile's round-trip time is above the residents', since packets \
         waited in the MAC's buffer; from 4.5 s on it is equal or lower",
        "Smoothed round-trip time at the mobile over the residents' mean, in the 2 s after the \
         handover, seeds averaged; equal is up to 5 % more. RFC 3448",
        &[
            Test("least_over_residents_to_3_5_s", Bound::Above(1.0)),
            Test("most_over_residents_from_4_5_s", Bound::Below(1.05)),
        ],
        measured,
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
