//! The contract of a machine, for an opener with a peer that answers and then falls silent.

use crate::multi_common::{SET, config, dials};
use fairwave_machine::{Machine, contract};
use fairwave_shake::multi::{Config, Event, Input, Multi, Split};
use fairwave_tcp::{self as tcp, Segment, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::Header;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn opener(split: Split) -> Multi<Virtual> {
    let config = Config { weights: vec![3, 1], ..config(split, 2) };
    let tcp = tcp::Config { max_retries: 5, ..tcp::Config::default() };
    Multi::opener(&config, SET, dials(tcp, 2, 0)).unwrap()
}

/// A segment of the peer: its SYN has number 1000, and it acknowledges `ack` bytes of stream.
fn answer(connection: u8, syn: bool, ack: u32) -> Input<Virtual> {
    let own = Seq32(u32::from(connection));
    let mut header = Header { seq: Seq32(1000 + u32::from(!syn)), ..Header::default() };
    (header.source_port, header.destination_port) = (200, 100);
    header.flags.ack = true;
    header.flags.syn = syn;
    header.ack = own + 1 + ack;
    header.window = 20_000;
    Input::Segment(connection, Segment { header, ..Segment::default() })
}

/// Both come up, some is acknowledged, and then nobody answers: timers expire, the connections
/// are given up one after the other, and with the last the set.
#[test]
fn an_opener() {
    for split in Split::ALL {
        let inputs = [
            (0, Input::Start),
            (0, Input::Write(Virtual(40_000))),
            (20, answer(0, true, 0)),
            (35, answer(1, true, 0)),
            (60, answer(0, false, 20 + 1460)),
            (70, answer(0, false, 20 + 3 * 1460)),
            (75, answer(1, false, 20 + 1460)),
            (80, Input::Write(Virtual(40_000))),
            (90, Input::Close),
        ];
        let mut machine = opener(split);
        let inputs = inputs.map(|(ms, input)| (at(ms), input));
        let sent = contract::check(&mut machine, inputs, at(2_000_000));
        assert!(sent.len() > 20, "only {} segments", sent.len());
        assert!(machine.is_over() && machine.deadline().is_none(), "{machine:?}");
    }
}

#[test]
fn an_opener_that_nobody_answers() {
    let mut machine = opener(Split::Adaptive);
    machine.handle(at(0), Input::Start);
    machine.handle(at(0), Input::Close);
    let mut events = Vec::new();
    while let Some(deadline) = machine.deadline() {
        machine.wake(deadline);
        while machine.poll(deadline).is_some() {}
        events.extend(std::iter::from_fn(|| machine.event()));
    }
    assert_eq!(events.last(), Some(&Event::Broken), "{events:?}");
}

#[test]
fn an_application_that_gives_up() {
    let mut machine = opener(Split::Equal);
    let inputs = [
        (0, Input::Start),
        (0, Input::Write(Virtual(40_000))),
        (20, answer(0, true, 0)),
        (30, Input::Abort),
    ];
    let inputs = inputs.map(|(ms, input)| (at(ms), input));
    let sent = contract::check(&mut machine, inputs, at(2_000_000));
    let resets = sent.iter().filter(|(_, (_, segment))| segment.header.flags.rst);
    assert_eq!(resets.count(), 1, "the connection that was open is reset");
    assert!(machine.is_over() && machine.send_space() == 0);
}
