//! Speed of whole simulations, in frames on the air.

mod worlds;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwave_sim::world::World;
use fairwave_trace::Discard;
use fairwave_units::Duration;
use std::hint::black_box;

/// Frames that `world` puts on the air.
fn frames(world: &World) -> u64 {
    fairwave_sim::run(world, &mut Discard, &mut |_| {}).expect("the world is right").frames
}

fn time(criterion: &mut Criterion, name: &str, world: &World) {
    let mut group = criterion.benchmark_group("simulator");
    group.sample_size(10).throughput(Throughput::Elements(frames(world)));
    group.bench_function(name, |b| b.iter(|| frames(black_box(world))));
    group.finish();
}

/// 100 ms of fifty saturated stations, the world's construction included.
fn udp(criterion: &mut Criterion) {
    let world = worlds::saturated_uplink(50, Duration::from_millis(100));
    time(criterion, "50 saturated stations, 100 ms", &world);
}

/// Ten seconds, so that slow start has little influence.
fn tcp(criterion: &mut Criterion) {
    time(criterion, "16 TCP uploads, 10 s", &worlds::tcp_uploads(16, Duration::from_secs(10)));
}

criterion_group!(benches, udp, tcp);
criterion_main!(benches);
