//! Real-time media through a whole world: alone, beside TCP, over a handover.

use crate::common::{AP, cell, flow, server, tcp, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{
    Flow, Handover, Link, Playout, Policy, Roaming, RtcBounds, RtcFlow, Source, Threshold, Traffic,
    World,
};
use fairwave_sim::{FlowOutcome, run};
use fairwave_trace::{Discard, NodeId};
use fairwave_traffic::Video;
use fairwave_units::{BitRate, Duration, Instant};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn simulate(world: &World) -> Vec<FlowOutcome> {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right").flows
}

/// Even frames every 40 ms, of an encoder that follows.
fn call(threshold: Threshold) -> Traffic {
    let source = Source::Video(Video {
        rate: BitRate(300_000),
        interval: ms(40),
        group: 12,
        intra_ratio: 1.0,
        spread: 0.1,
        payload_bytes: 1_200,
    });
    let bounds =
        RtcBounds { min: BitRate(50_000), start: BitRate(300_000), max: BitRate::mbps(10) };
    let (adapts, feedback_interval, uses_handovers) = (true, ms(100), false);
    Traffic::Rtc(RtcFlow { source, adapts, bounds, threshold, feedback_interval, uses_handovers })
}

/// A call from the server to the access point over 2 Mbps, 25 ms and a queue, watched.
fn bottleneck(threshold: Threshold, queue: u32) -> World {
    let mut world = world(Standard::A, 54, 1, ms(25));
    world.links[0].rate = Some(BitRate::mbps(2));
    world.links[0].queue = Limit::Packets(queue).into();
    (world.duration, world.warm_up) = (Duration::from_secs(100), Duration::from_secs(40));
    let playout = Some(Playout { delay: ms(200), policy: Policy::Skip });
    world.flows = vec![Flow { playout, ..flow("call", server(&world), AP, call(threshold)) }];
    world
}

fn mbps(flow: &FlowOutcome) -> f64 {
    flow.goodput.0 as f64 / 1e6
}

/// 70 to 100 % of a bottleneck with a queue of more than a second, of which it uses less than
/// 100 ms: propagation is 25 ms.
#[test]
fn alone_it_uses_the_bottleneck_and_not_the_queue() {
    for threshold in [Threshold::Draft, Threshold::Libwebrtc] {
        let flows = simulate(&bottleneck(threshold, 250));
        let delay = flows[0].delay.expect("media came");
        assert!((1.4..2.0).contains(&mbps(&flows[0])), "{threshold:?}: {} Mbps", mbps(&flows[0]));
        assert!(delay.p99 < ms(125), "{threshold:?}: {}", delay.p99);
        let seen = flows[0].playout.expect("it is watched").quality;
        assert_eq!((seen.shown, seen.freezes), (1_500, 0), "{threshold:?}");
    }
}

/// An encoder that gives 2 Mbps to a sender whose target is 300 kbps at most: frames wait for two
/// seconds in the pacer, and the delay from one application to the other has that in it.
#[test]
fn delay_counts_from_the_encoder() {
    let mut world = bottleneck(Threshold::Draft, 250);
    world.links[0].rate = Some(BitRate::mbps(10));
    if let Traffic::Rtc(rtc) = &mut world.flows[0].traffic {
        rtc.adapts = false;
        let Source::Video(video) = &mut rtc.source else { unreachable!("a call is a video") };
        video.rate = BitRate::mbps(2);
        (rtc.bounds.start, rtc.bounds.max) = (BitRate(200_000), BitRate(300_000));
    }
    (world.duration, world.warm_up) = (Duration::from_secs(20), Duration::from_secs(5));
    let flows = simulate(&world);
    let delay = flows[0].delay.expect("media came");
    let latency = flows[0].playout.and_then(|seen| seen.latency).expect("frames came");
    assert!((ms(1_900)..ms(2_100)).contains(&delay.median), "{}", delay.median);
    // A frame is there with its last packet.
    assert!(delay.mean <= latency.mean && latency.mean < delay.mean + ms(50));
}

/// Carlucci et al. 2017, section on the adaptive threshold: with it a call is not starved by a TCP
/// flow that fills a queue of 150 ms. With libwebrtc's threshold, which comes down faster than it
/// goes up, it is.
#[test]
fn beside_tcp_the_threshold_decides() {
    let beside = |threshold| {
        let mut world = bottleneck(threshold, 30);
        let greedy = flow("tcp", server(&world), AP, Traffic::Tcp(tcp("newreno", 2)));
        world.flows.push(Flow { start: Instant::ZERO + Duration::from_secs(20), ..greedy });
        let flows = simulate(&world);
        (mbps(&flows[0]), mbps(&flows[1]))
    };
    let (call, tcp) = beside(Threshold::Draft);
    assert!(call > 0.5 && tcp > 0.3, "draft: {call} and {tcp} Mbps");
    let (call, tcp) = beside(Threshold::Libwebrtc);
    assert!(call < 0.3 && tcp > 1.5, "libwebrtc: {call} and {tcp} Mbps");
}

/// A station that calls is away for a second. Its sender takes the gap for congestion, unless it
/// is told.
#[test]
fn a_sender_that_hears_of_a_handover_keeps_its_rate() {
    let after = |hears: bool| {
        let mut world = world(Standard::G, 12, 1, ms(20));
        world.links[0].rate = Some(BitRate::mbps(4));
        (world.duration, world.warm_up) = (Duration::from_secs(45), Duration::from_secs(31));
        let (station, other) = (NodeId(1), NodeId(3));
        let mut ap = world.nodes[0].clone();
        ap.name = "ap2".into();
        ap.radio.iter_mut().for_each(|radio| radio.cell = 1);
        world.nodes.push(ap);
        world.cells.push(cell(Standard::G));
        let link = world.links[0].clone();
        let server = NodeId(2);
        world.links.push(Link { ends: (other, server), ..link });
        let roaming = Roaming {
            candidates: vec![AP, other],
            handovers: vec![Handover {
                at: Instant::ZERO + Duration::from_secs(30),
                to: other,
                disconnection: Duration::from_secs(1),
            }],
            ..Roaming::default()
        };
        let radio = world.nodes[1].radio.as_mut().expect("it is a station");
        radio.roaming = Some(roaming);
        let mut traffic = call(Threshold::Draft);
        if let Traffic::Rtc(rtc) = &mut traffic {
            rtc.uses_handovers = hears;
            rtc.bounds.start = BitRate::mbps(1);
            rtc.bounds.max = BitRate::mbps(3);
        }
        world.flows = vec![flow("call", station, server, traffic)];
        mbps(&simulate(&world)[0])
    };
    let (reported, untold) = (after(true), after(false));
    assert!(reported > 1.5 * untold, "{reported} and {untold} Mbps");
}
