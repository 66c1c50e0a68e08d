//! The receiving end of a probe, with any messages of outsiders and owners of the key. Answers are
//! never longer than the message that they answer. Requested packets stay within the granted number
//! and only go to the session's address. Sessions stay few, and no deadline lies in the past.
//!
//! A fuzzer cannot guess seals. Each message is therefore delivered as it is, with the seal of the
//! shared key, or with that of the session to which the receiver has agreed.

#![no_main]

use fairwave_machine::Machine;
use fairwave_probe::{Received, Receiver, ReceiverConfig};
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::probe::{self, CHALLENGE_LEN, Head, Limits, Message};
use fairwave_wire::seal::Key;
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;

const LABEL: &str = "fairwave probe 1";
const SESSIONS: usize = 2;

fn shared() -> Key {
    Key::new(&[7; 16]).expect("long enough")
}

fn limits() -> Limits {
    Limits { rate: BitRate::mbps(10), packets: 200, duration: Duration::from_secs(20) }
}

/// Kind of the packets that are sent on request.
const DATA: u8 = 5;
/// The port of all sessions: the fuzzer cannot answer challenges from other ports.
const PORT: u16 = 1;

/// Takes the receiver's output, and returns the last of its answers. At most one requested packet
/// is due at a time, since the session is paced; it is added to `ordered`.
fn drain(
    receiver: &mut Receiver,
    now: Instant,
    requested: usize,
    ordered: &mut u32,
) -> Option<Vec<u8>> {
    let (mut last, mut answered, mut data) = (None, 0, 0);
    while let Some(answer) = receiver.poll(now) {
        let head = Head::read(&answer.bytes).expect("its own message");
        if head.kind == DATA {
            assert_eq!(answer.to.port(), PORT, "a port that has no session");
            data += 1;
        } else {
            answered += answer.bytes.len();
            last = Some(answer.bytes);
        }
    }
    *ordered += data;
    assert!(data <= 1 && *ordered <= limits().packets, "{data} of {ordered} packets");
    assert!(answered <= requested, "{answered} bytes for {requested}");
    while receiver.event().is_some() {}
    assert!(receiver.sessions() <= SESSIONS);
    assert!(receiver.deadline().is_none_or(|deadline| deadline > now));
    last
}

/// Delivers a message, and returns the receiver's last answer.
fn say(
    receiver: &mut Receiver,
    now: Instant,
    bytes: Vec<u8>,
    port: u16,
    ordered: &mut u32,
) -> Option<Vec<u8>> {
    let requested = bytes.len();
    let from = SocketAddr::from(([10, 0, 0, 1], port));
    receiver.handle(now, Received { from, own: None, bytes });
    drain(receiver, now, requested, ordered)
}

/// Opens a session by the protocol. Returns its key.
fn open(receiver: &mut Receiver) -> Key {
    let mut hello = Vec::new();
    let greeting = Message::Hello { nonce: 1 };
    greeting.write(5, &shared(), CHALLENGE_LEN, &mut hello).expect("it fits");
    let answer = say(receiver, Instant::ZERO, hello, PORT, &mut 0).expect("a challenge");
    let Ok((5, Message::Challenge { cookie })) = probe::open(&answer, &shared()) else {
        panic!("no challenge")
    };
    let mut start = Vec::new();
    let begin = Message::Start { nonce: 1, cookie, wanted: limits() };
    begin.write(5, &shared(), 0, &mut start).expect("it fits");
    say(receiver, Instant::ZERO, start, PORT, &mut 0).expect("an agreement");
    probe::session_key(&shared(), 5, 1, &cookie)
}

fuzz_target!(|bytes: &[u8]| {
    let cookie_key = Key::new(&[3; 16]).expect("long enough");
    let idle = Duration::from_secs(5);
    let config =
        ReceiverConfig { key: shared(), cookie_key, limits: limits(), sessions: SESSIONS, idle };
    let mut receiver = Receiver::new(config);
    let session = open(&mut receiver);
    let (mut now, mut rest, mut ordered) = (Instant::ZERO, bytes, 0);
    while let [how, later, len, behind @ ..] = rest {
        now = now + Duration::from_millis(u64::from(*later) * 10);
        while let Some(deadline) = receiver.deadline().filter(|deadline| *deadline <= now) {
            receiver.wake(deadline);
            drain(&mut receiver, deadline, 0, &mut ordered);
        }
        let (message, after) = behind.split_at(usize::from(*len).min(behind.len()));
        rest = after;
        let mut message = message.to_vec();
        match how % 3 {
            0 => {}
            1 => message.extend(shared().tag(LABEL, &[&message]).0),
            _ => message.extend(session.tag(LABEL, &[&message]).0),
        }
        say(&mut receiver, now, message, u16::from(how / 3 % 4), &mut ordered);
    }
});
