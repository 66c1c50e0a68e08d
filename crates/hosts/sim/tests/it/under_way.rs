//! What flows carry beside lengths is there when a packet arrives: however many are under way, and
//! whatever the network does to the others.

use crate::common::{self, AP, flow, server, world};
use fairwave_dot11::channel::ErrorModel;
use fairwave_dot11::{Phy, Standard};
use fairwave_queue::Limit;
use fairwave_sim::run;
use fairwave_sim::world::{
    Ccid, DccpFlow, Flow, Loss, Remedies, RtcBounds, RtcFlow, Source, TfrcProfile, Threshold,
    Traffic, World,
};
use fairwave_trace::{Kind, NodeId, Sample, Sink};
use fairwave_traffic::Video;
use fairwave_units::{BitRate, Duration, Instant, Seed};
use proptest::prelude::*;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Frames of packets with 100 B every 40 ms, at a rate that nothing changes.
fn media(rate: BitRate) -> Traffic {
    let source = Source::Video(Video {
        rate,
        interval: Duration::from_millis(40),
        group: 12,
        intra_ratio: 1.0,
        spread: 0.1,
        payload_bytes: 100,
    });
    let maximum = BitRate(4 * rate.0);
    Traffic::Rtc(RtcFlow {
        source,
        adapts: false,
        bounds: RtcBounds { min: maximum, start: maximum, max: maximum },
        threshold: Threshold::Draft,
        feedback_interval: Duration::from_millis(100),
        uses_handovers: false,
    })
}

/// Counts packets that reach the destination of their flow's data, and those dropped.
struct Tap {
    at: NodeId,
    reached: u64,
    dropped: u64,
}

impl Sink for Tap {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Drop
    }

    fn taps(&self, node: NodeId) -> bool {
        node == self.at
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        match sample {
            Sample::Drop(_) => self.dropped += 1,
            Sample::Packet(packet) => self.reached += u64::from(packet.ends.1 == self.at),
            _ => {}
        }
    }
}

fn tapped(world: &World, at: NodeId) -> (Tap, fairwave_sim::FlowOutcome) {
    let mut tap = Tap { at, reached: 0, dropped: 0 };
    let outcome = run(world, &mut tap, &mut |_| {}).expect("the world is right");
    (tap, outcome.flows.into_iter().next().expect("there is a flow"))
}

/// 10 000 packets a second over a path of three seconds: 30 000 are under way, and all arrive.
#[test]
fn a_long_fat_path_holds_any_number_of_media_packets() {
    let mut world = world(Standard::A, 54, 1, secs(3));
    (world.duration, world.warm_up) = (secs(8), Duration::ZERO);
    world.links[0].rate = None;
    let call = flow("call", server(&world), AP, media(BitRate::mbps(8)));
    world.flows = vec![Flow { stop: Some(Instant::ZERO + secs(4)), ..call }];
    let (tap, call) = tapped(&world, AP);
    let seen = call.datagrams.expect("it counts datagrams");
    assert!(call.at_end.sent_packets > 39_000, "{}", call.at_end.sent_packets);
    assert_eq!((seen.received, seen.lost, tap.dropped), (call.at_end.sent_packets, 0, 0));
}

/// TFRC doubles its rate into a long queue: over 20 000 packets wait there, and all that arrive
/// are received.
#[test]
fn a_long_queue_holds_any_number_of_dccp_packets() {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(500));
    (world.duration, world.warm_up) = (secs(40), Duration::ZERO);
    world.links[0].rate = Some(BitRate::mbps(12));
    world.links[0].queue = Limit::Packets(100_000).into();
    let saturates = Traffic::Dccp(DccpFlow {
        ccid: Ccid(3),
        profile: TfrcProfile::Rfc5348,
        first_interval: None,
        remedies: Remedies::default(),
        source: None,
        payload_bytes: 1_000,
        send_queue: 5,
        send_within: None,
        sequence_window: 65_000,
    });
    world.flows = vec![flow("data", server(&world), AP, saturates)];
    let mut tap = Tap { at: AP, reached: 0, dropped: 0 };
    let outcome = run(&world, &mut tap, &mut |_| {}).expect("the world is right");
    let peak = outcome.queues.iter().map(|queue| queue.peak_packets).max();
    let seen = outcome.flows[0].datagrams.expect("it counts datagrams");
    assert!(peak > Some(20_000), "{peak:?}");
    assert_eq!((seen.lost, tap.dropped), (0, 0));
    // Of the packets that arrive, a few belong to the handshake.
    assert!(seen.received + 20 > tap.reached, "{} of {}", seen.received, tap.reached);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Over a cell and a link that lose packets, and acknowledgements of packets that came: what
    /// reaches the sink is received, all of it.
    #[test]
    fn what_reaches_a_sink_is_received(
        seed: u64,
        up: bool,
        aggregates: bool,
        acknowledges: bool,
        queue in 1u32..60,
    ) {
        let mut world = world(Standard::A, 54, 1, Duration::from_millis(5));
        if aggregates {
            world.cells[0] = common::cell(Standard::N);
        }
        (world.seed, world.duration, world.warm_up) = (Seed(seed), secs(3), Duration::ZERO);
        world.cells[0].errors = ErrorModel::Rate { data: 0.3, control: 0.4 };
        world.cells[0].acknowledges = acknowledges;
        world.links[0].loss = Loss::both(0.02);
        world.links[0].jitter = Duration::from_millis(4);
        world.links[0].queue = Limit::Packets(queue).into();
        for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
            radio.queue = Limit::Packets(queue).into();
            if aggregates {
                radio.mode = Phy::new(Standard::N).modes(1)[7];
            }
        }
        let (station, server) = (NodeId(1), server(&world));
        let (from, to) = if up { (station, server) } else { (server, station) };
        world.flows = vec![flow("call", from, to, media(BitRate::mbps(1)))];
        let (tap, call) = tapped(&world, to);
        let seen = call.datagrams.expect("it counts datagrams");
        prop_assert!(tap.reached > 500, "seed {seed}: {}", tap.reached);
        prop_assert_eq!(seen.received, tap.reached, "seed {}", seed);
    }
}
