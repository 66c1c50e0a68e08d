//! Packets that do not belong: what is answered, and what a blind attacker can do.

use crate::common::{MS, Pair, decode, encode};
use bytes::Bytes;
use fairwave_dccp::{Config, Event, Input, Packet, Profiles, Standard, State};
use fairwave_machine::line::End::{A, B};
use fairwave_machine::line::{Line, Wire};
use fairwave_units::{Duration, Seed, Stream};
use fairwave_wire::dccp::{Header, Kind, Options, ResetCode, Seq48, Value};
use fairwave_wire::ipv4::Ecn;

/// An open connection with CCID 2, its client having sent one datagram.
pub(crate) fn opened(short: bool, seed: u64) -> Pair {
    let wire = Wire { delay: MS(10), ..Wire::default() };
    let config = || Config { short_seqnos: short, ..Config::default() };
    let profiles: [Box<dyn Profiles>; 2] =
        [Box::new(Standard::default()), Box::new(Standard::default())];
    let mut draw = Seed(seed).stream("iss");
    let iss = [draw.next_u64(), draw.next_u64()];
    let line = Line::symmetric(Seed(seed), wire);
    let mut pair = Pair::with_profiles([config(), config()], iss, line, profiles);
    pair.open();
    pair.input(A, Input::Send(Bytes::from_static(b"hello")));
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.states(), [State::Open, State::Open]);
    pair
}

/// A packet to the server with these numbers.
pub(crate) fn forged(kind: Kind, seq: Seq48, short: bool, options: Options) -> Packet<Bytes> {
    let payload = kind.is_data_packet().then(|| Bytes::from_static(b"evil"));
    let header = Header {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        coverage: 0,
        seq: if short { seq.low() } else { seq },
        short,
        kind: if short { kind.ack().map_or(kind, |ack| kind.with_ack(ack.low())) } else { kind },
        options_words: options.words(),
    };
    let packet = Packet { header, options, ecn: Ecn::NotEct, payload };
    decode(&encode(&packet)).unwrap()
}

/// Of any type that may close or speed up a connection.
fn random_packet(draw: &mut Stream) -> Packet<Bytes> {
    let (seq, ack) = (Seq48::new(draw.next_u64()), Seq48::new(draw.next_u64()));
    let mut options = Options::new();
    let kind = match draw.below(8) {
        0 => Kind::Reset { ack, code: ResetCode::CLOSED, data: [0; 3] },
        1 => Kind::Close { ack },
        2 => Kind::CloseReq { ack },
        3 => Kind::Sync { ack },
        4 => Kind::SyncAck { ack },
        5 => Kind::DataAck { ack },
        6 => Kind::Response { ack, service: 0 },
        _ => {
            // Everything has arrived: go faster.
            options.push(Value::AckVector { nonce_echo: false, vector: &[0x3f; 8] }).unwrap();
            Kind::Ack { ack }
        }
    };
    forged(kind, seq, false, options)
}

/// RFC 4340 section 7.5.5: the chance that one of N packets with random numbers of 48 bits is
/// valid is at most N W / 2^48 (a Sync, that has only its acknowledgement number checked while the
/// connection is idle, half of it): for 100 000 packets and W = 100, 1 in 28 million.
#[test]
fn a_blind_attacker_changes_nothing() {
    for seed in 1..=4 {
        let mut pair = opened(false, seed);
        let mut draw = Seed(seed).stream("attacker");
        for round in 0..100 {
            for _ in 0..250 {
                pair.input(B, Input::Packet(random_packet(&mut draw)));
            }
            pair.run_for(MS(20));
            if round % 10 == 9 {
                pair.input(A, Input::Send(Bytes::from_static(b"still here")));
            }
        }
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.states(), [State::Open, State::Open], "seed {seed}: {pair:?}");
        assert_eq!(pair.got(B).len(), 11, "seed {seed}: {pair:?}");
        let stats = pair.b.stats();
        assert_eq!(stats.invalid, 25_000, "seed {seed}: {stats:?}");
        // Section 7.5.4: not more than eight answers a second, for 3 s and the time before.
        assert!(stats.syncs_sent <= 8 * 4, "seed {seed}: {stats:?}");
        assert_eq!(pair.a.stats().sender.unwrap().timeouts, 0, "seed {seed}: {pair:?}");
    }
}

