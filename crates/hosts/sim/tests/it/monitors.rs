//! Schedulers that pass over hosts in a fade, told of it by what an access point knows.

use crate::common::{AP, flow, server, world};
use fairwave_dot11::{Interpolation, Standard};
use fairwave_queue::{ALL, Limit};
use fairwave_sim::world::{LinkMonitor, Monitor, SnrTrace, Source, Traffic, World};
use fairwave_sim::{Command, Outcome, Place, Simulation, run};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{Db, Dbm, Duration, Instant};

/// Two stations of 802.11b that get voice; the first is at 20 dB, and at `fade` from 3 to 6 s.
fn voices(queue: &str, fade: f64, monitor: Option<Monitor>) -> World {
    let mut world = world(Standard::B, 2, 2, Duration::ZERO);
    (world.duration, world.warm_up) = (Duration::from_secs(10), Duration::ZERO);
    world.cells[0].carrier_sense = Dbm(-110.0);
    world.cells[0].preamble_detection = None;
    let server = server(&world);
    for (index, low) in [fade, 20.0].into_iter().enumerate() {
        let node = NodeId(index as u32 + 1);
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let points = vec![(at(0), Db(20.0)), (at(3), Db(low)), (at(6), Db(20.0))];
        let trace = SnrTrace::new(points, Interpolation::Step).expect("a trace");
        let radio = world.nodes[node.0 as usize].radio.as_mut().expect("a station has one");
        radio.snr_trace = Some(trace);
        let (payload_bytes, interval) = (322, Duration::from_millis(30));
        let voice = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
        world.flows.push(flow(&format!("voice{index}"), server, node, voice));
    }
    let kind = ALL.iter().find(|kind| kind.name == queue).expect("it is listed");
    let radio = world.nodes[AP.0 as usize].radio.as_mut().expect("the AP has one");
    radio.queue = (kind.spec)(Limit::Packets(200));
    world.monitors = monitor.map(|monitor| LinkMonitor { ap: AP, monitor }).into_iter().collect();
    world
}

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

const LEVEL: Option<Monitor> =
    Some(Monitor::Level { threshold: Db(12.0), every: Duration::from_millis(10) });

#[test]
fn by_level_nothing_is_sent_into_a_fade() {
    // In IWFQ a host that comes back has the channel for itself until it has caught up: here
    // with the 100 packets that waited, 3 to 5 ms each.
    for (queue, others) in [("csdps", 200), ("iwfq", 600), ("cif-q", 200)] {
        let outcome = simulate(&voices(queue, 8.0, LEVEL));
        let silence = outcome.flows[0].longest_silence;
        let off = silence.abs_diff(Duration::from_secs(3));
        assert!(off < Duration::from_millis(100), "{queue}: {silence}");
        let other = outcome.flows[1].longest_silence;
        assert!(other < Duration::from_millis(others), "{queue}: {other} for the other");
        assert_eq!(outcome.flows[1].datagrams.expect("datagrams").lost, 0, "{queue}");
    }
    let told_nothing = simulate(&voices("csdps", 8.0, None));
    assert!(told_nothing.flows[0].longest_silence < Duration::from_millis(200));
    let does_not_listen = simulate(&voices("drop-tail", 8.0, LEVEL));
    assert!(does_not_listen.flows[0].longest_silence < Duration::from_millis(200));
}

#[test]
fn a_queue_that_replaces_another_knows_the_bad_links() {
    let world = voices("drop-tail", 8.0, LEVEL).steerable();
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    for kind in ALL.iter().filter(|kind| ["csdps", "iwfq", "cif-q"].contains(&kind.name)) {
        let mut sink = Discard;
        let mut simulation = Simulation::new(&world, &mut sink).expect("the world is right");
        let spec = (kind.spec)(Limit::Packets(200));
        let command = Command::Queue { queue: Place::Radio(AP), spec };
        simulation.command(&command, at(3_500)).expect("there is a queue");
        simulation.advance_to(at(10_000));
        let outcome = simulation.finish(at(10_000));
        let silence = outcome.flows[0].longest_silence;
        let off = silence.abs_diff(Duration::from_millis(2_500));
        assert!(off < Duration::from_millis(100), "{}: {silence}", kind.name);
    }
}

#[test]
fn by_failures_few_frames_are_sent_into_a_fade() {
    let attempts = |monitor| {
        let outcome = simulate(&voices("csdps", -20.0, monitor));
        assert!(outcome.flows[0].longest_silence < Duration::from_millis(3600));
        outcome.stations[0].at_end.retry_drops
    };
    let back_off = Duration::from_millis(300);
    let (all, few) = (attempts(None), attempts(Some(Monitor::Failures { back_off })));
    // Seven attempts with their backoffs take some 46 ms: 3 s of them, against one each 300 ms.
    assert!((55..=75).contains(&all) && (8..=11).contains(&few), "{few} of {all} were given up");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let refused = |change: fn(&mut World)| {
        let mut world = voices("csdps", 8.0, LEVEL);
        change(&mut world);
        run(&world, &mut Discard, &mut |_| {}).expect_err("it cannot be").to_string()
    };
    let station = refused(|world| world.monitors[0].ap = NodeId(1));
    assert_eq!(station, "link monitor of sta1: it is no access point");
    let twice = refused(|world| world.monitors.push(world.monitors[0]));
    assert_eq!(twice, "link monitor of ap: it is there twice");
}
