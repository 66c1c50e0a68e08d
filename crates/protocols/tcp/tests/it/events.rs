//! What the controller is told, exactly, and the contract of a machine.

use fairwave_cc::{AckEvent, Controller, LossEvent, RateSample, RtoEvent};
use fairwave_machine::{Machine, contract};
use fairwave_tcp::{Config, Connection, Input, Segment, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::{Flags, Header, Timestamps};
use std::sync::{Arc, Mutex};

const SEG: u32 = 988;

/// RFC 7323 section 4.3: the receiver echoes the first segment since its last ACK. An ACK that
/// echoes the third of three new segments tells that two before it were lost.
#[test]
fn an_ack_event_is_exact() {
    let (mut sender, reported) = connected(true);
    sender.handle(at(100), Input::Write(Virtual(20 * SEG)));
    // Four segments leave, a tick apart: the window opens with time in this test only.
    let mut sent = Vec::new();
    while let Some(segment) = sender.poll(at(100)) {
        sent.push(segment);
    }
    assert_eq!(sent.len(), 4);
    let first = sent[0].header.options.timestamps.unwrap().value;
    sender.handle(at(150), ack(1, first, 50));
    let event = reported.lock().unwrap().acks.pop().unwrap();
    assert_eq!(
        event,
        AckEvent {
            now: at(150),
            acked: SEG,
            sacked: 0,
            una: u64::from(SEG),
            next: u64::from(4 * SEG),
            flight: 4 * SEG,
            rtt: Some(Duration::from_millis(50)),
            in_recovery: false,
            cwnd_limited: true,
            covers_retransmission: false,
            echo_gap: Some(0),
            flight_after: 3 * SEG,
            lost: 0,
            delivered: u64::from(SEG),
            // Before the write there was nothing to send: the first flight tells of that too.
            rate: Some(RateSample {
                delivered: SEG,
                interval: Duration::from_millis(50),
                prior_delivered: 0,
                is_app_limited: true,
            }),
        }
    );
    // One more leaves at 150; the next ACK covers all four and echoes that last one.
    let last = sender.poll(at(150)).unwrap().header.options.timestamps.unwrap().value;
    sender.handle(at(230), ack(5, last, 51));
    let event = reported.lock().unwrap().acks.pop().unwrap();
    assert_eq!((event.acked, event.echo_gap), (4 * SEG, Some(3 * SEG)));
    assert_eq!(event.rtt, Some(Duration::from_millis(80)));
}

/// FlightSize leaves limited transmit out (RFC 5681 section 3.1); a timeout is told apart.
#[test]
fn losses_and_timeouts_are_told_apart() {
    let (mut sender, reported) = connected(false);
    sender.handle(at(100), Input::Write(Virtual(20 * SEG)));
    drain(&mut sender, at(100));
    for k in 0..3 {
        sender.handle(at(150 + k), ack(0, 0, 0));
        drain(&mut sender, at(150 + k));
    }
    let loss = reported.lock().unwrap().losses[0];
    assert_eq!((loss.flight, loss.next), (4 * 1000, 6 * 1000));
    let deadline = sender.deadline().unwrap();
    sender.wake(deadline);
    let rto = reported.lock().unwrap().timeouts[0];
    // Seven are out, two of them by limited transmit.
    assert_eq!((rto.now, rto.flight, rto.backoff), (deadline, 5 * 1000, 1));
}

/// Without SACK the fast retransmit and each partial ACK show a segment to be lost.
#[test]
fn losses_are_counted_without_sack() {
    let (mut sender, reported) = connected(false);
    sender.handle(at(100), Input::Write(Virtual(20_000)));
    drain(&mut sender, at(100));
    for (k, acked) in [0, 0, 0, 2, 6].into_iter().enumerate() {
        sender.handle(at(150 + k as u64), ack(acked, 0, 0));
        drain(&mut sender, at(150 + k as u64));
    }
    let lost: Vec<u32> = reported.lock().unwrap().acks.iter().map(|ack| ack.lost).collect();
    assert_eq!(lost, [1_000, 1_000]);
}

/// The head is retransmitted needlessly, and its original's ACK arrives. In the same tick of the
/// clock, the echo may be of either copy. In the next one, the difference of clock values is one
/// tick, but the round trip was longer.
#[test]
fn an_original_that_was_retransmitted_gives_no_sample() {
    let timestamp_tick = Duration::from_millis(10);
    for (again, acked) in [(105, 109), (112, 119)] {
        let config = Config { timestamps: true, timestamp_tick, ..Config::default() };
        let (mut sender, reported) = connected_with(config);
        sender.handle(at(101), Input::Write(Virtual(20 * SEG)));
        let sent = drain(&mut sender, at(101));
        assert_eq!(sent[0].header.options.timestamps.unwrap().value, 10);
        for _ in 0..3 {
            sender.handle(at(again), ack(0, 10, 5));
        }
        assert_eq!(drain(&mut sender, at(again))[0].header.seq, sent[0].header.seq);
        sender.handle(at(acked), ack(1, 10, 5));
        let event = reported.lock().unwrap().acks.pop().unwrap();
        assert_eq!((event.acked, event.rtt), (SEG, None), "at {acked} ms");
    }
}

/// An application that writes little is not limited by the window (RFC 7661).
#[test]
fn an_idle_application_is_not_limited_by_the_window() {
    let (mut sender, reported) = connected(true);
    sender.handle(at(100), Input::Write(Virtual(SEG)));
    let sent = drain(&mut sender, at(100));
    let stamp = sent[0].header.options.timestamps.unwrap().value;
    sender.handle(at(150), ack(1, stamp, 50));
    assert!(!reported.lock().unwrap().acks[0].cwnd_limited);
}

#[test]
fn a_connection_keeps_the_contract_of_machines() {
    let (mut sender, _) = connected(false);
    let inputs = [
        (at(100), Input::Write(Virtual(50_000))),
        (at(150), ack(2, 0, 0)),
        (at(151), ack(2, 0, 0)),
        (at(152), ack(2, 0, 0)),
        (at(153), ack(2, 0, 0)),
        (at(5_000), ack(5, 0, 0)),
        (at(5_001), data(0)),
        (at(5_002), data(2)),
        (at(6_000), Input::Close),
    ];
    let out = contract::check(&mut sender, inputs, at(5_000_000));
    assert!(out.len() > 20, "{}", out.len());
}

#[derive(Debug, Default)]
struct Told {
    acks: Vec<AckEvent>,
    losses: Vec<LossEvent>,
    timeouts: Vec<RtoEvent>,
}

/// A fixed window of four segments that remembers what it hears.
#[derive(Debug)]
struct Recorder {
    reported: Arc<Mutex<Told>>,
    mss: u32,
}

impl Controller for Recorder {
    fn name(&self) -> String {
        "recorder".to_owned()
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.reported.lock().unwrap().acks.push(*ack);
    }
    fn on_loss(&mut self, loss: &LossEvent) {
        self.reported.lock().unwrap().losses.push(*loss);
    }
    fn on_rto(&mut self, rto: &RtoEvent) {
        self.reported.lock().unwrap().timeouts.push(*rto);
    }
    fn cwnd(&self) -> u32 {
        4 * self.mss
    }
    fn ssthresh(&self) -> u32 {
        u32::MAX
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn drain(end: &mut Connection<Virtual>, now: Instant) -> Vec<Segment<Virtual>> {
    std::iter::from_fn(|| end.poll(now)).collect()
}

fn connected(timestamps: bool) -> (Connection<Virtual>, Arc<Mutex<Told>>) {
    connected_with(Config { timestamps, ..Config::default() })
}

fn connected_with(config: Config) -> (Connection<Virtual>, Arc<Mutex<Told>>) {
    let reported = Arc::new(Mutex::new(Told::default()));
    let shared = reported.clone();
    let config = Config { mss: 1000, sack: false, window_scaling: false, ..config };
    let build = Box::new(move |initial: fairwave_cc::Initial| {
        Box::new(Recorder { reported: shared, mss: initial.mss }) as Box<dyn Controller>
    });
    let mut end = Connection::new(config, Seq32(0), build);
    end.handle(at(0), Input::Open);
    let syn = end.poll(at(0)).expect("a SYN").header;
    let mut header = header(0, 0, 0);
    header.flags.syn = true;
    header.seq = Seq32(0);
    header.options = syn.options;
    end.handle(
        at(50),
        Input::Segment(Segment { header, payload: Virtual(0), ..Segment::default() }),
    );
    drain(&mut end, at(50));
    (end, reported)
}

/// Acknowledges `n` segments.
fn ack(n: u32, echo: u32, value: u32) -> Input<Virtual> {
    Input::Segment(Segment {
        header: header(n, echo, value),
        payload: Virtual(0),
        ..Segment::default()
    })
}

fn data(n: u32) -> Input<Virtual> {
    let mut header = header(5, 0, 0);
    header.seq = Seq32(1) + n * 1000;
    Input::Segment(Segment { header, payload: Virtual(1000), ..Segment::default() })
}

fn header(n: u32, echo: u32, value: u32) -> Header {
    let len = if value == 0 && echo == 0 { 1000 } else { SEG };
    Header {
        seq: Seq32(1),
        ack: Seq32(1) + n * len,
        flags: Flags { ack: true, ..Flags::default() },
        window: 60_000,
        options: fairwave_wire::tcp::Options {
            timestamps: (value > 0).then_some(Timestamps { value, echo }),
            ..Default::default()
        },
        ..Header::default()
    }
}
