//! Flows of multi-connection SHAKE: each connection takes its own way, a split is as fast as its
//! slowest share, and what was written arrives once, whatever the links do.

use crate::ways::{HOST, any_disturbance, bottlenecks, disturb, gateway};
use fairwave_sim::world::{Loss, MultiTcpFlow, MultiTcpPath, Split, TcpFlow, Traffic, World};
use fairwave_sim::{Error, FlowOutcome, Outcome, run};
use fairwave_tcp::Config;
use fairwave_trace::{Discard, Kind, NodeId, PacketSample, Sample, Sink};
use fairwave_units::{Bytes, Duration, Seed};
use fairwave_wire::datagram::Transport;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Rate in kbps and delay of one way in microseconds: the paths of the paper.
const PAPER: [(u64, u64); 3] = [(64, 130_000), (32, 187_500), (32, 187_500)];

/// Connections with the paper's parameters (Table 8).
fn multi(split: Split, weights: &[u32], size: Option<u64>) -> MultiTcpFlow {
    let (send_buffer, receive_buffer) = (17_520, 17_520);
    let config = Config {
        send_buffer,
        receive_buffer,
        initial_ssthresh: Some(29_200),
        initial_window_segments: 1,
        ..Config::default()
    };
    let path = |(connection, weight): (usize, &u32)| MultiTcpPath {
        via: gateway(connection),
        weight: *weight,
    };
    MultiTcpFlow {
        tcp: TcpFlow {
            sender: config,
            receiver: config,
            congestion_control: "reno".into(),
            size: size.map(Bytes),
            source: None,
        },
        paths: weights.iter().enumerate().map(path).collect(),
        split,
        block: 1448,
        buffer: 52_560,
    }
}

/// Bottlenecks by rate in kbps and delay of one way in microseconds, with queues of 50 packets.
fn worldwide(rates: &[(u64, u64)], multi: &MultiTcpFlow) -> World {
    let ways = rates.iter().map(|(kbps, micros)| (*kbps, Duration::from_micros(*micros)));
    let world = bottlenecks(ways, 50, Traffic::MultiTcp(multi.clone()));
    World { duration: Duration::from_secs(120), ..world }
}

fn of(world: &mut World) -> &mut MultiTcpFlow {
    match &mut world.flows[0].traffic {
        Traffic::MultiTcp(multi) => multi,
        _ => panic!("it is a set of connections"),
    }
}

/// Lets the bottleneck of a connection lose packets with this probability.
fn lose(world: &mut World, connection: usize, loss: f64) {
    world.links[2 * connection + 1].loss = Loss::both(loss);
}

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn transfer(world: &World) -> FlowOutcome {
    simulate(world).flows.remove(0)
}

fn seconds(flow: &FlowOutcome) -> f64 {
    flow.completed.expect("it is done").as_secs_f64()
}

/// SHK-6 in the small. 100,000 bytes are 70 blocks, each a packet of 1500 bytes with all headers,
/// which takes 375 ms at 32 kbps. Split equally, the second path carries 23: 8.625 s at least. By
/// 2:1:1 it carries 18, 6.75 s, and there are 2.5 s more at most for the handshake, slow start with
/// delayed ACKs and the way there.
#[test]
fn an_equal_split_is_as_slow_as_its_slowest_path() {
    let done = |split, weights: &[u32]| {
        let outcome = transfer(&worldwide(&PAPER, &multi(split, weights, Some(100_000))));
        assert_eq!(outcome.at_end.delivered_bytes, 100_000);
        let arrived = outcome.paths.iter().map(|path| path.at_end.delivered_bytes);
        let blocks: Vec<u64> = arrived.map(|bytes| bytes.div_ceil(1448)).collect();
        (seconds(&outcome), blocks)
    };
    let (equal, blocks) = done(Split::Equal, &[1, 1, 1]);
    assert_eq!(blocks, [24, 23, 23]);
    assert!((8.625..8.625 + 2.5).contains(&equal), "equal: {equal} s");
    let (weighted, blocks) = done(Split::Weighted, &[2, 1, 1]);
    assert_eq!(blocks, [35, 18, 17]);
    assert!((6.75..8.625).contains(&weighted), "weighted: {weighted} s");
    let (adaptive, _) = done(Split::Adaptive, &[1, 1, 1]);
    assert!(adaptive < 8.625, "adaptive: {adaptive} s");
}

/// A path that loses everything: the adaptive split does without it, a fixed one waits for it.
#[test]
fn only_the_adaptive_split_does_without_a_path() {
    for (split, arrives) in [(Split::Adaptive, true), (Split::Weighted, false)] {
        let mut world = worldwide(&PAPER, &multi(split, &[2, 1, 1], Some(100_000)));
        lose(&mut world, 1, 1.0);
        let outcome = transfer(&world);
        assert_eq!(outcome.completed.is_some(), arrives, "{split:?}");
        let paths: Vec<bool> = outcome.paths.iter().map(|path| path.at_end.is_up).collect();
        assert!(!paths[1], "{paths:?}");
        assert_eq!(outcome.paths[1].at_end.delivered_bytes, 0);
    }
}

