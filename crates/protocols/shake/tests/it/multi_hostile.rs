//! A peer whose TCP is in order and whose set is not: it gets a reset, and memory stays bounded.

use crate::multi_common::{config, dials};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_shake::multi::{Cause, Config, Event, Fault, Input, MarkError, Multi, Split};
use fairwave_tcp::{self as tcp, Connection, Segment};
use fairwave_units::{Duration, Instant};
use fairwave_wire::multi::{Error, Header, Preface};
use proptest::prelude::*;
use std::num::{NonZeroU8, NonZeroU16};

const CONNECTIONS: usize = 2;

/// An acceptor, and a peer that writes what it likes on connections that are in order.
struct Victim {
    end: Multi<Bytes>,
    peers: Vec<Connection<Bytes>>,
    now: Instant,
    events: Vec<Event>,
    got: Vec<u8>,
    /// Whether the victim's application reads.
    reads: bool,
}

impl Victim {
    fn new(config: &Config) -> Self {
        let tcp = tcp::Config::default();
        let peer = |dial: fairwave_shake::multi::Dial| {
            let mut peer = Connection::new(dial.config, dial.iss, dial.algorithm);
            peer.handle(Instant::ZERO, tcp::Input::Open);
            peer
        };
        let mut victim = Self {
            end: Multi::acceptor(config, dials(tcp, CONNECTIONS, 1)).unwrap(),
            peers: dials(tcp, CONNECTIONS, 0).into_iter().map(peer).collect(),
            now: Instant::ZERO,
            events: Vec::new(),
            got: Vec::new(),
            reads: true,
        };
        victim.end.handle(victim.now, Input::Start);
        victim.carry();
        victim
    }

    /// Carries segments until there are none.
    fn carry(&mut self) {
        loop {
            self.now += Duration::from_millis(1);
            self.end.wake(self.now);
            let mut idle = true;
            for (index, peer) in self.peers.iter_mut().enumerate() {
                peer.wake(self.now);
                while let Some(segment) = peer.poll(self.now) {
                    self.end.handle(self.now, Input::Segment(index as u8, segment));
                    idle = false;
                }
                while peer.event().is_some() || peer.read(u32::MAX).is_some() {}
            }
            while self.reads
                && let Some(data) = self.end.read(u32::MAX)
            {
                self.got.extend_from_slice(&data);
            }
            while let Some((index, segment)) = self.end.poll(self.now) {
                let input: tcp::Input<Bytes> = tcp::Input::Segment(Segment::clone(&segment));
                self.peers[usize::from(index)].handle(self.now, input);
                idle = false;
            }
            self.events.extend(std::iter::from_fn(|| self.end.event()));
            if idle {
                break;
            }
        }
    }

    fn say(&mut self, connection: usize, bytes: &[u8]) {
        let data = Bytes::copy_from_slice(bytes);
        self.peers[connection].handle(self.now, tcp::Input::Write(data));
        self.carry();
    }

    /// Why connection `index` failed.
    fn fault(&self, index: u8) -> Option<Fault> {
        self.events.iter().find_map(|event| match event {
            Event::Down(which, Cause::Fault(fault)) if *which == index => Some(*fault),
            _ => None,
        })
    }
}

fn preface(set: u64, connection: u8, connections: u8) -> Vec<u8> {
    let connections = NonZeroU8::new(connections).unwrap();
    let mut out = Vec::new();
    Preface { set, connection, connections, buffer: 1_000 }.write(&mut out).unwrap();
    out
}

fn header(header: Header) -> Vec<u8> {
    let mut out = Vec::new();
    header.write(&mut out).unwrap();
    out
}

fn block(offset: u64, data: &[u8]) -> Vec<u8> {
    let len = NonZeroU16::new(data.len() as u16).unwrap();
    [header(Header::Block { offset, len }), data.to_vec()].concat()
}

fn greeted(split: Split) -> Victim {
    let mut victim = Victim::new(&config(split, CONNECTIONS));
    victim.say(0, &preface(7, 0, 2));
    victim.say(1, &preface(7, 1, 2));
    assert_eq!(victim.events, [Event::Up(0), Event::Up(1)]);
    victim
}

#[test]
fn other_protocols_are_refused() {
    let mut victim = Victim::new(&config(Split::Adaptive, CONNECTIONS));
    victim.say(0, b"GET / HTTP/1.1\r\nHost: fairwave\r\n\r\n");
    let found = *b"GET ";
    let fault = Fault::Mark(MarkError::Wire(Error::Magic { found }));
    assert_eq!(victim.fault(0), Some(fault));
    assert_eq!(victim.peers[0].state(), tcp::State::Closed);
    // The other connection still works.
    victim.say(1, &preface(7, 1, 2));
    victim.say(1, &block(0, b"data"));
    assert_eq!(victim.got, b"data");
}

