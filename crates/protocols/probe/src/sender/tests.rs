//! Sessions over a line, and a receiver that does what it likes.

mod back;

use super::*;
use crate::{Receiver, ReceiverConfig};
use fairwave_machine::contract;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{Duration, Seed};
use fairwave_wire::probe::Record;
use proptest::prelude::*;

const SENDER: &str = "10.0.0.1:50000";
const RECEIVER: &str = "10.0.0.2:60100";

fn key() -> Key {
    Key::new(&[9; 32]).unwrap()
}

fn limits(mbps: u64, packets: u32, secs: u64) -> Limits {
    Limits { rate: BitRate::mbps(mbps), packets, duration: Duration::from_secs(secs) }
}

fn sender(limits: Limits, trials: Vec<Trial>) -> Sender {
    asking(limits, trials, Way::There)
}

fn asking(limits: Limits, trials: Vec<Trial>, way: Way) -> Sender {
    let plan = Plan { trials, rest: Duration::from_millis(20) };
    let receiver = RECEIVER.parse().unwrap();
    Sender::new(SenderConfig { key: key(), receiver, session: 77, nonce: 5, limits, plan, way })
}

fn receiver(limits: Limits) -> Receiver {
    let cookie_key = Key::new(&[3; 16]).unwrap();
    let idle = Duration::from_secs(5);
    Receiver::new(ReceiverConfig { key: key(), cookie_key, limits, sessions: 2, idle })
}

fn trial(spaced: u32, train: u32) -> Trial {
    Trial { payload_bytes: 500, spaced, interval: Duration::from_millis(10), train }
}

/// A sender, a line, a receiver.
struct Session {
    now: Instant,
    sender: Sender,
    receiver: Receiver,
    line: Line<Vec<u8>>,
    events: Vec<SenderEvent>,
}

impl Session {
    fn new(sender: Sender, receiver: Receiver, wire: Wire) -> Self {
        let line = Line::symmetric(Seed(4), wire).with_corruption(|bytes: &mut Vec<u8>, random| {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        });
        Self { now: Instant::ZERO, sender, receiver, line, events: Vec::new() }
    }

    fn drain(&mut self) {
        while let Some(out) = self.sender.poll(self.now) {
            let len = out.bytes.len() as u64;
            self.line.send(self.now, End::A, out.bytes, len);
        }
        while let Some(out) = self.receiver.poll(self.now) {
            let len = out.bytes.len() as u64;
            self.line.send(self.now, End::B, out.bytes, len);
        }
        self.events.extend(core::iter::from_fn(|| self.sender.event()));
    }

    fn run(&mut self) {
        self.sender.handle(self.now, SenderInput::Start);
        self.drain();
        for _ in 0..200_000 {
            let [a, b] = [self.sender.deadline(), self.receiver.deadline()];
            let Some(next) = [a, b, self.line.next_arrival()].into_iter().flatten().min() else {
                return;
            };
            self.now = self.now.max(next);
            while let Some((end, bytes)) = self.line.arrive(self.now) {
                let from = if end == End::A { RECEIVER } else { SENDER }.parse().unwrap();
                let received = Received { from, own: None, bytes };
                match end {
                    End::A => self.sender.handle(self.now, SenderInput::Received(received)),
                    End::B => self.receiver.handle(self.now, received),
                }
            }
            self.sender.wake(self.now);
            self.receiver.wake(self.now);
            self.drain();
        }
        panic!("the session does not end, at {}", self.now);
    }
}

