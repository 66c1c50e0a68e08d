//! Precedence, ageing, hysteresis and pace by hand; then hostile reports of any kind.

use super::*;
use crate::policy::{ALL, Policies};
use fairwave_machine::contract;
use fairwave_units::{Dbm, Duration};
use fairwave_wire::soc::routed::{self, Reply, Token};
use fairwave_wire::soc::{ANSWER_LEN, CentiDb, KeyRefused, Report, SESSION_LEN, Session};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

mod plain;
mod routed_reports;
mod sessions;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
/// The start of the access point of most tests.
const SESSION: Session = Session([5; SESSION_LEN]);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn network() -> Key {
    Key::new(&[7; KEY_LEN]).unwrap()
}

fn pw() -> ApConfig {
    let curve = ALL.iter().find(|kind| kind.name == "pw").unwrap().curve;
    ApConfig::new(TableConfig::new(Policies::per_host(curve())), network(), SESSION)
}

fn key_of(link: Mac) -> Key {
    Key::new(&station_secret(&network(), link)).unwrap()
}

/// The `number`th report of a station, made at this millisecond, sealed for the session.
fn report_frame(link: Mac, number: u64, made: u64, db: f64) -> ReceivedFrame {
    let report = Report {
        next: None,
        station: link,
        ipv4: Ipv4Addr::UNSPECIFIED,
        ipv6: Ipv6Addr::UNSPECIFIED,
        sequence: number,
        made_ms: made as u32,
        interval_ms: NonZeroU16::new(200).unwrap(),
        soc: CentiDb::from_db(db),
    };
    ReceivedFrame::new(link, &report.seal(&SESSION.key(&key_of(link))))
}

/// A station's last report.
fn last_report(link: Mac, number: u64, made: u64) -> ApInput {
    let ApInput::Report(frame) = report(link, number, made, 0.0) else { unreachable!() };
    let (claim, _) = soc::parse(frame.payload()).unwrap();
    let report = Report { soc: CentiDb::NONE, ..claim.unchecked() };
    let bytes = report.seal(&SESSION.key(&key_of(link)));
    ApInput::Report(ReceivedFrame::new(link, &bytes))
}

fn report(link: Mac, number: u64, made: u64, db: f64) -> ApInput {
    ApInput::Report(report_frame(link, number, made, db))
}

/// Noise is -95 dBm unless told.
fn seen(link: Mac, signal: f64) -> ApInput {
    ApInput::Seen(StationView { signal: Some(Dbm(signal)), ..StationView::new(link) })
}

/// An access point with what it asked for: millisecond, station, and weight (`None`: no more).
struct Bench {
    ap: AccessPoint,
    actions: Vec<(u64, Mac, Option<f64>)>,
    decisions: Vec<Decision>,
    answers: Vec<(u64, Mac, [u8; ANSWER_LEN])>,
    replies: Vec<(SocketAddr, Reply)>,
    notices: Vec<KeyRefused>,
}

