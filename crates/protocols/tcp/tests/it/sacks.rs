//! What is retransmitted of data that the peer has reported by SACK.

use crate::common::{Codec, MS, sending, wire};
use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_tcp::{Config, Connection, Input, Segment, State, Virtual};
use fairwave_units::{Duration, Instant, Seed, Seq32, Stream};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::{Flags, Header};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

const TOTAL: u32 = 500_000;

fn keeping() -> Config {
    Config {
        keep_sacks: true,
        min_rto: MS(200),
        max_rto: Duration::from_secs(2),
        max_retries: 200,
        send_buffer: 2 * TOTAL,
        ..Config::default()
    }
}

/// What the sender knows to have arrived: the ends of ranges by their beginnings, joined.
#[derive(Default)]
struct Known(BTreeMap<u32, u32>);

impl Known {
    fn add(&mut self, mut left: u32, mut right: u32) {
        let met = self.0.range(..=right).filter(|(_, end)| **end >= left);
        let met: Vec<(u32, u32)> = met.map(|(start, end)| (*start, *end)).collect();
        for (start, end) in met {
            self.0.remove(&start);
            (left, right) = (left.min(start), right.max(end));
        }
        self.0.insert(left, right);
    }

    fn covers(&self, left: u32, right: u32) -> bool {
        let before = self.0.range(..=left).next_back();
        before.is_some_and(|(_, end)| *end >= right)
    }
}

/// Segments as values; counts the data segments that leave though the sender knows that they have
/// arrived.
#[derive(Default)]
struct Watched(RefCell<(Known, u32)>, Cell<u32>);

impl Watched {
    /// Whether the sender believes an ACK: one that others with later timestamps have overtaken is
    /// dropped (PAWS, RFC 7323 section 5), with what it reports.
    fn is_believed(&self, item: &Segment<Virtual>) -> bool {
        let Some(timestamps) = item.header.options.timestamps else { return true };
        let is_old = timestamps.value < self.1.get();
        self.1.set(self.1.get().max(timestamps.value));
        !is_old
    }
}

impl Codec<Virtual> for Watched {
    type Item = Segment<Virtual>;
    fn encode(&self, segment: Segment<Virtual>) -> Segment<Virtual> {
        let (known, needless) = &mut *self.0.borrow_mut();
        let (start, len) = (segment.header.seq.0, segment.payload.0);
        *needless += u32::from(len > 0 && known.covers(start, start + len));
        segment
    }
    fn decode(&self, item: Segment<Virtual>) -> Option<Segment<Virtual>> {
        let known = &mut self.0.borrow_mut().0;
        if item.payload.0 == 0 && self.is_believed(&item) {
            known.add(0, item.header.ack.0);
            for (left, right) in item.header.options.sack.as_slice() {
                known.add(left.0, right.0);
            }
        }
        Some(item)
    }
}

/// Sends `TOTAL` bytes from A to B. Data segments that left though the sender knew that they had
/// arrived, and timeouts.
fn transfer(seed: Seed, wires: (Wire, Wire), config: Config) -> (u32, u64) {
    let mut pair = sending(seed, wires, config, Watched::default(), TOTAL);
    while pair.b.stats().bytes_read < u64::from(TOTAL) {
        assert!(pair.step(), "seed {seed}: nothing will ever happen: {pair:?}");
        while pair.end(End::B).read(u32::MAX).is_some() {}
        pair.drain(End::B);
    }
    (pair.codec.0.borrow().1, pair.a.stats().timeouts)
}

const CASES: u32 = if cfg!(debug_assertions) { 100 } else { 2_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// RFC 6675 section 5.1: a timeout or not, what the peer has reported is not retransmitted.
    #[test]
    fn what_was_reported_is_not_retransmitted(
        seed: u64,
        wires in (wire(0.3, 0.0), wire(0.3, 0.0)),
        [prr, eifel, frto, timestamps, rack]: [bool; 5],
    ) {
        let config = Config { prr, eifel, frto, timestamps, rack, ..keeping() };
        prop_assert_eq!(transfer(Seed(seed), wires, config).0, 0);
    }

    /// RFC 2018 section 8: SACK is advice. Whenever a receiver drops what it has reported, it gets
    /// all of it again.
    #[test]
    fn a_receiver_that_reneges_gets_everything(
        seed: u64,
        wires in (wire(0.1, 0.0), wire(0.1, 0.0)),
        reneging in 0.0..0.3,
        [prr, eifel, frto, timestamps, rack]: [bool; 5],
    ) {
        let config = Config { prr, eifel, frto, timestamps, rack, ..keeping() };
        to_a_reneging_receiver(Seed(seed), wires, reneging, config);
    }
}

