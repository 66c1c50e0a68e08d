//! Remedy B of Otsuka, Tamura and Ishihara in a connection: the receiver is notified of a handover,
//! and leaves out of its feedback what it observed before and during it.

use crate::common::{MS, Pair, decode, encode};
use bytes::Bytes;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::ccid3::SenderConfig;
use fairwave_dccp::tfrc::Remedies;
use fairwave_dccp::{Ccid, Config, Feature, Input, Packet, Profiles, Standard};
use fairwave_machine::line::End::{A, B};
use fairwave_machine::line::{End, Line, Wire};
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::dccp::{Options, Seq48, Side, Value};
use proptest::prelude::*;

/// Fairwave's option, and the feature that both ends must agree on.
const OPTION: u8 = 184;
const FEATURE: u8 = 248;

const NOTIFIES: Remedies = Remedies {
    set_ahead: false,
    on_arrival: false,
    notify: true,
    leave_out: false,
    sensitive: None,
    restart: false,
};

fn pair(ccid: Ccid, remedies: Remedies, line: Line<Vec<u8>>) -> Pair {
    let config = Config {
        send_ccids: vec![ccid],
        receive_ccids: vec![ccid],
        sequence_window: 2000,
        ..Config::default()
    };
    let sender = |remedies| SenderConfig { remedies, ..SenderConfig::default() };
    let profiles =
        |remedies| Box::new(Standard { tfrc_sender: sender(remedies), ..Standard::default() });
    // The client alone roams. Its numbers go round the end of the number space.
    let iss = [(1 << 48) - 50, 9000];
    let profiles: [Box<dyn Profiles>; 2] = [profiles(remedies), profiles(Remedies::default())];
    let mut pair = Pair::with_profiles([config.clone(), config], iss, line, profiles);
    pair.open();
    pair
}

/// A packet of 629 bytes every 10 ms.
fn stream(pair: &mut Pair, time: Duration) {
    let until = pair.now + time;
    while pair.now < until {
        pair.input(A, Input::Send(Bytes::from(vec![7; 629])));
        pair.run_for(MS(10));
    }
}

/// A handover after 5 s: nothing passes for `gap`. Returns the last number sent before its end.
fn roam(pair: &mut Pair, lead: Duration, gap: Duration, wire: Wire) -> Seq48 {
    pair.input(A, Input::Handover(Handover::Expected { free: None }));
    stream(pair, lead);
    pair.input(A, Input::Handover(Handover::Started));
    for end in [A, B] {
        pair.line.set_wire(end, Wire { loss: 1.0, ..wire });
    }
    stream(pair, gap);
    for end in [A, B] {
        pair.line.set_wire(end, wire);
    }
    let last = pair.a.greatest_sent();
    pair.input(A, Input::Handover(Handover::Ended { free: None }));
    last
}

fn carries(packet: &Packet<Bytes>) -> bool {
    packet.options.items().any(|item| item.kind == OPTION)
}

/// Number of packets that the loss intervals of a packet reach down from the acknowledged one.
fn reach(packet: &Packet<Bytes>) -> Option<u64> {
    packet.options.values().find_map(|value| match value {
        Value::LossIntervals { skip, intervals } => {
            let length = |lossless: u32, lossy: u32| u64::from(lossless) + u64::from(lossy);
            let all: u64 = intervals.iter().map(|i| length(i.lossless(), i.lossy())).sum();
            Some(all + u64::from(skip))
        }
        _ => None,
    })
}

/// Packets of `end` sent since `from`.
fn since(pair: &Pair, end: End, from: Instant) -> impl Iterator<Item = &Packet<Bytes>> {
    let sent = pair.sent.iter().filter(move |(at, of, _)| *of == end && *at >= from);
    sent.map(|(_, _, packet)| packet)
}

#[test]
fn without_the_remedy_nothing_of_it_is_on_the_wire() {
    let wire = Wire { delay: MS(20), loss: 0.01, ..Wire::default() };
    let others = Remedies { set_ahead: true, leave_out: true, restart: true, ..NOTIFIES };
    for remedies in [Remedies::default(), Remedies { notify: false, ..others }] {
        let mut pair = pair(Ccid::TFRC, remedies, Line::symmetric(Seed(1), wire));
        stream(&mut pair, Duration::from_secs(5));
        roam(&mut pair, MS(100), MS(1000), wire);
        stream(&mut pair, Duration::from_secs(5));
        let asks = |packet: &Packet<Bytes>| {
            packet.options.values().any(|value| {
                matches!(
                    value,
                    Value::Change { feature: FEATURE, .. }
                        | Value::Confirm { feature: FEATURE, .. }
                )
            })
        };
        assert!(pair.sent.iter().all(|(_, _, packet)| !carries(packet) && !asks(packet)));
    }
}