#[test]
fn a_plan_is_carried_out_and_accounted_for() {
    let delay = Duration::from_millis(3);
    let mine = sender(limits(10, 1_000, 60), vec![trial(3, 40), trial(0, 500)]);
    let wire = Wire { delay, ..Wire::default() };
    let mut session = Session::new(mine, receiver(limits(5, 5_000, 30)), wire);
    session.run();
    let agreed = Limits { duration: Duration::from_secs(30), ..limits(5, 1_000, 0) };
    assert_eq!(session.events[0], SenderEvent::Agreed(agreed));
    for (event, packets) in session.events[1..3].iter().zip([43, 500]) {
        let SenderEvent::Account(account) = event else { panic!("{event:?}") };
        assert_eq!((account.sent.len(), account.arrived.len()), (packets, packets));
        for (number, record) in account.arrived.iter().enumerate() {
            let arrived = account.sent[number] + delay;
            assert_eq!(*record, Record { number: number as u32, arrived });
        }
    }
    assert_eq!(session.events[3..], [SenderEvent::Finished(Ok(()))]);
    assert_eq!(session.receiver.sessions(), 0);
}

/// 528 bytes of IP at 5 Mbps are 844.8 us; packets apart keep their interval.
#[test]
fn trains_keep_the_stricter_rate_and_spaced_packets_their_interval() {
    let mine = sender(limits(10, 1_000, 60), vec![trial(2, 3)]);
    let mut session = Session::new(mine, receiver(limits(5, 5_000, 30)), Wire::default());
    session.run();
    let SenderEvent::Account(account) = &session.events[1] else { panic!() };
    let apart: Vec<u64> =
        account.sent.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos()).collect();
    assert_eq!(apart, [10_000_000, 10_000_000, 844_800, 844_800]);
}

/// IPv6's header is 20 bytes longer: 548 bytes at 5 Mbps are 876.8 us.
#[test]
fn the_longer_header_of_ipv6_counts() {
    let mut mine = sender(limits(5, 100, 60), vec![trial(0, 3)]);
    mine.config.receiver = "[fd00::2]:60100".parse().unwrap();
    let mut pace = Sender::new(mine.config).pace;
    pace.note(Instant::ZERO, 500);
    assert_eq!(pace.at_earliest(Instant::ZERO), Instant::from_nanos(876_800));
}

/// The packets granted end within the last train: its account is given, but the plan is not
/// carried out. And who has carried it out is not too late because the farewell is.
#[test]
fn a_plan_cut_short_is_no_success_and_a_late_farewell_no_failure() {
    let mine = sender(limits(10, 1_000, 60), vec![trial(0, 40)]);
    let mut session = Session::new(mine, receiver(limits(10, 30, 60)), Wire::default());
    session.run();
    let SenderEvent::Account(account) = &session.events[1] else { panic!() };
    assert_eq!((account.sent.len(), account.arrived.len()), (30, 30));
    assert_eq!(session.events[2..], [SenderEvent::Finished(Err(Failure::OutOfPackets))]);

    let mut mine = sender(limits(10, 1_000, 60), Vec::new());
    let step = Step::Leaving(Ok(()));
    let until = Instant::ZERO;
    let agreed = Agreed { key: key(), until, rate: BitRate(0), packets_left: 0, train: 0, step };
    mine.phase = Phase::Agreed(Box::new(agreed));
    mine.wake(until);
    assert_eq!(mine.event(), Some(SenderEvent::Finished(Ok(()))));
}

#[test]
fn a_bad_line_costs_packets_of_data_but_no_account() {
    let wire = Wire {
        delay: Duration::from_millis(2),
        jitter: Duration::from_millis(1),
        loss: 0.2,
        duplicate: 0.1,
        corrupt: 0.1,
        ..Wire::default()
    };
    let mine = sender(limits(10, 9_000, 60), vec![trial(10, 2_000), trial(10, 2_000)]);
    let mut session = Session::new(mine, receiver(limits(50, 50_000, 60)), wire);
    session.run();
    let arrived = |event: &SenderEvent| match event {
        SenderEvent::Account(account) => Some(account.arrived.len() as f64 / 2_010.0),
        _ => None,
    };
    let shares: Vec<f64> = session.events.iter().filter_map(arrived).collect();
    // Lost with 0.2, all copies damaged with about 0.1: 0.73 arrive.
    assert!(shares.len() == 2 && shares.iter().all(|s| (s - 0.727).abs() < 0.04), "{shares:?}");
    assert_eq!(session.events.last(), Some(&SenderEvent::Finished(Ok(()))));
}

