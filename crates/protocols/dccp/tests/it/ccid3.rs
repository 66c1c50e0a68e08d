//! CCID 3 in a connection, over a line that carries bytes.

use crate::common::{MS, Pair};
use bytes::Bytes;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::ccid3::SenderConfig;
use fairwave_dccp::tfrc::{Remedies, equation::throughput};
use fairwave_dccp::{Ccid, Config, Event, Input, Standard};
use fairwave_machine::line::End::{A, B};
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::dccp::{Kind, Value};

const PAYLOAD: usize = 629;

fn config() -> Config {
    Config {
        send_ccids: vec![Ccid::TFRC],
        receive_ccids: vec![Ccid::TFRC],
        sequence_window: 2000,
        ..Config::default()
    }
}

fn pair(line: Line<Vec<u8>>, remedies: Remedies) -> Pair {
    let tfrc_sender = SenderConfig { remedies, ..SenderConfig::default() };
    let standard = || Box::new(Standard { tfrc_sender, ..Standard::default() });
    let iss = [(1 << 48) - 50, 9000];
    let mut pair = Pair::with_profiles([config(), config()], iss, line, [standard(), standard()]);
    pair.open();
    pair
}

fn send(pair: &mut Pair, end: End, count: usize) {
    for _ in 0..count {
        pair.input(end, Input::Send(Bytes::from(vec![7; PAYLOAD])));
    }
}

/// Both or one of the ends always have something to send.
fn run_greedy(pair: &mut Pair, ends: &[End], time: Duration) {
    let until = pair.now + time;
    while pair.now < until {
        for end in ends {
            let missing = 40usize.saturating_sub(pair.end(*end).queued());
            send(pair, *end, missing);
        }
        pair.run_for(MS(20));
    }
}

/// One packet every 10 ms, as in Otsuka, Tamura and Ishihara's experiment.
fn run_stream(pair: &mut Pair, time: Duration) {
    let until = pair.now + time;
    while pair.now < until {
        send(pair, A, 1);
        pair.run_for(MS(10));
    }
}

fn delivered(pair: &Pair, end: End) -> f64 {
    let stats = if end == A { pair.a.stats() } else { pair.b.stats() };
    stats.data_bytes_delivered as f64
}

/// The rate at which the equation and the losses of its own packets agree (losses within a round
/// trip after the first are one event).
fn fixed_point(rtt: f64, loss: f64) -> f64 {
    let s = PAYLOAD as f64;
    let mut x = throughput(s, rtt, loss);
    for _ in 0..100 {
        x = (x + throughput(s, rtt, loss / (1.0 + loss * x * rtt / s))) / 2.0;
    }
    x
}

#[test]
fn the_rate_is_that_of_the_equation() {
    for (seed, loss, rtt) in [(1, 0.01, 100), (2, 0.03, 40)] {
        let lossy = Wire { delay: MS(rtt / 2), loss, ..Wire::default() };
        let line = Line::new(Seed(seed), lossy, Wire { loss: 0.0, ..lossy });
        let mut pair = pair(line, Remedies::default());
        run_greedy(&mut pair, &[A], Duration::from_secs(20));
        let before = delivered(&pair, B);
        run_greedy(&mut pair, &[A], Duration::from_secs(100));
        let sent = (delivered(&pair, B) - before) / 100.0 / (1.0 - loss);
        let ratio = sent / fixed_point(rtt as f64 / 1000.0, loss);
        assert!((0.85..1.15).contains(&ratio), "loss {loss}, {rtt} ms: {ratio} (seed {seed})");
    }
}

/// Times in ms of the first two data packets of a connection with a round-trip time of 40 ms, whose
/// first data packet is lost, and its first Request if `loses_request`.
fn first_two(loses_request: bool) -> [u64; 2] {
    let clean = Wire { delay: MS(20), ..Wire::default() };
    let dead = Wire { loss: 1.0, ..clean };
    let mut pair = pair(Line::symmetric(Seed(8), clean), Remedies::default());
    if loses_request {
        pair = self::pair(Line::new(Seed(8), dead, clean), Remedies::default());
        pair.line.set_wire(A, clean);
    }
    while !pair.events.contains(&(A, Event::Established)) {
        pair.run_for(MS(1));
    }
    pair.line.set_wire(A, dead);
    send(&mut pair, A, 10);
    pair.run_for(MS(1));
    pair.line.set_wire(A, clean);
    pair.run_for(Duration::from_secs(3));
    let data = pair.sent.iter().filter(|(_, end, packet)| *end == A && packet.payload.is_some());
    let times: Vec<_> = data.map(|(at, ..)| at.since(Instant::ZERO).as_millis()).collect();
    [times[0], times[1]]
}

/// RFC 5348 section 4.2: with the handshake's round-trip time, four packets of 629 bytes go in the
/// first one, whether or not feedback arrives. Without it there is a packet a second. A Response to
/// one of several Requests gives no time.
#[test]
fn the_first_data_packet_may_be_lost() {
    let [first, second] = first_two(false);
    assert!(first == 40 && second <= 50, "{second}");
    let [first, second] = first_two(true);
    assert!(first == 1_040 && second > 1_300, "{second}");
}

/// Data both ways: acknowledgements ride on data or take numbers between them.
#[test]
fn both_directions_get_their_rate() {
    let wire = Wire { delay: MS(50), loss: 0.01, ..Wire::default() };
    let mut pair = pair(Line::symmetric(Seed(4), wire), Remedies::default());
    run_greedy(&mut pair, &[A, B], Duration::from_secs(20));
    let before = [delivered(&pair, A), delivered(&pair, B)];
    run_greedy(&mut pair, &[A, B], Duration::from_secs(100));
    for (end, before) in [A, B].into_iter().zip(before) {
        let ratio = (delivered(&pair, end) - before) / 100.0 / fixed_point(0.1, 0.01);
        assert!((0.75..1.25).contains(&ratio), "to {end:?}: {ratio} (seed 4)");
    }
}

