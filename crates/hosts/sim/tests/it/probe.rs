//! The buffer probe against known queues of the simulator.

use crate::common::{self, AP, flow, server, world};
use fairwave_dot11::{Aggregation, Edca, Phy, Standard};
use fairwave_queue::{AirtimeConfig, FairConfig, Limit as Bound, PieConfig, Spec};
use fairwave_sim::probe::diagnosis::{Contention, Policy, Radio, Sharing};
use fairwave_sim::world::{ErrorModel, Limits, Plan, ProbeFlow, Source, Traffic, Trial, World};
use fairwave_sim::{Outcome, ProbeOutcome, run};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{BitRate, Duration};

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn probe(trials: usize, spaced: u32, interval_ms: u64, train: u32) -> Traffic {
    let interval = Duration::from_millis(interval_ms);
    let trial = Trial { payload_bytes: 1_472, spaced, interval, train };
    let plan = Plan { trials: vec![trial; trials], rest: Duration::from_millis(100) };
    let limits = Limits {
        rate: BitRate::mbps(95),
        packets: 1_000_000,
        duration: Duration::from_secs(1_000),
    };
    Traffic::Probe(ProbeFlow { plan, limits, watches: None })
}

/// Two stations, the first of which is probed from the server.
fn probed(standard: Standard, mbps: u64, queue: impl Into<Spec>) -> World {
    let mut world = world(standard, mbps, 2, Duration::from_millis(1));
    world.nodes[0].radio.as_mut().expect("an access point").queue = queue.into();
    world.duration = Duration::from_secs(60);
    world.flows = vec![flow("probe", server(&world), NodeId(1), probe(5, 80, 5, 1_200))];
    world
}

fn found(world: &World) -> ProbeOutcome {
    let found = simulate(world).flows[0].probe.clone().expect("a probe");
    assert_eq!(found.ended, Some(Ok(())), "{found:?}");
    found
}

#[test]
fn a_known_queue_is_found_within_a_packet() {
    for (standard, mbps) in [(Standard::G, 54), (Standard::B, 11)] {
        for packets in [31, 149, 255] {
            let found = found(&probed(standard, mbps, Bound::Packets(packets)));
            let waiting = found.sizes[0].waiting.expect("the buffer was filled");
            assert!((waiting.mean - f64::from(packets)).abs() <= 1.0, "{packets}: {found:?}");
            let naive = found.sizes[0].naive.expect("something was lost");
            assert!(naive.mean > f64::from(packets) + 1.0, "{packets}: {found:?}");
            assert_eq!(found.diagnosis.policy.verdict, Some(Policy::DropTail), "{found:?}");
            assert_eq!(found.diagnosis.contention.verdict, Some(Contention::Alone), "{found:?}");
        }
    }
}

/// Packets of an A-MPDU leave the queue at once.
#[test]
fn a_known_queue_behind_aggregates_is_found_within_a_packet() {
    for standard in [Standard::N, Standard::Ac, Standard::Ax] {
        for packets in [100, 255, 500] {
            let found = found(&aggregated(standard, Bound::Packets(packets)));
            let size = &found.sizes[0];
            let waiting = size.waiting.expect("the buffer was filled");
            assert!((waiting.mean - f64::from(packets)).abs() <= 1.0, "{packets}: {found:?}");
            let burst = size.burst.expect("the buffer was filled");
            assert!(burst.mean > 20.0, "{standard:?}: {burst:?}");
            // Where a burst is as long as the buffer, both kinds look alike.
            let verdict = found.diagnosis.policy.verdict;
            assert_ne!(verdict, Some(Policy::Aqm), "{standard:?} {packets}: {found:?}");
            if standard == Standard::N && packets > 100 {
                assert_eq!(verdict, Some(Policy::DropTail), "{packets}: {found:?}");
            }
        }
    }
}

/// ACKs of another station's upload take a part of the queue, and packets of the probe are dropped
/// where few of them wait.
#[test]
fn acks_of_an_upload_in_the_queue_make_no_aqm_of_it() {
    for packets in [100, 255, 500] {
        let mut world = aggregated(Standard::N, Bound::Packets(packets));
        let upload = Traffic::Tcp(common::tcp("cubic", 2));
        world.flows.push(flow("up", NodeId(2), server(&world), upload));
        let found = found(&world);
        let verdict = found.diagnosis.policy.verdict;
        assert_ne!(verdict, Some(Policy::Aqm), "{packets}: {found:?}");
    }
}

#[test]
fn active_queue_management_behind_aggregates_is_no_full_queue() {
    for standard in [Standard::N, Standard::Ac, Standard::Ax] {
        let codel = FairConfig::fq_codel(Bound::Packets(10_240));
        let found = found(&aggregated(standard, Spec::FqCodel(codel)));
        let verdict = found.diagnosis.policy.verdict;
        assert_ne!(verdict, Some(Policy::DropTail), "{standard:?} {found:?}");
    }
}

#[test]
fn pie_behind_aggregates_is_an_aqm() {
    let pie = PieConfig::of(Bound::Packets(1_000));
    let found = found(&aggregated(Standard::N, Spec::Pie(pie)));
    assert_eq!(found.diagnosis.policy.verdict, Some(Policy::Aqm), "{found:?}");
}

