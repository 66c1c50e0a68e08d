//! Both ends over a line: a bottleneck, losses, and feedback that lies.

use crate::gcc::Bounds;
use crate::gcc::trend::Threshold;
use crate::*;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_machine::{Machine, contract};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::rtp::{Feedback, Header};
use proptest::prelude::*;
use std::collections::VecDeque;

const fn kbps(kbps: u64) -> BitRate {
    BitRate(kbps * 1_000)
}

const BOUNDS: Bounds = Bounds { min: kbps(50), start: kbps(300), max: kbps(10_000) };

fn sender(bounds: Bounds) -> Sender {
    Sender::new(SenderConfig {
        ssrc: 7,
        payload_type: 96,
        first_sequence: 65_000,
        payload_bytes: 1_200,
        bounds,
        threshold: Threshold::default(),
    })
}

fn receiver() -> Receiver {
    Receiver::new(ReceiverConfig { ssrc: 8, interval: ReceiverConfig::INTERVAL })
}

/// What the line carries; what is said costs its bytes.
#[derive(Clone)]
enum Item {
    Media { header: Header, sent: Instant },
    Feedback(Vec<u8>),
}

struct Call {
    sender: Sender,
    receiver: Receiver,
    line: Line<Item>,
    now: Instant,
    next_frame: Instant,
    received_bytes: u64,
    /// Delays of the media that arrived, in ms.
    delays: Vec<f64>,
    /// What the encoder was told, every frame.
    targets: Vec<f64>,
    /// What the sender's station keeps while it has no link; nothing is heard then.
    held: Option<VecDeque<(Item, u64)>>,
    /// By how many times 64 ms the time of the next feedback is off.
    lie: Option<i32>,
}

/// Packets that a station keeps.
const HELD: usize = 60;

const FRAME: Duration = Duration::from_millis(33);

impl Call {
    fn new(seed: Seed, bounds: Bounds, forth: Wire) -> Self {
        let back = Wire { delay: forth.delay, ..Wire::default() };
        Self {
            sender: sender(bounds),
            receiver: receiver(),
            line: Line::new(seed, forth, back),
            now: Instant::ZERO,
            next_frame: Instant::ZERO,
            received_bytes: 0,
            delays: Vec::new(),
            targets: Vec::new(),
            held: None,
            lie: None,
        }
    }

    fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            let times = [
                Some(self.next_frame),
                self.sender.deadline(),
                self.receiver.deadline(),
                self.line.next_arrival(),
            ];
            self.now = times.into_iter().flatten().min().expect("frames go on").min(end);
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        if now >= self.next_frame {
            self.next_frame += FRAME;
            let bytes = (self.sender.encoder_rate().0 as f64 / 8.0 * FRAME.as_secs_f64()) as u64;
            let timestamp = (now.as_nanos() / 1_000 * 9 / 100) as u32;
            self.sender.handle(now, SenderInput::Frame(Frame { bytes, timestamp }));
            self.targets.push(self.sender.stats().target.0 as f64 / 1e6);
        }
        while let Some((to, item)) = self.line.arrive(now) {
            match (to, item) {
                (End::B, Item::Media { header, sent }) => {
                    self.delays.push(now.since(sent).as_secs_f64() * 1e3);
                    self.receiver.handle(now, header);
                }
                (End::A, Item::Feedback(_)) if self.held.is_some() => {}
                (End::A, Item::Feedback(bytes)) => {
                    self.sender.handle(now, SenderInput::Feedback(bytes));
                }
                _ => unreachable!("media goes to B, feedback to A"),
            }
        }
        self.sender.wake(now);
        while let Some(packet) = self.sender.poll(now) {
            let bytes = u64::from(packet.payload_bytes + 48);
            let item = Item::Media { header: packet.header, sent: now };
            match &mut self.held {
                None => self.line.send(now, End::A, item, bytes),
                Some(held) if held.len() < HELD => held.push_back((item, bytes)),
                Some(_) => {}
            }
        }
        while let Some(feedback) = self.receiver.poll(now) {
            let feedback = self.lie.take().map_or(feedback.clone(), |off| lied(&feedback, off));
            let bytes = feedback.len() as u64 + 28;
            self.line.send(now, End::B, Item::Feedback(feedback), bytes);
        }
        while self.sender.event().is_some() {}
        while self.receiver.event().is_some() {
            self.received_bytes += 1;
        }
    }

    /// Mean target of the last `seconds`, in Mbps.
    fn mean_target(&self, seconds: usize) -> f64 {
        let newest = &self.targets[self.targets.len() - seconds * 30..];
        newest.iter().sum::<f64>() / newest.len() as f64
    }

    /// A percentile of the newest delays.
    fn delay(&self, newest: usize, percent: usize) -> f64 {
        let mut delays = self.delays[self.delays.len().saturating_sub(newest)..].to_vec();
        delays.sort_by(f64::total_cmp);
        delays[(delays.len() - 1) * percent / 100]
    }
}

