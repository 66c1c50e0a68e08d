//! Damping, weights and every refusal by hand; then hostile traffic of any kind.

mod hostile;

use super::*;
use crate::policy::{Curve, CurvePoint, Policies, Rule};
use fairwave_machine::contract;
use fairwave_wire::ethernet::EtherType;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::Report;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key_of(station: Mac) -> Key {
    Key::new(b"the master key of a test").unwrap().derive("station", &[&station.0])
}

fn station(link: Mac) -> Station {
    Station { link, key: Some(key_of(link)), ipv4: None, ipv6: None }
}

/// The `number`th report of a station, made at this millisecond.
fn report(link: Mac, number: u64, made: u64, db: f64) -> Report {
    Report {
        next: None,
        station: link,
        ipv4: Ipv4Addr::new(10, 0, 0, 1),
        ipv6: Ipv6Addr::UNSPECIFIED,
        sequence: number,
        made_ms: made as u32,
        interval_ms: NonZeroU16::new(200).unwrap(),
        soc: CentiDb::from_db(db),
    }
}

fn sealed(report: &Report) -> TableInput {
    let bytes = report.seal(&key_of(report.station));
    TableInput::Report(ReceivedFrame::new(report.station, &bytes))
}

/// A table of the paper's PW under test, with the facts at their milliseconds.
struct Bench {
    table: Table,
    changes: Vec<(u64, Mac, f64)>,
    events: Vec<(u64, Observation)>,
}

impl Bench {
    fn new(config: TableConfig) -> Self {
        Self { table: Table::new(config), changes: Vec::new(), events: Vec::new() }
    }

    fn with(config: TableConfig, links: &[Mac]) -> Self {
        let mut bench = Self::new(config);
        for &link in links {
            bench.notify(0, TableInput::Register(station(link)));
        }
        bench
    }

    fn notify(&mut self, at: u64, input: TableInput) {
        self.run_to(at);
        self.table.handle(ms(at), input);
        self.drain(at);
    }

    fn run_to(&mut self, at: u64) {
        while let Some(deadline) = self.table.deadline().filter(|deadline| *deadline <= ms(at)) {
            self.table.wake(deadline);
            self.drain(deadline.as_nanos() / 1_000_000);
        }
    }

    fn drain(&mut self, at: u64) {
        while let Some(change) = self.table.poll(ms(at)) {
            self.changes.push((at, change.station, change.weight.fraction()));
        }
        while let Some(event) = self.table.event() {
            self.events.push((at, event));
        }
    }

    /// Tells it a report that it should refuse, and why.
    fn refuses(&mut self, at: u64, input: TableInput, why: Refusal) {
        self.run_to(at);
        let before = *self.table.counters();
        let changes = self.changes.len();
        self.notify(at, input);
        let last = self.events.last().map(|(_, event)| *event);
        assert!(
            matches!(last, Some(Observation::Refused { why: found, .. }) if found == why),
            "at {at} ms: {last:?}, not {why:?}"
        );
        assert_eq!(self.table.counters().refused_for(why), before.refused_for(why) + 1);
        assert_eq!(self.table.counters().accepted, before.accepted);
        assert_eq!(self.changes.len(), changes, "a refused report changed a weight");
    }

    fn soc(&self, link: Mac) -> f64 {
        self.table.soc(link).unwrap_or_else(|| panic!("{link} has no SoC")).0
    }
}

fn named(name: &str) -> Policies {
    let kind = crate::policy::ALL.iter().find(|kind| kind.name == name).unwrap();
    Policies::per_host((kind.curve)())
}

fn pw() -> TableConfig {
    TableConfig::new(named("pw"))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
}

/// Each missing report leaves 0.7 of the SoC (paper, section 4.2, beta of section 5.1).
#[test]
fn missing_reports_damp_the_soc_until_the_next_comes() {
    let mut bench = Bench::with(pw(), &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, 20.0)));
    // The second is due at 400 ms and missed at 500 ms, the third at 700 ms, ...
    for (before, soc) in [(499, 20.0), (699, 14.0), (899, 9.8), (1099, 6.86), (1100, 4.802)] {
        bench.run_to(before);
        near(bench.soc(A), soc);
    }
    assert_eq!(bench.table.counters().missed, 4);
    bench.notify(1200, sealed(&report(A, 6, 1200, 20.0)));
    near(bench.soc(A), 20.0);
    bench.run_to(1499);
    near(bench.soc(A), 20.0);
    let weights: Vec<_> = bench.changes.iter().map(|(at, _, weight)| (*at, *weight)).collect();
    // pw: w(20) = w(14) = 1, w(9.8) = 0.78, w(6.86) = 0.486, w(4.802) = 0.2802.
    let expected = [(0, 1.0), (700, 0.78), (900, 0.486), (1100, 0.2802), (1200, 1.0)];
    for ((at, weight), (expected_at, expected)) in weights.iter().zip(expected) {
        assert_eq!(*at, expected_at);
        near(*weight, expected);
    }
    assert_eq!(weights.len(), expected.len());
}

