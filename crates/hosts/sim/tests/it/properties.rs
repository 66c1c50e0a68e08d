//! What holds for any run: packets are conserved, odd times do no harm, newcomers disturb
//! nobody's draws, a steady state does not allocate.

use crate::common::{AP, flow, server, tcp, uploads, world};
use fairwave_dot11::Standard;
use fairwave_dot11::channel::ErrorModel;
use fairwave_queue::Limit;
use fairwave_sim::world::{Flow, Loss, SaturateFlow, Source, Traffic, World};
use fairwave_sim::{Error, Outcome, run};
use fairwave_trace::{Discard, DropCause, Kind, NodeId, Sample, Sink};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use proptest::prelude::*;

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn udp(name: &str, source: NodeId, sink: NodeId, millis: u64) -> Flow {
    let interval = Duration::from_millis(millis);
    flow(name, source, sink, Traffic::Datagrams(Source::Cbr { payload_bytes: 500, interval }))
}

/// TCP both ways through small queues, over a cell and a link that lose packets.
fn lossy(seed: u64, stations: u32, queue: u32) -> World {
    let mut lossy = world(Standard::A, 54, stations, Duration::from_millis(5));
    (lossy.seed, lossy.duration) = (Seed(seed), Duration::from_secs(2));
    lossy.warm_up = Duration::from_millis(500);
    lossy.cells[0].errors = ErrorModel::Rate { data: 0.3, control: 0.1 };
    lossy.cells[0].beacon_interval = Some(Duration::from_micros(102_400));
    lossy.links[0].loss = Loss::both(0.01);
    lossy.links[0].jitter = Duration::from_millis(2);
    lossy.links[0].queue = Limit::Packets(queue).into();
    for node in &mut lossy.nodes {
        if let Some(radio) = &mut node.radio {
            radio.queue = Limit::Packets(queue).into();
        }
    }
    let mut lossy = uploads(lossy, &tcp("newreno", 2));
    let server = server(&lossy);
    lossy.flows.push(flow("down", server, NodeId(1), Traffic::Tcp(tcp("compound", 1))));
    lossy
}

/// Collects drops by cause.
#[derive(Default)]
struct Drops([u64; DropCause::ALL.len()]);