/// A second is granted; the train would take 8.4 s. Nothing is sent from then on, not even asked.
#[test]
fn the_time_granted_ends_a_train() {
    let mine = sender(limits(10, 100_000, 60), vec![trial(0, 20_000)]);
    let mut session = Session::new(mine, receiver(limits(10, 100_000, 1)), Wire::default());
    session.run();
    let over = SenderEvent::Finished(Err(Failure::OutOfTime));
    assert_eq!(session.events[1..], [over]);
    // Agreed when Start is sent; its 104 bytes take 83.2 us, then 528 bytes go every 422.4 us:
    // (1 s - 83.2 us) / 422.4 us = 2367.2, and one at the beginning; Hello and Start before.
    assert_eq!(session.line.tally(End::A).sent, 2 + 2_368);
}

#[test]
fn nobody_answers_and_the_sender_gives_up() {
    let mut mine = sender(limits(10, 100, 60), vec![trial(0, 10)]);
    let out = contract::check(&mut mine, [(Instant::ZERO, SenderInput::Start)], Instant::MAX);
    // Eight greetings: 0, then after 250 ms, 500 ms, 1 s, and 2 s each.
    let millis: Vec<u64> = out.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(millis, [0, 250, 750, 1_750, 3_750, 5_750, 7_750, 9_750]);
    assert!(out.iter().all(|(_, sent)| sent.bytes.len() == CHALLENGE_LEN));
    assert!(mine.is_over());
}

#[test]
fn a_session_keeps_the_contract() {
    let from: SocketAddr = RECEIVER.parse().unwrap();
    let cookie = [4; 16];
    let shared = key();
    let own = probe::session_key(&shared, 77, 5, &cookie);
    let sealed = |message: &Message, key: &Key| {
        let mut bytes = Vec::new();
        message.write(77, key, 0, &mut bytes).unwrap();
        SenderInput::Received(Received { from, own: None, bytes })
    };
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let records = vec![Record { number: 1, arrived: at(1) }];
    let report = Chunk { train: 0, chunk: 0, chunks: 1, records };
    let inputs = [
        (at(0), SenderInput::Start),
        (at(1), sealed(&Message::Challenge { cookie }, &shared)),
        (at(2), sealed(&Message::Accept { granted: limits(5, 15, 60) }, &own)),
        (at(900), sealed(&Message::Report(report.clone()), &own)),
        (at(905), sealed(&Message::Report(report), &own)),
    ];
    let mut mine = sender(limits(10, 100, 60), vec![trial(0, 10), trial(0, 10)]);
    let out = contract::check(&mut mine, inputs, Instant::MAX);
    let data = |(_, out): &&(Instant, Transmit)| {
        matches!(probe::open(&out.bytes, &own), Ok((77, Message::Data { .. })))
    };
    // Fifteen packets are granted; the account of the second train is never given.
    assert_eq!(out.iter().filter(data).count(), 15);
    assert!(mine.is_over());
}