/// RFC 4342, sections 6 and 8: every feedback packet has the three options, and data have none.
#[test]
fn feedback_is_complete_and_data_are_bare() {
    let lossy = Wire { delay: MS(20), loss: 0.02, ..Wire::default() };
    let mut pair = pair(Line::symmetric(Seed(5), lossy), Remedies::default());
    run_stream(&mut pair, Duration::from_secs(5));
    let mut feedback = 0;
    for (_, end, packet) in &pair.sent {
        let has = |kind| packet.options.items().filter(|item| item.kind == kind).count();
        let counts = [has(43), has(193), has(194)];
        if *end == A {
            assert_eq!(counts, [0; 3], "{packet:?}");
        } else if matches!(packet.header.kind, Kind::Ack { .. }) && counts[0] > 0 {
            assert_eq!(counts, [1; 3], "{packet:?}");
            feedback += 1;
        }
        for value in packet.options.values() {
            if let Value::LossIntervals { skip, intervals } = value {
                assert!(skip <= 3 && (1..=9).contains(&intervals.len()));
            }
        }
    }
    assert!((80..=200).contains(&feedback), "{feedback} in 5 s of 40 ms (seed 5)");
}

/// A handover of 3 s at 20 s that nothing survives; how soon 50 packets have come after it.
fn recovery(remedies: Remedies, sequence_window: u64) -> Duration {
    let wire = Wire { delay: MS(10), loss: 0.005, ..Wire::default() };
    let line = Line::new(Seed(6), wire, Wire { loss: 0.0, ..wire });
    let tfrc_sender = SenderConfig { remedies, ..SenderConfig::default() };
    let standard = || Box::new(Standard { tfrc_sender, ..Standard::default() });
    let config = Config { sequence_window, ..config() };
    let configs = [config.clone(), config];
    let mut pair = Pair::with_profiles(configs, [1, 9000], line, [standard(), standard()]);
    pair.open();
    run_stream(&mut pair, Duration::from_secs(20));
    let dead = Wire { loss: 1.0, ..wire };
    pair.line.set_wire(A, dead);
    pair.line.set_wire(B, dead);
    pair.input(A, Input::Handover(Handover::Started));
    run_stream(&mut pair, Duration::from_secs(3));
    pair.line.set_wire(A, wire);
    pair.line.set_wire(B, Wire { loss: 0.0, ..wire });
    pair.input(A, Input::Handover(Handover::Ended { free: Some(BitRate(400_000)) }));
    let end = pair.now;
    let before = delivered(&pair, B);
    while delivered(&pair, B) < before + 50.0 * PAYLOAD as f64 {
        run_stream(&mut pair, MS(10));
        assert!(pair.now.since(end) < Duration::from_secs(60), "{pair:?}");
    }
    pair.now.since(end)
}

#[test]
fn remedies_bring_the_stream_back_sooner() {
    let none = recovery(Remedies::default(), 2000);
    let left_out = recovery(Remedies { leave_out: true, ..Remedies::default() }, 2000);
    let anew = recovery(Remedies { restart: true, ..Remedies::default() }, 2000);
    // 50 packets of one every 10 ms take half a second at least, unless they wait in a queue.
    assert!(left_out < MS(1000), "B: {left_out} (seed 6)");
    assert!(anew < MS(1000), "E: {anew} (seed 6)");
    assert!(none > left_out * 2, "none: {none}, B: {left_out}, E: {anew} (seed 6)");
}

/// A gap of more packets than the sequence window lets pass: the ends find each other by Syncs.
#[test]
fn a_gap_beyond_the_sequence_window_heals() {
    let healed = recovery(Remedies { leave_out: true, ..Remedies::default() }, 100);
    assert!(healed < Duration::from_secs(2), "{healed} (seed 6)");
}

#[test]
fn nothing_is_delivered_twice_or_changed() {
    let wire =
        Wire { delay: MS(20), jitter: MS(30), loss: 0.05, duplicate: 0.05, ..Wire::default() };
    let mut pair = pair(Line::symmetric(Seed(7), wire), Remedies::default());
    run_stream(&mut pair, Duration::from_secs(10));
    let mut numbers = std::collections::BTreeSet::new();
    for (end, event) in &pair.events {
        if let (B, Event::Data { seq, payload, corrupt }) = (end, event) {
            assert!(numbers.insert(seq.value()), "{seq:?} twice (seed 7)");
            assert!(!corrupt && payload.len() == PAYLOAD && payload.iter().all(|byte| *byte == 7));
        }
    }
    assert!(numbers.len() > 100, "{} (seed 7)", numbers.len());
}

/// A server's sender has no round-trip time from the handshake. Its first feedback gets lost: later
/// data ask for another one.
#[test]
fn a_server_whose_first_feedback_is_lost_does_not_stall() {
    let wire = Wire { delay: MS(20), ..Wire::default() };
    let mut pair = pair(Line::new(Seed(1), wire, wire), Remedies::default());
    pair.run_for(MS(100));
    let lost = Wire { loss: 1.0, ..wire };
    pair.line.set_wire(A, lost);
    send(&mut pair, B, 1);
    pair.run_for(MS(30));
    pair.line.set_wire(A, wire);
    let before = delivered(&pair, A);
    run_greedy(&mut pair, &[B], Duration::from_secs(10));
    assert!(pair.b.stats().sender.expect("it sends").rtt.is_some(), "{pair:?}");
    assert!(delivered(&pair, A) - before > 100.0 * PAYLOAD as f64, "{pair:?}");
}
