//! Hosts wired behind a station: it forwards for them in both directions, and is one contender.

use crate::common::{AP, flow, tcp, world};
use fairwave_dot11::{AccessCategory, Edca, Standard};
use fairwave_queue::Limit;
use fairwave_sim::world::{
    Flow, Handover, Link, Node, Radio, Roaming, SaturateFlow, Source, Traffic, World,
};
use fairwave_sim::{Outcome, run};
use fairwave_trace::{Discard, DropCause, FrameBody, Kind, NodeId, Sample, Sink};
use fairwave_units::{Duration, Instant};

const CONVERTER: NodeId = NodeId(1);

/// A g cell with `stations` stations, and `hosts` more nodes wired to the first of them.
fn behind(stations: u32, hosts: u32) -> (World, Vec<NodeId>) {
    let mut world = world(Standard::G, 54, stations, Duration::ZERO);
    world.duration = Duration::from_secs(5);
    world.warm_up = Duration::from_secs(1);
    let first = world.nodes.len() as u32;
    let wire = Link { queue: Limit::Packets(1000).into(), ..world.links[0].clone() };
    for i in 0..hosts {
        let pc = NodeId(first + i);
        world.nodes.push(Node { name: format!("pc{}", i + 1), radio: None });
        world.links.push(Link { ends: (pc, CONVERTER), ..wire.clone() });
    }
    (world, (first..first + hosts).map(NodeId).collect())
}

fn server(stations: u32) -> NodeId {
    NodeId(stations + 1)
}

fn saturate() -> Traffic {
    Traffic::Saturate(SaturateFlow { payload_bytes: 1472 })
}

fn outcome(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn mbps(world: &World) -> Vec<f64> {
    outcome(world).flows.iter().map(|flow| flow.goodput.as_mbps_f64()).collect()
}

/// What crosses the radio is what a station itself would send: the same frames, as fast.
#[test]
fn a_host_behind_gets_what_a_station_gets_in_either_direction() {
    for up in [true, false] {
        let ends = |node| if up { (node, server(1)) } else { (server(1), node) };
        let (mut direct, _) = behind(1, 0);
        let (from, to) = ends(CONVERTER);
        direct.flows = vec![flow("it", from, to, saturate())];
        let (mut wired, pcs) = behind(1, 1);
        let (from, to) = ends(pcs[0]);
        wired.flows = vec![flow("it", from, to, saturate())];
        let (direct, wired) = (mbps(&direct)[0], mbps(&wired)[0]);
        assert!(direct > 25.0 && (wired / direct - 1.0).abs() < 0.005, "{wired} of {direct}");
    }
}

/// The wire brings packets faster than the air takes them: what is lost is lost at the queue
/// towards the air, and nothing else is.
#[test]
fn the_wired_side_overruns_the_queue_towards_the_air() {
    let (mut world, pcs) = behind(1, 1);
    world.warm_up = Duration::ZERO;
    world.flows = vec![flow("up", pcs[0], server(1), saturate())];
    let outcome = outcome(&world);
    let sent = outcome.flows[0].at_end.sent_packets;
    let delivered = outcome.flows[0].at_end.delivered_bytes / 1472;
    let queue = outcome.queues.iter().find(|q| q.name == "sta1").expect("the converter's");
    let full = queue.at_end.drops[DropCause::QueueFull as usize];
    let dropped: u64 = outcome.queues.iter().flat_map(|q| q.at_end.drops).sum();
    assert_eq!(dropped, full, "{:?}", outcome.queues);
    // At the end some are under way: in the queue, and a few on wires and in the MAC.
    let under_way = sent - delivered - full - u64::from(queue.at_end.packets);
    assert!(under_way <= 4, "{sent} sent, {delivered} arrived, {full} dropped");
    // 1500 bytes at 100 Mbps, for five seconds.
    assert!(sent.abs_diff(41_667) <= 1 && full > sent / 2, "{full} of {sent}");
}

/// Three hosts behind one converter share its turns; a station beside it has as many turns.
#[test]
fn hosts_behind_one_converter_share_one_association() {
    let (mut world, pcs) = behind(2, 3);
    world.duration = Duration::from_secs(10);
    // 29 Mbps each, at random: more than the converter can pass on of all three.
    let source = Source::Poisson { payload_bytes: 1472, interval: Duration::from_micros(400) };
    let up = |(i, from): (usize, &NodeId)| {
        flow(&format!("{i}"), *from, server(2), Traffic::Datagrams(source.clone()))
    };
    world.flows = pcs.iter().chain([&NodeId(2)]).enumerate().map(up).collect();
    let mbps = mbps(&world);
    let behind: f64 = mbps[..3].iter().sum();
    assert!((behind / mbps[3] - 1.0).abs() < 0.05, "{mbps:?}");
    let even = |share: &f64| (share / behind - 1.0 / 3.0).abs() < 0.03;
    assert!(mbps[..3].iter().all(even), "{mbps:?}");
}

/// Three downloads of TCP to three hosts behind one converter: each host is told apart.
#[test]
fn tcp_reaches_each_of_several_hosts() {
    let (mut world, pcs) = behind(1, 3);
    let down = |(i, to): (usize, &NodeId)| {
        flow(&format!("{i}"), server(1), *to, Traffic::Tcp(tcp("reno", 2)))
    };
    world.flows = pcs.iter().enumerate().map(down).collect();
    let mbps = mbps(&world);
    assert!(mbps.iter().all(|m| *m > 2.0) && mbps.iter().sum::<f64>() > 18.0, "{mbps:?}");
}

/// A packet keeps its flow's category across the wire: voice of one host passes background of
/// another at their converter, as at a station.
#[test]
fn categories_hold_behind_a_converter() {
    let (mut world, pcs) = behind(1, 2);
    world.cells[0].edca = Some(Edca::defaults(world.cells[0].phy));
    let source = Source::Cbr { payload_bytes: 200, interval: Duration::from_millis(10) };
    let calls = flow("voice", pcs[0], server(1), Traffic::Datagrams(source));
    let bulk = flow("bulk", pcs[1], server(1), saturate());
    world.flows = vec![
        Flow { category: AccessCategory::Voice, ..calls },
        Flow { category: AccessCategory::Background, ..bulk },
    ];
    let outcome = outcome(&world);
    let voice = outcome.flows[0].datagrams.as_ref().expect("datagrams");
    // Behind a background queue of 1000 packets it would be about 500 ms.
    let mean = outcome.flows[0].delay.as_ref().expect("some arrived").mean;
    assert!(voice.lost == 0 && mean < Duration::from_millis(5), "{voice:?}");
}

/// Receivers of the data frames on the air, and where their packets are from and go to.
#[derive(Default)]
struct Hops(Vec<(NodeId, Option<NodeId>, (NodeId, NodeId))>);

impl Sink for Hops {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Frame
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        if let Sample::Frame(frame) = sample
            && matches!(frame.body, FrameBody::Data(_))
        {
            self.0.push((frame.transmitter, frame.receiver, frame.ends.expect("data has ends")));
        }
    }
}