/// From 15 dB: below 12 dB after 1 missing report, below 6 dB after 3, at 1 dB or below after 8.
#[test]
fn thresholds_are_reached_after_as_many_misses_as_logarithms_say() {
    for (name, misses) in [("gb1", 1), ("gb2", 3), ("gb3", 8)] {
        let mut bench = Bench::with(TableConfig::new(named(name)), &[A]);
        bench.notify(200, sealed(&report(A, 1, 200, 15.0)));
        bench.run_to(5000);
        let (at, _, weight) = bench.changes[1];
        assert_eq!((at, weight), (300 + 200 * misses, 0.0), "{name}");
    }
}

#[test]
fn weights_may_decay_instead() {
    let mut bench = Bench::with(TableConfig { decay: Decay::Weight, ..pw() }, &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, 12.0)));
    bench.run_to(700);
    near(bench.soc(A), 12.0);
    let weights: Vec<f64> = bench.changes.iter().map(|change| change.2).collect();
    for (found, expected) in weights.iter().zip([1.0, 0.9, 0.63, 0.441]) {
        near(*found, expected);
    }
}

#[test]
fn nothing_is_below_the_floor() {
    let mut bench = Bench::with(pw(), &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, -12.0)));
    assert_eq!(bench.soc(A), 0.0);
    bench.run_to(900);
    assert_eq!(bench.soc(A), 0.0);
    let reported = CentiDb(-1200);
    let expected = Observation::Reported { station: A, reported, soc: Db(0.0) };
    assert!(bench.events.contains(&(200, expected)));
}

#[test]
fn the_unknown_weigh_one_and_after_a_minute_of_silence_are_unknown_again() {
    let mut bench = Bench::with(TableConfig::new(named("gb1")), &[A, B]);
    assert_eq!(bench.changes, [(0, A, 1.0), (0, B, 1.0)]);
    bench.notify(200, sealed(&report(A, 1, 200, 3.0)));
    assert_eq!(bench.changes[2..], [(200, A, 0.0)]);
    bench.run_to(60_199);
    assert_eq!(bench.table.weight(A, Class(0)), Weight::ZERO);
    bench.run_to(100_000);
    assert_eq!(bench.changes[3..], [(60_200, A, 1.0)]);
    assert_eq!(bench.table.soc(A), None);
    assert_eq!(bench.table.deadline(), None);
    assert_eq!(bench.table.counters().aged_out, 1);
    assert_eq!(bench.table.weight(Mac::local(99), Class(0)), Weight::ONE);
}

#[test]
fn old_and_new_are_smoothed_as_in_fig_7() {
    let mut bench = Bench::with(TableConfig { smoothing: 0.25, ..pw() }, &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, 10.0)));
    bench.notify(400, sealed(&report(A, 2, 400, 2.0)));
    // 0.25 * 2 + 0.75 * 10 = 8 dB, a weight of 0.6.
    near(bench.changes.last().unwrap().2, 0.6);
}

#[test]
fn each_class_is_told_its_weight() {
    let knots =
        [CurvePoint { soc: Db(0.0), weight: 0.5 }, CurvePoint { soc: Db(10.0), weight: 1.0 }];
    let floor = Curve::through(&knots, Rule::Linear).unwrap();
    let policies = Policies::per_class(vec![floor, Curve::GoodOrBad(Db(6.0))]);
    let mut bench = Bench::with(TableConfig::new(policies), &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, 4.0)));
    assert_eq!(bench.table.weight(A, Class(1)), Weight::ZERO);
    near(bench.table.weight(A, Class(0)).fraction(), 0.7);
    // A scheduler with more classes than curves reads the first.
    assert_eq!(bench.table.weight(A, Class(2)), bench.table.weight(A, Class(0)));
}

#[test]
fn a_station_that_waits_longer_says_so_and_is_missed_later() {
    let mut bench = Bench::with(pw(), &[A]);
    let interval_ms = NonZeroU16::new(1000).unwrap();
    bench.notify(1000, sealed(&Report { interval_ms, ..report(A, 1, 1000, 20.0) }));
    bench.run_to(2499);
    near(bench.soc(A), 20.0);
    bench.run_to(2500);
    near(bench.soc(A), 14.0);
    // Longer than the design range counts as its end: nobody keeps a good SoC by promising
    // nothing.
    let interval_ms = NonZeroU16::MAX;
    bench.notify(3000, sealed(&Report { interval_ms, ..report(A, 2, 3000, 20.0) }));
    bench.run_to(4500);
    near(bench.soc(A), 14.0);
}

