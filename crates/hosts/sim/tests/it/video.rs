//! What viewers see of flows, through a whole world.

use crate::common::{AP, flow, server, tcp, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{Flow, Playout, Policy, SaturateFlow, Source, Traffic, World};
use fairwave_sim::{Outcome, VideoOutcome, run};
use fairwave_trace::Discard;
use fairwave_traffic::Video;
use fairwave_units::{BitRate, Duration};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn seen(world: &World) -> VideoOutcome {
    simulate(world).flows[0].playout.expect("somebody watches")
}

/// A link of 1 Mbps and 10 ms, over which a flow is watched.
fn watched(traffic: Traffic, delay: Duration, policy: Policy) -> World {
    let mut world = world(Standard::A, 54, 1, ms(10));
    world.links[0].rate = Some(BitRate::mbps(1));
    world.warm_up = Duration::ZERO;
    let it = flow("v", server(&world), AP, traffic);
    world.flows = vec![Flow { playout: Some(Playout { delay, policy }), ..it }];
    world
}

/// Frames of 2000 B every 40 ms, cut into two datagrams of 1000 B; I frames are no larger.
fn video(rate: u64) -> Source {
    Source::Video(Video {
        rate: BitRate(rate),
        interval: ms(40),
        group: 5,
        intra_ratio: 1.0,
        spread: 0.0,
        payload_bytes: 1000,
    })
}

/// 400 kbps in 40 ms are 2000 B. Two datagrams of 1028 B take 16.448 ms at 1 Mbps, and 10 ms of
/// propagation. From 0 to 20 s are 501 frames, of which 495 (to 19.76 s) have had their 200 ms by
/// the end, and the one at 19.8 s is judged just after it.
#[test]
fn every_frame_of_an_idle_link_is_shown() {
    let traffic = Traffic::Datagrams(video(400_000));
    let outcome = seen(&watched(traffic, ms(200), Policy::Skip));
    let latency = outcome.latency.expect("frames came");
    assert_eq!((latency.least, latency.most), (Duration::from_micros(26_448), latency.least));
    let quality = outcome.quality;
    assert_eq!((quality.shown, quality.due(), quality.freezes), (495, 495, 0));
}

/// A call with a budget of 20 ms, less than a frame takes: everything is late, nothing is lost.
#[test]
fn a_call_that_cannot_wait_shows_nothing() {
    let traffic = Traffic::Datagrams(video(400_000));
    let quality = seen(&watched(traffic, ms(20), Policy::Skip)).quality;
    assert_eq!((quality.shown, quality.lost(), quality.late()), (0, 0, 500));
}

/// Twice the rate of the link into a queue of ten: frames lose datagrams, and those that are whole
/// often lack what they depend on.
#[test]
fn what_a_full_queue_drops_is_missing_on_the_screen() {
    let traffic = Traffic::Datagrams(video(2_000_000));
    let mut world = watched(traffic, ms(200), Policy::Skip);
    world.links[0].queue = Limit::Packets(10).into();
    let quality = seen(&world).quality;
    assert_eq!(quality.due(), 495);
    assert!(quality.lost() > 200 && quality.shown < 100, "{quality:?}");
    assert!(quality.freezes > 0 && quality.frozen > ms(5_000), "{quality:?}");
}

/// The paper's source, a packet of 629 B every 10 ms, each of use by itself: (629 + 28) B take
/// 5.256 ms.
#[test]
fn each_packet_of_a_constant_source_has_its_deadline() {
    let traffic = Traffic::Datagrams(Source::Cbr { payload_bytes: 629, interval: ms(10) });
    let outcome = seen(&watched(traffic, ms(15), Policy::Skip));
    assert_eq!((outcome.quality.shown, outcome.quality.missed), (0, 1_999));
    let traffic = Traffic::Datagrams(Source::Cbr { payload_bytes: 629, interval: ms(10) });
    let outcome = seen(&watched(traffic, ms(16), Policy::Skip));
    assert_eq!((outcome.quality.shown, outcome.quality.missed), (1_999, 0));
    assert_eq!(outcome.latency.expect("they came").most, Duration::from_micros(15_256));
}

/// A stream over TCP that fits the link is shown without a stall; one of twice the rate of the
/// link is shown at half the speed, and nothing is lost.
#[test]
fn a_stream_stalls_where_the_link_is_too_slow() {
    let over_tcp = |rate| {
        let tcp = tcp("newreno", 1);
        Traffic::Tcp(fairwave_sim::world::TcpFlow { source: Some(video(rate)), ..tcp })
    };
    let fits = seen(&watched(over_tcp(400_000), ms(500), Policy::Stall)).quality;
    assert!(fits.shown >= 480 && fits.stalls == 0 && fits.missed == 0, "{fits:?}");
    let slow = seen(&watched(over_tcp(1_900_000), ms(500), Policy::Stall)).quality;
    assert_eq!((slow.missed, slow.undecodable), (0, 0));
    assert!((200..260).contains(&slow.shown), "{slow:?}");
    assert!(slow.stalled > ms(8_000) && slow.stalled < ms(11_000), "{slow:?}");
}

/// A viewer changes nothing of what is sent and received.
#[test]
fn watching_does_not_disturb() {
    let mut world = watched(Traffic::Datagrams(video(700_000)), ms(200), Policy::Skip);
    let watched = simulate(&world);
    world.flows[0].playout = None;
    let alone = simulate(&world);
    assert_eq!(watched.flows[0].datagrams, alone.flows[0].datagrams);
    assert_eq!(watched.flows[0].at_end.sent_packets, alone.flows[0].at_end.sent_packets);
}

#[test]
fn a_flow_without_frames_cannot_be_watched() {
    let world =
        watched(Traffic::Saturate(SaturateFlow { payload_bytes: 100 }), ms(200), Policy::Skip);
    let refused = run(&world, &mut Discard, &mut |_| {}).expect_err("there is nothing to see");
    assert_eq!(refused.to_string(), "flow v: it has no frames that could be watched");
}
