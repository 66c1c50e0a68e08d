//! Cost of a segment with two, three and eight paths, including both ends and the acknowledgement.

mod shake_pair;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shake_pair::Pair;
use std::hint::black_box;

const ROUNDS: u64 = 100;

fn rounds(pair: &mut Pair) -> u64 {
    let before = pair.sent;
    (0..ROUNDS).for_each(|_| pair.round());
    pair.sent - before
}

fn shake(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shake");
    for paths in [2, 3, 8] {
        let mut pair = Pair::new(paths);
        (0..20).for_each(|_| {
            rounds(&mut pair);
        });
        group.throughput(Throughput::Elements(rounds(&mut pair)));
        group.bench_function(BenchmarkId::new("segments over paths", paths), |b| {
            b.iter(|| rounds(black_box(&mut pair)));
        });
    }
    group.finish();
}

criterion_group!(benches, shake);
criterion_main!(benches);