#[test]
fn a_report_in_front_of_data_counts_as_well() {
    let mut bench = Bench::with(pw(), &[A]);
    let report = Report { next: Some(EtherType::IPV4), ..report(A, 1, 200, 7.0) };
    let mut frame = report.seal(&key_of(A)).to_vec();
    frame.extend([0x45; 1500]);
    bench.notify(200, TableInput::Report(ReceivedFrame::new(A, &frame)));
    near(bench.table.weight(A, Class(0)).fraction(), 0.5);
}

#[test]
fn each_refusal_by_hand() {
    let known = Station { ipv4: Some(Ipv4Addr::new(10, 0, 0, 1)), ..station(A) };
    let mut bench = Bench::with(pw(), &[B]);
    bench.notify(0, TableInput::Register(known));
    bench.notify(200, sealed(&report(A, 5, 200, 9.0)));
    let good = report(A, 6, 400, 9.0);
    let bytes = good.seal(&key_of(A));
    let received = |from, bytes: &[u8]| TableInput::Report(ReceivedFrame::new(from, bytes));
    let with = |at: usize, new: u8| {
        let mut bytes = bytes;
        bytes[at] = new;
        received(A, &bytes)
    };
    bench.refuses(400, received(A, &bytes[..63]), Refusal::Truncated);
    bench.refuses(400, received(A, &[]), Refusal::Truncated);
    bench.refuses(400, with(2, 2), Refusal::UnknownVersion);
    bench.refuses(400, with(0, 0), Refusal::Malformed);
    bench.refuses(400, with(6, 1), Refusal::Malformed);
    bench.refuses(400, received(A, &[10, 0, 0, 1, 0, 0, 0, 30]), Refusal::Unsealed);
    bench.refuses(400, received(Mac::local(9), &bytes), Refusal::Unknown);
    bench.refuses(400, received(B, &bytes), Refusal::WrongSender);
    bench.refuses(400, with(46, 0x7f), Refusal::Forged);
    bench.refuses(400, received(A, &good.seal(&key_of(B))), Refusal::Forged);
    let elsewhere = Report { ipv4: Ipv4Addr::new(10, 0, 0, 2), ..good };
    bench.refuses(400, sealed(&elsewhere), Refusal::WrongAddress);
    bench.refuses(400, sealed(&report(A, 5, 200, 9.0)), Refusal::Replayed);
    bench.refuses(400, sealed(&report(A, 4, 180, 9.0)), Refusal::Stale);
    bench.refuses(400, sealed(&report(A, 4, 180, 9.0)), Refusal::Replayed);
    bench.notify(400, sealed(&good));
    assert_eq!(bench.table.counters().accepted, 2);
}

#[test]
fn a_report_that_was_held_back_is_stale() {
    let mut bench = Bench::with(pw(), &[A]);
    bench.notify(10_200, sealed(&report(A, 1, 200, 20.0)));
    bench.notify(10_400, sealed(&report(A, 2, 400, 20.0)));
    // Made at 600 ms by the station's clock, which is 10 s behind; 2 s later it may still come.
    bench.notify(12_600, sealed(&report(A, 3, 600, 20.0)));
    bench.refuses(12_802, sealed(&report(A, 4, 800, 20.0)), Refusal::Stale);
    // A clock that runs 200 ppm slow for an hour is not taken for it; 24 hours held back are.
    bench.notify(3_612_000, sealed(&report(A, 5, 3_601_280, 20.0)));
    bench.refuses(90_000_000, sealed(&report(A, 6, 3_601_480, 20.0)), Refusal::Stale);
}

#[test]
fn a_restart_has_a_clock_of_its_own_but_no_old_numbers() {
    let mut bench = Bench::with(pw(), &[A]);
    bench.notify(500_000, sealed(&report(A, 1 << 32 | 7, 499_000, 20.0)));
    bench.notify(501_000, sealed(&report(A, 2 << 32 | 1, 200, 20.0)));
    bench.refuses(501_200, sealed(&report(A, 1 << 32 | 8, 499_200, 20.0)), Refusal::Replayed);
}

#[test]
fn silence_and_registering_again_open_no_door_for_old_reports() {
    let mut bench = Bench::with(pw(), &[A]);
    let old = report(A, 1, 200, 20.0);
    bench.notify(200, sealed(&old));
    bench.run_to(70_000);
    assert_eq!(bench.table.soc(A), None);
    bench.refuses(70_000, sealed(&old), Refusal::Replayed);
    bench.notify(70_001, TableInput::Register(station(A)));
    bench.refuses(70_002, sealed(&old), Refusal::Replayed);
    // With another key the old ones are forged.
    let key = Some(key_of(B));
    bench.notify(70_003, TableInput::Register(Station { key, ..station(A) }));
    bench.refuses(70_004, sealed(&old), Refusal::Forged);
}

