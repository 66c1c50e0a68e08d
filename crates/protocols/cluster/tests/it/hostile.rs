//! Outsiders, who have no key, change nothing and are not answered with more than they send;
//! whoever has the key and breaks rules gets no more than the limits, and memory stays bounded.

use crate::common::{
    Net, Sent, Weather, address, at, cluster_key, elsewhere, id, kbps, lend, ms, secs, uplink, want,
};
use fairwave_cluster::{Event, Input, Limits, To, Uplink};
use fairwave_wire::cluster::{
    ANNOUNCE_LEN, Body, Cookie, Grant, HELLO_LEN, LeaseRequest, Meeting, MemberId, Message, Name,
    Offers, Rates, Refusal, Role, cluster_id, parse,
};
use fairwave_wire::seal::Key;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

fn phone() -> Uplink {
    let nominal = kbps(2_000, 10_000);
    Uplink { limits: Limits { borrowers: 3, ..Limits::half_of(nominal) }, ..uplink(3, nominal) }
}

/// Member 1 has a lease of member 0; member 2 only listens.
fn borrowed() -> Net {
    let mut net = Net::calm(3);
    net.notify(0, lend(&[phone()]));
    net.run_until(at(500));
    net.notify(1, Input::Want(Some(want(1, kbps(400, 400)))));
    net.run_for(secs(2));
    assert_eq!(net.paths(1), [1]);
    net
}

/// Somebody who writes what he likes with the keys that he has.
struct Actor {
    id: MemberId,
    address: SocketAddr,
    number: u64,
    key: Key,
}

impl Actor {
    fn new(id: u64, host: u8) -> Self {
        let id = MemberId(NonZeroU64::new(id).unwrap());
        Self { id, address: elsewhere(host), number: 1 << 32, key: cluster_key() }
    }

    fn bytes(&mut self, to: usize, key: &Key, body: Body) -> Vec<u8> {
        self.number += 1;
        let number = NonZeroU64::new(self.number).unwrap();
        let to = (!body.is_public()).then(|| id(to));
        let cluster = cluster_id(&cluster_key());
        let message = Message { cluster, from: self.id, to, number, body };
        let mut bytes = Vec::new();
        message.write(key, &mut bytes);
        bytes
    }

    fn say(&mut self, net: &mut Net, to: usize, body: Body) -> Vec<Body> {
        let key = self.key.clone();
        self.say_within(net, to, &key, body)
    }

    /// Says something; what is said to this address in answer.
    fn say_within(&mut self, net: &mut Net, to: usize, key: &Key, body: Body) -> Vec<Body> {
        let bytes = self.bytes(to, key, body);
        let before = net.sent.len();
        net.inject(to, self.address, &bytes);
        let answers = net.sent[before..].iter().filter(|sent| sent.to == To::One(self.address));
        answers.map(Sent::body).collect()
    }

    /// A cookie of member 0.
    fn greet(&mut self, net: &mut Net, nonce: u64) -> Option<Cookie> {
        match self.say(net, 0, Body::Hello { nonce })[..] {
            [Body::Challenge { nonce: same, cookie }] if same == nonce => Some(cookie),
            _ => None,
        }
    }

    fn meeting(&self, nonce: u64, cookie: Cookie) -> Key {
        Meeting { borrower: self.id, lender: id(0), nonce, cookie }.key(&cluster_key())
    }

    /// A session with member 0: its key.
    fn join(&mut self, net: &mut Net) -> Option<Key> {
        let cookie = self.greet(net, 9)?;
        let key = self.meeting(9, cookie);
        let answers = self.say_within(net, 0, &key, Body::Response { nonce: 9, cookie });
        (answers == [Body::Welcome]).then_some(key)
    }
}

fn ask(lease: u32, rates: Rates) -> Body {
    let lease = NonZeroU32::new(lease).unwrap();
    Body::LeaseRequest(LeaseRequest {
        lease,
        uplink: 3,
        at_ms: 0,
        rates,
        bytes: u64::MAX,
        duration_ms: u32::MAX,
    })
}

