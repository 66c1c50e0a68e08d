//! Schedulers of hosts under load, for measurements.

use fairwave_queue::{
    Discipline, FlowKey, HfscConfig, HostConfig, Item, Kind, Limit, Segment, ServiceCurve,
    SocpsConfig, Spec, Weight,
};
use fairwave_units::{BitRate, Duration, Instant, Seed};

/// Numbers of hosts for the measurement.
pub(crate) const HOSTS: [u32; 4] = [8, 100, 1000, 10_000];
/// Packets of every host, and the name of that load.
pub(crate) const LOADS: [(u32, &str); 2] = [(8, "backlogged"), (1, "one packet each")];
/// Time of a packet on a link of 1 Gbps.
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

/// Measured queues: first in, first out and every scheduler of hosts.
pub(crate) fn specs() -> Vec<(&'static str, Spec)> {
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
pub(crate) struct Loaded {
    queue: Box<dyn Discipline<Packet>>,
    now: Instant,
    random: u32,
}

impl Loaded {
    pub(crate) fn new(spec: &Spec, hosts: u32, backlog: u32) -> Self {
        let mut queue = spec.build::<Packet>(Seed(1).stream("queue"));
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

    /// Dequeues one packet and enqueues one for the same host, so that all hosts stay backlogged.
    pub(crate) fn turn(&mut self) -> u32 {
        self.now += TICK;
        let Some(mut packet) = self.queue.pop(self.now) else { return 0 };
        // A linear congruential generator: cheap enough not to disturb the measurement.
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // The low bits of such a generator have short periods.
        packet.bytes = 100 + (self.random >> 16) % 1400;
        self.queue.push(self.now, packet);
        packet.bytes
    }
}