impl Sink for Drops {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Drop
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        if let Sample::Drop(drop) = sample {
            self.0[drop.cause as usize] += 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What entered a queue left it, waits in it, or was dropped behind it; the sink heard of
    /// each drop; and no flow delivers what was not sent.
    #[test]
    fn packets_are_conserved(seed: u64, stations in 1u32..6, queue in 0u32..30) {
        let world = lossy(seed, stations, queue);
        let mut drops = Drops::default();
        let outcome = run(&world, &mut drops, &mut |_| {}).expect("the world is right");
        let mut counted = [0; DropCause::ALL.len()];
        for queue in &outcome.queues {
            let at_end = queue.at_end;
            counted.iter_mut().zip(at_end.drops).for_each(|(sum, n)| *sum += n);
            let behind = at_end.drops[DropCause::RetryLimit as usize]
                + at_end.drops[DropCause::LinkLoss as usize];
            prop_assert!(
                at_end.enqueued >= behind + u64::from(at_end.packets),
                "seed {seed}: {queue:?}"
            );
        }
        prop_assert_eq!(counted, drops.0, "seed {}", seed);
        for (station, queue) in outcome.stations.iter().zip(&outcome.queues) {
            let (mac, queue) = (station.at_end, queue.at_end);
            let left = queue.enqueued - u64::from(queue.packets);
            let open = left - mac.successes - mac.retry_drops;
            prop_assert!(open <= 2, "seed {seed}: {open} frames of {station:?} are nowhere");
        }
        for flow in &outcome.flows {
            let sent = flow.at_end.sent_packets * 1460;
            prop_assert!(flow.at_end.delivered_bytes <= sent, "seed {seed}: {flow:?}");
        }
    }

    /// Another station leaves the draws of those who do not meet it as they were.
    #[test]
    fn an_idle_station_changes_no_flow(seed: u64) {
        let run = |bystander: bool| {
            let mut world = lossy(seed, 2, 20);
            if bystander {
                let mut node = world.nodes[1].clone();
                node.name = "bystander".into();
                world.nodes.push(node);
            }
            simulate(&world).flows
        };
        prop_assert_eq!(run(false), run(true), "seed {}", seed);
    }
}

#[test]
fn odd_times_are_harmless() {
    let base = || {
        let mut base = world(Standard::A, 54, 1, Duration::from_millis(1));
        base.duration = Duration::from_secs(1);
        base.warm_up = Duration::ZERO;
        base
    };
    let delivered = |change: &dyn Fn(&mut World)| {
        let mut world = base();
        world.flows = vec![udp("u", NodeId(1), AP, 10)];
        change(&mut world);
        simulate(&world).flows[0].at_end.delivered_bytes / 500
    };
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    assert_eq!(delivered(&|_| {}), 100, "one every 10 ms; that of the last instant is on the air");
    assert_eq!(delivered(&|w| w.duration = Duration::ZERO), 0);
    assert_eq!(delivered(&|w| w.warm_up = Duration::from_secs(5)), 100);
    assert_eq!(delivered(&|w| w.flows[0].stop = Some(at(95))), 10);
    assert_eq!(delivered(&|w| w.flows[0].start = at(2000)), 0);
    let stopped_first = |w: &mut World| {
        (w.flows[0].start, w.flows[0].stop) = (at(500), Some(at(100)));
    };
    assert_eq!(delivered(&stopped_first), 0);
}

#[test]
fn worlds_that_would_not_end_or_not_be_random_are_refused() {
    let refusal = |change: &dyn Fn(&mut World)| {
        let mut world = world(Standard::A, 54, 2, Duration::from_millis(1));
        world.flows = vec![udp("u", NodeId(1), AP, 10), udp("v", NodeId(2), AP, 10)];
        change(&mut world);
        match run(&world, &mut Discard, &mut |_| {}) {
            Err(Error::Invalid(why)) => why,
            Ok(_) => "nothing".into(),
        }
    };
    let zero_beacons = |w: &mut World| w.cells[0].beacon_interval = Some(Duration::ZERO);
    assert!(refusal(&zero_beacons).contains("beacon interval"));
    assert!(refusal(&|w| w.nodes[2].name = "sta1".into()).contains("two nodes called sta1"));
    assert!(refusal(&|w| w.flows[1].name = "u".into()).contains("two flows called u"));
    let huge = Traffic::Saturate(SaturateFlow { payload_bytes: u32::MAX });
    assert!(refusal(&|w| w.flows[0].traffic = huge.clone()).contains("65507"));
    assert_eq!(refusal(&|_| {}), "nothing");
}

/// The second half of a run costs no more allocations than the first ten seconds: buffers have
/// found their sizes.
#[test]
fn a_running_simulation_does_not_allocate() {
    let allocations = |seconds| {
        let mut base = world(Standard::A, 54, 8, Duration::from_millis(20));
        base.duration = Duration::from_secs(seconds);
        let world = uploads(base, &tcp("newreno", 2));
        let mut frames = 0;
        let counted = allocation_counter::measure(|| frames = simulate(&world).frames);
        (counted.count_total, frames)
    };
    let (short, long) = (allocations(10), allocations(20));
    let (more, frames) = (long.0 - short.0, long.1 - short.1);
    assert!(frames > 50_000, "{frames} frames");
    assert!(more < 100, "{more} allocations for {frames} frames");
}

/// Two hundred stations that upload, nothing recorded: all that is held at once.
#[test]
fn two_hundred_stations_fit_into_64_megabytes() {
    let mut base = world(Standard::A, 54, 200, Duration::from_millis(20));
    (base.duration, base.warm_up) = (Duration::from_secs(3), Duration::from_secs(1));
    let world = uploads(base, &tcp("newreno", 2));
    let mut frames = 0;
    let counted = allocation_counter::measure(|| frames = simulate(&world).frames);
    assert!(frames > 5_000, "{frames} frames");
    assert!(counted.bytes_max < 64_000_000, "{} bytes", counted.bytes_max);
}

#[test]
fn a_slow_line_with_a_full_queue_ends_a_day_at_once() {
    let mut slow = world(Standard::A, 54, 1, Duration::from_millis(1));
    (slow.duration, slow.links[0].rate) = (Duration::from_secs(86_400), Some(BitRate(1_000)));
    slow.seed = Seed(u64::MAX);
    slow.cells[0].beacon_interval = None;
    let outcome = simulate(&uploads(slow, &tcp("newreno", 1)));
    // 86 400 s at 1 kbps are 10.8 MB.
    let delivered = outcome.flows[0].at_end.delivered_bytes;
    assert!((8_000_000..10_800_000).contains(&delivered), "{delivered} bytes");
    assert!(outcome.events < 1_000_000, "{} events", outcome.events);
}
