//! SHAKE flows: paths by way of nodes add up, die, join late and leave; what was written arrives
//! once, whatever the links do.

use crate::common;
use crate::ways::{HOST, SERVER, any_disturbance, bottlenecks, disturb, gateway};
use fairwave_dot11::Standard;
use fairwave_shake::Profile;
use fairwave_sim::world::{
    Change, Link, Loss, Node, ShakeFlow, ShakeFormat, ShakePath, Traffic, World,
};
use fairwave_sim::{Error, FlowOutcome, Outcome, run};
use fairwave_trace::{Discard, Kind, NodeId, PacketSample, PathSample, Sample, Sink};
use fairwave_units::{Bytes, Duration, Instant, Seed};
use fairwave_wire::datagram::Transport;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn path(via: NodeId) -> ShakePath {
    ShakePath { via, nominal: None, join: Duration::ZERO, leave: None, rejoin: None }
}

fn shake(profile: Profile, paths: usize, size: Option<u64>) -> ShakeFlow {
    let rules = profile.rules();
    ShakeFlow {
        config: profile.config(),
        format: ShakeFormat::Udp,
        scheduler: rules.scheduler.name().into(),
        growth: rules.growth.name().into(),
        size: size.map(Bytes),
        paths: (0..paths).map(|i| path(gateway(i))).collect(),
    }
}

/// Bottlenecks by rate in kbps and delay of one way in milliseconds, with queues of 100 packets.
fn paths(rates: &[(u64, u64)], shake: &ShakeFlow) -> World {
    let ways = rates.iter().map(|(kbps, millis)| (*kbps, Duration::from_millis(*millis)));
    let world = bottlenecks(ways, 100, Traffic::Shake(shake.clone()));
    World { duration: Duration::from_secs(60), ..world }
}

fn of(world: &mut World) -> &mut ShakeFlow {
    match &mut world.flows[0].traffic {
        Traffic::Shake(shake) => shake,
        _ => panic!("it is a SHAKE flow"),
    }
}

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn transfer(world: &World) -> FlowOutcome {
    simulate(world).flows.remove(0)
}

const MEGABYTE: u64 = 1_000_000;
const THREE: [(u64, u64); 3] = [(10_000, 10), (5_000, 20), (5_000, 20)];

/// 5 MB are 3572 segments: 3571 of 1480 bytes with their headers, and one of 680. At 20 Mbps they
/// take 2.115 s, over the widest path alone twice as long.
#[test]
fn paths_add_up_and_what_was_written_arrives_once() {
    let outcome = transfer(&paths(&THREE, &shake(Profile::Modern, 3, Some(5 * MEGABYTE))));
    assert_eq!(outcome.at_end.delivered_bytes, 5 * MEGABYTE);
    let after = outcome.completed.expect("it is done").as_secs_f64();
    assert!(after > 2.115, "{after} s are less than the links need");
    assert!(after < 3.0, "{after} s");
    let arrived: Vec<u64> = outcome.paths.iter().map(|path| path.at_end.delivered_bytes).collect();
    assert!(arrived.iter().sum::<u64>() > 5 * MEGABYTE, "{arrived:?}, the end is one more");
    assert!(arrived.iter().all(|bytes| *bytes > MEGABYTE / 2), "{arrived:?}");
    let names: Vec<&str> = outcome.paths.iter().map(|path| &*path.name).collect();
    assert_eq!(names, ["gateway0", "gateway1", "gateway2"]);
    assert_eq!(outcome.shake.expect("it is SHAKE").reset, None);
}

/// Both ends know that it is over: nothing is left to do.
#[test]
fn after_a_transfer_the_connection_is_closed() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, Some(MEGABYTE)));
    let short = simulate(&world);
    world.duration = Duration::from_secs(600);
    let long = simulate(&world);
    assert_eq!(long.events, short.events);
}

#[test]
fn paths_join_and_leave_in_mid_transfer() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
    world.duration = Duration::from_secs(9);
    let shake = of(&mut world);
    shake.paths[1].join = Duration::from_secs(3);
    shake.paths[0].leave = Some(Duration::from_secs(6));
    let mut seen = Paths::default();
    run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    let at = |seconds: f64, path: usize| seen.at(seconds, path);
    assert!(at(2.9, 0).is_up && !at(2.9, 1).is_up && at(2.9, 2).is_up);
    assert!(at(3.5, 1).is_up, "{:?}", at(3.5, 1));
    assert!(at(5.9, 0).is_up && !at(6.5, 0).is_up);
    assert_eq!(at(6.5, 0).sent_packets, at(8.9, 0).sent_packets);
    // 2.4 s at 5 Mbps less headers are 1.42 MB.
    let more = at(8.9, 1).delivered_bytes - at(6.5, 1).delivered_bytes;
    assert!((1_300_000..1_430_000).contains(&more), "{more}");
}

