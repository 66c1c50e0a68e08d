//! Packets that are asked for: to whom they go, how many and how long; and that nobody else gets
//! more than was sent in their name.

use super::*;
use fairwave_units::Seed;
use fairwave_wire::probe::Order;

fn order(train: u16, packets: u32) -> Order {
    let (spaced, interval) = (0, Duration::ZERO);
    let rate = BitRate::mbps(1_000);
    Order { train, payload_bytes: 1_222, packets, spaced, interval, rate }
}

/// A receiver with a session of port 1, and its key.
fn agreed(packets: u32) -> (Receiver, Key) {
    let mut host = receiver(packets);
    let cookie = greet(&mut host, at(0), 1, 7);
    start(&mut host, at(0), 1, 7, cookie);
    let own = probe::session_key(&key(), 7, 1, &cookie);
    (host, own)
}

fn fetch(host: &mut Receiver, now: Instant, order: Order, own: &Key) {
    let bytes = sealed(7, &Message::Fetch(order), own, 0);
    host.handle(now, Received { from: from(1), own: None, bytes });
}

/// When each packet goes, until the host has nothing more to do but forget the session.
fn sent(host: &mut Receiver, until: Instant) -> Vec<Instant> {
    let mut times = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        times.extend(std::iter::from_fn(|| host.poll(now)).map(|_| now));
        match host.deadline() {
            Some(next) if next <= until => now = next,
            _ => return times,
        }
        host.wake(now);
    }
}

/// 1250 bytes of IP at the 10 Mbps granted are 1 ms, whatever rate is asked for. Packets go for 2 s
/// after the last order: 2000.
#[test]
fn packets_go_at_the_rate_granted_while_they_are_asked_for() {
    let (mut host, own) = agreed(1_000_000);
    fetch(&mut host, at(0), order(0, 9_000), &own);
    let times = sent(&mut host, at(4));
    assert_eq!(times.len(), 2_000);
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_millis(1)));
    fetch(&mut host, at(4), order(0, 9_000), &own);
    // A train that is asked for anew does not bring back the rate's beginning.
    let first = host.poll(at(4)).is_some();
    fetch(&mut host, at(4), order(1, 9_000), &own);
    assert!(first && host.poll(at(4)).is_none());
}

/// A host with several addresses answers from the one that it is asked at.
#[test]
fn packets_go_from_the_address_that_they_are_asked_for_at() {
    let (mut host, own) = agreed(10);
    for (train, last) in [(1, 2), (2, 3)] {
        let now = at(train.into());
        let bytes = sealed(7, &Message::Fetch(order(train, 1)), &own, 0);
        let at_address = Some(IpAddr::from([10, 0, 0, last]));
        host.handle(now, Received { from: from(1), own: at_address, bytes });
        assert_eq!(host.poll(now).expect("a packet").own, at_address);
    }
}

#[test]
fn an_account_ends_a_train_and_what_was_granted_all_of_them() {
    let (mut host, own) = agreed(10);
    fetch(&mut host, at(0), order(0, 6), &own);
    assert_eq!(sent(&mut host, at(1)).len(), 6);
    let again = sealed(7, &Message::Fetch(order(0, 6)), &own, 0);
    let answer = say(&mut host, at(2), 1, again).expect("word that these were all");
    let all = Message::Sent { train: 0, packets: 6 };
    assert_eq!(probe::open(&answer, &own), Ok((7, all)));
    let end = sealed(7, &Message::End { train: 0, sent: 6, chunk: 0 }, &own, MAX_REPORT_LEN);
    let answer = say(&mut host, at(2), 1, end).expect("an account");
    let Ok((7, Message::Report(chunk))) = probe::open(&answer, &own) else { panic!() };
    assert_eq!(chunk.records.len(), 6);
    fetch(&mut host, at(2), order(0, 6), &own);
    assert_eq!(host.poll(at(2)), None, "its account is closed");
    fetch(&mut host, at(2), order(1, 600), &own);
    assert_eq!(sent(&mut host, at(4)).len(), 4, "ten are granted");
}

/// What goes to the other's port counts as from there, whoever sent it.
#[derive(Default)]
struct Tally {
    came: u64,
    left: u64,
}

/// Two hosts with the key. One of them also writes the other's address on what it sends, and
/// knows everything but what only the other gets.
struct Forger {
    host: Receiver,
    now: Instant,
    /// Messages that the forger has sent or got, to repeat under any address.
    last_received: Vec<Vec<u8>>,
    /// The forger's cookie of each session, if it has one.
    cookies: [Option<Cookie>; 3],
    victim: Tally,
}

const FORGER: u16 = 1;
const VICTIM: u16 = 2;