#[test]
fn a_flood_is_held_to_its_pace() {
    let mut bench = Bench::with(pw(), &[A]);
    for number in 1..=8 {
        bench.notify(200, sealed(&report(A, number, 200, 20.0)));
    }
    bench.refuses(200, sealed(&report(A, 9, 200, 1.0)), Refusal::Flooding);
    near(bench.soc(A), 20.0);
    // One more each 15 ms; a station that reports each 20 ms never comes near.
    bench.notify(215, sealed(&report(A, 10, 215, 2.0)));
    bench.refuses(229, sealed(&report(A, 11, 229, 1.0)), Refusal::Flooding);
    let mut steady = Bench::with(pw(), &[A]);
    for number in 1..=1000 {
        steady.notify(20 * number, sealed(&report(A, number, 20 * number, 20.0)));
    }
    assert_eq!(steady.table.counters().accepted, 1000);
}

#[test]
fn the_format_of_the_paper_is_believed_where_asked_for_and_without_a_key() {
    let plain = |from, last: u8, db| {
        let plain = Plain { ipv4: Ipv4Addr::new(10, 0, 0, last), soc_db: db };
        TableInput::Report(ReceivedFrame::new(from, &plain.bytes()))
    };
    let mut bench = Bench::with(TableConfig { compat: true, ..pw() }, &[B]);
    let ipv4 = Some(Ipv4Addr::new(10, 0, 0, 1));
    bench.notify(0, TableInput::Register(Station { key: None, ipv4, ..station(A) }));
    bench.notify(200, plain(A, 1, 7));
    near(bench.table.weight(A, Class(0)).fraction(), 0.5);
    assert_eq!(bench.table.counters().compat, 1);
    bench.refuses(400, plain(A, 2, 30), Refusal::WrongAddress);
    bench.refuses(400, plain(B, 2, 30), Refusal::Unsealed);
    bench.refuses(400, plain(Mac::local(9), 2, 30), Refusal::Unknown);
    bench.refuses(400, sealed(&report(A, 1, 400, 30.0)), Refusal::Unknown);
    bench.refuses(400, TableInput::Report(ReceivedFrame::new(A, &[1, 2, 3])), Refusal::Truncated);
    // It names no interval: the table's own, 200 ms, is missed at 500 ms.
    bench.run_to(500);
    near(bench.soc(A), 4.9);
}

#[test]
fn strangers_make_room_for_keys_and_never_the_other_way_round() {
    let mut bench = Bench::new(TableConfig { max_stations: 3, compat: true, ..pw() });
    let unknown = |index| Station { key: None, ..station(Mac::local(index)) };
    let register = |station| TableInput::Register(station);
    bench.notify(0, register(station(A)));
    bench.notify(1, register(unknown(10)));
    bench.notify(2, register(unknown(11)));
    bench.refuses(3, register(unknown(12)), Refusal::Full);
    bench.notify(4, register(station(B)));
    let evicted = Observation::Evicted { station: Mac::local(10) };
    assert!(bench.events.contains(&(4, evicted)), "{:?}", bench.events);
    // After a minute's silence a stranger makes room for a stranger.
    bench.notify(60_002, register(unknown(12)));
    bench.notify(60_003, register(station(Mac::local(3))));
    bench.refuses(60_004, register(unknown(13)), Refusal::Full);
    bench.refuses(999_000, register(station(Mac::local(4))), Refusal::Full);
    assert_eq!((bench.table.len(), bench.table.counters().evicted), (3, 3));
    bench.notify(999_001, TableInput::Forget(A));
    bench.notify(999_002, register(station(Mac::local(4))));
    assert_eq!(bench.table.len(), 3);
}

#[test]
fn a_station_that_leaves_weighs_what_unknown_ones_do() {
    let mut bench = Bench::with(TableConfig::new(named("gb1")), &[A]);
    bench.notify(200, sealed(&report(A, 1, 200, 3.0)));
    bench.notify(300, TableInput::Forget(A));
    assert_eq!(bench.changes, [(0, A, 1.0), (200, A, 0.0), (300, A, 1.0)]);
    assert!(bench.table.is_empty() && bench.table.deadline().is_none());
}

#[test]
fn the_contract_of_machines() {
    let register = [A, B].map(|link| (ms(0), TableInput::Register(station(link))));
    let reports = (1..50).filter(|number| number % 7 < 3).flat_map(|number| {
        let at = 200 * number;
        [A, B].map(|link| (ms(at), sealed(&report(link, number, at, number as f64 / 2.0))))
    });
    let mut table = Table::new(pw());
    let changes = contract::check(&mut table, register.into_iter().chain(reports), ms(100_000));
    assert!(changes.len() > 20);
}