/// An attacker who is lucky with one of the two numbers is refused by the other.
#[test]
fn one_right_number_is_not_enough() {
    let mut pair = opened(false, 5);
    let (gsr, gss) = (pair.b.greatest_received(), pair.b.greatest_sent());
    let far = 1 << 40;
    let reset = |ack| Kind::Reset { ack, code: ResetCode::CLOSED, data: [0; 3] };
    for (seq, kind) in [
        (gsr + 1, reset(gss + far)),
        (gsr + 1, reset(gss - far)),
        (gsr + far, reset(gss)),
        (gsr, reset(gss)),
        (gsr + 76, Kind::Close { ack: gss }),
        (gsr + 1, Kind::Close { ack: gss - 2 * far }),
        (gsr - far, Kind::Sync { ack: gss }),
        (gsr + 1, Kind::SyncAck { ack: gss + far }),
    ] {
        pair.input(B, Input::Packet(forged(kind, seq, false, Options::new())));
        assert_eq!(pair.b.state(), State::Open, "{kind:?} with number {seq}");
        assert_eq!(pair.b.greatest_received(), gsr, "{kind:?} with number {seq}");
    }
    pair.input(B, Input::Packet(forged(reset(gss), gsr + 75, false, Options::new())));
    assert_eq!(pair.b.state(), State::TimeWait, "the last number of the window");
}

/// RFC 4340 section 7.5.5 with L = 24: a Data packet gets through with probability W / 2^24, W the
/// window of 100. Of 400 000 packets 2.4 are expected; more than 12 have a probability below 1e-5.
/// Even those reset nothing: a Data packet cannot.
#[test]
fn short_numbers_let_data_in_but_nothing_else() {
    let mut through = 0;
    for seed in 1..=4 {
        let mut pair = opened(true, seed);
        let mut draw = Seed(seed).stream("attacker");
        let mut options = Options::new();
        // A mandatory option that nobody knows would reset the connection, on any other packet.
        options
            .push_mandatory(Value::Change {
                side: fairwave_wire::dccp::Side::Local,
                feature: 99,
                values: &[1],
            })
            .unwrap();
        let before = pair.b.stats().data_packets_delivered;
        for _ in 0..100_000 {
            let seq = Seq48::new(draw.next_u64());
            pair.input(B, Input::Packet(forged(Kind::Data, seq, true, options.clone())));
        }
        through += pair.b.stats().data_packets_delivered - before;
        assert_eq!(pair.b.state(), State::Open, "seed {seed}");
    }
    assert!(through <= 12, "{through} of 400000");
}

/// RFC 4340 section 7.5.6, the last example: an end that forgot everything meets one that did not.
#[test]
fn a_half_open_connection_is_cleaned_up() {
    let mut pair = opened(false, 7);
    let (ours, theirs) = (pair.b.greatest_sent(), pair.b.greatest_received());
    let wire = Wire { delay: MS(10), ..Wire::default() };
    let fresh = Pair::new(Default::default(), [400, 0], Line::symmetric(Seed(1), wire));
    let events = pair.events.len();
    pair.a = fresh.a;
    pair.sent.clear();
    pair.input(A, Input::Open);
    pair.run_for(Duration::from_millis(500));
    let story: Vec<_> = pair.sent.iter().map(|(_, end, packet)| (*end, packet.header)).collect();
    let [(A, request), (B, sync), (A, reset), (B, challenge), (A, proper)] = story[..] else {
        panic!("{story:?}")
    };
    assert_eq!((request.seq, request.kind), (Seq48::new(400), Kind::Request { service: 0 }));
    assert_eq!((sync.seq, sync.kind), (ours + 1, Kind::Sync { ack: Seq48::new(400) }));
    let (code, data) = (ResetCode::PACKET_ERROR, [8, 0, 0]);
    assert_eq!(
        (reset.seq, reset.kind),
        (Seq48::new(401), Kind::Reset { ack: ours + 1, code, data })
    );
    // 401 is not in the window either, where the example has it abort: section 7.5.4 answers with
    // a Sync that says which number would be.
    assert_eq!((challenge.seq, challenge.kind), (ours + 2, Kind::Sync { ack: theirs }));
    assert_eq!((proper.seq, proper.kind), (theirs + 1, Kind::Reset { ack: ours + 2, code, data }));
    assert_eq!(pair.states(), [State::Request, State::TimeWait]);
    assert!(pair.events[events..].contains(&(B, Event::Reset { code, data })));
}
