//! What a receiver keeps, for how long, and how much it says.

mod orders;

use super::*;
use fairwave_machine::contract;
use fairwave_units::BitRate;
use fairwave_wire::probe::{CHALLENGE_LEN, MAX_REPORT_LEN};
use proptest::prelude::*;

fn key() -> Key {
    Key::new(&[9; 32]).unwrap()
}

fn limits(packets: u32) -> Limits {
    Limits { rate: BitRate::mbps(10), packets, duration: Duration::from_secs(20) }
}

fn receiver(packets: u32) -> Receiver {
    Receiver::new(ReceiverConfig {
        key: key(),
        cookie_key: Key::new(&[3; 16]).unwrap(),
        limits: limits(packets),
        sessions: 2,
        idle: Duration::from_secs(5),
    })
}

fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

fn from(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn sealed(session: u64, message: &Message, key: &Key, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(session, key, len, &mut bytes).unwrap();
    bytes
}

/// What `receiver` answers.
fn say(receiver: &mut Receiver, now: Instant, port: u16, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let requested = bytes.len();
    receiver.handle(now, Received { from: from(port), own: None, bytes });
    let answer = receiver.poll(now)?;
    assert!(answer.to == from(port) && answer.bytes.len() <= requested);
    assert_eq!(receiver.poll(now), None);
    Some(answer.bytes)
}

/// Greets, and returns the cookie.
fn greet(receiver: &mut Receiver, now: Instant, port: u16, session: u64) -> Cookie {
    let hello = sealed(session, &Message::Hello { nonce: 1 }, &key(), CHALLENGE_LEN);
    let answer = say(receiver, now, port, hello).expect("a greeting is answered");
    match probe::open(&answer, &key()) {
        Ok((id, Message::Challenge { cookie })) if id == session => cookie,
        other => panic!("{other:?}"),
    }
}

/// Returns the cookie; the answer to it, if it is sealed with the session's key or the shared one.
fn start(
    receiver: &mut Receiver,
    now: Instant,
    port: u16,
    session: u64,
    cookie: Cookie,
) -> Option<Message> {
    let message = Message::Start { nonce: 1, cookie, wanted: limits(1_000_000) };
    let answer = say(receiver, now, port, sealed(session, &message, &key(), 0))?;
    let own = probe::session_key(&key(), session, 1, &cookie);
    let opened = probe::open(&answer, &own).or_else(|_| probe::open(&answer, &key()));
    Some(opened.unwrap().1)
}

#[test]
fn nothing_is_kept_before_a_cookie_comes_back_from_where_it_was_sent() {
    let mut host = receiver(100);
    for port in 1..1_000 {
        greet(&mut host, at(1), port, 7);
    }
    assert_eq!((host.sessions(), host.deadline()), (0, None));
    let cookie = greet(&mut host, at(1), 1, 7);
    let refused = Some(Message::Refuse { reason: Refusal::Cookie });
    assert_eq!(start(&mut host, at(1), 2, 7, cookie), refused);
    assert_eq!(start(&mut host, at(1), 1, 8, cookie), refused);
    assert_eq!(start(&mut host, at(41), 1, 7, cookie), refused);
    assert_eq!(host.sessions(), 0);
    assert_eq!(
        start(&mut host, at(12), 1, 7, cookie),
        Some(Message::Accept { granted: limits(100) })
    );
    assert_eq!(host.sessions(), 1);
}

#[test]
fn short_greetings_and_strangers_get_no_answer() {
    let mut host = receiver(100);
    let hello = Message::Hello { nonce: 1 };
    let short = sealed(7, &hello, &key(), CHALLENGE_LEN - 1);
    assert_eq!(say(&mut host, at(1), 1, short), None);
    let unknown = sealed(7, &hello, &Key::new(&[0; 16]).unwrap(), 200);
    assert_eq!(say(&mut host, at(1), 1, unknown), None);
    assert_eq!(say(&mut host, at(1), 1, b"GET / HTTP/1.1".to_vec()), None);
}

#[test]
fn sessions_are_few_and_age() {
    let mut host = receiver(100);
    for session in [1, 2] {
        let cookie = greet(&mut host, at(0), 1, session);
        start(&mut host, at(0), 1, session, cookie);
    }
    let cookie = greet(&mut host, at(1), 2, 3);
    let busy = Some(Message::Refuse { reason: Refusal::Busy });
    assert_eq!(start(&mut host, at(1), 2, 3, cookie), busy);
    assert_eq!(host.deadline(), Some(at(5)));
    host.wake(at(5));
    assert_eq!(host.sessions(), 0);
    assert!(matches!(start(&mut host, at(5), 2, 3, cookie), Some(Message::Accept { .. })));
}

/// A session that is kept awake still ends: 20 s granted, and 5 s for the account.
#[test]
fn a_talkative_sender_does_not_stay_for_ever() {
    let mut host = receiver(100);
    let cookie = greet(&mut host, at(0), 1, 7);
    start(&mut host, at(0), 1, 7, cookie);
    let own = probe::session_key(&key(), 7, 1, &cookie);
    for second in 1..=24 {
        let data = Message::Data { train: 0, number: second as u32, sent: at(0) };
        assert_eq!(say(&mut host, at(second), 1, sealed(7, &data, &own, 0)), None);
    }
    assert_eq!((host.sessions(), host.deadline()), (1, Some(at(25))));
    host.wake(at(25));
    assert_eq!(host.sessions(), 0);
}

#[test]
fn an_account_has_each_packet_once_and_no_more_than_granted() {
    let mut host = receiver(4);
    let cookie = greet(&mut host, at(0), 1, 7);
    start(&mut host, at(0), 1, 7, cookie);
    let own = probe::session_key(&key(), 7, 1, &cookie);
    // Number 9 is beyond the packets granted, number 0 comes twice.
    for (second, number) in [(1, 0), (2, 0), (3, 9), (3, 2), (4, 1)] {
        let data = Message::Data { train: 0, number, sent: at(0) };
        say(&mut host, at(second), 1, sealed(7, &data, &own, 0));
    }
    let end = Message::End { train: 0, sent: 3, chunk: 0 };
    // A short question gets no long answer.
    assert_eq!(say(&mut host, at(5), 1, sealed(7, &end, &own, 0)), None);
    for second in [5, 6] {
        let answer = say(&mut host, at(second), 1, sealed(7, &end, &own, MAX_REPORT_LEN)).unwrap();
        let Ok((7, Message::Report(chunk))) = probe::open(&answer, &own) else { panic!() };
        let last_received: Vec<_> = chunk.records.iter().map(|r| (r.number, r.arrived)).collect();
        assert_eq!(last_received, [(0, at(1)), (2, at(3)), (1, at(4))]);
        assert_eq!((chunk.chunk, chunk.chunks), (0, 1));
    }
    assert_eq!(host.surplus(), 2);
    // One packet is left for the next train; then the account of the first is gone.
    for number in [0, 1] {
        let data = Message::Data { train: 1, number, sent: at(0) };
        say(&mut host, at(7), 1, sealed(7, &data, &own, 0));
    }
    assert_eq!(say(&mut host, at(7), 1, sealed(7, &end, &own, MAX_REPORT_LEN)), None);
    let end = Message::End { train: 1, sent: 2, chunk: 0 };
    let answer = say(&mut host, at(8), 1, sealed(7, &end, &own, MAX_REPORT_LEN)).unwrap();
    let Ok((7, Message::Report(chunk))) = probe::open(&answer, &own) else { panic!() };
    assert_eq!(chunk.records.len(), 1);
    say(&mut host, at(9), 1, sealed(7, &Message::Done, &own, 0));
    assert_eq!(host.sessions(), 0);
}

/// Who has heard a Start on the way can repeat it while its cookie is good. It brings nothing
/// back, and takes nobody's place.
#[test]
fn a_session_that_is_over_does_not_come_back() {
    let mut host = receiver(100);
    let cookie = greet(&mut host, at(0), 1, 7);
    start(&mut host, at(0), 1, 7, cookie);
    let own = probe::session_key(&key(), 7, 1, &cookie);
    say(&mut host, at(1), 1, sealed(7, &Message::Done, &own, 0));
    for second in [1, 9, 19] {
        let refused = Some(Message::Refuse { reason: Refusal::Cookie });
        assert_eq!(start(&mut host, at(second), 1, 7, cookie), refused);
        assert_eq!((host.sessions(), host.deadline()), (0, None));
    }
    for session in 100..1_000 {
        let cookie = greet(&mut host, at(2), 1, session);
        let accepted = start(&mut host, at(2), 1, session, cookie);
        assert!(matches!(accepted, Some(Message::Accept { .. })), "{session}: {accepted:?}");
        let own = probe::session_key(&key(), session, 1, &cookie);
        say(&mut host, at(2), 1, sealed(session, &Message::Done, &own, 0));
        assert!(host.ended.len() <= MAX_ENDED);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every answer is checked by `say`; the contract by its own test line.
    #[test]
    fn anything_may_be_said(
        list in prop::collection::vec(
            (0..6_u64, 1..4_u16, 0..3_u64, 0..7_u8, 0..5_u16, any::<u32>(), 0..1_300_usize), 0..60,
        ),
    ) {
        let mut host = receiver(50);
        let cookie = greet(&mut host, at(0), 1, 0);
        start(&mut host, at(0), 1, 0, cookie);
        let own = probe::session_key(&key(), 0, 1, &cookie);
        let mut now = at(0);
        let mut inputs = Vec::new();
        for (secs, port, session, kind, small, large, len) in list {
            now += Duration::from_secs(secs);
            let message = match kind {
                0 => Message::Hello { nonce: 1 },
                1 => Message::Start { nonce: 1, cookie, wanted: limits(large) },
                2 => Message::Data { train: small, number: large % 64, sent: now },
                3 => Message::Data { train: small, number: large, sent: now },
                4 => Message::End { train: small, sent: large, chunk: small / 2 },
                5 => Message::Done,
                _ => Message::Accept { granted: limits(large) },
            };
            let key = if kind < 2 { key() } else { own.clone() };
            let bytes = sealed(session, &message, &key, len);
            inputs.push((now, Received { from: from(port), own: None, bytes: bytes.clone() }));
            say(&mut host, now, port, bytes);
            prop_assert!(host.sessions() <= 2);
        }
        contract::check(&mut receiver(50), inputs, now + Duration::from_secs(60));
    }
}