/// A member of the cluster goes at 3 s and is back at 6 s.
#[test]
fn a_path_that_was_left_is_joined_again() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
    world.duration = Duration::from_secs(12);
    let left = &mut of(&mut world).paths[0];
    (left.leave, left.rejoin) = (Some(Duration::from_secs(3)), Some(Duration::from_secs(6)));
    let mut seen = Paths::default();
    run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert!(seen.at(2.9, 0).is_up && !seen.at(3.5, 0).is_up && seen.at(6.5, 0).is_up);
    assert_eq!(seen.at(3.5, 0).sent_packets, seen.at(5.9, 0).sent_packets);
    // 3.9 s at 10 Mbps less headers are 4.61 MB.
    let later = seen.at(11.9, 0).delivered_bytes - seen.at(8.0, 0).delivered_bytes;
    assert!((4_300_000..4_620_000).contains(&later), "{later}");
}

/// A node that passes nothing on: its path is never answered for, and the others carry everything.
#[test]
fn a_path_that_loses_everything_holds_up_nobody() {
    for profile in Profile::ALL {
        let mut world = paths(&THREE, &shake(profile, 3, Some(MEGABYTE)));
        world.links[3].loss = Loss::both(1.0);
        let outcome = transfer(&world);
        assert_eq!(outcome.at_end.delivered_bytes, MEGABYTE, "{profile:?}");
        assert!(!outcome.paths[1].at_end.is_up);
        assert_eq!(outcome.paths[1].at_end.sent_packets, 0);
        assert!(outcome.paths[0].at_end.sent_packets > 0);
    }
}

/// What holds of a link from `seconds` on.
fn change(link: &Link, seconds: u64, is_up: bool) -> Change {
    let at = Instant::ZERO + Duration::from_secs(seconds);
    let Link { rate, delay, loss, .. } = *link;
    Change { at, rate, delay, back: None, loss, is_up }
}

/// The widest path is gone from 2 s to 6 s.
#[test]
fn a_path_dies_in_mid_transfer_and_comes_back() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
    world.duration = Duration::from_secs(16);
    let bottleneck = &mut world.links[1];
    bottleneck.changes = vec![change(bottleneck, 2, false), change(bottleneck, 6, true)];
    let mut seen = Paths::default();
    run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert!(seen.at(1.9, 0).is_up);
    assert!(!seen.at(5.9, 0).is_up, "three timeouts are long over");
    assert!(seen.at(15.9, 0).is_up);
    // While it is gone the others fill their 10 Mbps, of which headers take 80 bytes of 1480.
    let arrived = |path: usize, from: f64, to: f64| {
        seen.at(to, path).delivered_bytes - seen.at(from, path).delivered_bytes
    };
    let meanwhile = arrived(1, 3.0, 6.0) + arrived(2, 3.0, 6.0);
    assert!((3_370_000..3_560_000).contains(&meanwhile), "{meanwhile} of 3 547 000 bytes");
    assert_eq!(arrived(0, 2.5, 5.9), 0);
    // Afterwards it fills its own again.
    let later = arrived(0, 12.0, 15.9);
    assert!((4_300_000..4_620_000).contains(&later), "{later} of 4 611 000 bytes");
}

/// Every path is gone after a second, in which 20 Mbit are the most that arrive.
#[test]
fn if_all_paths_die_the_connection_ends_and_says_so() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, Some(5 * MEGABYTE)));
    for link in [1, 3, 5] {
        let bottleneck = &mut world.links[link];
        bottleneck.changes = vec![change(bottleneck, 1, false)];
    }
    world.duration = Duration::from_secs(200);
    let outcome = transfer(&world);
    assert_eq!(outcome.completed, None);
    assert!((1..3 * MEGABYTE).contains(&outcome.at_end.delivered_bytes));
    let reset = outcome.shake.expect("it is SHAKE").reset;
    assert_eq!(reset, Some(fairwave_wire::shake::Reason::NoPath));
}

#[test]
fn without_any_path_that_works_the_connection_ends_with_the_reason() {
    let mut world = paths(&[(1000, 10)], &shake(Profile::Modern, 1, Some(MEGABYTE)));
    world.links[1].loss = Loss::both(1.0);
    world.duration = Duration::from_secs(100);
    let outcome = transfer(&world);
    assert_eq!(outcome.completed, None);
    let reset = outcome.shake.expect("it is SHAKE").reset;
    assert_eq!(reset, Some(fairwave_wire::shake::Reason::NoPath));
}

#[test]
fn a_flow_stops_when_its_application_does() {
    let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
    world.flows[0].stop = Some(Instant::ZERO + Duration::from_secs(2));
    let short = transfer(&world);
    world.duration = Duration::from_secs(120);
    let long = transfer(&world);
    assert_eq!(short.at_end.delivered_bytes, long.at_end.delivered_bytes);
    // At most 2 s at 20 Mbps and what the send buffer and the queues hold.
    assert!((3 * MEGABYTE..13 * MEGABYTE).contains(&long.at_end.delivered_bytes));
}