/// What a hostile receiver, who has the key, may do.
#[derive(Clone, Debug)]
enum Deed {
    Challenge(Cookie),
    Accept(Limits),
    Refuse,
    Report {
        train: u16,
        chunk: u16,
        chunks: u16,
        records: Vec<Record>,
    },
    /// A report that fits: the packets asked for, from the first on.
    Fitting {
        chunks: u16,
        records: u16,
    },
    /// A packet, as if it had been asked for.
    Data {
        train: u16,
        number: u32,
    },
    Replay(prop::sample::Index),
    Bytes(Vec<u8>),
    Stranger(Limits),
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let rate = prop_oneof![Just(u64::MAX), 0..50_000_000_u64];
    (rate, any::<u32>(), prop_oneof![Just(u64::MAX), 0..9_000_000_000_u64]).prop_map(
        |(rate, packets, nanos)| Limits {
            rate: BitRate(rate),
            packets,
            duration: Duration::from_nanos(nanos),
        },
    )
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let record = (0..80_u32, 0..1_000_u64);
    prop::collection::vec(record, 0..6).prop_map(|list| {
        let mut at = 0;
        let step = |(number, more)| {
            at += more;
            Record { number, arrived: Instant::from_nanos(at) }
        };
        list.into_iter().map(step).collect()
    })
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => Just(Deed::Challenge([1; 16])),
        1 => any::<Cookie>().prop_map(Deed::Challenge),
        4 => any_limits().prop_map(Deed::Accept),
        1 => Just(Deed::Refuse),
        2 => (0..3_u16, 0..4_u16, any::<u16>(), records()).prop_map(
            |(train, chunk, chunks, records)| Deed::Report { train, chunk, chunks, records },
        ),
        6 => (1..20_u16, 1..4_u16)
            .prop_map(|(chunks, records)| Deed::Fitting { chunks, records }),
        4 => (0..3_u16, 0..80_u32).prop_map(|(train, number)| Deed::Data { train, number }),
        3 => any::<prop::sample::Index>().prop_map(Deed::Replay),
        1 => any::<Vec<u8>>().prop_map(Deed::Bytes),
        1 => any_limits().prop_map(Deed::Stranger),
    ]
}

/// Plays the deeds, each so many microseconds after the one before, and notes what is sent.
struct Play {
    now: Instant,
    sender: Sender,
    cookie: Option<Cookie>,
    said: Vec<Vec<u8>>,
    sent: Vec<(Instant, Transmit)>,
    agreed: Option<(usize, Instant, Limits)>,
    asked: (u16, u16, u32),
}

impl Play {
    fn drain(&mut self) {
        while let Some(event) = self.sender.event() {
            if let SenderEvent::Agreed(limits) = event {
                assert!(self.agreed.is_none(), "agreed twice");
                self.agreed = Some((self.sent.len(), self.now, limits));
            }
        }
        while let Some(out) = self.sender.poll(self.now) {
            let own = self.cookie.map(|c| probe::session_key(&key(), 77, 5, &c));
            if let Some(Ok((_, Message::End { train, chunk, .. }))) =
                own.map(|own| probe::open(&out.bytes, &own))
            {
                let first = if chunk == 0 { 0 } else { self.asked.2 };
                self.asked = (train, chunk, first);
            }
            self.sent.push((self.now, out));
        }
    }

    fn advance(&mut self, to: Instant) {
        while let Some(at) = self.sender.deadline().filter(|at| *at <= to) {
            self.now = at;
            self.sender.wake(at);
            self.drain();
        }
        self.now = to;
    }