#[test]
fn connections_of_other_sets_are_refused() {
    let mut victim = Victim::new(&config(Split::Adaptive, CONNECTIONS));
    victim.say(0, &preface(7, 0, 2));
    victim.say(1, &preface(8, 1, 2));
    assert_eq!(victim.fault(1), Some(Fault::OtherSet(8)));
    let mut victim = Victim::new(&config(Split::Adaptive, CONNECTIONS));
    victim.say(0, &preface(7, 1, 2));
    let other = Fault::OtherConnection { connection: 1, connections: 2, expected: 0 };
    assert_eq!(victim.fault(0), Some(other));
    victim.say(1, &preface(7, 1, 3));
    let other = Fault::OtherConnection { connection: 1, connections: 3, expected: 1 };
    assert_eq!(victim.fault(1), Some(other));
    assert!(victim.events.contains(&Event::Broken), "no connection is left");
}

#[test]
fn streams_that_contradict_themselves_are_refused() {
    let mut victim = greeted(Split::Adaptive);
    victim.say(0, &header(Header::End { offset: 10 }));
    victim.say(1, &block(8, b"abc"));
    assert_eq!(victim.fault(1), Some(Fault::BeyondEnd { offset: 8, length: 10 }));

    let mut victim = greeted(Split::Adaptive);
    victim.say(0, &header(Header::End { offset: 10 }));
    victim.say(1, &header(Header::End { offset: 11 }));
    assert_eq!(victim.fault(1), Some(Fault::OtherEnd { offset: 11, length: 10 }));

    let mut victim = greeted(Split::Adaptive);
    victim.say(0, &block(4_000, &[1; 2_000]));
    victim.say(1, &header(Header::End { offset: 5_999 }));
    assert_eq!(victim.fault(1), Some(Fault::OtherEnd { offset: 6_000, length: 5_999 }));

    let mut victim = greeted(Split::Weighted);
    victim.say(0, &[header(Header::End { offset: 0 }), b"x".to_vec()].concat());
    assert_eq!(victim.fault(0), Some(Fault::BehindEnd));
    assert!(victim.events.contains(&Event::Broken), "a fixed split has no other way");
}

/// Closing without saying where the stream ends is no end.
#[test]
fn a_stream_that_is_cut_is_noticed() {
    let mut victim = greeted(Split::Adaptive);
    victim.say(0, &block(0, b"abc")[..13]);
    victim.peers[0].handle(victim.now, tcp::Input::Close);
    victim.carry();
    assert!(victim.events.contains(&Event::Down(0, Cause::Cut)), "{:?}", victim.events);
    assert!(!victim.events.contains(&Event::RemoteClosed));
    assert_eq!(victim.got, b"a");
    // It comes again over the other.
    victim.say(1, &[block(0, b"abc"), header(Header::End { offset: 3 })].concat());
    assert_eq!(victim.got, b"abc");
    assert!(victim.events.contains(&Event::RemoteClosed));
}

/// What is far ahead stays where TCP's window holds it, and the rest goes on.
#[test]
fn what_is_too_far_ahead_is_not_read() {
    let small = Config { receive_buffer: 4_000, block: 1_000, ..config(Split::Adaptive, 2) };
    let mut victim = Victim::new(&small);
    victim.say(0, &preface(7, 0, 2));
    victim.say(1, &preface(7, 1, 2));
    for offset in 1..50 {
        victim.say(0, &block(offset * 2_000, &[offset as u8; 2_000]));
    }
    let first = victim.end.connections().next().unwrap();
    assert_eq!(first.delivered, 2_000, "what fits behind the first 2000 bytes, not more");
    victim.say(1, &block(0, &[0; 2_000]));
    assert_eq!(victim.got.len(), 100_000);
    assert!(victim.got.chunks(2_000).zip(0..).all(|(chunk, n)| *chunk == [n; 2_000]));
}

/// Every other byte of the buffer in a block of its own: pieces are counted, not only bytes.
#[test]
fn a_flood_of_crumbs_is_bounded() {
    let mut victim = greeted(Split::Adaptive);
    let crumbs: Vec<u8> = (1..20_000u64).flat_map(|n| block(2 * n, b"x")).collect();
    for part in crumbs.chunks(20_000) {
        victim.say(0, part);
    }
    // 52,560 / 64 pieces of one byte.
    let first = victim.end.connections().next().unwrap();
    assert_eq!(first.delivered, 821);
    assert!(victim.fault(0).is_none(), "odd, but no lie");
}

/// Where, whether as a block, at which offset, what.
fn said() -> impl Strategy<Value = (usize, bool, u64, Vec<u8>)> {
    let bytes = prop::collection::vec(any::<u8>(), 1..40);
    (0usize..CONNECTIONS, any::<bool>(), 0u64..5_000, bytes)
}

proptest! {
    /// Any bytes after a preface, on both connections: data, a fault or silence.
    #[test]
    fn nothing_panics(
        says in prop::collection::vec(said(), 1..30),
        closes in any::<bool>(),
        split in prop::sample::select(Split::ALL.to_vec()),
        reads in any::<bool>(),
    ) {
        let mut victim = greeted(split);
        victim.reads = reads;
        for (connection, is_block, offset, bytes) in says {
            let bytes = if is_block { block(offset, &bytes) } else { bytes };
            victim.say(connection, &bytes);
        }
        if closes {
            victim.end.handle(victim.now, Input::Close);
            victim.carry();
        }
        prop_assert!(victim.end.stats().bytes_ready <= 52_560);
    }
}