#[test]
fn a_response_that_was_held_back_does_not_end_a_session() {
    let mut net = borrowed();
    let mut actor = Actor::new(0x900, 1);
    let first = actor.greet(&mut net, 1).unwrap();
    let key = actor.meeting(1, first);
    let held_back = actor.bytes(0, &key, Body::Response { nonce: 1, cookie: first });
    let key = actor.join(&mut net).unwrap();
    actor.say_within(&mut net, 0, &key, ask(1, kbps(10, 10)));
    assert_eq!(net.member(0).census().lent, 2);
    net.inject(0, actor.address, &held_back);
    assert_eq!(net.member(0).refused().replayed, 1);
    assert_eq!(net.member(0).census().lent, 2);
}

#[test]
fn a_session_that_is_over_does_not_come_back() {
    let mut net = borrowed();
    let mut actor = Actor::new(0x900, 1);
    let cookie = actor.greet(&mut net, 1).unwrap();
    let key = actor.meeting(1, cookie);
    let response = actor.bytes(0, &key, Body::Response { nonce: 1, cookie });
    net.inject(0, actor.address, &response);
    assert_eq!(net.member(0).census().borrowers, 2);
    let left = actor.say_within(&mut net, 0, &key, Body::Leave { by: Role::Borrower });
    assert_eq!(left, [Body::Left { by: Role::Lender }]);
    assert_eq!(net.member(0).census().borrowers, 1);
    net.inject(0, actor.address, &response);
    assert_eq!((net.member(0).census().borrowers, net.member(0).refused().cookie), (1, 1));
}

/// The release overtook the ask: nobody would use what the ask gets.
#[test]
fn an_ask_that_comes_after_its_release_gets_nothing() {
    let mut net = borrowed();
    let mut actor = Actor::new(0x900, 1);
    let key = actor.join(&mut net).unwrap();
    let lease = NonZeroU32::MIN;
    let over = [Body::Over { lease }];
    assert_eq!(actor.say_within(&mut net, 0, &key, Body::Release { lease }), over);
    assert_eq!(actor.say_within(&mut net, 0, &key, ask(1, kbps(10, 10))), over);
    assert_eq!(net.member(0).census().lent, 1);
    assert_eq!(actor.say_within(&mut net, 0, &key, ask(2, kbps(10, 10))).len(), 1);
    assert_eq!(net.member(0).census().lent, 2);
}

#[test]
fn a_cookie_is_good_at_its_address_and_for_a_while() {
    let mut net = borrowed();
    let mut actor = Actor::new(0x900, 1);
    let cookie = actor.greet(&mut net, 1).unwrap();
    let key = actor.meeting(1, cookie);
    let response = Body::Response { nonce: 1, cookie };
    actor.address = elsewhere(2);
    let refused = [Body::Refuse { nonce: 1, reason: Refusal::Cookie }];
    assert_eq!(actor.say_within(&mut net, 0, &key, response), refused);
    actor.address = elsewhere(1);
    net.run_for(secs(20));
    assert_eq!(actor.say_within(&mut net, 0, &key, response), refused);
    assert_eq!(net.member(0).census().borrowers, 1);
}

#[test]
fn without_the_key_of_a_session_its_messages_mean_nothing() {
    let mut net = borrowed();
    // Everybody has the key of the cluster; this one takes the borrower's name.
    let mut actor = Actor::new(0x101, 1);
    actor.number += 1 << 20;
    let lease = NonZeroU32::MIN;
    for body in [Body::Release { lease }, ask(1, kbps(1, 1)), Body::Leave { by: Role::Borrower }] {
        assert_eq!(actor.say(&mut net, 0, body), []);
    }
    assert_eq!((net.member(0).refused().forged, net.member(0).census().lent), (3, 1));
    let mut nobody = Actor::new(0x999, 1);
    assert_eq!(nobody.say(&mut net, 0, Body::Release { lease }), []);
    assert_eq!(net.member(0).refused().no_session, 1);
}

/// Members under false names take no more than the places that there are, and the share of whoever
/// was there stays his.
#[test]
fn a_flood_of_joins_and_leases_is_bounded() {
    let mut net = borrowed();
    let before = net.member(1).held().next().unwrap().over.rates;
    let mut joined = 0;
    for number in 0..400 {
        let mut actor = Actor::new(0x1_000 + number, (number / 8) as u8);
        if let Some(key) = actor.join(&mut net) {
            joined += 1;
            actor.say_within(&mut net, 0, &key, ask(1, kbps(90_000, 90_000)));
            actor.say_within(&mut net, 0, &key, ask(1, kbps(90_000, 90_000)));
        }
        let census = net.member(0).census();
        assert!(census.lent <= 3 && census.borrowers <= 16 && census.cookies <= 256, "{census:?}");
        net.run_for(ms(20));
    }
    assert!(joined > 100, "{joined}");
    let rates = net.member(0).lent().find(|lent| lent.lease.borrower == id(1)).unwrap().rates;
    assert_eq!((rates.up.0, before.up.0), (333_333, 400_000), "a third");
    assert_eq!(net.paths(1), [1]);
    assert!(net.member(0).refused().denied > 50);
    net.run_for(secs(100));
    assert_eq!((net.member(0).census().borrowers, net.member(0).census().lent), (1, 1));
}

