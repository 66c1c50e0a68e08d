//! Cost of analysing a packet of a capture.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwave_machine::line::Wire;
use fairwave_tcp::Config;
use fairwave_trace::analysis::{self, Analyzer, Ignore};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use std::hint::black_box;

#[path = "../crates/base/trace/tests/it/common/mod.rs"]
#[expect(dead_code, reason = "a benchmark uses a part of what tests share")]
mod common;

use common::{Shot, Transfer};

/// Connections in the capture, half of them with loss.
const CONNECTIONS: u64 = 64;

/// Interleaved uploads, captured at their sender: about 45,000 packets.
fn mixed() -> Vec<Shot> {
    let mut mixed = Vec::new();
    for number in 0..CONNECTIONS {
        let loss = if number.is_multiple_of(2) { 0.0 } else { 0.01 };
        let delay = Duration::from_millis(1 + number % 40);
        let rate = Some(BitRate::mbps(20));
        let wire = |loss| Wire { delay, rate, queue: Some(60), loss, ..Wire::default() };
        let config = Config { timestamps: !number.is_multiple_of(3), ..Config::default() };
        let config = Config { max_rto: Duration::from_secs(2), ..config };
        let transfer = Transfer::new(Seed(number), config, [wire(loss), wire(loss)], 600_000);
        let [shots, _] = transfer.run(Instant::MAX).captures;
        mixed.extend(shots.into_iter().map(|shot| apart(shot, number as u8)));
    }
    mixed.sort_by_key(|shot| shot.at);
    mixed
}

/// The same packet with the addresses of another pair of hosts.
fn apart(mut shot: Shot, number: u8) -> Shot {
    (shot.bytes[14], shot.bytes[18]) = (number, number);
    shot
}

fn analysis(c: &mut Criterion) {
    let shots = mixed();
    let mut group = c.benchmark_group("analysis");
    group.throughput(Throughput::Elements(shots.len() as u64));
    group.bench_function("mixed TCP capture", |bencher| {
        bencher.iter(|| {
            let mut analyzer = Analyzer::new(analysis::Config::default());
            shots.iter().for_each(|shot| analyzer.push(shot.frame(), &mut Ignore));
            black_box(analyzer.finish(&mut Ignore))
        });
    });
    group.finish();
}

criterion_group!(benches, analysis);
criterion_main!(benches);
