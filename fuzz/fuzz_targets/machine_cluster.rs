//! A member of a cluster, with any messages of outsiders and insiders and any action of its host.
//! Its output ends, it never wakes in the past, and its state stays bounded.

#![no_main]

use fairwave_cluster::{Config, Input, LeaseId, Limits, Member, Power, Uplink, Uplinks, Want, Way};
use fairwave_machine::Machine;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::cluster::{
    self, ANNOUNCE_LEN, Announce, Body, Cost, Grant, HELLO_LEN, Kind, LeaseRequest, Meeting,
    MemberId, Message, Name, Offer, Offers, Rates,
};
use fairwave_wire::seal::{Key, TAG_LEN};
use libfuzzer_sys::fuzz_target;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

const VICTIM: u64 = 0x100;
const COOKIE: [u8; 16] = [3; 16];

fn id(number: u64) -> MemberId {
    MemberId(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
}

/// The fuzzer's bytes; zeros after their end.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u64 {
        u64::from(self.byte()) << 8 | u64::from(self.byte())
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

fn rates(tape: &mut Tape<'_>) -> Rates {
    let mut rate = || BitRate(tape.short() << (tape.byte() % 48));
    Rates { up: rate(), down: rate() }
}

struct Stage {
    member: Member,
    now: Instant,
    number: u64,
    cluster: Key,
    /// Sessions with the victim: the first in which it lends to the insider, the second in which it
    /// borrows from the insider.
    sessions: [Option<Key>; 2],
}

impl Stage {
    fn new() -> Self {
        let cluster = Key::new(b"the secret of this cluster").expect("it is long enough");
        let secret = cluster.derive("of one start", &[]);
        let name = Name::new("victim").expect("it is short");
        let config = Config { lend_metered: true, ..Config::new(id(VICTIM), name, 1) };
        let member = Member::new(config, cluster.clone(), secret, Instant::ZERO);
        let member = member.expect("times within bounds");
        Self { member, now: Instant::ZERO, number: 1 << 32, cluster, sessions: [None, None] }
    }

    /// Takes all outputs. The insider answers as if it wanted a session and leases.
    fn drain(&mut self, insider: u64) {
        let mut outputs = 0;
        while let Some(output) = self.member.poll(self.now) {
            outputs += 1;
            assert!(outputs < 1_000, "a drain does not end");
            assert!(output.bytes.len() <= ANNOUNCE_LEN);
            let claim = cluster::parse(&output.bytes).expect("what it says can be read");
            let (peer, victim) = (id(insider), id(VICTIM));
            let (answer, key) = match claim.unchecked().body {
                Body::Challenge { nonce, cookie } => {
                    let meeting = Meeting { borrower: peer, lender: victim, nonce, cookie };
                    self.sessions[0] = Some(meeting.key(&self.cluster));
                    (Body::Response { nonce, cookie }, self.sessions[0].clone())
                }
                Body::Hello { nonce } => {
                    let (borrower, lender, cookie) = (victim, peer, COOKIE);
                    let meeting = Meeting { borrower, lender, nonce, cookie };
                    self.sessions[1] = Some(meeting.key(&self.cluster));
                    (Body::Challenge { nonce, cookie }, None)
                }
                Body::Response { .. } => (Body::Welcome, self.sessions[1].clone()),
                Body::LeaseRequest(request) => {
                    let LeaseRequest { lease, at_ms, rates, bytes, duration_ms, .. } = request;
                    let Some(duration_ms) = NonZeroU32::new(duration_ms) else { continue };
                    let grant = Grant { lease, at_ms, rates, bytes, duration_ms };
                    (Body::Grant(grant), self.sessions[1].clone())
                }
                _ => continue,
            };
            self.say(insider, answer, key.as_ref());
        }
        while self.member.event().is_some() {}
        assert!(self.member.deadline().is_none_or(|deadline| deadline >= self.now));
        let census = self.member.census();
        assert!(census.members <= 64 && census.borrowers <= 16 && census.cookies <= 256);
        assert!(census.lenders <= 64 && census.resting <= 256 && census.lent <= 16 * 4);
    }

    /// Sends a well-formed message of an insider.
    fn say(&mut self, insider: u64, body: Body, key: Option<&Key>) {
        self.number += 1;
        let number = NonZeroU64::new(self.number).expect("it begins above zero");
        let cluster = cluster::cluster_id(&self.cluster);
        let (from, to) = (id(insider), Some(id(VICTIM)));
        let mut bytes = Vec::new();
        let message = Message { cluster, from, to, number, body };
        message.write(key.unwrap_or(&self.cluster), &mut bytes);
        let from = ([10, 0, 0, insider as u8], 4_500).into();
        self.member.handle(self.now, Input::Datagram { from, bytes });
    }

    /// An insider lends, or asks for a lease.
    fn deal(&mut self, insider: u64, tape: &mut Tape<'_>) {
        if tape.byte() % 2 == 0 {
            let mut offers = Offers::default();
            for uplink in 0..tape.byte() % 5 {
                let nominal = rates(tape);
                let (kind, cost, places, rtt_us) = (Kind::Wifi, Cost::Flat, tape.byte(), None);
                offers.push(Offer { uplink, kind, cost, places, rtt_us, nominal, free: nominal });
            }
            let interval_ds = NonZeroU16::MIN.saturating_add(tape.byte().into());
            let name = Name::default();
            self.say(insider, Body::Announce(Announce { name, interval_ds, offers }), None);
            return;
        }
        if self.sessions[0].is_none() {
            self.say(insider, Body::Hello { nonce: tape.short() }, None);
            return self.drain(insider);
        }
        let ask = LeaseRequest {
            lease: NonZeroU32::MIN.saturating_add(u32::from(tape.byte() % 8)),
            uplink: tape.byte() % 4,
            at_ms: 0,
            rates: rates(tape),
            bytes: tape.short() << (tape.byte() % 48),
            duration_ms: u32::from(tape.byte()) << (tape.byte() % 24),
        };
        let key = self.sessions[0].clone();
        self.say(insider, Body::LeaseRequest(ask), key.as_ref());
    }

    /// Delivers bytes of an insider, sealed with the cluster's key or a session's.
    fn receive(&mut self, insider: u64, kind: u8, body: &[u8], key: Option<&Key>) {
        self.number += 1;
        let mut bytes = [&b"FWcl"[..], &[1, kind, 0, 0]].concat();
        let cluster_id = cluster::cluster_id(&self.cluster);
        for word in [cluster_id, insider.max(1), VICTIM, self.number] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(body);
        // Pad with zeros to the length that the format requires, so that the fuzzer need not find
        // it.
        let len = if matches!(kind, 1 | 2) { ANNOUNCE_LEN } else { HELLO_LEN };
        if matches!(kind, 1 | 2 | 4) && bytes.len() + TAG_LEN < len {
            bytes.resize(len - TAG_LEN, 0);
        }
        let tag = key.unwrap_or(&self.cluster).tag("fairwave cluster 1", &[&bytes]);
        bytes.extend(tag.0);
        let from = ([10, 0, 0, insider as u8], 4_500).into();
        self.member.handle(self.now, Input::Datagram { from, bytes });
    }

    fn pass(&mut self, time: Duration, insider: u64) {
        let end = self.now + time;
        let mut wakes = 0;
        while let Some(deadline) = self.member.deadline().filter(|deadline| *deadline <= end) {
            self.now = deadline;
            self.member.wake(deadline);
            self.drain(insider);
            wakes += 1;
            assert!(wakes < 100_000, "time does not move on");
        }
        self.now = end;
    }

    fn host(&mut self, tape: &mut Tape<'_>) {
        let input = match tape.byte() % 4 {
            0 => {
                let uplinks = (0..tape.byte() % 5).map(|number| {
                    let nominal = rates(tape);
                    let limits = Limits {
                        rates: rates(tape),
                        borrower_rates: rates(tape),
                        min_share: BitRate(tape.short()),
                        borrowers: tape.byte(),
                        lease_bytes: tape.short(),
                        borrower_day_bytes: tape.short() * 4,
                        day_bytes: tape.short() * 16,
                    };
                    let cost = if tape.byte() % 2 == 0 { Cost::Flat } else { Cost::Metered };
                    let (kind, rtt_us, carried_today) = (Kind::Other, None, tape.short());
                    Uplink { number, kind, cost, nominal, rtt_us, limits, carried_today }
                });
                Input::Lend(Uplinks::new(uplinks.collect()).expect("four at most, all different"))
            }
            1 => Input::Power(Power { percent: tape.byte(), charging: tape.byte() % 2 == 0 }),
            2 => {
                let (rates, duration) = (rates(tape), Duration::from_millis(tape.short() * 8));
                let (uplinks, metered) = (tape.byte() % 6, tape.byte() % 2 == 0);
                let bytes = tape.short();
                Input::Want(Some(Want { uplinks, rates, bytes, duration, metered }))
            }
            _ => Input::Leave,
        };
        self.member.handle(self.now, input);
    }

    fn traffic(&mut self, tape: &mut Tape<'_>) {
        let way = if tape.byte() % 2 == 0 { Way::Up } else { Way::Down };
        let bytes = tape.short();
        self.member.own(self.now, tape.byte() % 5, way, bytes);
        let leases: Vec<LeaseId> = self.member.lent().map(|lent| lent.lease).collect();
        for lease in leases {
            let _ = self.member.carry(self.now, lease, way, bytes);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (mut stage, mut tape) = (Stage::new(), Tape(bytes));
    let mut steps = 0;
    while !tape.0.is_empty() && steps < 400 {
        steps += 1;
        let step = tape.byte();
        let insider = 1 + u64::from(step >> 4);
        match step % 8 {
            0 => {
                let time = Duration::from_millis(tape.short() * 2);
                stage.pass(time, insider);
            }
            1 => {
                let len = tape.short() as usize % 300;
                let bytes = tape.bytes(len);
                let from = ([192, 0, 2, insider as u8], 4_500).into();
                stage.member.handle(stage.now, Input::Datagram { from, bytes });
            }
            2 => {
                let (kind, len) = (tape.byte() % 19, usize::from(tape.byte()));
                let body = tape.bytes(len);
                stage.receive(insider, kind, &body, None);
            }
            3 => {
                let (kind, len) = (tape.byte() % 19, usize::from(tape.byte()) % 48);
                let body = tape.bytes(len);
                let is_lender = matches!(kind, 7 | 10..=12 | 14 | 15);
                let key = stage.sessions[usize::from(is_lender)].clone();
                stage.receive(insider, kind, &body, key.as_ref());
            }
            4 => stage.host(&mut tape),
            5 | 6 => stage.deal(insider, &mut tape),
            _ => stage.traffic(&mut tape),
        }
        stage.drain(insider);
    }
});
