//! State machines through which every simulated packet passes.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwave_machine::Machine;
use fairwave_sim::deadlines::Deadlines;
use fairwave_tcp::{Config, Connection, Event, Input, Virtual};
use fairwave_units::{Duration, Instant, Seed, Seq32};
use std::hint::black_box;

/// Machines with a deadline: about as many as a cell of sixteen uploads has.
const MACHINES: u64 = 64;
const MOVES: u64 = 1000;
const ROUNDS: u64 = 100;

/// Two connections joined by a wire without delay or loss.
struct Pair {
    sender: Connection<Virtual>,
    receiver: Connection<Virtual>,
    now: Instant,
    segments: u64,
}

impl Pair {
    fn new() -> Self {
        let algorithm =
            |initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm");
        let config = Config { send_buffer: 100_000, ..Config::default() };
        let mut pair = Self {
            sender: Connection::new(config, Seq32(1), Box::new(algorithm)),
            receiver: Connection::new(config, Seq32(2), Box::new(algorithm)),
            now: Instant::ZERO,
            segments: 0,
        };
        pair.receiver.handle(pair.now, Input::Listen);
        pair.sender.handle(pair.now, Input::Open);
        pair
    }

    /// Fills the send buffer and carries everything that both ends have to send. Returns the number
    /// of segments in each direction.
    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        self.sender.handle(self.now, Input::Write(Virtual(self.sender.send_space())));
        while let Some(segment) = self.sender.poll(self.now) {
            self.segments += 1;
            self.receiver.handle(self.now, Input::Segment(segment));
            while let Some(Event::Readable) = self.receiver.event() {
                self.receiver.read(u32::MAX);
            }
        }
        while let Some(segment) = self.receiver.poll(self.now) {
            self.segments += 1;
            self.sender.handle(self.now, Input::Segment(segment));
        }
        while self.sender.event().is_some() {}
    }

    fn rounds(&mut self) -> u64 {
        let before = self.segments;
        for _ in 0..ROUNDS {
            self.round();
        }
        self.segments - before
    }
}

/// Bulk transfer, after slow start, in segments of both directions.
fn tcp(criterion: &mut Criterion) {
    let mut pair = Pair::new();
    for _ in 0..20 {
        pair.rounds();
    }
    let mut group = criterion.benchmark_group("tcp");
    group.throughput(Throughput::Elements(pair.rounds()));
    group.bench_function("segments between two connections", |b| {
        b.iter(|| black_box(&mut pair).rounds());
    });
    group.finish();
}

/// Moves the earliest deadline to a random later time, as every event does once or twice.
fn deadlines(criterion: &mut Criterion) {
    let mut random = Seed(1).stream("deadlines");
    let mut deadlines = Deadlines::new(MACHINES as usize);
    for id in 0..MACHINES {
        deadlines.set(id as u32, Some(Instant::from_nanos(random.below(1_000_000))));
    }
    let mut group = criterion.benchmark_group("deadlines");
    group.throughput(Throughput::Elements(MOVES));
    group.bench_function("first and set", |b| {
        b.iter(|| {
            for _ in 0..MOVES {
                let (at, id) = deadlines.first().expect("every machine has a deadline");
                let later = at + Duration::from_nanos(1 + random.below(1_000_000));
                deadlines.set(black_box(id), Some(later));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, tcp, deadlines);
criterion_main!(benches);
