//! A world that its host changes while it goes on.

use crate::common::{AP, server, tcp, uploads, world};
use crate::outside::{Everything, at, quiet, simulation, taken, up};
use fairwave_dot11::{AccessCategory, Standard};
use fairwave_queue::{DrrConfig, HostConfig, Limit, Mac80211Config, Spec, Weight, WfqConfig};
use fairwave_sim::world::{Change, Loss, World};
use fairwave_sim::{Command, OutsideFate, OutsidePacket, Place, Simulation, run};
use fairwave_trace::{Discard, DropCause, NodeId};
use fairwave_units::{BitRate, Duration, Instant, Metres};

const STATION: NodeId = NodeId(1);

/// 2 Mbps and 1 ms, whatever it was.
fn slow(is_up: bool) -> Change {
    Change {
        at: Instant::ZERO,
        rate: Some(BitRate::mbps(2)),
        delay: Duration::from_millis(1),
        back: None,
        loss: Loss::NONE,
        is_up,
    }
}

/// When packet 1 arrives that enters at 2 s, if it does.
fn arrival(simulation: &mut Simulation<'_>, world: &World) -> Option<Instant> {
    simulation.inject(&up(1, world), at(2_000_000)).expect("there is a way");
    simulation.advance_to(at(3_000_000));
    let arrived = |fate| matches!(fate, OutsideFate::Arrived(_));
    taken(simulation).iter().find(|event| arrived(event.fate)).map(|event| event.at)
}

#[test]
fn a_world_that_can_be_steered_is_the_same_world() {
    let mut plain = uploads(world(Standard::A, 54, 3, Duration::from_millis(10)), &tcp("reno", 2));
    (plain.duration, plain.warm_up) = (Duration::from_secs(3), Duration::from_secs(1));
    let [first, second] = [plain.clone(), plain.steerable()].map(|world| {
        let mut seen = Everything::default();
        (run(&world, &mut seen, &mut |_| {}).expect("the world is right"), seen.0)
    });
    assert_eq!(first.0, second.0);
    assert!(first.1 == second.1, "other samples");
}

#[test]
fn a_station_is_carried_out_of_reach_and_back() {
    let world = quiet().steerable();
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let place = |metres| Command::Place { node: STATION, position: (Metres(metres), Metres(0.0)) };
    simulation.inject(&up(1, &world), at(1_000)).expect("there is a way");
    simulation.advance_to(at(1_000_000));
    assert!(matches!(taken(&mut simulation)[0].fate, OutsideFate::Arrived(_)));
    simulation.command(&place(5_000.0), at(1_000_000)).expect("it has a radio");
    simulation.inject(&up(2, &world), at(1_000_001)).expect("there is a way");
    simulation.advance_to(at(2_000_000));
    let fates: Vec<OutsideFate> = taken(&mut simulation).iter().map(|event| event.fate).collect();
    assert_eq!(fates, [OutsideFate::Lost(DropCause::RetryLimit)]);
    simulation.command(&place(4.0), at(2_000_000)).expect("it has a radio");
    simulation.inject(&up(3, &world), at(2_000_001)).expect("there is a way");
    simulation.advance_to(at(3_000_000));
    assert!(matches!(taken(&mut simulation)[0].fate, OutsideFate::Arrived(_)));
}

/// 1000 bytes at 2 Mbps and 1 ms take 5 ms, at 100 Mbps and 5 ms 5.08 ms: both less what the air
/// takes. So a packet comes 80 us earlier, and none comes over a link that is down.
#[test]
fn a_link_changes_at_once_and_goes_down() {
    let world = quiet();
    let [before, slower, down] = [None, Some(slow(true)), Some(slow(false))].map(|change| {
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        if let Some(change) = change {
            let command = Command::Link { link: 0, change };
            simulation.command(&command, at(1_500_000)).expect("there is a link");
        }
        arrival(&mut simulation, &world)
    });
    let before = before.expect("it arrives");
    assert_eq!(before.since(slower.expect("it arrives")), Duration::from_micros(80));
    assert_eq!(down, None);
}