#[test]
fn one_address_has_few_sessions_and_an_idle_one_makes_room() {
    let mut net = borrowed();
    let mut actors: Vec<_> = (0..6).map(|number| Actor::new(0x900 + number, 1)).collect();
    let keys: Vec<_> = actors.iter_mut().map(|actor| actor.join(&mut net).unwrap()).collect();
    assert_eq!(net.member(0).census().borrowers, 1 + 4);
    // The first two are gone; a lease keeps a session.
    assert_eq!(actors[0].say_within(&mut net, 0, &keys[0], ask(1, kbps(9, 9))), []);
    assert_eq!(actors[2].say_within(&mut net, 0, &keys[2], ask(1, kbps(9, 9))).len(), 1);
    for number in 0..20 {
        assert!(Actor::new(0xa00 + number, 1).join(&mut net).is_some());
    }
    assert_eq!(net.member(0).census().borrowers, 1 + 4);
    assert_eq!(net.member(0).census().lent, 2);
}

/// Greetings come faster than strangers are answered; a session goes on beside them.
#[test]
fn a_flood_of_greetings_is_answered_at_a_bounded_rate() {
    let mut net = borrowed();
    let start = net.now;
    let mut actor = Actor::new(0x900, 1);
    let mut answers = 0;
    while net.now < start + secs(10) {
        for nonce in 0..10 {
            answers += actor.say(&mut net, 0, Body::Hello { nonce }).len();
        }
        net.run_for(ms(10));
    }
    // 50 a second, and a bucket of 3000 bytes.
    assert!((480..=540).contains(&answers), "{answers} answers");
    assert!(net.member(0).refused().strangers > 9_000);
    net.run_for(secs(30));
    assert_eq!(net.paths(1), [1]);
}

#[test]
fn a_lender_that_grants_what_was_not_asked_is_not_believed() {
    let mut net = Net::calm(2);
    let mut actor = Actor::new(0x900, 7);
    let name = Name::new("liar").unwrap();
    let mut offers = Offers::default();
    let nominal = kbps(1_000, 1_000);
    offers.push(fairwave_wire::cluster::Offer {
        uplink: 3,
        kind: fairwave_wire::cluster::Kind::Wired,
        cost: fairwave_wire::cluster::Cost::Flat,
        places: 9,
        rtt_us: None,
        nominal,
        free: nominal,
    });
    let interval_ds = NonZeroU16::new(50).unwrap();
    net.run_until(at(5_000));
    net.notify(1, Input::Want(Some(want(1, nominal))));
    let announce = fairwave_wire::cluster::Announce { name, interval_ds, offers };
    let hello = actor.say(&mut net, 1, Body::Announce(announce));
    let [Body::Hello { nonce }] = hello[..] else { panic!("no greeting: {hello:?}") };
    let cookie = [7; 16];
    let meeting = Meeting { borrower: id(1), lender: actor.id, nonce, cookie };
    let key = meeting.key(&cluster_key());
    let other = Body::Challenge { nonce, cookie: [8; 16] };
    let held_back = actor.bytes(1, &cluster_key(), other);
    let answers = actor.say(&mut net, 1, Body::Challenge { nonce, cookie });
    assert_eq!(answers, [Body::Response { nonce, cookie }]);
    net.inject(1, actor.address, &held_back);
    assert_eq!(net.member(1).refused().replayed, 1, "an older challenge is not answered");
    let requested = actor.say_within(&mut net, 1, &key, Body::Welcome);
    let [Body::LeaseRequest(LeaseRequest { lease, at_ms, .. })] = requested[..] else {
        panic!("nothing: {requested:?}")
    };
    let grant = |lease: u32, at_ms: u32| {
        let (lease, duration_ms) = (NonZeroU32::new(lease).unwrap(), NonZeroU32::MAX);
        Body::Grant(Grant { lease, at_ms, rates: nominal, bytes: 1, duration_ms })
    };
    let unknown = actor.say_within(&mut net, 1, &key, grant(77, at_ms));
    assert_eq!(unknown, [Body::Release { lease: NonZeroU32::new(77).unwrap() }]);
    // From the future, and from before the host was there.
    for wrong in [at_ms.wrapping_add(1), at_ms.wrapping_sub(6_000)] {
        actor.say_within(&mut net, 1, &key, grant(lease.get(), wrong));
    }
    assert_eq!((net.paths(1), net.member(1).refused().stray), (vec![], 2));
    // Of two messages about rates the later one counts, whichever comes first.
    let late = actor.bytes(1, &key, Body::Terms { lease, rates: kbps(1, 1) });
    actor.say_within(&mut net, 1, &key, grant(lease.get(), at_ms));
    net.inject(1, actor.address, &late);
    assert_eq!(net.member(1).held().next().unwrap().over.rates, nominal);
    let held = net.member(1).held().next().unwrap();
    assert!(held.ends <= net.now + secs(20), "as long as was wanted, not 49 days");
    net.run_for(secs(60));
    assert_eq!(net.paths(1), []);
}

