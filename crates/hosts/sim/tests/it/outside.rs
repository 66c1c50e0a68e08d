//! A world driven by hand: in steps it is what it is in a run, and a host's packets travel in it
//! like those of its flows.

use crate::common::{self, AP, flow, server, tcp, uploads, world};
use fairwave_dot11::channel::ErrorModel;
use fairwave_dot11::{AccessCategory, Edca, Phy, Standard};
use fairwave_queue::Limit;
use fairwave_sim::world::{
    Flow, Handover, Link, Loss, Node, Radio, Roaming, SaturateFlow, Traffic, World,
};
use fairwave_sim::{Outcome, OutsideEvent, OutsideFate, OutsidePacket, Simulation, run};
use fairwave_trace::{Discard, DropCause, Kind, NodeId, Sample, Sink};
use fairwave_units::{Duration, Instant, Metres, Seed};
use proptest::prelude::*;

const STATION: NodeId = NodeId(1);

pub(crate) fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Keeps every sample as text.
#[derive(Default)]
pub(crate) struct Everything(pub(crate) Vec<String>);

impl Sink for Everything {
    fn wants(&self, _: Kind) -> bool {
        true
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        self.0.push(format!("{at:?} {sample:?}"));
    }

    fn taps(&self, _: NodeId) -> bool {
        true
    }
}

/// One station, an access point, a server behind 100 Mbps and 5 ms; no flows.
pub(crate) fn quiet() -> World {
    let mut quiet = world(Standard::A, 54, 1, Duration::from_millis(5));
    (quiet.duration, quiet.warm_up) = (Duration::from_secs(6), Duration::ZERO);
    quiet
}

/// 1000 bytes up.
pub(crate) fn up(handle: u64, world: &World) -> OutsidePacket {
    OutsidePacket::opaque(handle, STATION, server(world), AccessCategory::BestEffort, (7, 8), 1000)
}

pub(crate) fn simulation<'w>(world: &'w World, sink: &'w mut dyn Sink) -> Simulation<'w> {
    Simulation::new(world, sink).expect("the world is right")
}

pub(crate) fn taken(simulation: &mut Simulation<'_>) -> Vec<OutsideEvent> {
    core::iter::from_fn(|| simulation.take()).collect()
}

fn lost(events: &[OutsideEvent]) -> Vec<(u64, DropCause)> {
    let cause = |event: &OutsideEvent| match event.fate {
        OutsideFate::Lost(cause) => Some((event.handle, cause)),
        OutsideFate::Arrived(_) => None,
    };
    events.iter().filter_map(cause).collect()
}

/// Every deadline in turn, or steps of 7 ms; the outcome, and all samples.
fn by_hand(world: &World, is_even: bool) -> (Outcome, Vec<String>) {
    let mut seen = Everything::default();
    let mut simulation = simulation(world, &mut seen);
    while !simulation.is_over() {
        let next = simulation.next_deadline();
        let even = simulation.now() + Duration::from_millis(7);
        simulation.advance_to(if is_even { even } else { next.unwrap_or(even) });
        assert!(simulation.next_deadline().is_none_or(|next| next > simulation.now()));
    }
    assert_eq!(simulation.take(), None);
    let outcome = simulation.finish(Instant::ZERO + world.duration);
    (outcome, seen.0)
}

