//! Two ends of a SHAKE connection, with any fate of messages, clocks and paths, and an attacker who
//! has the key. Nothing panics, and the state stays bounded. Without forged messages, each end
//! reads exactly the bytes that the other wrote.

#![no_main]

use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_shake::{Config, Connection, GROWTHS, Input, Profile, Rules, SCHEDULERS, Segment};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::shake::{
    Ack, Block, Body, Challenge, Data, Echo, Header, Join, Leave, Reason, Side,
};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};

const ID: u64 = 7;
const BUFFER: u32 = 20_000;
const MAX_PATHS: usize = 6;
/// Maximum number of messages in flight; more are lost.
const MAX_FLYING: usize = 256;
/// Maximum number of messages and events that one input may cause.
const MAX_SAID: usize = 10_000;

/// Events, read from the fuzzer's bytes; zeros after their end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u64 {
        u64::from(self.byte()) << 8 | u64::from(self.byte())
    }

    /// A number that is mostly small, but sometimes has up to 62 bits.
    fn number(&mut self) -> u64 {
        match self.byte() {
            255 => (0..8).fold(0, |n, _| n << 8 | u64::from(self.byte())) >> 2,
            high => u64::from(high) << 8 | u64::from(self.byte()),
        }
    }
}

struct Pair {
    ends: [Connection<Bytes>; 2],
    written: [u64; 2],
    read: [u64; 2],
    flying: VecDeque<(usize, Segment<Bytes>)>,
    now: Instant,
    has_lied: bool,
}

/// The byte at an offset of an end's stream.
fn written_at(end: usize, offset: u64) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8)) as u8 ^ end as u8
}

impl Pair {
    fn new(script: &mut Script<'_>) -> Self {
        let profile = Profile::ALL[usize::from(script.byte()) % Profile::ALL.len()];
        let (scheduler, growth) = (usize::from(script.byte()), usize::from(script.byte()));
        let switches = script.byte();
        let config = Config {
            mss: 200 + u32::from(script.byte()) * 5,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            max_paths: MAX_PATHS,
            sack_blocks: usize::from(switches & 15).min(8),
            opportunistic: switches & 16 > 0,
            retransmission_spills: switches & 32 > 0,
            pacing: switches & 64 > 0,
            suspects_get_copies: switches & 128 > 0,
            ..profile.config()
        };
        let rules = || Rules {
            scheduler: (SCHEDULERS[scheduler % SCHEDULERS.len()].part)(),
            growth: (GROWTHS[growth % GROWTHS.len()].part)(),
        };
        let end = |side, seed| Connection::new(config, rules(), side, ID, Seed(seed));
        Self {
            ends: [end(Side::Opener, 1), end(Side::Acceptor, 2)],
            written: [0; 2],
            read: [0; 2],
            flying: VecDeque::new(),
            now: Instant::ZERO,
            has_lied: false,
        }
    }