impl Bench {
    fn new(config: ApConfig) -> Self {
        let ap = AccessPoint::new(config);
        let (actions, decisions, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self { ap, actions, decisions, answers, replies: Vec::new(), notices: Vec::new() }
    }

    fn notify(&mut self, at: u64, input: ApInput) {
        self.run_to(at);
        self.ap.handle(ms(at), input);
        self.drain(at);
    }

    fn run_to(&mut self, at: u64) {
        while let Some(deadline) = self.ap.deadline().filter(|deadline| *deadline <= ms(at)) {
            self.ap.wake(deadline);
            self.drain(deadline.as_nanos() / 1_000_000);
        }
    }

    fn drain(&mut self, at: u64) {
        while let Some(action) = self.ap.poll(ms(at)) {
            let weight = match &action {
                Action::Serve { weights, .. } => Some(weights[0].fraction()),
                Action::Stop { .. } => None,
                Action::Answer { payload, .. } if KeyRefused::parse(payload).is_some() => {
                    self.notices.extend(KeyRefused::parse(payload));
                    continue;
                }
                Action::Reply { payload, .. } if KeyRefused::parse(payload).is_some() => {
                    self.notices.extend(KeyRefused::parse(payload));
                    continue;
                }
                Action::Answer { station, payload } => {
                    self.answers.push((at, *station, *payload));
                    continue;
                }
                Action::Reply { station, to, payload } => {
                    self.replies.push((*to, Reply::open(payload, &key_of(*station)).unwrap()));
                    continue;
                }
            };
            self.actions.push((at, action.station(), weight));
        }
        while let Some(decision) = self.ap.event() {
            self.decisions.push(decision);
        }
    }

    /// The actions are these, with weights to three digits.
    fn has_requested(&self, expected: &[(u64, Mac, Option<f64>)]) {
        let rounded = |weight: f64| (weight * 1e3).round() / 1e3;
        let actions = self.actions.iter().map(|(at, who, what)| (*at, *who, what.map(rounded)));
        assert_eq!(actions.collect::<Vec<_>>(), expected);
    }

    /// When whom of which number, all in this session.
    fn answered(&self) -> Vec<(u64, Mac, u64)> {
        let open = |(at, to, payload): &(u64, Mac, [u8; ANSWER_LEN])| {
            let answer = Answer::open(payload, &key_of(*to)).unwrap();
            assert_eq!((answer.station, answer.session), (*to, SESSION));
            (*at, *to, answer.sequence)
        };
        self.answers.iter().map(open).collect()
    }

    fn refusals(&self) -> Vec<(Mac, Refusal)> {
        let refused = |decision: &Decision| match decision {
            Decision::Refused { from, why } => Some((*from, *why)),
            Decision::Changed { .. } => None,
        };
        self.decisions.iter().filter_map(refused).collect()
    }
}

#[test]
fn a_station_with_a_key_of_the_network_introduces_itself() {
    let mut bench = Bench::new(pw());
    bench.notify(10, report(A, 1, 0, 10.0));
    bench.has_requested(&[(10, A, Some(0.8))]);
    let status = &bench.ap.stations(ms(110))[0];
    assert_eq!((status.link, status.source, status.soc), (A, Source::Report, Some(Db(10.0))));
    assert_eq!(status.age, Some(Duration::from_millis(100)));
}

/// pw: 0.8 at 10 dB, 0.2 at 4 dB; 4 dB below noise plus 10 dB is -91 dBm.
#[test]
fn a_report_goes_before_the_view_until_it_ages_out() {
    let mut config = pw();
    config.table.beta = 1.0;
    config.table.forget_after = Duration::from_millis(1_000);
    let mut bench = Bench::new(config);
    bench.notify(0, seen(A, -91.0));
    bench.notify(200, report(A, 1, 0, 10.0));
    bench.notify(900, seen(A, -91.0));
    bench.notify(1_100, seen(A, -91.0));
    bench.run_to(1_300);
    bench.has_requested(&[(0, A, Some(0.2)), (200, A, Some(0.8)), (1_200, A, Some(0.2))]);
    assert_eq!(bench.ap.stations(ms(1_300))[0].source, Source::View);
}

#[test]
fn a_view_fades_and_an_associated_station_keeps_the_first_weight() {
    let mut bench = Bench::new(pw());
    bench.notify(0, seen(A, -91.0));
    bench.notify(0, ApInput::Joined(B));
    bench.notify(200, seen(B, -91.0));
    bench.run_to(9_000);
    let first = [(0, A, Some(0.2)), (0, B, Some(1.0)), (200, B, Some(0.2))];
    bench.has_requested(&[&first[..], &[(5_000, A, None), (5_200, B, Some(1.0))]].concat());
    let last = bench.decisions.last().unwrap();
    assert!(matches!(last, Decision::Changed { reason: WeightReason::Silent, .. }), "{last:?}");
    bench.notify(9_000, ApInput::Left(B));
    assert_eq!(bench.actions.last(), Some(&(9_000, B, None)));
}

#[test]
fn views_are_averaged() {
    let mut bench = Bench::new(pw());
    bench.notify(0, seen(A, -85.0));
    // Half of 10 dB and half of 6 dB is 8 dB.
    bench.notify(500, seen(A, -89.0));
    bench.has_requested(&[(0, A, Some(0.8)), (500, A, Some(0.6))]);
}

#[test]
fn small_changes_do_not_matter_and_soon_ones_wait() {
    let mut bench = Bench::new(ApConfig { step: 0.05, ..pw() });
    bench.notify(0, report(A, 1, 0, 10.0));
    // 0.4 dB are 0.04.
    bench.notify(50, report(A, 2, 50, 9.6));
    bench.notify(60, report(A, 3, 60, 8.0));
    bench.notify(80, report(A, 4, 80, 6.0));
    bench.run_to(120);
    bench.has_requested(&[(0, A, Some(0.8)), (100, A, Some(0.4))]);
    let last = bench.decisions.last().unwrap();
    let soc = Db(6.0);
    assert!(matches!(last, Decision::Changed { reason, .. }
        if *reason == WeightReason::Report { soc }));
}

#[test]
fn a_change_to_zero_always_matters() {
    let mut bench = Bench::new(ApConfig { step: 0.5, ..pw() });
    bench.notify(0, report(A, 1, 0, 1.0));
    bench.notify(200, report(A, 2, 200, 0.0));
    bench.has_requested(&[(0, A, Some(0.05)), (200, A, Some(0.0))]);
}

#[test]
fn who_left_does_not_come_back_by_an_old_report() {
    let mut bench = Bench::new(pw());
    let first = report_frame(A, 1, 0, 10.0);
    bench.notify(0, ApInput::Report(first));
    bench.notify(200, ApInput::Left(A));
    bench.notify(400, ApInput::Report(first));
    bench.run_to(120_000);
    bench.notify(120_000, ApInput::Report(first));
    bench.has_requested(&[(0, A, Some(0.8)), (200, A, None)]);
    assert_eq!(bench.refusals(), [(A, Refusal::Replayed), (A, Refusal::Replayed)]);
    bench.notify(120_200, report(A, 2, 120_200, 14.0));
    assert_eq!(bench.actions.last(), Some(&(120_200, A, Some(1.0))));
}

#[test]
fn strangers_are_refused_and_counted() {
    let mut bench = Bench::new(pw());
    let ApInput::Report(of_a) = report(A, 1, 0, 10.0) else { unreachable!() };
    bench.notify(0, ApInput::Report(ReceivedFrame::new(B, of_a.payload())));
    bench.notify(0, ApInput::Report(ReceivedFrame::new(B, b"SC")));
    let mut forged = of_a.payload().to_vec();
    forged[47] ^= 1;
    bench.notify(0, ApInput::Report(ReceivedFrame::new(A, &forged)));
    let expected = [(B, Refusal::WrongSender), (B, Refusal::Malformed), (A, Refusal::Forged)];
    assert_eq!(bench.refusals(), expected);
    for _ in 0..200 {
        bench.notify(0, ApInput::Report(ReceivedFrame::new(A, &forged)));
    }
    let counted = |why: Refusal| bench.ap.counters().strangers_refused[why as usize];
    assert_eq!(counted(Refusal::Forged) + counted(Refusal::Flooding), 201);
    assert!(counted(Refusal::Flooding) >= 100);
    assert!(bench.actions.is_empty() && bench.ap.stations(ms(0)).is_empty());
}

#[test]
fn a_full_access_point_forgets_who_is_gone() {
    let mut config = pw();
    config.table.max_stations = 2;
    let mut bench = Bench::new(config);
    bench.notify(0, report(A, 1, 0, 10.0));
    bench.notify(0, report(B, 1, 0, 10.0));
    bench.notify(100, report(Mac::local(3), 1, 100, 10.0));
    assert_eq!(bench.refusals(), [(Mac::local(3), Refusal::Full)]);
    bench.notify(100, ApInput::Left(A));
    bench.notify(200, report(Mac::local(3), 1, 200, 10.0));
    bench.has_requested(&[
        (0, A, Some(0.8)),
        (0, B, Some(0.8)),
        (100, A, None),
        (200, Mac::local(3), Some(0.8)),
    ]);
    assert!(bench.ap.stations.len() == 2 && bench.ap.table.len() == 2);
}

#[test]
fn a_station_is_answered_each_second_with_its_key() {
    let mut bench = Bench::new(pw());
    for number in 1..=11 {
        bench.notify(200 * number, report(A, number, 200 * number, 10.0));
        // A second copy is refused, and not answered.
        bench.notify(200 * number, report(A, number, 200 * number, 10.0));
    }
    assert_eq!(bench.answered(), [(200, A, 1), (1_200, A, 6), (2_200, A, 11)]);
}

#[test]
fn a_crowd_is_answered_less_often_and_each_of_it_within_two_seconds() {
    let mut config = ApConfig { strangers_pace: Duration::ZERO, ..pw() };
    config.table.max_stations = 400;
    let mut bench = Bench::new(config);
    for number in 1..=21 {
        for station in 100..400 {
            bench.notify(200 * number, report(Mac::local(station), number, 200 * number, 10.0));
        }
    }
    let answered = bench.answered();
    for station in (100..400).map(Mac::local) {
        let own = answered.iter().filter(|(_, to, _)| *to == station).map(|(at, ..)| *at);
        let own: Vec<u64> = own.collect();
        assert!(own == [200, 2_200, 4_200], "{station}: {own:?}");
    }
}

#[test]
fn who_looks_ahead_changes_nothing() {
    let mut bench = Bench::new(pw());
    bench.notify(0, report(A, 1, 0, 10.0));
    let before = format!("{:?}", bench.ap);
    bench.ap.foresee(&[A, B].map(|from| ReceivedFrame::new(from, &[])));
    assert_eq!(format!("{:?}", bench.ap), before);
}

/// What somebody does who can send under any link address and has a station of their own.
#[derive(Clone, Debug)]
enum Attack {
    Forge { bit: usize },
    Replay { which: usize },
    Cut { len: usize },
    Noise { bytes: Vec<u8>, as_victim: bool },
    Flood { count: u64, db: f64 },
    Stranger { index: u32 },
}

fn attacks() -> impl Strategy<Value = Attack> {
    prop_oneof![
        (0usize..512).prop_map(|bit| Attack::Forge { bit }),
        (0usize..64).prop_map(|which| Attack::Replay { which }),
        (0usize..64).prop_map(|len| Attack::Cut { len }),
        (prop::collection::vec(any::<u8>(), 0..80), any::<bool>())
            .prop_map(|(bytes, as_victim)| Attack::Noise { bytes, as_victim }),
        (1u64..40, 0.0f64..40.0).prop_map(|(count, db)| Attack::Flood { count, db }),
        (100u32..100_000).prop_map(|index| Attack::Stranger { index }),
    ]
}

/// The access point is told the attack; `own` numbers the attacker's own reports.
fn attack(bench: &mut Bench, at: u64, attack: &Attack, sent: &[ReceivedFrame], own: &mut u64) {
    let last = sent.last().map(|frame| frame.payload().to_vec()).unwrap_or_default();
    let bytes = match attack {
        Attack::Forge { bit } => {
            let mut bytes = last;
            let bit = bit % (bytes.len() * 8).max(1);
            bytes.iter_mut().skip(bit / 8).take(1).for_each(|byte| *byte ^= 1 << (bit % 8));
            bytes
        }
        Attack::Replay { which } => {
            let which = sent.get(which % sent.len().max(1));
            which.map(|frame| frame.payload().to_vec()).unwrap_or_default()
        }
        Attack::Cut { len } => last[..(*len).min(last.len())].to_vec(),
        Attack::Noise { bytes, as_victim } => {
            let from = if *as_victim { A } else { B };
            return bench.notify(at, ApInput::Report(ReceivedFrame::new(from, bytes)));
        }
        Attack::Flood { count, db } => {
            for _ in 0..*count {
                *own += 1;
                bench.notify(at, report(B, *own, at, *db));
            }
            return;
        }
        Attack::Stranger { index } => {
            // It has associated, and has no key.
            return bench.notify(at, ApInput::Joined(Mac::local(*index)));
        }
    };
    bench.notify(at, ApInput::Report(ReceivedFrame::new(A, &bytes)));
}

/// The victim's weights, with and without the attacks.
fn victims(levels: &[f64], attacked: &[Vec<Attack>]) -> (Vec<(u64, Mac, Option<f64>)>, Bench) {
    let mut config = pw();
    config.table.max_stations = 8;
    let mut bench = Bench::new(config);
    let (mut sent, mut own) = (Vec::new(), 0);
    for (number, (db, attacks)) in levels.iter().zip(attacked).enumerate() {
        let at = 200 * (number as u64 + 1);
        let good = report_frame(A, number as u64 + 1, at, *db);
        bench.notify(at, ApInput::Report(good));
        sent.push(good);
        for (step, one) in attacks.iter().enumerate() {
            attack(&mut bench, at + 1 + step as u64, one, &sent, &mut own);
        }
    }
    bench.run_to(200 * (levels.len() as u64 + 20));
    (bench.actions.iter().filter(|action| action.1 == A).copied().collect(), bench)
}

proptest! {
    #[test]
    fn nobody_moves_the_weight_of_another(
        script in prop::collection::vec(
            (0.0f64..20.0, prop::collection::vec(attacks(), 0..6)), 1..20),
    ) {
        let (levels, attacks): (Vec<f64>, Vec<Vec<Attack>>) = script.into_iter().unzip();
        let quiet = vec![Vec::new(); levels.len()];
        let (alone, _) = victims(&levels, &quiet);
        let (attacked, bench) = victims(&levels, &attacks);
        prop_assert_eq!(alone, attacked);
        prop_assert!(bench.ap.stations.len() <= 8 && bench.ap.table.len() <= 8);
        prop_assert!(bench.ap.alarms.len() <= 8);
    }

    #[test]
    fn the_contract_of_machines_is_kept(
        script in prop::collection::vec((0u64..400, 0u32..4, -5.0f64..30.0, 0u8..4), 1..60),
    ) {
        let (mut at, mut inputs) = (0, Vec::new());
        for (number, (gap, index, db, kind)) in script.into_iter().enumerate() {
            at += gap;
            let link = Mac::local(index);
            let input = match kind {
                0 => ApInput::Joined(link),
                1 => ApInput::Left(link),
                2 => seen(link, db - 95.0),
                _ => report(link, number as u64 + 1, at, db),
            };
            inputs.push((ms(at), input));
        }
        contract::check(&mut AccessPoint::new(pw()), inputs, ms(at + 100_000));
    }
}

/// Without a last report the same station has a weight of 0 for a minute.
#[test]
fn a_station_that_ends_reporting_has_the_next_source_at_once() {
    let mut bench = Bench::new(pw());
    for (link, at) in [(A, 0), (B, 10)] {
        bench.notify(at, report(link, 1, at, 4.0));
    }
    bench.notify(100, seen(B, -81.0));
    bench.notify(200, last_report(A, 2, 200));
    bench.notify(210, last_report(B, 2, 210));
    // A is gone for the scheduler, and B counts by the radio's view of 14 dB.
    bench.has_requested(&[
        (0, A, Some(0.2)),
        (10, B, Some(0.2)),
        (200, A, None),
        (210, B, Some(1.0)),
    ]);
    // One that was repeated, or that follows, changes nothing.
    bench.notify(220, last_report(A, 2, 200));
    bench.notify(230, last_report(A, 3, 230));
    bench.run_to(1_000);
    assert_eq!(bench.actions.len(), 4);
    bench.notify(1_200, report(A, 4, 1_200, 4.0));
    assert_eq!(bench.actions.last().map(|(at, who, _)| (*at, *who)), Some((1_200, A)));
}