/// Packets come back once each: those that the new queue has no room for at once.
/// One is on the air.
#[test]
fn what_waits_in_a_queue_waits_in_the_next() {
    let world = quiet();
    let limit = |packets| Spec::DropTail { limit: Limit::Packets(packets) };
    let mac80211 = Spec::Mac80211(Mac80211Config::linux(Limit::Packets(1000)));
    let wfq = Spec::Wfq(WfqConfig::of(Limit::Packets(1000)));
    for (spec, room) in [(limit(10), 10), (limit(1000), 1000), (mac80211, 1000), (wfq, 1000)] {
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        for handle in 0..40 {
            let source = server(&world);
            let category = AccessCategory::BestEffort;
            let packet = OutsidePacket::opaque(handle, source, STATION, category, (7, 8), 1000);
            simulation.inject(&packet, at(1_000_000)).expect("there is a way");
        }
        simulation.advance_to(at(1_008_500));
        let early = taken(&mut simulation).len();
        let command = Command::Queue { queue: Place::Radio(AP), spec: spec.clone() };
        simulation.command(&command, at(1_008_500)).expect("there is a queue");
        let lost = taken(&mut simulation).len();
        simulation.advance_to(at(3_000_000));
        let late = taken(&mut simulation).len();
        assert_eq!(early + lost + late, 40, "{spec:?}");
        let waiting = 39 - early;
        assert!(early > 0 && waiting > 10, "{spec:?}: {early} came before");
        assert_eq!(lost, waiting.saturating_sub(room), "{spec:?}");
    }
}

/// A scheduler sends nothing to a station of weight zero, but its packets are none to lose.
#[test]
fn packets_of_a_weightless_station_wait_in_the_next_queue() {
    let world = quiet();
    let limit = Limit::Packets(1000);
    let wfq = Spec::Wfq(WfqConfig::of(limit));
    let drr = Spec::Drr(DrrConfig { hosts: HostConfig::of(limit), quantum: 1514 });
    for spec in [wfq, drr] {
        let mut sink = Discard;
        let mut simulation = simulation(&world, &mut sink);
        let queue = |spec| Command::Queue { queue: Place::Radio(AP), spec };
        let weight = Command::Weight { ap: AP, station: STATION, weight: Weight::ZERO };
        simulation.command(&queue(spec.clone()), at(5)).expect("there is a queue");
        simulation.command(&weight, at(6)).expect("it knows weights");
        for handle in 0..10 {
            let (source, category) = (server(&world), AccessCategory::BestEffort);
            let packet = OutsidePacket::opaque(handle, source, STATION, category, (7, 8), 1000);
            simulation.inject(&packet, at(1_000_000)).expect("there is a way");
        }
        simulation.advance_to(at(2_000_000));
        assert!(taken(&mut simulation).is_empty(), "{spec:?}");
        let plain = queue(Spec::DropTail { limit: Limit::Packets(8) });
        simulation.command(&plain, at(2_000_000)).expect("there is a queue");
        let lost = taken(&mut simulation).len();
        simulation.advance_to(at(3_000_000));
        let arrived = taken(&mut simulation).len();
        assert_eq!((lost, arrived), (2, 8), "{spec:?}");
    }
}

#[test]
fn what_is_not_there_cannot_be_changed() {
    let world = quiet();
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let limit = Spec::DropTail { limit: Limit::Packets(1) };
    let far = NodeId(99);
    let position = (Metres(1.0), Metres(1.0));
    let stopped = Change { rate: Some(BitRate(0)), ..slow(true) };
    for (command, why) in [
        (Command::Place { node: STATION, position }, "not steerable"),
        (Command::Place { node: server(&world), position }, "no radio"),
        (Command::Place { node: far, position }, "no radio"),
        (Command::Link { link: 7, change: slow(true) }, "no such link"),
        (Command::Link { link: 0, change: stopped }, "no rate"),
        (Command::Queue { queue: Place::Radio(far), spec: limit.clone() }, "no such queue"),
        (Command::Queue { queue: Place::Line { link: 0, way: 2 }, spec: limit }, "no such queue"),
        (Command::Weight { ap: AP, station: STATION, weight: Weight::ONE }, "knows no weights"),
    ] {
        let error = simulation.command(&command, at(5)).expect_err("it is refused").to_string();
        assert!(error.contains(why), "{command:?}: {error}");
    }
}

#[test]
fn weights_are_those_of_the_queue_that_is_there_now() {
    let world = quiet();
    let mut sink = Discard;
    let mut simulation = simulation(&world, &mut sink);
    let limit = Limit::Packets(50);
    let drr = Spec::Drr(DrrConfig { hosts: HostConfig::of(limit), quantum: 1514 });
    let weight = Command::Weight { ap: AP, station: STATION, weight: Weight::ONE };
    for (spec, knows_weights) in
        [(drr.clone(), true), (Spec::DropTail { limit }, false), (drr, true)]
    {
        let queue = Command::Queue { queue: Place::Radio(AP), spec: spec.clone() };
        simulation.command(&queue, at(5)).expect("there is a queue");
        assert_eq!(simulation.command(&weight, at(5)).is_ok(), knows_weights, "{spec:?}");
    }
}
