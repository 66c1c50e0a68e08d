//! In steady state no scheduler allocates, however packets and weights move.

use fairwave_queue::{ALL, Discipline, FairConfig, FlowKey, Item, Limit, Segment, Spec, Weight};
use fairwave_units::{Duration, Instant, Seed};

const HOSTS: u32 = 50;
const TURNS: u32 = 5000;

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
        FlowKey { source_port: self.receiver as u16, ..FlowKey::default() }
    }

    fn tcp(&self) -> Option<Segment<'_>> {
        None
    }

    fn clamp_window(&mut self, _: u16) {}

    fn mark_ce(&mut self) -> bool {
        false
    }
}

/// Bursts in, singles out, more than the queue holds; every hundredth turn a weight changes.
fn turns(
    queue: &mut dyn Discipline<Packet>,
    now: &mut Instant,
    random: &mut fairwave_units::Stream,
) {
    for turn in 0..TURNS {
        *now += Duration::from_micros(100);
        for _ in 0..random.below(3) {
            let receiver = random.below(u64::from(HOSTS)) as u32;
            queue.push(*now, Packet { receiver, bytes: 40 + random.below(1460) as u32 });
        }
        if turn % 100 == 0 {
            let tenths = random.below(11) as u32;
            let host = random.below(u64::from(HOSTS)) as u32;
            queue.set_weight(*now, host, Weight(tenths * Weight::ONE.0 / 10));
        }
        std::hint::black_box(queue.pop(*now));
        while queue.dropped().is_some() {}
    }
}

#[test]
fn no_scheduler_of_hosts_and_no_random_discipline_allocates_per_packet() {
    for kind in ALL {
        let spec = (kind.spec)(Limit::Packets(300));
        if !spec.follows_weights() && !["red", "pie", "cake"].contains(&kind.name) {
            continue;
        }
        let (mut queue, mut now) = (spec.build(Seed(1).stream("queue")), Instant::ZERO);
        let mut random = Seed(1).stream("allocation");
        // Until every table is as long as it will be.
        (0..20).for_each(|_| turns(&mut *queue, &mut now, &mut random));
        let counted = allocation_counter::measure(|| turns(&mut *queue, &mut now, &mut random));
        assert_eq!(counted.count_total, 0, "{}", kind.name);
    }
}

/// A thousand links with queues of a thousand buckets that nothing passes: memory follows packets.
#[test]
fn a_queue_takes_no_memory_before_packets_come() {
    for kind in ALL {
        let spec = match (kind.spec)(Limit::Packets(1_000_000)) {
            Spec::FqCodel(config) => Spec::FqCodel(FairConfig { buckets: 65_536, ..config }),
            spec => spec,
        };
        let counted =
            allocation_counter::measure(|| drop(spec.build::<Packet>(Seed(1).stream("queue"))));
        assert!(counted.bytes_max < 2_000, "{}: {} bytes", kind.name, counted.bytes_max);
    }
}