/// States of paths by time.
#[derive(Default)]
struct Paths(Vec<(Instant, u8, PathSample)>);

impl Paths {
    fn at(&self, seconds: f64, path: usize) -> PathSample {
        let until = Instant::ZERO + Duration::from_secs_f64(seconds);
        let before =
            self.0.iter().rev().find(|(at, id, _)| usize::from(*id) == path && *at <= until);
        before.expect("it was sampled").2
    }
}

impl Sink for Paths {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Path
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        if let Sample::Path(_, path, sample) = sample {
            self.0.push((at, *path, *sample));
        }
    }
}

/// Packets at the host.
#[derive(Default)]
struct Tap(Vec<PacketSample>);

impl Sink for Tap {
    fn wants(&self, _: Kind) -> bool {
        false
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        if let Sample::Packet(packet) = sample {
            self.0.push(*packet);
        }
    }

    fn taps(&self, node: NodeId) -> bool {
        node == HOST
    }
}

/// A head of 28 bytes and a seal of 16, and between them 12 of a join and 8 before data
/// (`docs/models/shake.md`); UDP and IPv4 take 28 more.
#[test]
fn datagrams_are_as_long_as_the_messages_in_them_and_go_by_their_node() {
    let world = paths(&THREE, &shake(Profile::Modern, 3, Some(MEGABYTE)));
    let mut tap = Tap::default();
    run(&world, &mut tap, &mut |_| {}).expect("the world is right");
    let sent = |via: usize| {
        let goes = move |packet: &&PacketSample| packet.ends == (HOST, gateway(via));
        tap.0.iter().filter(goes).map(|packet| packet.datagram.wire_len())
    };
    for via in 0..3 {
        assert_eq!(sent(via).next(), Some(28 + 28 + 12 + 16), "the join");
        assert_eq!(sent(via).max(), Some(28 + 28 + 8 + 1400 + 16), "a full segment");
    }
    // An acknowledgement has 25 bytes and 8 for each block.
    let back = tap.0.iter().filter(|packet| packet.ends.0 == SERVER);
    assert!(back.clone().any(|packet| packet.datagram.wire_len() == 28 + 28 + 25 + 16));
}

/// With TCP's headers a segment of the paper is an Ethernet frame of 1500 bytes: 20 of IPv4, 20 of
/// TCP and 1460. A SYN has 4 for the MSS and 4 for SACK, an acknowledgement 4 and 8 for each block
/// (RFC 9293 section 3.2, RFC 2018).
#[test]
fn segments_are_as_long_as_those_of_tcp() {
    let flow = ShakeFlow { format: ShakeFormat::Tcp, ..shake(Profile::Paper, 3, Some(MEGABYTE)) };
    let mut world = paths(&THREE, &flow);
    world.links[1].loss = [Loss::Rate(0.05), Loss::Rate(0.0)];
    let mut tap = Tap::default();
    let outcome = run(&world, &mut tap, &mut |_| {}).expect("the world is right");
    assert_eq!(outcome.flows[0].at_end.delivered_bytes, MEGABYTE);
    let lengths = |from: NodeId| {
        let own = tap.0.iter().filter(move |packet| packet.ends.0 == from);
        own.map(|packet| packet.datagram.wire_len()).collect::<BTreeSet<_>>()
    };
    // 1 MB are 684 full segments and one of 1360 bytes.
    assert_eq!(lengths(HOST), BTreeSet::from([40, 48, 1400, 1500]));
    assert_eq!(lengths(SERVER), BTreeSet::from([40, 48, 52, 60, 68]));
    let headers = tap.0.iter().map(|packet| match packet.datagram.transport {
        Transport::Tcp(header) => header,
        other => panic!("{other:?}"),
    });
    let [mut syn, mut fin] = [0, 0];
    for header in headers {
        let blocks = header.options.sack.as_slice();
        assert!(blocks.iter().all(|(left, right)| left.0 > header.ack.0 && right.0 > left.0));
        assert!(blocks.iter().all(|(left, _)| (left.0 - 1) % 1460 == 0), "{blocks:?}");
        syn += u32::from(header.flags.syn);
        fin += u32::from(header.flags.fin);
    }
    assert!(syn >= 6 && fin >= 2, "{syn} SYNs, {fin} FINs");
    // The heads of Fairwave's own format are 40 bytes longer.
    let own = transfer(&paths(&THREE, &shake(Profile::Paper, 3, Some(MEGABYTE))));
    let ours = transfer(&paths(&THREE, &flow));
    assert!(ours.completed < own.completed, "{:?} {:?}", ours.completed, own.completed);
}