/// The world of [`probed`] with A-MPDUs over the PHY's fastest mode of one stream, behind a fast
/// wire.
fn aggregated(standard: Standard, queue: impl Into<Spec>) -> World {
    let mut world = probed(Standard::A, 54, queue);
    let phy = Phy::new(standard);
    world.cells[0] = common::cell(standard);
    world.cells[0].edca = Some(Edca::defaults(phy));
    world.cells[0].aggregation = Aggregation::most(phy);
    for node in &mut world.nodes {
        node.radio.iter_mut().for_each(|radio| radio.mode = phy.modes(1)[7]);
    }
    world.links[0].rate = Some(BitRate::mbps(1_000));
    let Traffic::Probe(mut flow) = probe(5, 20, 5, 4_000) else { unreachable!() };
    flow.limits.rate = BitRate::mbps(if standard == Standard::N { 200 } else { 900 });
    world.flows[0].traffic = Traffic::Probe(flow);
    world
}

/// A rest, or a time between packets, that is longer than a receiver waits for a silent sender.
#[test]
fn a_long_rest_does_not_end_the_session() {
    for (rest, interval) in [(45, 1), (1, 45_000)] {
        let mut world = probed(Standard::G, 54, Bound::Packets(31));
        world.duration = Duration::from_secs(150);
        let Traffic::Probe(mut flow) = probe(2, 1, interval, 300) else { unreachable!() };
        flow.plan.rest = Duration::from_secs(rest);
        world.flows[0].traffic = Traffic::Probe(flow);
        assert_eq!(found(&world).sizes[0].trains, 2);
    }
}

#[test]
fn a_queue_beside_others_is_found_too() {
    let mut world = probed(Standard::G, 54, Bound::Packets(149));
    let interval = Duration::from_micros(11_776);
    let cbr = || Traffic::Datagrams(Source::Cbr { payload_bytes: 1_472, interval });
    let server = server(&world);
    world.flows.push(flow("down", server, NodeId(2), cbr()));
    world.flows.push(flow("up", NodeId(2), server, cbr()));
    let found = found(&world);
    let waiting = found.sizes[0].waiting.expect("the buffer was filled");
    assert!((waiting.mean - 149.0).abs() <= 0.02 * 149.0, "{found:?}");
    assert_eq!(found.diagnosis.contention.verdict, Some(Contention::Beside), "{found:?}");
}

#[test]
fn a_lossy_radio_is_told_from_a_full_queue() {
    let mut world = probed(Standard::G, 54, Bound::Packets(49));
    // Seven attempts each: 0.6^7 = 2.8 % of the packets are lost for good.
    world.cells[0].errors = ErrorModel::Rate { data: 0.6, control: 0.0 };
    let found = found(&world);
    assert_eq!(found.diagnosis.radio.verdict, Some(Radio::Lossy), "{found:?}");
    assert_eq!(found.diagnosis.policy.verdict, Some(Policy::DropTail), "{found:?}");
}

/// A train to the first station, packets apart to the second.
fn watched(queue: impl Into<Spec>) -> Outcome {
    let mut world = probed(Standard::G, 54, queue);
    let Traffic::Probe(watch) = probe(1, 3_000, 10, 0) else { unreachable!() };
    let watch = ProbeFlow { watches: Some("probe".into()), ..watch };
    world.flows[0].traffic = probe(3, 120, 5, 10_000);
    world.flows.push(flow("watch", server(&world), NodeId(2), Traffic::Probe(watch)));
    simulate(&world)
}

#[test]
fn a_second_receiver_tells_whose_queue_it_is() {
    let codel = FairConfig::fq_codel(Bound::Packets(10_240));
    let airtime = AirtimeConfig::mac80211(Bound::Packets(8_192));
    for (queue, policy, sharing) in [
        (Bound::Packets(149).into(), Policy::DropTail, Sharing::Shared),
        (Spec::FqCodel(codel), Policy::Aqm, Sharing::Separate),
        (Spec::AirtimeDrr(airtime), Policy::Aqm, Sharing::Separate),
    ] {
        let outcome = watched(queue.clone());
        let [loading, watching] = [0, 1].map(|i| outcome.flows[i].probe.clone().expect("a probe"));
        assert_eq!(loading.diagnosis.policy.verdict, Some(policy), "{queue:?} {loading:?}");
        let finding = watching.sharing.expect("it watches");
        assert_eq!(finding.verdict, Some(sharing), "{queue:?} {finding:?}");
        assert_eq!(loading.diagnosis.radio.verdict, Some(Radio::Clean), "{queue:?} {loading:?}");
    }
}

#[test]
fn one_end_is_the_access_point_itself_and_a_stopped_probe_stays_silent() {
    let mut world = probed(Standard::G, 54, Bound::Packets(49));
    world.flows[0].sink = AP;
    world.flows[0].stop = Some(fairwave_units::Instant::from_nanos(500_000_000));
    let outcome = simulate(&world);
    let found = outcome.flows[0].probe.clone().expect("a probe");
    assert_eq!(found.ended, Some(Err(fairwave_sim::probe::Failure::Stopped)), "{found:?}");
    assert!(outcome.flows[0].at_end.sent_packets < 1_300, "{outcome:?}");
}