/// Feedback with another time.
fn lied(feedback: &[u8], off: i32) -> Vec<u8> {
    let (honest, _) = Feedback::parse(feedback).expect("it is legal");
    let reference = (honest.reference + off) << 8 >> 8;
    let mut bytes = Vec::new();
    Feedback { reference, ..honest }.write(&mut bytes).expect("it was short before");
    bytes
}

fn bottleneck(rate: BitRate, queue: usize) -> Wire {
    let (delay, queue) = (Duration::from_millis(25), Some(queue));
    Wire { delay, rate: Some(rate), queue, ..Wire::default() }
}

/// Alone on 2 Mbps with a queue of over a second: within a minute most of it is used, and nothing
/// much waits. A packet of 1248 B takes 5 ms, and 25 ms of propagation.
#[test]
fn alone_it_fills_a_bottleneck_and_not_its_queue() {
    let seed = Seed(1);
    let mut call = Call::new(seed, BOUNDS, bottleneck(kbps(2_000), 250));
    call.run(60);
    let newest = call.delays.len() / 2;
    let (mean, p95) = (call.mean_target(30), call.delay(newest, 95));
    assert!((1.4..2.0).contains(&mean), "{mean} Mbps, {seed:?}");
    assert!(p95 < 130.0, "{p95} ms, {seed:?}");
}

/// The path loses half of its rate, and gets it back.
#[test]
fn it_follows_the_path_down_and_up() {
    let seed = Seed(2);
    let mut call = Call::new(seed, BOUNDS, bottleneck(kbps(2_000), 250));
    call.run(40);
    call.line.set_wire(End::A, bottleneck(kbps(1_000), 250));
    call.run(10);
    let low = call.mean_target(5);
    assert!((0.6..1.05).contains(&low), "{low} Mbps, {seed:?}");
    call.line.set_wire(End::A, bottleneck(kbps(2_000), 250));
    call.run(40);
    let high = call.mean_target(5);
    assert!(high > 1.3, "{high} Mbps, {seed:?}");
}

/// 1 % of random losses is below where the loss-based part reacts; 20 % is above.
#[test]
fn few_losses_are_borne_and_many_are_not() {
    let lossy = |loss| {
        let wire = Wire { loss, ..bottleneck(kbps(2_000), 250) };
        let mut call = Call::new(Seed(3), BOUNDS, wire);
        call.run(40);
        call.mean_target(10)
    };
    let (few, many) = (lossy(0.01), lossy(0.2));
    assert!(few > 1.3, "{few} Mbps");
    assert!(many < 0.3, "{many} Mbps");
}

/// Nobody answers: a fifth less every second, down to the least.
#[test]
fn without_feedback_the_rate_goes_down() {
    let mut sender = sender(BOUNDS);
    sender.handle(Instant::ZERO, SenderInput::Frame(Frame { bytes: 1_000, timestamp: 0 }));
    assert!(sender.poll(Instant::ZERO).is_some());
    sender.wake(Instant::ZERO + Duration::from_millis(2_500));
    assert_eq!(sender.stats().target, kbps(192));
    sender.wake(Instant::ZERO + Duration::from_secs(3_600));
    assert_eq!((sender.stats().target, sender.deadline()), (BOUNDS.min, None));
}