/// Two cells on channels of their own, both joined to the server, and a station that goes to the
/// second one and back.
fn two_cells() -> World {
    let mut world = world(Standard::A, 54, 2, Duration::from_millis(2));
    world.cells[0] = common::cell(Standard::N);
    let mode = Phy::new(Standard::N).modes(1)[7];
    world.nodes.iter_mut().flat_map(|node| &mut node.radio).for_each(|radio| radio.mode = mode);
    (world.duration, world.warm_up) = (Duration::from_secs(3), Duration::from_secs(1));
    world.cells[0].beacon_interval = Some(Duration::from_micros(102_400));
    world.cells.push(world.cells[0].clone());
    let first = world.nodes[0].radio.clone().expect("the access point");
    let second = Radio { cell: 1, position: (Metres(8.0), Metres(0.0)), ..first };
    let second_ap = NodeId(world.nodes.len() as u32);
    world.nodes.push(Node { name: "ap2".into(), radio: Some(second) });
    let link = world.links[0].clone();
    world.links.push(Link { ends: (second_ap, link.ends.1), ..link });
    let disconnection = Duration::from_millis(50);
    let goes = |millis: u64, to| Handover { at: at(1000 * millis), to, disconnection };
    let station = world.nodes[1].radio.as_mut().expect("the station");
    let handovers = vec![goes(1200, second_ap), goes(2100, AP)];
    let candidates = vec![AP, second_ap];
    station.roaming = Some(Roaming { candidates, handovers, hold: 20, ..Roaming::default() });
    world
}

#[test]
fn a_world_in_steps_is_the_same_world() {
    let mut roams = two_cells();
    let end = server(&quiet()).0 + 1;
    roams.flows = vec![
        flow("up", STATION, NodeId(end), Traffic::Tcp(tcp("newreno", 2))),
        flow("down", NodeId(end), STATION, Traffic::Tcp(tcp("cubic", 2))),
        flow("noise", NodeId(2), AP, Traffic::Saturate(SaturateFlow { payload_bytes: 700 })),
    ];
    roams.bins = Some(Duration::from_millis(300));
    let mut plain = uploads(world(Standard::A, 54, 4, Duration::from_millis(10)), &tcp("reno", 2));
    (plain.duration, plain.warm_up) = (Duration::from_secs(3), Duration::from_secs(1));
    for world in [roams, plain] {
        let mut seen = Everything::default();
        let outcome = run(&world, &mut seen, &mut |_| {}).expect("the world is right");
        for is_even in [false, true] {
            let (stepped, samples) = by_hand(&world, is_even);
            assert_eq!(stepped, outcome);
            assert!(samples == seen.0, "other samples, even steps: {is_even}");
        }
    }
}

/// On a channel that has been idle for long, a frame of 1000 + 36 bytes at 54 Mbps takes 176 us;
/// the link takes 80 us and 5 ms.
#[test]
fn a_packet_comes_out_at_the_server() {
    let world = quiet();
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let mut packet = up(41, &world);
    packet.datagram.id = 99;
    simulation.inject(&packet, at(1_000)).expect("there is a way");
    assert_eq!(simulation.now(), at(1_000));
    let mut hops = 0;
    while let Some(next) = simulation.next_deadline().filter(|next| *next < at(100_000)) {
        assert_eq!(simulation.take(), None, "not before {next}");
        simulation.advance_to(next);
        hops += 1;
        if let Some(event) = simulation.take() {
            assert_eq!((event.handle, event.at), (41, next));
            assert_eq!(event.fate, OutsideFate::Arrived(packet.datagram));
            let delay = event.at.since(at(1_000)).as_micros();
            assert_eq!(delay, 176 + 80 + 5_000);
            return assert!(hops > 2);
        }
    }
    panic!("it did not arrive");
}

/// A packet every 5 ms for a second; the mean delay in milliseconds of those that arrived.
fn mean_delay(world: &World, category: AccessCategory) -> (f64, Outcome) {
    let mut sink = Discard;
    let mut simulation = simulation(world, &mut sink);
    let mut sum = Duration::ZERO;
    let mut arrived = 0;
    let mut settle = |simulation: &mut Simulation<'_>| {
        for event in taken(simulation) {
            assert!(matches!(event.fate, OutsideFate::Arrived(_)), "{event:?}");
            sum += event.at.since(at(event.handle));
            arrived += 1;
        }
    };
    for i in 0..200 {
        let now = 1_000_000 + 5_000 * i;
        let packet = OutsidePacket { category, ..up(now, world) };
        simulation.inject(&packet, at(now)).expect("there is a way");
        settle(&mut simulation);
    }
    simulation.advance_to(at(3_900_000));
    settle(&mut simulation);
    assert_eq!(arrived, 200);
    let outcome = simulation.finish(Instant::ZERO + world.duration);
    (sum.as_secs_f64() * 1e3 / f64::from(arrived), outcome)
}

