//! Opening and closing, told packet by packet (RFC 4340 sections 8.1 and 8.3).

use crate::common::{MS, Pair};
use bytes::Bytes;
use fairwave_dccp::{Ccid, Config, Event, Feature, Input, State};
use fairwave_machine::line::End::{self, A, B};
use fairwave_machine::line::{Line, Wire};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::dccp::{Kind, ResetCode, Side};
use fairwave_wire::seal::Key;

fn line(delay_ms: u64) -> Line<Vec<u8>> {
    Line::symmetric(Seed(1), Wire { delay: MS(delay_ms), ..Wire::default() })
}

/// CCID 3 both ways: no Ack Vector, so only the profile is negotiated.
fn tfrc() -> Config {
    Config {
        send_ccids: vec![Ccid::TFRC],
        receive_ccids: vec![Ccid::TFRC],
        service: 0x5343_3a78,
        ..Config::default()
    }
}

fn names(pair: &Pair) -> Vec<(u64, End, &'static str)> {
    let name = |kind| match kind {
        Kind::Request { .. } => "request",
        Kind::Response { .. } => "response",
        Kind::Data => "data",
        Kind::Ack { .. } => "ack",
        Kind::DataAck { .. } => "data-ack",
        Kind::CloseReq { .. } => "close-req",
        Kind::Close { .. } => "close",
        Kind::Reset { .. } => "reset",
        Kind::Sync { .. } => "sync",
        Kind::SyncAck { .. } => "sync-ack",
    };
    let ms = |at: Instant| at.since(Instant::ZERO).as_millis();
    pair.sent.iter().map(|(at, end, packet)| (ms(*at), *end, name(packet.header.kind))).collect()
}

fn data(n: u8) -> Input<Bytes> {
    Input::Send(Bytes::from(vec![n; 8]))
}

#[test]
fn three_packets_open_and_three_close() {
    let mut pair = Pair::new([tfrc(), tfrc()], [100, 9000], line(10));
    pair.open();
    pair.run_for(MS(100));
    pair.input(A, data(1));
    pair.input(B, data(2));
    pair.run_for(MS(100));
    pair.input(A, Input::Close);
    pair.run_for(MS(100));
    // Until the server has sent something, the client is in PARTOPEN: its data are DataAcks, and
    // it repeats its Ack after 200 ms (RFC 4340 section 8.1.5), which the server's data prevent.
    let story = [
        (0, A, "request"),
        (10, B, "response"),
        (20, A, "ack"),
        (100, A, "data-ack"),
        (100, B, "data"),
        (200, A, "close"),
        (210, B, "reset"),
    ];
    assert_eq!(names(&pair), story, "{pair:?}");
    assert_eq!(pair.states(), [State::TimeWait, State::Closed]);
    for (end, got) in [(A, 2), (B, 1)] {
        assert_eq!(pair.got(end), [Bytes::from(vec![got; 8])]);
        assert!(pair.events.contains(&(end, Event::Established)));
        assert!(pair.events.contains(&(end, Event::Closed)));
    }
    for side in [Side::Local, Side::Remote] {
        assert_eq!(pair.a.feature(side, Feature::Ccid), 3);
        assert_eq!(pair.b.feature(side, Feature::Ccid), 3);
    }
    pair.run_for(Duration::from_secs(240));
    assert_eq!(pair.states(), [State::Closed, State::Closed], "after 2 MSL");
}

/// RFC 4340 section 8.3: a server asks its client, which then holds TIMEWAIT.
#[test]
fn a_server_closes_through_its_client() {
    let mut pair = Pair::new([tfrc(), tfrc()], [100, 9000], line(10));
    pair.open();
    pair.run_for(MS(100));
    pair.input(B, Input::Close);
    pair.run_for(MS(100));
    let closing: Vec<_> = names(&pair).into_iter().skip(3).collect();
    assert_eq!(closing, [(100, B, "close-req"), (110, A, "close"), (120, B, "reset")]);
    assert_eq!(pair.states(), [State::TimeWait, State::Closed]);
}

/// RFC 4340 section 8.1.1: after a second, two, four, ... 64; after three minutes Aborted.
#[test]
fn requests_are_repeated_and_then_given_up() {
    let lost = Line::symmetric(Seed(1), Wire { loss: 1.0, ..Wire::default() });
    let mut pair = Pair::new([tfrc(), tfrc()], [100, 9000], lost);
    pair.open();
    pair.run_for(Duration::from_secs(300));
    let seconds: Vec<u64> =
        pair.sent.iter().map(|(at, ..)| at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31, 63, 127, 180]);
    let numbers: Vec<u64> = pair.sent.iter().map(|(.., p)| p.header.seq.value()).collect();
    assert_eq!(numbers, (100..109).collect::<Vec<_>>(), "each has a number of its own");
    let Kind::Reset { ack, code, .. } = pair.sent[8].2.header.kind else { panic!("{pair:?}") };
    assert_eq!((ack.value(), code), (0, ResetCode::ABORTED));
    assert_eq!(pair.events, [(A, Event::TimedOut)]);
}

#[test]
fn another_service_is_refused() {
    let other = Config { service: 7, ..tfrc() };
    let mut pair = Pair::new([tfrc(), other], [100, 9000], line(10));
    pair.open();
    pair.run_for(MS(100));
    let code = ResetCode::BAD_SERVICE_CODE;
    assert_eq!(pair.events, [(A, Event::Reset { code, data: [0; 3] })]);
    assert_eq!(pair.states(), [State::TimeWait, State::Listen], "the listener goes on");
}

/// RFC 4340 section 8.1.4: the listener remembers nothing and agrees to the same all the same.
#[test]
fn a_cookie_carries_the_state_of_the_listener() {
    let key = Key::new(b"sixteen bytes it").unwrap();
    let server = Config { cookie: Some(key), send_ccids: vec![Ccid::TFRC], ..tfrc() };
    let client = Config { sequence_window: 1000, ..tfrc() };
    let mut pair = Pair::new([client, server], [100, 9000], line(10));
    pair.open();
    pair.run_for(MS(15));
    assert_eq!(pair.states(), [State::Request, State::Listen], "a Response was sent");
    pair.run_for(MS(100));
    assert_eq!(pair.b.state(), State::Open, "{pair:?}");
    pair.input(A, data(1));
    pair.input(B, data(2));
    pair.run_for(MS(100));
    assert_eq!(pair.states(), [State::Open, State::Open], "{pair:?}");
    assert_eq!((pair.got(A).len(), pair.got(B).len()), (1, 1));
    assert_eq!(pair.b.feature(Side::Remote, Feature::SequenceWindow), 1000);
    assert_eq!(pair.b.feature(Side::Local, Feature::Ccid), 3);
}
