//! The contract of a machine, for both ends, with a peer that answers and one that does not.

use crate::common;

use crate::common::ID;
use fairwave_machine::{Machine, contract};
use fairwave_shake::{Config, Connection, Input, Profile, Segment};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::{Ack, Blocks, Body, Challenge, Data, Echo, Header, Join, Leave, Side};
use std::num::NonZeroU64;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn end(side: Side, config: Config) -> Connection<Virtual> {
    Connection::new(config, common::rules(), side, ID, Seed(7))
}

fn message(from: Side, path: u8, number: u64, body: Body, payload: u32) -> Input<Virtual> {
    let number = NonZeroU64::new(number).unwrap();
    let header = Header { connection: ID, from, path, number, sent_us: 0, body };
    Input::Segment(Segment { header, payload: Virtual(payload) })
}

/// The nonces that the joins of two paths will have.
fn nonces(config: Config) -> [u64; 2] {
    let mut end = end(Side::Opener, config);
    [0, 1].map(|path| {
        end.handle(at(0), Input::Join { path, nominal: None });
        match end.poll(at(0)).unwrap().header.body {
            Body::Join(join) => join.nonce,
            body => panic!("no join: {body:?}"),
        }
    })
}

fn ack(cumulative: u64, window: u32, echo: u64) -> Body {
    let echo = Some(Echo { number: NonZeroU64::new(echo).unwrap(), sent_us: 0 });
    Body::Ack(Ack { cumulative, window, echo, blocks: Blocks::default() })
}

/// Paths come up, some data is acknowledged, the window shuts, and then nobody answers: timers
/// expire, paths die, and in the end the connection gives up.
fn opener(config: Config) {
    let from = Side::Acceptor;
    let challenge = |answers| Body::Challenge(Challenge { nonce: 1, answers, window: 20_000 });
    let [first, second] = nonces(config);
    let inputs = [
        (0, Input::Join { path: 0, nominal: None }),
        (0, Input::Join { path: 1, nominal: None }),
        (0, Input::Write(Virtual(100_000))),
        (20, message(from, 0, 1, challenge(first), 0)),
        (35, message(from, 1, 1, challenge(second), 0)),
        // Number 1 was the join, 2 the response.
        (45, message(from, 0, 2, ack(0, 20_000, 3), 0)),
        (46, message(from, 1, 2, ack(0, 20_000, 3), 0)),
        (50, message(from, 0, 3, ack(1_400, 18_600, 5), 0)),
        (51, message(from, 0, 4, ack(20_000, 0, 4), 0)),
        (2_000, message(from, 1, 3, ack(20_000, 60_000, 3), 0)),
        (2_500, Input::Finish),
        (3_000, Input::Leave { path: 1 }),
    ];
    let mut machine = end(Side::Opener, config);
    let inputs = inputs.map(|(ms, input)| (at(ms), input));
    let sent = contract::check(&mut machine, inputs, at(2_000_000));
    assert!(sent.len() > 20, "only {} messages", sent.len());
    assert!(machine.is_over() && machine.deadline().is_none());
}

#[test]
fn an_opener_of_today() {
    opener(Profile::Modern.config());
}

#[test]
fn an_opener_of_the_paper() {
    opener(Profile::Paper.config());
}

/// An acceptor with something to say, whose peer leaves its path.
#[test]
fn an_acceptor() {
    let config = Profile::Modern.config();
    let from = Side::Opener;
    let join = Body::Join(Join { open: true, nonce: 5, window: 9_000 });
    let mut probe = end(Side::Acceptor, config);
    probe.handle(at(0), message(from, 3, 1, join, 0));
    let Body::Challenge(challenge) = probe.poll(at(0)).unwrap().header.body else {
        panic!("no challenge")
    };
    let data = |seq| Body::Data(Data { seq, fin: false });
    let inputs = [
        (0, message(from, 3, 1, join, 0)),
        (100, Input::Write(Virtual(30_000))),
        (1_500, message(from, 3, 2, Body::Response { answers: challenge.nonce }, 0)),
        (1_600, message(from, 3, 3, data(0), 1_000)),
        (1_601, message(from, 3, 4, data(5_000), 1_000)),
        (1_700, message(from, 3, 5, ack(1_400, 9_000, 3), 0)),
        (9_000, message(from, 3, 6, Body::Leave(Leave { path: 3, last: 6 }), 0)),
    ];
    let mut machine = end(Side::Acceptor, config);
    let inputs = inputs.map(|(ms, input)| (at(ms), input));
    contract::check(&mut machine, inputs, at(200_000));
    assert!(machine.is_over(), "without a path it gives up");
}