#[test]
fn packets_contend_with_flows_in_their_cell() {
    let busy = || {
        let mut busy = world(Standard::A, 6, 3, Duration::from_millis(5));
        (busy.duration, busy.warm_up) = (Duration::from_secs(4), Duration::ZERO);
        let saturate = || Traffic::Saturate(SaturateFlow { payload_bytes: 1472 });
        busy.flows =
            vec![flow("two", NodeId(2), AP, saturate()), flow("three", NodeId(3), AP, saturate())];
        busy
    };
    let alone = World { flows: Vec::new(), ..busy() };
    let best_effort = AccessCategory::BestEffort;
    let ((idle, _), (beside, disturbed)) =
        (mean_delay(&alone, best_effort), mean_delay(&busy(), best_effort));
    assert!(idle < 6.9 && beside > idle + 2.0, "{idle} ms alone, {beside} ms beside flows");
    let undisturbed = run(&busy(), &mut Discard, &mut |_| {}).expect("the world is right");
    let goodput = |outcome: &Outcome| {
        outcome.flows.iter().map(|flow| flow.goodput.as_mbps_f64()).sum::<f64>()
    };
    let (with, without) = (goodput(&disturbed), goodput(&undisturbed));
    assert!(with < 0.97 * without, "{with} of {without} Mbps");
}

/// Where a cell has EDCA, a host's voice goes before the data of flows and of its own.
#[test]
fn urgent_packets_go_first() {
    let mut busy = quiet();
    busy.cells[0].edca = Some(Edca::defaults(busy.cells[0].phy));
    busy.flows =
        vec![flow("data", STATION, AP, Traffic::Saturate(SaturateFlow { payload_bytes: 1472 }))];
    let (voice, _) = mean_delay(&busy, AccessCategory::Voice);
    let (data, _) = mean_delay(&busy, AccessCategory::BestEffort);
    assert!(voice + 0.2 < data, "{voice} ms of voice, {data} ms of data");
}

/// A radio that is done with a frame goes on with its category, though the frame's packet has ended
/// with its arrival.
#[test]
fn a_burst_of_every_category_empties_its_queue() {
    let mut world = quiet();
    world.cells[0].edca = Some(Edca::defaults(world.cells[0].phy));
    for category in AccessCategory::ALL {
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        for handle in 0..20 {
            let packet = OutsidePacket { category, destination: AP, ..up(handle, &world) };
            simulation.inject(&packet, at(0)).expect("there is a way");
        }
        simulation.advance_to(at(500_000));
        let arrived: Vec<u64> = taken(&mut simulation).iter().map(|event| event.handle).collect();
        assert_eq!(arrived, (0..20).collect::<Vec<_>>(), "{category:?}");
    }
}

#[test]
fn a_full_queue_tells_at_once() {
    let mut small = quiet();
    small.nodes[1].radio.as_mut().expect("the station").queue = Limit::Packets(10).into();
    let mut seen = Everything::default();
    let mut simulation = simulation(&small, &mut seen);
    for handle in 0..15 {
        simulation.inject(&up(handle, &small), at(100)).expect("there is a way");
    }
    // One is at the MAC, ten wait.
    let events = taken(&mut simulation);
    let expected: Vec<_> = (11..15).map(|handle| (handle, DropCause::QueueFull)).collect();
    assert_eq!(lost(&events), expected);
    assert!(events.iter().all(|event| event.at == at(100)));
    simulation.advance_to(at(1_000_000));
    let arrived: Vec<u64> = taken(&mut simulation).iter().map(|event| event.handle).collect();
    assert_eq!(arrived, (0..11).collect::<Vec<_>>());
    let outcome = simulation.finish(at(1_000_000));
    assert_eq!(outcome.queues[1].at_end.drops[DropCause::QueueFull as usize], 4);
    assert_eq!(outcome.simulated, Duration::from_secs(1));
    let drops = seen.0.iter().filter(|sample| sample.contains("Drop(")).collect::<Vec<_>>();
    assert!(drops.len() == 4 && drops[0].contains("flow: None"), "{drops:?}");
    assert_eq!(seen.0.iter().filter(|sample| sample.contains("Packet(")).count(), 15 + 2 * 11);
}

