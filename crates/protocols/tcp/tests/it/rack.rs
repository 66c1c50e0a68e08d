//! What RACK retransmits between hosts that take no time: any number of segments and ACKs leave
//! and arrive in the same nanosecond.

use crate::common::{Codec, MS, Pair, sending, wire};
use fairwave_machine::line::{End, Wire};
use fairwave_tcp::{Config, Segment, Stats, Virtual};
use fairwave_units::Seed;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

const TOTAL: u32 = 1_000_000;

/// What the sender has sent and heard.
#[derive(Default)]
struct Ledger {
    /// By first sequence number: the end, and the number of the last transmission.
    outstanding: BTreeMap<u32, (u32, u64)>,
    transmissions: u64,
    /// Of the segments that were reported, the latest transmission.
    received: u64,
    /// Retransmissions: the transmission before it of the same segment, and `heard`.
    retransmitted: Vec<(u64, u64)>,
}

impl Ledger {
    fn send(&mut self, start: u32, len: u32) {
        self.transmissions += 1;
        let sent = (start + len, self.transmissions);
        if let Some((_, before)) = self.outstanding.insert(start, sent) {
            self.retransmitted.push((before, self.received));
        }
    }

    /// The peer has everything from `left` up to `right`.
    fn with_controller(&mut self, left: u32, right: u32) {
        let covered = self.outstanding.range(left..right).filter(|(_, (end, _))| *end <= right);
        let latest = covered.map(|(_, (_, number))| *number).max();
        self.received = self.received.max(latest.unwrap_or(0));
    }
}

/// Segments as values, and the ledger of the end that sends data.
#[derive(Default)]
struct Watched(RefCell<Ledger>);

impl Codec<Virtual> for Watched {
    type Item = Segment<Virtual>;
    fn encode(&self, segment: Segment<Virtual>) -> Segment<Virtual> {
        if segment.payload.0 > 0 {
            self.0.borrow_mut().send(segment.header.seq.0, segment.payload.0);
        }
        segment
    }
    fn decode(&self, item: Segment<Virtual>) -> Option<Segment<Virtual>> {
        if item.payload.0 == 0 {
            let mut ledger = self.0.borrow_mut();
            let una = item.header.ack.0;
            ledger.with_controller(0, una);
            for (left, right) in item.header.options.sack.as_slice() {
                ledger.with_controller(left.0, right.0);
            }
            ledger.outstanding.retain(|_, (end, _)| *end > una);
        }
        Some(item)
    }
}

/// Retransmission timeouts and tail loss probes so far.
fn timers(stats: &Stats) -> u64 {
    stats.timeouts + stats.tail_probes
}

/// Sends 1 MB from A to B, and checks that a segment is retransmitted only when something that
/// was sent strictly later has arrived, or a timer has expired since it was sent.
fn transfer(seed: Seed, wires: (Wire, Wire), config: Config) -> Pair<Virtual, Watched> {
    let mut pair = sending(seed, wires, config, Watched::default(), TOTAL);
    let (mut fired, mut before) = (0, 0);
    while pair.b.stats().bytes_read < u64::from(TOTAL) {
        let sent = pair.codec.0.borrow().transmissions;
        assert!(pair.step(), "seed {seed}: nothing will ever happen: {pair:?}");
        let now = timers(&pair.a.stats());
        if core::mem::replace(&mut before, now) != now {
            fired = sent;
        }
        for (last, received) in pair.codec.0.borrow_mut().retransmitted.drain(..) {
            assert!(
                received > last || fired >= last,
                "seed {seed}: transmission {last} repeated; {received} was heard: {pair:?}"
            );
        }
        while pair.end(End::B).read(u32::MAX).is_some() {}
        pair.drain(End::B);
    }
    pair
}

fn rack() -> Config {
    Config { rack: true, dsack: true, send_buffer: 2 * TOTAL, ..Config::default() }
}

const CASES: u32 = if cfg!(debug_assertions) { 100 } else { 2_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// RFC 8985 section 6.2: losses are shown by what was sent after.
    #[test]
    fn only_what_was_sent_later_shows_a_loss(
        seed: u64,
        wires in (wire(0.1, 0.02), wire(0.1, 0.02)),
        [prr, eifel, frto, timestamps]: [bool; 4],
    ) {
        let config = Config { prr, eifel, frto, timestamps, ..rack() };
        transfer(Seed(seed), wires, config);
    }
}

/// Nothing is reordered, so each loss is repaired once. The ACKs of a flight arrive at the same
/// nanosecond, and new data leaves before a retransmission and after it.
#[test]
fn each_loss_is_retransmitted_once() {
    let (mut lost, mut retransmitted) = (0, 0);
    for seed in 0..20 {
        let wires = (
            Wire { delay: MS(20), loss: 0.01, ..Wire::default() },
            Wire { delay: MS(20), ..Wire::default() },
        );
        let pair = transfer(Seed(seed), wires, rack());
        let stats = pair.a.stats();
        lost += pair.line.tally(End::A).lost;
        retransmitted += stats.retransmissions - timers(&stats);
    }
    assert!(lost > 100 && retransmitted <= lost, "{lost} lost, {retransmitted} retransmitted");
}
