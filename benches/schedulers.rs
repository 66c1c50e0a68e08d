//! What a packet costs in each scheduler of hosts, one into the queue and one out of it, as hosts
//! are added.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fairwave_queue::{
    Discipline, FlowKey, HfscConfig, HostConfig, Item, Kind, Limit, Segment, ServiceCurve,
    SocpsConfig, Spec, Weight,
};
use fairwave_units::{BitRate, Duration, Instant};
use std::hint::black_box;

const HOSTS: [u32; 4] = [8, 100, 1000, 10_000];
const PACKETS: u64 = 10_000;
/// What a packet takes on a link of 1 Gbps.
const TICK: Duration = Duration::from_micros(8);
const UNBOUNDED: Limit = Limit::Packets(u32::MAX);

#[derive(Clone, Copy, Debug)]
struct Packet {
    receiver: u32,
    bytes: u32,
}

impl Item for Packet {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn receiver(&self) -> u32 {
        self.receiver
    }

    fn flow(&self) -> FlowKey {
        FlowKey::default()
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        None
    }

    fn clamp_window(&mut self, _: u16) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// What is measured: first in, first out beside every scheduler of hosts.
fn specs() -> Vec<(&'static str, Spec)> {
    let hosts = HostConfig { host_limit: UNBOUNDED, ..HostConfig::of(UNBOUNDED) };
    let promised = Some(ServiceCurve::linear(BitRate(10_000)));
    let hfsc = HfscConfig { hosts, ..HfscConfig::of(UNBOUNDED) };
    let realtime = HfscConfig { realtime: promised, ..hfsc };
    let listed = |kind: &Kind| Some((kind.name, (kind.spec)(UNBOUNDED).with_hosts(hosts)?));
    let mut specs = vec![("fifo", Spec::DropTail { limit: UNBOUNDED })];
    specs.extend(fairwave_queue::ALL.iter().filter_map(listed));
    specs.push(("h-fsc, real time", Spec::Hfsc(realtime)));
    specs.push(("socps over h-fsc", Spec::Socps(SocpsConfig::Hfsc(hfsc))));
    specs
}

/// A queue in which every host has `backlog` packets, with weights from 0.1 to 1.
struct Loaded {
    queue: Box<dyn Discipline<Packet>>,
    now: Instant,
    random: u32,
}

impl Loaded {
    fn new(spec: &Spec, hosts: u32, backlog: u32) -> Self {
        let mut queue = spec.build::<Packet>();
        for receiver in 0..hosts {
            let tenths = 1 + receiver % 10;
            queue.set_weight(Instant::ZERO, receiver, Weight(tenths * Weight::ONE.0 / 10));
            for i in 0..backlog {
                let bytes = 100 + (receiver + i) % 14 * 100;
                queue.push(Instant::ZERO, Packet { receiver, bytes });
            }
        }
        Self { queue, now: Instant::ZERO, random: 1 }
    }

    /// One packet out, and one for the same host in: all stay backlogged.
    fn turn(&mut self) -> u32 {
        self.now += TICK;
        let Some(mut packet) = self.queue.pop(self.now) else { return 0 };
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        packet.bytes = 100 + (self.random >> 16) % 1400;
        self.queue.push(self.now, packet);
        packet.bytes
    }
}

fn cost(criterion: &mut Criterion) {
    for (backlog, load) in [(8, "backlogged"), (1, "one packet each")] {
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