/// Whoever plays a recorded announcement under another's address makes nobody send to that one more
/// than was played.
#[test]
fn an_announcement_calls_for_three_greetings_and_no_more() {
    let mut net = borrowed();
    let recorded = net.sent.iter().find(|sent| matches!(sent.body(), Body::Announce(_)));
    let recorded = recorded.unwrap().bytes.clone();
    net.members[0] = None;
    net.members[1] = None;
    net.run_for(secs(30));
    net.sent.clear();
    net.notify(2, Input::Want(Some(want(1, kbps(100, 100)))));
    let mut played = 0;
    for _ in 0..40 {
        net.inject(2, elsewhere(1), &recorded);
        played += recorded.len();
        net.run_for(secs(1));
        let to_victim = net.sent.iter().filter(|sent| sent.to == To::One(elsewhere(1)));
        let got: usize = to_victim.map(|sent| sent.bytes.len()).sum();
        assert!(got >= 3 * HELLO_LEN || played < 600, "it is greeted at all");
        assert!(got <= played, "{got} bytes for {played}");
        // Believed once until it is forgotten after 17.5 s: 40 s have three times.
        assert!(got <= 9 * HELLO_LEN, "{got} bytes");
    }
}

/// What is kept does not grow with what is said.
#[test]
fn memory_is_bounded() {
    let mut net = borrowed();
    let mut actor = Actor::new(0x900, 1);
    let member = net.members[0].as_mut().unwrap();
    let counted = allocation_counter::measure(|| {
        for n in 0..20_000u64 {
            actor.id = MemberId(NonZeroU64::new(0x1_000 + n).unwrap());
            actor.address = elsewhere((n % 251) as u8);
            let offers = Offers::default();
            let interval_ds = NonZeroU16::MAX;
            let announce =
                fairwave_wire::cluster::Announce { name: Name::default(), interval_ds, offers };
            let key = actor.key.clone();
            let cookie = [n as u8; 16];
            let session = actor.meeting(n, cookie);
            let printed = [
                actor.bytes(0, &key, Body::Announce(announce)),
                actor.bytes(0, &key, Body::Hello { nonce: n }),
                actor.bytes(0, &session, Body::Response { nonce: n, cookie }),
                actor.bytes(0, &key, Body::Refuse { nonce: n, reason: Refusal::Busy }),
            ];
            for bytes in printed {
                use fairwave_machine::Machine;
                let now = net.now;
                member.handle(now, Input::Datagram { from: actor.address, bytes });
                while member.poll(now).is_some() {}
                while member.event().is_some() {}
            }
        }
    });
    assert!(counted.bytes_current < 100_000, "{} bytes are kept", counted.bytes_current);
    assert_eq!(net.member(0).census().members, 64);
}

#[derive(Clone, Debug)]
enum Mischief {
    /// A message that was sent before, changed in one bit or cut if that is said.
    Replay { which: usize, to: usize, from: Option<u8>, flip: Option<usize>, keep: Option<usize> },
    /// Bytes of one's own, behind a head that looks right.
    Make { to: usize, from: Option<u8>, kind: u8, as_member: usize, body: Vec<u8> },
}