    fn report(&mut self, end: usize, input: Input<Bytes>) {
        self.ends[end].handle(self.now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: usize) {
        let mut printed = 0;
        while let Some(segment) = self.ends[end].poll(self.now) {
            printed += 1;
            assert!(printed < MAX_SAID, "the drain does not end");
            if self.flying.len() < MAX_FLYING {
                self.flying.push_back((1 - end, segment));
            }
        }
        while self.ends[end].event().is_some() {
            printed += 1;
            assert!(printed < MAX_SAID, "the events do not end");
        }
        self.check(end);
    }

    fn check(&self, end: usize) {
        let connection = &self.ends[end];
        let deadline = connection.deadline();
        assert!(deadline.is_none_or(|at| at >= self.now), "{deadline:?} is before {}", self.now);
        assert!(connection.paths().count() <= MAX_PATHS);
        let acknowledged = connection.acknowledged();
        assert!(acknowledged <= self.written[end]);
        assert!(self.written[end] <= acknowledged + u64::from(BUFFER));
        assert!(connection.received() <= self.read[end] + u64::from(BUFFER) + 1);
        for path in connection.paths() {
            assert!(path.flight <= 2 * BUFFER + 2, "{path:?}");
            assert!(path.cwnd > 0, "{path:?}");
        }
    }

    fn write(&mut self, end: usize, len: u64) {
        let from = self.written[end];
        let bytes: Vec<u8> = (from..from + len).map(|at| written_at(end, at)).collect();
        self.written[end] += len.min(self.ends[end].send_space().into());
        self.report(end, Input::Write(bytes.into()));
    }

    fn read(&mut self, end: usize, maximum: u32) {
        while let Some(data) = self.ends[end].read(maximum) {
            for byte in &data {
                let is_right = *byte == written_at(1 - end, self.read[end]);
                assert!(is_right || self.has_lied, "byte {} of end {end}", self.read[end]);
                self.read[end] += 1;
            }
        }
        assert!(self.read[end] <= self.written[1 - end] || self.has_lied);
        self.drain(end);
    }

    fn pass(&mut self, to: Instant) {
        self.now = self.now.max(to);
        for end in 0..2 {
            if self.ends[end].deadline().is_some_and(|at| at <= self.now) {
                self.ends[end].wake(self.now);
            }
            self.drain(end);
            // A wake before the deadline must have no effect.
            if self.ends[end].deadline().is_none_or(|at| at > self.now) {
                self.ends[end].wake(self.now);
                assert!(self.ends[end].poll(self.now).is_none(), "an early wake sent something");
            }
        }
    }

    /// One of the messages in flight, which stays there if `keeps`.
    fn message(&mut self, index: usize, keeps: bool) -> Option<(usize, Segment<Bytes>)> {
        let index = index % self.flying.len().max(1);
        if keeps { self.flying.get(index).cloned() } else { self.flying.remove(index) }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let deed = script.byte();
        let end = usize::from(deed >> 7);
        match deed & 15 {
            0 => self.pass(self.now + Duration::from_micros(script.short() * 77)),
            1 => {
                let deadlines = self.ends.iter().filter_map(Machine::deadline);
                self.pass(deadlines.min().unwrap_or(self.now));
            }
            2 => {
                let path = script.byte() % 9;
                let nominal = (path > 4).then(|| BitRate(script.short() * 1000 + 1));
                self.report(end, Input::Join { path, nominal });
            }
            3 => self.report(end, Input::Leave { path: script.byte() % 9 }),
            4 => {
                let len = script.short() % 8_000;
                self.write(end, len);
            }
            5 => self.read(end, 1 + script.short() as u32),
            6 => self.end_somehow(end, script.byte()),
            7 => {
                let index = usize::from(script.byte());
                self.message(index, false);
            }
            8 => self.lie(end, script),
            9 => {
                let index = usize::from(script.byte());
                self.arrive(index, false);
            }
            10 => {
                let index = usize::from(script.byte());
                self.arrive(index, true);
            }
            // Most messages arrive, in order.
            more => (11..=more).for_each(|_| self.arrive(0, false)),
        }
    }

    fn arrive(&mut self, index: usize, keeps: bool) {
        if let Some((to, segment)) = self.message(index, keeps) {
            self.report(to, Input::Segment(segment));
        }
    }

    fn end_somehow(&mut self, end: usize, how: u8) {
        match how {
            0..100 => self.report(end, Input::Finish),
            100..110 => self.report(end, Input::Close),
            110 => self.report(end, Input::Abort),
            _ => {}
        }
    }

    /// Delivers a forged message in the name of the other end.
    fn lie(&mut self, end: usize, script: &mut Script<'_>) {
        self.has_lied = true;
        let from = if end == 0 { Side::Acceptor } else { Side::Opener };
        let (path, sent_us) = (script.byte() % 9, script.number() as u32);
        let number = NonZeroU64::new(script.number()).unwrap_or(NonZeroU64::MIN);
        let (body, payload) = self.lies(script);
        let header = Header { connection: ID, from, path, number, sent_us, body };
        self.report(end, Input::Segment(Segment { header, payload }));
    }

    fn lies(&self, script: &mut Script<'_>) -> (Body, Bytes) {
        let leave =
            |script: &mut Script<'_>| Leave { path: script.byte() % 9, last: script.number() };
        let window = |script: &mut Script<'_>| script.number() as u32;
        let mut payload = Bytes::new();
        let body = match script.byte() % 9 {
            0 => Body::Join(Join {
                open: script.byte() > 99,
                nonce: script.number(),
                window: window(script),
            }),
            1 => Body::Challenge(Challenge {
                nonce: script.number(),
                answers: script.number(),
                window: window(script),
            }),
            2 => Body::Response { answers: script.number() },
            3 => {
                payload = vec![9; usize::from(script.byte())].into();
                let fin = payload.is_empty() || script.byte() > 200;
                Body::Data(Data { seq: script.number(), fin })
            }
            4 => Body::Leave(leave(script)),
            5 => Body::Left(leave(script)),
            6 => Body::Reset { reason: Reason::Abort },
            _ => Body::Ack(self.lying_ack(script)),
        };
        (body, payload)
    }

    fn lying_ack(&self, script: &mut Script<'_>) -> Ack {
        let echo = NonZeroU64::new(script.number());
        let echo = echo.map(|number| Echo { number, sent_us: script.number() as u32 });
        let block = |script: &mut Script<'_>| {
            let mut part = || NonZeroU32::new(script.short() as u32).unwrap_or(NonZeroU32::MIN);
            Block { offset: part(), len: part() }
        };
        let blocks = (0..script.byte() % 9).map(|_| block(script)).collect();
        let (cumulative, window) = (script.number(), script.number() as u32);
        Ack { cumulative, window, echo, blocks }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut script = Script(bytes);
    let mut pair = Pair::new(&mut script);
    pair.report(0, Input::Join { path: 0, nominal: None });
    while !script.0.is_empty() {
        pair.step(&mut script);
    }
    (0..2).for_each(|end| pair.read(end, u32::MAX));
});