/// A peer that does not know the feature confirms it empty (RFC 4340 section 6.6.7). It gets no
/// notices, and reports what it always did.
#[test]
fn an_end_that_does_not_agree_gets_no_notices() {
    let wire = Wire { delay: MS(20), corrupt: 1.0, ..Wire::default() };
    // The feature comes as one that nobody knows.
    let line = Line::symmetric(Seed(2), wire).with_corruption(|bytes: &mut Vec<u8>, _| {
        let mut packet = decode(bytes).expect("a connection sends legal packets");
        let mut options = packet.options.as_bytes().to_vec();
        for at in 0..options.len().saturating_sub(2) {
            if options[at..].starts_with(&[34, 4, FEATURE]) {
                options[at + 2] = FEATURE + 1;
            }
        }
        packet.options = Options::from_bytes(&options);
        *bytes = encode(&packet);
    });
    let mut pair = pair(Ccid::TFRC, NOTIFIES, line);
    stream(&mut pair, Duration::from_secs(5));
    assert_eq!(pair.a.feature(Side::Remote, Feature::HeedHandovers), 0);
    let last = roam(&mut pair, MS(100), MS(1000), wire);
    stream(&mut pair, Duration::from_secs(5));
    assert!(pair.sent.iter().all(|(_, _, packet)| !carries(packet)));
    let beyond = |packet: &Packet<Bytes>| {
        let ack = packet.header.kind.ack().filter(|ack| ack.after(last));
        ack.zip(reach(packet)).is_some_and(|(ack, reach)| reach > ack.distance(last))
    };
    assert!(since(&pair, B, Instant::ZERO).any(beyond), "intervals go on through the handover");
}

/// Losses of before and of the gap are gone from the sender's loss event rate, and the notice is
/// acknowledged at the first opportunity.
#[test]
fn the_receiver_begins_anew_behind_the_handover() {
    let lossy = Wire { delay: MS(20), loss: 0.02, ..Wire::default() };
    for ccid in [Ccid::TFRC, Ccid::TFRC_SP] {
        let mut pair = pair(ccid, NOTIFIES, Line::symmetric(Seed(3), lossy));
        stream(&mut pair, Duration::from_secs(5));
        assert_eq!(pair.a.feature(Side::Remote, Feature::HeedHandovers), 1);
        assert!(pair.a.stats().sender.and_then(|s| s.loss_event_rate) > Some(0.0));
        roam(&mut pair, MS(200), MS(500), Wire { loss: 0.0, ..lossy });
        let end = pair.now;
        stream(&mut pair, Duration::from_secs(3));
        assert_eq!(pair.a.stats().sender.and_then(|s| s.loss_event_rate), Some(0.0), "{ccid}");
        let notices = since(&pair, A, end).filter(|packet| carries(packet)).count();
        assert!((1..=12).contains(&notices), "{ccid}: {notices} notices of its end");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However notices are lost, repeated and reordered: no feedback on packets sent since the end
    /// reaches back beyond it, and the sender repeats its notice for a bounded time.
    #[test]
    fn notices_may_be_lost_repeated_and_reordered(
        seed: u64,
        loss in 0.0..0.2f64,
        duplicate in 0.0..0.4f64,
        jitter in 0u64..100,
        lead in 0u64..400,
        gap in 1u64..4000,
        again: bool,
    ) {
        let wire = Wire { delay: MS(10), jitter: MS(jitter), loss, duplicate, ..Wire::default() };
        let mut pair = pair(Ccid::TFRC, NOTIFIES, Line::symmetric(Seed(seed), wire));
        stream(&mut pair, Duration::from_secs(10));
        let mut last = roam(&mut pair, MS(lead), MS(gap), wire);
        if again {
            stream(&mut pair, MS(gap));
            last = roam(&mut pair, MS(lead), MS(gap), wire);
        }
        let end = pair.now;
        let agreed = pair.a.feature(Side::Remote, Feature::HeedHandovers) == 1;
        stream(&mut pair, Duration::from_secs(30));
        for end in [A, B] {
            pair.line.set_wire(end, Wire { delay: MS(10), ..Wire::default() });
        }
        stream(&mut pair, Duration::from_secs(60));
        for packet in since(&pair, B, end).filter(|_| agreed) {
            let ack = packet.header.kind.ack().filter(|ack| ack.after(last));
            if let Some((ack, reach)) = ack.zip(reach(packet)) {
                prop_assert!(reach <= ack.distance(last), "{reach} from {ack:?}, {last:?}");
            }
        }
        let still = since(&pair, A, pair.now - Duration::from_secs(5));
        prop_assert!(!still.filter(|_| agreed).any(carries), "seed {seed}");
    }
}