/// A converter goes from one access point to another and takes its host along: packets in both
/// directions go by the new one, and what waited is not lost.
#[test]
fn a_roaming_converter_takes_its_hosts_along() {
    let (mut world, pcs) = behind(1, 1);
    (world.warm_up, world.duration) = (Duration::ZERO, Duration::from_secs(4));
    let second = NodeId(world.nodes.len() as u32);
    let first = world.nodes[0].radio.clone().expect("the access point");
    world.cells.push(world.cells[0].clone());
    world.nodes.push(Node { name: "ap2".into(), radio: Some(Radio { cell: 1, ..first }) });
    world.links.push(Link { ends: (second, server(1)), ..world.links[0].clone() });
    let at = Instant::ZERO + Duration::from_secs(2);
    let handovers = vec![Handover { at, to: second, disconnection: Duration::from_millis(200) }];
    let candidates = vec![AP, second];
    let roaming = Roaming { candidates, handovers, hold: 100, ..Roaming::default() };
    world.nodes[1].radio.as_mut().expect("the converter").roaming = Some(roaming);
    let source = Source::Cbr { payload_bytes: 200, interval: Duration::from_millis(10) };
    let cbr = || Traffic::Datagrams(source.clone());
    let stop = Some(Instant::ZERO + Duration::from_secs(3));
    let ends = [("up", pcs[0], server(1)), ("down", server(1), pcs[0])];
    world.flows = ends.map(|(name, a, b)| Flow { stop, ..flow(name, a, b, cbr()) }).to_vec();
    let mut hops = Hops::default();
    let outcome = run(&world, &mut hops, &mut |_| {}).expect("the world is right");
    for flow in &outcome.flows {
        assert_eq!(flow.at_end.delivered_bytes, 200 * flow.at_end.sent_packets, "{flow:?}");
        let silence = flow.longest_silence.max(Duration::from_millis(200));
        assert!(silence < Duration::from_millis(1_100), "{silence}");
    }
    let radio_hops = [(CONVERTER, AP), (CONVERTER, second), (AP, CONVERTER), (second, CONVERTER)];
    for (from, to) in radio_hops {
        let ends = if from == CONVERTER { (pcs[0], server(1)) } else { (server(1), pcs[0]) };
        let frames = hops.0.iter().filter(|hop| **hop == (from, Some(to), ends)).count();
        // A second or two of a datagram every 10 ms, retries apart.
        assert!(frames >= 75, "{frames} frames from {from:?} to {to:?}");
    }
}