#[test]
fn losses_on_links_and_in_the_air_have_their_causes() {
    let mut wire = quiet();
    wire.links[0].loss = Loss::both(1.0);
    let mut air = quiet();
    air.cells[0].errors = ErrorModel::Rate { data: 1.0, control: 0.0 };
    for (world, cause) in [(wire, DropCause::LinkLoss), (air, DropCause::RetryLimit)] {
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        simulation.inject(&up(5, &world), at(0)).expect("there is a way");
        // A host that sleeps until the next deadline hears of it when it happens.
        let mut events = Vec::new();
        while let Some(next) = simulation.next_deadline().filter(|_| events.is_empty()) {
            simulation.advance_to(next);
            events = taken(&mut simulation);
        }
        assert_eq!(lost(&events), [(5, cause)]);
        assert!(events[0].at == simulation.now() && events[0].at < at(100_000), "{events:?}");
    }
}

#[test]
fn what_cannot_travel_is_refused() {
    let mut world = quiet();
    world.nodes.push(Node { name: "alone".into(), radio: None });
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let alone = NodeId(world.nodes.len() as u32 - 1);
    let good = OutsidePacket { destination: AP, ..up(1, &world) };
    for bad in [
        OutsidePacket { destination: STATION, ..good },
        OutsidePacket { destination: NodeId(77), ..good },
        OutsidePacket { destination: alone, ..good },
        OutsidePacket { source: alone, ..good },
        OutsidePacket { via: Some(STATION), ..good },
        OutsidePacket { via: Some(NodeId(77)), ..good },
        OutsidePacket { via: Some(alone), ..good },
    ] {
        assert!(simulation.inject(&bad, at(10)).is_err(), "{bad:?}");
    }
    assert!(simulation.inject(&good, at(6_000_001)).is_err(), "the run is over by then");
    assert_eq!(simulation.inject(&good, at(6_000_000)), Ok(()));
    assert!(simulation.inject(&good, at(10)).is_ok(), "what is late enters now");
    assert_eq!(simulation.now(), at(6_000_000));
    simulation.advance_to(at(6_000_000));
    assert!(simulation.is_over());
    assert_eq!(taken(&mut simulation), [], "both are under way");
}

/// A packet of a path goes to the node of that first, though the way to its destination is shorter.
#[test]
fn a_packet_takes_the_way_by_the_node_of_its_path() {
    let mut world = quiet();
    let (near, far) = (server(&world), NodeId(world.nodes.len() as u32));
    world.nodes.push(Node { name: "far".into(), radio: None });
    let direct = world.links[0].clone();
    let slow = |ends, ms| Link { ends, delay: Duration::from_millis(ms), ..direct.clone() };
    world.links.extend([slow((AP, far), 40), slow((far, near), 40)]);
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let packet = up(1, &world);
    assert_eq!(simulation.inject(&packet, at(0)), Ok(()));
    let context = OutsidePacket { handle: 2, via: Some(far), ..packet };
    assert_eq!(simulation.inject(&context, at(0)), Ok(()));
    simulation.advance_to(at(1_000_000));
    let arrived: Vec<_> = taken(&mut simulation).iter().map(|event| event.handle).collect();
    assert_eq!(arrived, [1, 2]);
    assert!(simulation.now() >= at(80_000));
}