/// Two seconds without a link, with the packets of that time kept, as many as a queue holds, and
/// sent on afterwards: told of it, the sender takes none of that for a queue, and is sending at
/// its old rate at once.
#[test]
fn a_known_gap_is_no_congestion() {
    let after_gap = |report: bool| {
        let mut call = Call::new(Seed(4), BOUNDS, bottleneck(kbps(2_000), 250));
        call.run(40);
        let before = call.targets[call.targets.len() - 1];
        if report {
            call.sender.handle(call.now, SenderInput::LinkLost);
        }
        call.held = Some(VecDeque::new());
        call.run(2);
        let held = call.held.take().unwrap_or_default();
        assert_eq!(held.len(), HELD, "the queue is full");
        if report {
            call.sender.handle(call.now, SenderInput::LinkFound);
        }
        for (item, bytes) in held {
            call.line.send(call.now, End::A, item, bytes);
        }
        call.run(3);
        call.mean_target(1) / before
    };
    let (reported, untold) = (after_gap(true), after_gap(false));
    assert!(reported > 1.0, "{reported} of before");
    assert!(untold < 0.8, "{untold} of before");
}

/// A frame every two seconds, each answered but for the first, which is lost: two seconds of
/// silence cost two fifths of the rate. Once something later was told of it is awaited no longer.
#[test]
fn a_packet_lost_once_is_no_silence_for_ever() {
    let target = |loses_first: bool| {
        let (mut sender, mut receiver) = (sender(BOUNDS), receiver());
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        for n in 0..40 {
            let start = 2_000 * n;
            sender.wake(at(start));
            let frame = Frame { bytes: 1_000, timestamp: n as u32 };
            sender.handle(at(start), SenderInput::Frame(frame));
            let packet = sender.poll(at(start)).expect("nothing waits");
            if n > 0 || !loses_first {
                receiver.handle(at(start + 25), packet.header);
            }
            if let Some(feedback) = receiver.poll(at(start + 125)) {
                sender.handle(at(start + 150), SenderInput::Feedback(feedback));
            }
        }
        sender.stats().target
    };
    assert_eq!((target(false), target(true)), (kbps(300), kbps(192)));
}

/// One feedback whose time is off, by 1.8 hours either way: the honest ones after it bring the rate
/// to where it would have been.
#[test]
fn a_clock_that_was_wrong_once_is_forgiven() {
    let target = |off: i32| {
        let mut call = Call::new(Seed(5), BOUNDS, bottleneck(kbps(2_000), 250));
        call.run(20);
        call.lie = Some(off);
        call.run(40);
        call.mean_target(10)
    };
    let honest = target(0);
    for off in [100_000, -100_000] {
        let lied = target(off);
        assert!(lied > 0.8 * honest, "{lied} and {honest} Mbps");
    }
}

#[test]
fn both_ends_keep_the_contract_of_machines() {
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let frames = (0..50).map(|n| {
        let frame = Frame { bytes: 5_000, timestamp: n as u32 * 3_000 };
        (at(33 * n), SenderInput::Frame(frame))
    });
    let sent = contract::check(&mut sender(BOUNDS), frames, at(5_000));
    assert!(sent.len() > 100);
    let packets = sent.iter().map(|(at, packet)| (*at, packet.header));
    let feedback = contract::check(&mut receiver(), packets, at(6_000));
    // Every packet is told of, once.
    let reported = |(_, bytes): &(Instant, Vec<u8>)| {
        Feedback::parse(bytes).map_or(0, |(feedback, _)| feedback.arrivals.len())
    };
    assert_eq!(feedback.iter().map(reported).sum::<usize>(), sent.len());
}