fn mischief() -> impl Strategy<Value = Mischief> {
    let from = || prop::option::weighted(0.7, 0..4u8);
    let replay = (
        any::<usize>(),
        0..3usize,
        from(),
        prop::option::weighted(0.3, any::<usize>()),
        prop::option::weighted(0.1, any::<usize>()),
    );
    let make = (0..3usize, from(), 0..20u8, 0..4usize, prop::collection::vec(any::<u8>(), 0..260));
    prop_oneof![
        3 => replay.prop_map(|(which, to, from, flip, keep)| {
            Mischief::Replay { which, to, from, flip, keep }
        }),
        1 => make.prop_map(|(to, from, kind, as_member, body)| {
            Mischief::Make { to, from, kind, as_member, body }
        }),
    ]
}

/// What an outsider makes of what he has recorded.
fn make(net: &Net, mischief: &Mischief) -> (usize, Option<u8>, Vec<u8>) {
    match mischief {
        Mischief::Replay { which, to, from, flip, keep } => {
            let mut bytes = net.sent[which % net.sent.len()].bytes.clone();
            if let Some(bit) = flip {
                let bit = bit % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            if let Some(keep) = keep {
                bytes.truncate(keep % bytes.len());
            }
            (*to, *from, bytes)
        }
        Mischief::Make { to, from, kind, as_member, body } => {
            let cluster = cluster_id(&cluster_key()).to_be_bytes();
            let ids = [id(*as_member), id(*to)].map(|id| id.0.get().to_be_bytes());
            let number = (5u64 << 32).to_be_bytes();
            let head = [&b"FWcl"[..], &[1, *kind, 0, 0], &cluster, &ids[0], &ids[1], &number];
            (*to, *from, [head.concat(), body.clone()].concat())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// An outsider who hears all, sends under any address and holds nothing back: leases stay as
    /// they were, and nobody gets more bytes than he has sent.
    #[test]
    fn outsiders_change_nothing(
        printed in prop::collection::vec((mischief(), 0..2_000u64), 1..150),
    ) {
        let mut net = borrowed();
        net.set_weather(Weather { delay: ms(2), jitter: ms(5), ..Weather::default() });
        let (mut sent, mut got) = ([0; 4], [0; 4]);
        let events = net.events.iter().map(Vec::len).collect::<Vec<_>>();
        let mut seen = net.sent.len();
        for (mischief, pause) in printed {
            let (to, host, bytes) = make(&net, &mischief);
            let from = host.map_or(address(1 - to.min(1)), elsewhere);
            net.inject(to, from, &bytes);
            if let Some(host) = host {
                sent[usize::from(host)] += bytes.len();
            }
            net.run_for(ms(pause));
            for message in &net.sent[seen..] {
                for host in 0..4u8 {
                    if message.to == To::One(elsewhere(host)) {
                        got[usize::from(host)] += message.bytes.len();
                    }
                }
            }
            seen = net.sent.len();
            for host in 0..4 {
                prop_assert!(got[host] <= sent[host], "{:?} for {:?}", got, sent);
            }
            let lent: Vec<_> = net.member(0).lent().collect();
            prop_assert!(lent.len() == 1 && lent[0].lease.borrower == id(1), "{:?}", lent);
            prop_assert_eq!(lent[0].rates, kbps(400, 400));
        }
        for (events, before) in net.events.iter().zip(events) {
            let is_of_table =
                |event: &Event| matches!(event, Event::Found { .. } | Event::Lost { .. });
            let changed = events[before..].iter().filter(|(_, event)| !is_of_table(event));
            prop_assert_eq!(changed.count(), 0);
        }
        prop_assert_eq!(net.paths(1), [1]);
        let census = net.member(2).census();
        prop_assert!(census.members <= 2 && census.lenders == 0);
    }
}

#[test]
fn the_lengths_that_the_tests_above_rely_on() {
    let hello = Actor::new(1, 1).bytes(0, &cluster_key(), Body::Hello { nonce: 1 });
    assert_eq!((hello.len(), HELLO_LEN, ANNOUNCE_LEN), (80, 80, 252));
    assert!(matches!(parse(&hello).unwrap().unchecked().body, Body::Hello { nonce: 1 }));
}