/// Frames in both directions over an aggregating cell that loses frames and ACKs, a station that
/// roams meanwhile, a lossy link.
fn hostile(seed: u64) -> World {
    let mut world = two_cells();
    (world.seed, world.duration) = (Seed(seed), Duration::from_secs(9));
    for cell in &mut world.cells {
        cell.errors = ErrorModel::Rate { data: 0.4, control: 0.3 };
    }
    for link in &mut world.links {
        (link.loss, link.jitter) = (Loss::both(0.02), Duration::from_millis(1));
    }
    world.flows = vec![Flow {
        category: AccessCategory::Video,
        ..flow("noise", AP, NodeId(2), Traffic::Saturate(SaturateFlow { payload_bytes: 700 }))
    }];
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Every handle comes back, once; what arrives is what was sent, not before it was.
    #[test]
    fn every_handle_comes_back(seed: u64, gap in 300u64..4_000) {
        let world = hostile(seed);
        let server = NodeId(3);
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        let mut back = Vec::new();
        let sent = 1_900_000 / gap;
        for i in 0..sent {
            let (from, to) = if i % 2 == 0 { (STATION, server) } else { (server, STATION) };
            let category = AccessCategory::ALL[i as usize % 4];
            let len = 100 + i as u32 % 1400;
            let packet = OutsidePacket::opaque(i, from, to, category, (1, 2), len);
            simulation.inject(&packet, at(gap * i)).expect("there is a way");
            back.extend(taken(&mut simulation));
        }
        simulation.advance_to(at(9_000_000));
        back.extend(taken(&mut simulation));
        for event in &back {
            prop_assert!(event.at >= at(gap * event.handle), "seed {seed}: {event:?}");
            if let OutsideFate::Arrived(datagram) = event.fate {
                let len = 100 + event.handle as u32 % 1400;
                prop_assert_eq!(datagram.wire_len(), len, "seed {}", seed);
            }
        }
        let mut handles: Vec<u64> = back.iter().map(|event| event.handle).collect();
        handles.sort_unstable();
        prop_assert_eq!(handles, (0..sent).collect::<Vec<_>>(), "seed {}", seed);
        prop_assert!(!lost(&back).is_empty() && lost(&back).len() < back.len());
    }
}

#[test]
fn a_station_out_of_reach_loses_its_packets() {
    let mut world = quiet();
    let station = world.nodes[1].radio.as_mut().expect("the station");
    station.position = (Metres(50_000.0), Metres(0.0));
    station.mode = Phy::new(Standard::A).lowest_mode();
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    simulation.inject(&up(1, &world), at(0)).expect("there is a way");
    simulation.advance_to(at(6_000_000));
    assert_eq!(lost(&taken(&mut simulation)), [(1, DropCause::RetryLimit)]);
}

/// Once the first packets have made room, a packet from outside costs no allocation.
#[test]
fn packets_from_outside_do_not_allocate() {
    let allocations = |packets: u64| {
        let mut world = world(Standard::A, 54, 1, Duration::from_millis(5));
        (world.duration, world.warm_up) = (Duration::from_secs(60), Duration::ZERO);
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        let mut arrived = 0;
        let counted = allocation_counter::measure(|| {
            for i in 0..packets {
                simulation.inject(&up(i, &world), at(1_000 * i)).expect("there is a way");
                arrived += core::iter::from_fn(|| simulation.take()).count() as u64;
            }
        });
        assert!(arrived + 20 > packets, "{arrived} of {packets}");
        counted.count_total
    };
    let (short, long) = (allocations(1_000), allocations(11_000));
    assert!(long - short < 20, "{} allocations for 10 000 packets", long - short);
}

/// A host that carries a flow itself puts its start after the end of the run, and shows its own
/// samples of it.
#[test]
fn a_flow_that_never_starts_has_no_samples() {
    let quiet = world(Standard::A, 54, 2, Duration::from_millis(5));
    let mut world = uploads(quiet, &tcp("newreno", 2));
    (world.duration, world.warm_up) = (Duration::from_secs(2), Duration::from_secs(1));
    world.sample_every = Duration::from_millis(100);
    world.flows[1].start = Instant::ZERO + world.duration + Duration::from_secs(1);
    let mut sink = Everything::default();
    run(&world, &mut sink, &mut |_| ()).expect("the world is right");
    let samples = |of: &str| sink.0.iter().filter(|sample| sample.contains(of)).count();
    assert!(samples("Flow(FlowId(0)") > 10);
    assert_eq!(samples("Flow(FlowId(1)"), 0);
}