    fn bytes(&mut self, deed: Deed) -> Vec<u8> {
        let own = |cookie: Option<Cookie>| {
            cookie.map_or_else(key, |c| probe::session_key(&key(), 77, 5, &c))
        };
        let (message, key) = match deed {
            Deed::Challenge(cookie) => {
                if self.agreed.is_none() && self.cookie.is_none() {
                    self.cookie = Some(cookie);
                }
                (Message::Challenge { cookie }, key())
            }
            Deed::Accept(granted) => (Message::Accept { granted }, own(self.cookie)),
            Deed::Refuse => (Message::Refuse { reason: Refusal::Busy }, key()),
            Deed::Report { train, chunk, chunks, records } => {
                let chunk = Chunk { train, chunk, chunks, records };
                (Message::Report(chunk), own(self.cookie))
            }
            Deed::Fitting { chunks, records } => {
                let (train, chunk, first) = self.asked;
                let numbers = first..first + u32::from(records);
                self.asked.2 = numbers.end;
                let at = self.now;
                let records = numbers.map(|number| Record { number, arrived: at }).collect();
                let chunk = Chunk { train, chunk, chunks, records };
                (Message::Report(chunk), own(self.cookie))
            }
            Deed::Data { train, number } => {
                (Message::Data { train, number, sent: self.now }, own(self.cookie))
            }
            Deed::Stranger(granted) => (Message::Accept { granted }, Key::new(&[0; 16]).unwrap()),
            Deed::Replay(which) if !self.said.is_empty() => {
                return self.said[which.index(self.said.len())].clone();
            }
            Deed::Replay(_) => return Vec::new(),
            Deed::Bytes(bytes) => return bytes,
        };
        let mut bytes = Vec::new();
        message.write(77, &key, 0, &mut bytes).unwrap();
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_hostile_receiver_makes_nobody_send_more(
        deeds in prop::collection::vec((0..400_000_u64, deed()), 0..40),
        mbps in 1..20_u64, packets in 1..120_u32, secs in 1..6_u64, greeted: bool, back: bool,
    ) {
        let own = limits(mbps, packets, secs);
        let trials = vec![trial(3, 40), trial(0, 30), trial(2, 60)];
        let mut play = Play {
            now: Instant::ZERO,
            sender: asking(own, trials, if back { Way::Back } else { Way::There }),
            cookie: None,
            said: Vec::new(),
            sent: Vec::new(),
            agreed: None,
            asked: (0, 0, 0),
        };
        play.sender.handle(Instant::ZERO, SenderInput::Start);
        play.drain();
        let polite = [Deed::Challenge([1; 16]), Deed::Accept(limits(8, 90, 5))];
        let polite = polite.into_iter().filter(|_| greeted).map(|deed| (1_000, deed));
        for (micros, deed) in polite.chain(deeds) {
            play.advance(play.now + Duration::from_micros(micros));
            let bytes = play.bytes(deed);
            play.said.push(bytes.clone());
            let received = Received { from: RECEIVER.parse().unwrap(), own: None, bytes };
            play.sender.handle(play.now, SenderInput::Received(received));
            play.drain();
        }
        play.advance(play.now + Duration::from_secs(60));
        prop_assert!(play.sender.is_over(), "a silent receiver keeps the sender busy");
        let to: SocketAddr = RECEIVER.parse().unwrap();
        prop_assert!(play.sent.iter().all(|(_, out)| out.to == to));
        let kinds = |list: &[(Instant, Transmit)]| {
            list.iter().map(|(_, out)| Head::read(&out.bytes).unwrap().kind).collect::<Vec<u8>>()
        };
        let agreed_from = play.agreed.map_or(play.sent.len(), |(first, ..)| first);
        let before = kinds(&play.sent[..agreed_from]);
        // Hello is kind 1, Start 3; eight tries each.
        prop_assert!(before.len() <= 16 && before.iter().all(|k| [1, 3].contains(k)), "{before:?}");
        let Some((_, began, agreed)) = play.agreed else { return Ok(()) };
        prop_assert_eq!(agreed.stricter(own), agreed);
        let after = &play.sent[agreed_from..];
        let data = kinds(after).iter().filter(|kind| **kind == 5).count();
        prop_assert!(data <= agreed.packets as usize, "{data} packets of data");
        // An account asks for a chunk a packet at most, and eight times for each. Packets are
        // ordered ten times a second.
        let asked = if back { 130 + 10 * 60 } else { data };
        prop_assert!(after.len() <= 10 * asked + 40, "{} messages", after.len());
        prop_assert!(!back || data == 0, "{data} packets although it asked for some");
        for pair in after.windows(2) {
            let spacing = agreed.rate.time_for(pair[0].1.bytes.len() as u64 + 28);
            prop_assert!(pair[1].0.since(pair[0].0) >= spacing, "faster than {}", agreed.rate);
        }
        if let Some((last, _)) = after.last() {
            prop_assert!(last.since(began) < agreed.duration);
        }
    }
}
