//! What a segment costs with two, three and eight paths, both ends and the acknowledgement counted.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fairwave_machine::Machine;
use fairwave_shake::{Config, Connection, Input, Profile};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::Side;
use std::hint::black_box;

const ROUNDS: u64 = 100;

/// Two connections joined by paths without delay or loss.
struct Pair {
    ends: [Connection<Virtual>; 2],
    now: Instant,
    sent: u64,
}

impl Pair {
    fn new(paths: u8) -> Self {
        let profile = Profile::Modern;
        let config = Config { send_buffer: 200_000, receive_buffer: 200_000, ..profile.config() };
        let end = |side, seed| Connection::new(config, profile.rules(), side, 1, Seed(seed));
        let mut pair = Self {
            ends: [end(Side::Opener, 1), end(Side::Acceptor, 2)],
            now: Instant::ZERO,
            sent: 0,
        };
        for path in 0..paths {
            pair.ends[0].handle(Instant::ZERO, Input::Join { path, nominal: None });
        }
        pair
    }

    fn carry(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll(self.now) {
            self.ends[1 - from].handle(self.now, Input::Segment(segment));
            self.ends[1 - from].read(u32::MAX);
            while self.ends[1 - from].event().is_some() {}
            self.sent += u64::from(from == 0);
        }
    }

    /// Fills the send buffer and carries what both have to send.
    fn round(&mut self) {
        self.now += Duration::from_millis(1);
        let space = self.ends[0].send_space();
        self.ends[0].handle(self.now, Input::Write(Virtual(space)));
        self.carry(0);
        self.carry(1);
    }

    fn rounds(&mut self) -> u64 {
        let before = self.sent;
        (0..ROUNDS).for_each(|_| self.round());
        self.sent - before
    }
}

fn shake(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shake");
    for paths in [2, 3, 8] {
        let mut pair = Pair::new(paths);
        (0..20).for_each(|_| {
            pair.rounds();
        });
        group.throughput(Throughput::Elements(pair.rounds()));
        group.bench_function(BenchmarkId::new("segments over paths", paths), |b| {
            b.iter(|| black_box(&mut pair).rounds());
        });
    }
    group.finish();
}

criterion_group!(benches, shake);
criterion_main!(benches);
