//! Cost of a packet in each scheduler of hosts, one enqueued and one dequeued, for growing numbers
//! of hosts.

mod turns;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use turns::{HOSTS, LOADS, Loaded, specs};

const PACKETS: u64 = 10_000;

fn cost(criterion: &mut Criterion) {
    for (backlog, load) in LOADS {
        for (name, spec) in specs() {
            let mut group = criterion.benchmark_group(format!("scheduler/{load}/{name}"));
            group.throughput(Throughput::Elements(PACKETS));
            for hosts in HOSTS {
                let mut loaded = Loaded::new(&spec, hosts, backlog);
                (0..10 * PACKETS).for_each(|_| _ = black_box(loaded.turn()));
                group.bench_function(BenchmarkId::from_parameter(hosts), |b| {
                    b.iter(|| (0..PACKETS).for_each(|_| _ = black_box(loaded.turn())));
                });
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_secs(1))
        .sample_size(20);
    targets = cost
}
criterion_main!(benches);