/// Over a radio a segment takes the airtime of its length there, too.
#[test]
fn segments_of_tcp_take_less_airtime() {
    let through = |format| {
        let flow =
            ShakeFlow { format, paths: vec![path(common::AP)], ..shake(Profile::Modern, 1, None) };
        let mut world = common::world(Standard::A, 54, 1, Duration::ZERO);
        world.flows =
            vec![common::flow("transfer", NodeId(1), common::server(&world), Traffic::Shake(flow))];
        world.duration = Duration::from_secs(4);
        transfer(&world).at_end.delivered_bytes as f64
    };
    let ratio = through(ShakeFormat::Tcp) / through(ShakeFormat::Udp);
    // 40 bytes of a segment and 57 of its acknowledgement are 14.4 us at 54 Mbps, of 300 to 600 us
    // with all intervals, preambles and ACK frames of both.
    assert!((1.02..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn paths_that_make_no_sense_are_refused() {
    let refusal = |change: &dyn Fn(&mut World)| {
        let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
        world.nodes.push(Node { name: "alone".into(), radio: None });
        world.duration = Duration::from_millis(10);
        change(&mut world);
        match run(&world, &mut Discard, &mut |_| {}) {
            Err(Error::Invalid(why)) => why,
            Ok(_) => "nothing".into(),
        }
    };
    assert_eq!(refusal(&|_| {}), "nothing");
    let via = |node: NodeId| refusal(&|world| of(world).paths[1].via = node);
    assert!(via(HOST).contains("one of its ends"));
    assert!(via(gateway(0)).contains("twice"));
    assert!(via(NodeId(5)).contains("no way from host to alone"));
    assert!(via(NodeId(77)).contains("nowhere"));
    assert!(refusal(&|world| of(world).paths.clear()).contains("no path"));
    assert!(refusal(&|world| of(world).scheduler = "best".into()).contains("scheduler"));
    assert!(refusal(&|world| of(world).growth = "cubic".into()).contains("growth"));
    let early = Some(Duration::ZERO);
    assert!(refusal(&|world| of(world).paths[0].leave = early).contains("leaves before"));
    let back = Some(Duration::from_secs(1));
    assert!(refusal(&|world| of(world).paths[0].rejoin = back).contains("joined again before"));
    let wide = |world: &mut World| of(world).config.mss = 65_500;
    assert!(refusal(&wide).contains("65507"));
}

/// Buffers have found their sizes: a segment costs no allocation.
#[test]
fn a_running_transfer_does_not_allocate() {
    let allocations = |seconds| {
        let mut world = paths(&THREE, &shake(Profile::Modern, 3, None));
        world.duration = Duration::from_secs(seconds);
        let mut segments = 0;
        let counted = allocation_counter::measure(|| {
            segments = transfer(&world).at_end.sent_packets;
        });
        (counted.count_total, segments)
    };
    let (short, long) = (allocations(20), allocations(40));
    let (more, segments) = (long.0 - short.0, long.1 - short.1);
    assert!(segments > 30_000, "{segments} segments");
    assert!(more < 100, "{more} allocations for {segments} segments");
}

fn any_world() -> impl Strategy<Value = (World, u64)> {
    let bottleneck = (100u64..20_000, 0u64..150, any_disturbance());
    let bottlenecks = prop::collection::vec(bottleneck, 1..4);
    let profile = prop::sample::select(Profile::ALL.to_vec());
    let scheduler = 0..fairwave_shake::SCHEDULERS.len();
    let growth = 0..fairwave_shake::GROWTHS.len();
    let size = 1u64..200_000;
    (bottlenecks, profile, scheduler, growth, size, any::<u64>()).prop_map(
        |(bottlenecks, profile, scheduler, growth, size, seed)| {
            let rates: Vec<_> = bottlenecks.iter().map(|b| (b.0, b.1)).collect();
            let mut shake = shake(profile, rates.len(), Some(size));
            shake.scheduler = fairwave_shake::SCHEDULERS[scheduler].name.into();
            shake.growth = fairwave_shake::GROWTHS[growth].name.into();
            let mut world = paths(&rates, &shake);
            disturb(&mut world, bottlenecks.into_iter().map(|b| b.2));
            (world.seed, world.duration) = (Seed(seed), Duration::from_secs(1200));
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
        prop_assert_eq!(flow.shake.and_then(|shake| shake.reset), None);
        let sent: u64 = flow.paths.iter().map(|path| path.at_end.sent_packets).sum();
        prop_assert_eq!(sent, flow.at_end.sent_packets);
        let repeated: u64 = flow.paths.iter().map(|path| path.at_end.retransmissions).sum();
        prop_assert!(repeated >= flow.at_end.retransmissions);
        prop_assert_eq!(simulate(&world), outcome);
    }
}