#[test]
fn a_flow_stops_when_its_application_does() {
    let mut world = worldwide(&PAPER, &multi(Split::Adaptive, &[1, 1, 1], None));
    world.flows[0].stop = Some(fairwave_units::Instant::ZERO + Duration::from_secs(10));
    let short = transfer(&world);
    world.duration = Duration::from_secs(300);
    let long = transfer(&world);
    assert_eq!(short.at_end.delivered_bytes, long.at_end.delivered_bytes);
    // At most 10 s at 128 kbps, and what the buffers hold.
    assert!((100_000..270_000).contains(&long.at_end.delivered_bytes), "{long:?}");
}

/// Packets at the host.
#[derive(Default)]
struct Tap(Vec<PacketSample>);

impl Sink for Tap {
    fn wants(&self, _: Kind) -> bool {
        false
    }

    fn record(&mut self, _: fairwave_units::Instant, sample: &Sample) {
        if let Sample::Packet(packet) = sample {
            self.0.push(*packet);
        }
    }

    fn taps(&self, node: NodeId) -> bool {
        node == HOST
    }
}

/// Ordinary TCP: connections from ports of their own to one, each by its node.
#[test]
fn connections_differ_by_port_and_way() {
    let mut world = worldwide(&PAPER, &multi(Split::Weighted, &[2, 1, 1], Some(20_000)));
    world.seed = Seed(9);
    let mut tap = Tap::default();
    run(&world, &mut tap, &mut |_| {}).expect("the world is right");
    let ways: BTreeSet<(u16, u16, u32)> = tap
        .0
        .iter()
        .filter(|packet| packet.ends.0 == HOST)
        .map(|packet| match packet.datagram.transport {
            Transport::Tcp(header) => {
                (header.source_port, header.destination_port, packet.ends.1.0)
            }
            _ => panic!("it is TCP"),
        })
        .collect();
    let expected = [0, 1, 2].map(|i| (50_000 + i, 60_100, gateway(usize::from(i)).0));
    assert_eq!(ways, BTreeSet::from(expected));
}

#[test]
fn sets_that_make_no_sense_are_refused() {
    let refusal = |change: &dyn Fn(&mut World)| {
        let mut world = worldwide(&PAPER, &multi(Split::Weighted, &[2, 1, 1], None));
        world.duration = Duration::from_millis(10);
        change(&mut world);
        match run(&world, &mut Discard, &mut |_| {}) {
            Err(Error::Invalid(why)) => why,
            Ok(_) => "nothing".into(),
        }
    };
    assert_eq!(refusal(&|_| {}), "nothing");
    assert!(refusal(&|world| of(world).paths[1].via = gateway(0)).contains("twice"));
    assert!(refusal(&|world| of(world).paths[1].via = HOST).contains("ends"));
    assert!(refusal(&|world| of(world).paths[1].weight = 0).contains("a weight"));
    assert!(refusal(&|world| of(world).paths.clear()).contains("not 0"));
    assert!(refusal(&|world| of(world).block = 20_000).contains("17508"));
    let unknown = |world: &mut World| of(world).tcp.congestion_control = "best".into();
    assert!(refusal(&unknown).contains("best"));
}

/// Buffers have found their sizes: a segment costs no allocation.
#[test]
fn a_running_transfer_does_not_allocate() {
    let fast = PAPER.map(|(kbps, micros)| (100 * kbps, micros / 10));
    for split in Split::ALL {
        let allocations = |seconds| {
            let mut world = worldwide(&fast, &multi(split, &[2, 1, 1], None));
            let tcp = &mut of(&mut world).tcp;
            (tcp.sender.send_buffer, tcp.receiver.receive_buffer) = (200_000, 200_000);
            of(&mut world).buffer = 600_000;
            world.duration = Duration::from_secs(seconds);
            let mut segments = 0;
            let counted = allocation_counter::measure(|| {
                segments = transfer(&world).at_end.sent_packets;
            });
            (counted.count_total, segments)
        };
        let (short, long) = (allocations(20), allocations(40));
        let (more, segments) = (long.0.saturating_sub(short.0), long.1 - short.1);
        assert!(segments > 8_000, "{segments} segments");
        assert!(more < 100, "{more} allocations for {segments} segments, {split:?}");
    }
}

fn any_world() -> impl Strategy<Value = (World, u64)> {
    let bottleneck = (100u64..20_000, 0u64..150_000, any_disturbance(), 1u32..4);
    let bottlenecks = prop::collection::vec(bottleneck, 1..4);
    let split = prop::sample::select(Split::ALL.to_vec());
    (bottlenecks, split, 1u64..200_000, 64u16..4_000, any::<u64>()).prop_map(
        |(bottlenecks, split, size, block, seed)| {
            let rates: Vec<_> = bottlenecks.iter().map(|b| (b.0, b.1)).collect();
            let weights: Vec<u32> = bottlenecks.iter().map(|b| b.3).collect();
            let flow = MultiTcpFlow { block, ..multi(split, &weights, Some(size)) };
            let mut world = worldwide(&rates, &flow);
            disturb(&mut world, bottlenecks.into_iter().map(|b| b.2));
            (world.seed, world.duration) = (Seed(seed), Duration::from_secs(3600));
            (world, size)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the paths lose, delay and reorder: all that was written is delivered, no more, and
    /// a second run is the same.
    #[test]
    fn a_sized_transfer_arrives_whole((world, size) in any_world()) {
        let outcome = simulate(&world);
        let flow = &outcome.flows[0];
        prop_assert_eq!(flow.at_end.delivered_bytes, size, "{:?}", flow);
        prop_assert!(flow.completed.is_some());
        prop_assert_eq!(simulate(&world), outcome);
    }
}