/// The same in figures: a first flight of 200 segments has more holes than an ACK can report, and
/// retransmissions are lost too.
#[test]
fn a_timeout_repeats_nothing_that_was_reported() {
    let wire = Wire { delay: MS(20), loss: 0.3, ..Wire::default() };
    let sum = |config: Config| {
        let runs = (0..20).map(|seed| transfer(Seed(seed), (wire, wire), config));
        runs.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1))
    };
    let keeping = Config { initial_window_segments: 200, ..keeping() };
    let (needless, timeouts) = sum(Config { keep_sacks: false, ..keeping });
    assert!(needless > 100 && timeouts > 20, "{needless} needless, {timeouts} timeouts");
    let (needless, timeouts) = sum(keeping);
    assert!(needless == 0 && timeouts > 20, "{needless} needless, {timeouts} timeouts");
}

/// A receiver that now and then drops all that it has received out of order.
struct Reneging {
    next: u32,
    held: Known,
    /// What of `held` was told last.
    latest: (u32, u32),
    fin: Option<u32>,
    drops: f64,
    stream: Stream,
}

const IRS: Seq32 = Seq32(500);

impl Reneging {
    fn take(&mut self, segment: &Segment<Virtual>) -> Option<Header> {
        let header = &segment.header;
        let flags = Flags { ack: true, syn: header.flags.syn, ..Flags::default() };
        let mut answer = Header {
            source_port: header.destination_port,
            destination_port: header.source_port,
            seq: if flags.syn { IRS } else { IRS + 1 },
            flags,
            window: 60_000,
            ..Header::default()
        };
        if flags.syn {
            self.next = header.seq.0 + 1;
            answer.options.sack_permitted = true;
        } else if segment.payload.0 + u32::from(header.flags.fin) == 0 {
            return None;
        } else {
            self.take_data(header, segment.payload.0);
            if self.latest.1 > self.next {
                let (left, right) = self.latest;
                answer.options.sack.push(Seq32(left), Seq32(right));
            }
        }
        answer.ack = Seq32(self.next);
        Some(answer)
    }

    fn take_data(&mut self, header: &Header, len: u32) {
        if self.stream.chance(self.drops) {
            self.held = Known::default();
        }
        let (left, right) = (header.seq.0, header.seq.0 + len + u32::from(header.flags.fin));
        self.held.add(left.max(self.next), right.max(self.next));
        if header.flags.fin {
            self.fin = Some(right);
        }
        if let Some(end) = self.held.0.remove(&self.next) {
            self.next = end;
        }
        let block = self.held.0.range(..=left).next_back();
        self.latest = block.map_or((0, 0), |(left, right)| (*left, *right));
    }
}

fn to_a_reneging_receiver(seed: Seed, wires: (Wire, Wire), drops: f64, config: Config) {
    let mut line: Line<Segment<Virtual>> = Line::new(seed, wires.0, wires.1);
    let build =
        |initial: Initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm");
    let config = Config { local_port: 1, remote_port: 2, ..config };
    let mut end: Connection<Virtual> = Connection::new(config, Seq32(0), Box::new(build));
    let mut peer = Reneging {
        next: 0,
        held: Known::default(),
        latest: (0, 0),
        fin: None,
        drops,
        stream: seed.stream("reneging"),
    };
    let mut now = Instant::ZERO;
    end.handle(now, Input::Open);
    end.handle(now, Input::Write(Virtual(TOTAL)));
    loop {
        while let Some(segment) = end.poll(now) {
            let size = u64::from(segment.wire_len()) + 20;
            line.send(now, End::A, segment, size);
        }
        while end.event().is_some() {}
        if end.stats().bytes_acked == u64::from(TOTAL) && end.state() == State::Established {
            end.handle(now, Input::Close);
            continue;
        }
        if peer.fin == Some(peer.next) && end.state() == State::FinWait2 {
            break;
        }
        let next = [line.next_arrival(), end.deadline()].into_iter().flatten().min();
        now = next.unwrap_or_else(|| panic!("seed {seed}: nothing will ever happen: {end:?}"));
        assert!(end.state() != State::Closed, "seed {seed}: given up: {end:?}");
        while let Some((at, segment)) = line.arrive(now) {
            match at {
                End::A => end.handle(now, Input::Segment(segment)),
                End::B => {
                    if let Some(header) = peer.take(&segment) {
                        let answer = Segment { header, ecn: Ecn::NotEct, payload: Virtual(0) };
                        line.send(now, End::B, answer, 60);
                    }
                }
            }
        }
        end.wake(now);
    }
    assert_eq!(peer.next, TOTAL + 2, "seed {seed}: SYN, data and FIN");
}