fn numbered(number: u16) -> Header {
    Header {
        payload_type: 96,
        marker: false,
        sequence: number,
        timestamp: 0,
        ssrc: 7,
        transport_sequence: Some(number),
    }
}

/// A packet that comes late is told of, with what came since.
#[test]
fn a_late_packet_is_told_of() {
    let mut receiver = receiver();
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    for number in [10, 12] {
        receiver.handle(at(u64::from(number)), numbered(number));
    }
    let reported = |receiver: &mut Receiver, now| {
        let bytes = receiver.poll(now).expect("feedback is due");
        let (feedback, _) = Feedback::parse(&bytes).expect("it is legal");
        (feedback.base, feedback.arrivals.iter().map(Option::is_some).collect::<Vec<_>>())
    };
    assert_eq!(reported(&mut receiver, at(110)), (10, vec![true, false, true]));
    receiver.handle(at(150), numbered(11));
    assert_eq!(reported(&mut receiver, at(250)), (11, vec![true, true]));
    // Twice is no news, and nothing is due.
    receiver.handle(at(260), numbered(11));
    assert_eq!(receiver.deadline(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever feedback says, the target stays within its bounds and nothing panics. Afterwards
    /// honest feedback brings the rate up from wherever it is.
    #[test]
    fn feedback_that_lies_stays_within_bounds(
        lies in proptest::collection::vec(
            (
                any::<u16>(),
                -(1i32 << 23)..1 << 23,
                proptest::collection::vec(proptest::option::of(any::<i16>()), 0..40),
                any::<bool>(),
            ),
            1..40,
        ),
        junk in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut sender = sender(BOUNDS);
        let mut now = Instant::ZERO;
        for (n, (base, reference, arrivals, near)) in lies.into_iter().enumerate() {
            let frame = Frame { bytes: 20_000, timestamp: n as u32 };
            sender.handle(now, SenderInput::Frame(frame));
            let mut newest = 0u16;
            for _ in 0..20 {
                while let Some(packet) = sender.poll(now) {
                    newest = packet.header.transport_sequence.expect("it is numbered");
                }
                now += Duration::from_millis(10);
            }
            let base = if near { newest.saturating_sub(base % 32) } else { base };
            let lie =
                Feedback { sender_ssrc: 8, media_ssrc: 7, base, reference, count: 0, arrivals };
            let mut bytes = Vec::new();
            lie.write(&mut bytes).expect("it is short");
            sender.handle(now, SenderInput::Feedback(bytes));
            sender.handle(now, SenderInput::Feedback(junk.clone()));
            sender.wake(now);
            let target = sender.stats().target;
            prop_assert!(target >= BOUNDS.min && target <= BOUNDS.max, "{target}");
            prop_assert!(sender.stats().waiting_bytes < 50 * 20_000);
        }
        let lied = sender.stats().target;
        let mut call = Call::new(Seed(6), BOUNDS, bottleneck(kbps(2_000), 250));
        (call.sender, call.now, call.next_frame) = (sender, now, now);
        call.run(60);
        let honest = call.mean_target(5);
        prop_assert!(honest > 0.5 || honest * 1e6 > 4.0 * lied.0 as f64, "{honest} Mbps");
    }

    /// Whatever arrives, the receiver does not panic, keeps little, and tells what can be read.
    #[test]
    fn a_receiver_bears_any_numbers(
        numbers in proptest::collection::vec((any::<u16>(), 0u64..20_000), 1..200),
    ) {
        let mut receiver = receiver();
        let mut now = Instant::ZERO;
        for (number, pause_ms) in numbers {
            now += Duration::from_millis(pause_ms);
            receiver.handle(now, numbered(number));
            while let Some(feedback) = receiver.poll(now) {
                prop_assert!(Feedback::parse(&feedback).is_ok());
            }
            while receiver.event().is_some() {}
            prop_assert!(receiver.deadline().is_none_or(|due| due > now));
        }
    }
}
