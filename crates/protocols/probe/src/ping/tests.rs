//! Greetings and their answers, by a receiver and by strangers.

use super::*;
use crate::{Receiver, ReceiverConfig};
use fairwave_machine::contract;
use fairwave_units::BitRate;
use fairwave_wire::probe::Limits;

const MS: Duration = Duration::from_millis(1);

fn key() -> Key {
    Key::new(&[7; 16]).unwrap()
}

fn pinger() -> Pinger {
    Pinger::new(PingerConfig {
        key: key(),
        receiver: "10.0.0.2:4660".parse().unwrap(),
        first: u64::MAX,
        nonce: 3,
        interval: MS * 20,
        payload_bytes: 0,
    })
}

fn receiver() -> Receiver {
    let limits = Limits { rate: BitRate::mbps(1), packets: 1, duration: MS };
    let cookie_key = Key::new(&[9; 16]).unwrap();
    Receiver::new(ReceiverConfig { key: key(), cookie_key, limits, sessions: 1, idle: MS })
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

/// What the receiver answers to a greeting.
fn answer(receiver: &mut Receiver, now: Instant, greeting: Transmit) -> Received {
    let from = "10.0.0.1:50000".parse().unwrap();
    receiver.handle(now, Received { from, own: None, bytes: greeting.bytes });
    Received { from: greeting.to, own: None, bytes: receiver.poll(now).unwrap().bytes }
}

#[test]
fn a_pinger_keeps_the_contract_and_its_pace() {
    let inputs = [(at(5), PingerInput::Start), (at(50), PingerInput::Stop)];
    let sent = contract::check(&mut pinger(), inputs, at(200));
    let times: Vec<Instant> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [at(5), at(25), at(45)]);
}

#[test]
fn an_answer_counts_for_its_greeting_once() {
    let (mut pinger, mut receiver) = (pinger(), receiver());
    pinger.handle(at(0), PingerInput::Start);
    let first = pinger.poll(at(0)).unwrap();
    let second = pinger.poll(at(20)).unwrap();
    let late = answer(&mut receiver, at(21), first);
    let early = answer(&mut receiver, at(22), second);
    pinger.handle(at(24), PingerInput::Received(early.clone()));
    assert_eq!(pinger.event(), Some(Answered { round_trip: MS * 4 }));
    pinger.handle(at(30), PingerInput::Received(early));
    assert_eq!(pinger.event(), None);
    pinger.handle(at(33), PingerInput::Received(late));
    let round_trips: Vec<_> = pinger.pings().iter().map(|ping| ping.round_trip()).collect();
    assert_eq!(round_trips, [Some(MS * 33), Some(MS * 4)]);
}

#[test]
fn strangers_and_forgers_are_not_heard() {
    let (mut pinger, mut receiver) = (pinger(), receiver());
    pinger.handle(at(0), PingerInput::Start);
    let greeting = pinger.poll(at(0)).unwrap();
    let good = answer(&mut receiver, at(1), greeting);
    let mut forged = good.clone();
    forged.bytes[20] ^= 1;
    let elsewhere = Received { from: "10.0.0.3:4660".parse().unwrap(), ..good };
    for bad in [forged, elsewhere] {
        pinger.handle(at(2), PingerInput::Received(bad));
    }
    assert_eq!((pinger.event(), pinger.pings()[0].answered), (None, None));
}