impl Forger {
    fn drain(&mut self) {
        while let Some(out) = self.host.poll(self.now) {
            if out.to == from(VICTIM) {
                self.victim.left += out.bytes.len() as u64;
            } else {
                if let Ok((id, Message::Challenge { cookie })) = probe::open(&out.bytes, &key()) {
                    self.cookies[id as usize] = Some(cookie);
                }
                self.last_received.push(out.bytes);
            }
        }
    }

    fn say(&mut self, port: u16, bytes: Vec<u8>) {
        if port == VICTIM {
            self.victim.came += bytes.len() as u64;
        }
        self.last_received.push(bytes.clone());
        self.host.handle(self.now, Received { from: from(port), own: None, bytes });
        self.drain();
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(next) = self.host.deadline().filter(|next| *next <= until) {
            self.now = next;
            self.host.wake(next);
            self.drain();
        }
        self.now = until;
    }

    fn message(&self, kind: u8, session: usize, numbers: (u16, u32)) -> (Message, Key) {
        let cookie = self.cookies[session].unwrap_or([numbers.0 as u8; 16]);
        let own = probe::session_key(&key(), session as u64, 1, &cookie);
        let train = numbers.0 % 3;
        match kind {
            0 | 1 => (Message::Hello { nonce: 1 }, key()),
            2 | 3 => (Message::Start { nonce: 1, cookie, wanted: limits(numbers.1) }, key()),
            4 => (Message::Data { train, number: numbers.1 % 99, sent: self.now }, own),
            5 => (Message::End { train, sent: numbers.1, chunk: 0 }, own),
            _ => (Message::Fetch(order(train, numbers.1)), own),
        }
    }
}

/// Whether a message comes from the victim's address.
fn forged() -> impl Strategy<Value = bool> {
    any::<bool>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Nobody is made a target: an address that never gave back a cookie gets at most as many
    /// bytes as came in its name, whatever somebody with the key sends from there and from his
    /// own address, and whatever of that is repeated.
    #[test]
    fn an_address_that_has_proven_nothing_gets_no_more_than_it_sent(
        deeds in prop::collection::vec(
            (0..3_000_u64, 0..10_u8, 0..3_usize, any::<(u16, u32)>(), 0..1_300_usize, forged()),
            0..80,
        ),
    ) {
        let mut forger = Forger {
            host: receiver(2_000),
            now: at(0),
            last_received: Vec::new(),
            cookies: [None; 3],
            victim: Tally::default(),
        };
        for (millis, kind, session, numbers, len, forged) in deeds {
            forger.pass(Duration::from_millis(millis));
            let port = if forged { VICTIM } else { FORGER };
            let bytes = if kind >= 8 && !forger.last_received.is_empty() {
                forger.last_received[numbers.1 as usize % forger.last_received.len()].clone()
            } else {
                let (message, own) = forger.message(kind, session, numbers);
                sealed(session as u64, &message, &own, len)
            };
            forger.say(port, bytes);
            let Tally { came, left } = forger.victim;
            prop_assert!(left <= came, "{left} bytes for {came}");
            prop_assert!(forger.host.sessions() <= 2);
        }
        forger.pass(Duration::from_secs(60));
        let Tally { came, left } = forger.victim;
        prop_assert!(left <= came, "{left} bytes for {came}, afterwards");
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The forger does get what he asks for, so that the property above says something; and no
    /// more than is granted, at the rate granted.
    #[test]
    fn who_has_a_session_gets_what_is_granted(seed: u64, packets in 1..4_000_u32) {
        let (mut host, own) = agreed(500);
        let mut random = Seed(seed).stream("orders");
        let (mut train, mut count, mut last) = (0, 0, None::<Instant>);
        let mut now = at(0);
        while now < at(30) {
            train += random.below(2) as u16;
            fetch(&mut host, now, order(train, packets), &own);
            let until = now + Duration::from_millis(random.below(900));
            loop {
                while let Some(out) = host.poll(now) {
                    if !matches!(probe::open(&out.bytes, &own), Ok((7, Message::Data { .. }))) {
                        continue;
                    }
                    let gap = last.map_or(Duration::MAX, |last| now.since(last));
                    prop_assert!(gap >= Duration::from_millis(1), "{gap:?}");
                    (count, last) = (count + 1, Some(now));
                }
                let Some(next) = host.deadline().filter(|next| *next <= until) else { break };
                prop_assert!(next > now);
                now = next;
                host.wake(now);
            }
            now = until + Duration::from_millis(1);
        }
        prop_assert!((1..=500).contains(&count), "{count} packets");
        prop_assert!(last.is_some_and(|last| last < at(20)), "within the time granted");
    }
}
