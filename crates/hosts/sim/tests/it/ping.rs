//! Round-trip times of ping against those that follow from rates and delays.

use crate::common::{flow, server, tcp, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{Loss, PingFlow, Traffic, World};
use fairwave_sim::{FlowOutcome, run};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{Duration, Instant};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A station that pings the server, 10 ms away by wire, every 100 ms for 20 s.
fn pinging() -> World {
    let mut world = world(Standard::G, 54, 2, MS(10));
    let ping = PingFlow { payload_bytes: 56, interval: MS(100) };
    world.flows = vec![flow("ping", NodeId(1), server(&world), Traffic::Ping(ping))];
    world
}

fn outcome(world: &World) -> FlowOutcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right").flows[0].clone()
}

/// Two ways of 10 ms by wire, and two frames of less than 1 ms on the air.
#[test]
fn an_idle_path_takes_its_propagation_and_two_frames() {
    let found = outcome(&pinging());
    let times = found.round_trips.expect("replies came");
    // A request leaves at the start and one at the end; those of the warm-up of 2 s do not count.
    assert_eq!((found.at_end.sent_packets, times.count), (201, 180));
    assert!(times.least > MS(20) && times.most < MS(22), "{times:?}");
    let seen = found.datagrams.expect("replies are counted");
    assert_eq!((seen.received, seen.lost), (180, 0));
    let one_way = found.delay.expect("requests came");
    assert!(one_way.median > MS(10) && one_way.median < MS(11), "{one_way:?}");
}

/// A download that fills the access point's queue of 100 packets: replies wait behind it.
#[test]
fn a_reply_waits_behind_the_queue_of_a_download() {
    let mut world = pinging();
    let server = server(&world);
    world.nodes[0].radio.as_mut().expect("an access point").queue = Limit::Packets(100).into();
    world.flows.push(flow("down", server, NodeId(2), Traffic::Tcp(tcp("newreno", 2))));
    let times = outcome(&world).round_trips.expect("replies came");
    // 100 packets of 1500 bytes at some 25 Mbps take 48 ms.
    assert!(times.median > MS(35) && times.most > MS(50), "{times:?}");
}

/// The wire loses a tenth of the packets in each direction: one round trip in 1 - 0.9^2 = 19 %.
#[test]
fn a_round_trip_is_lost_with_its_request_or_its_reply() {
    let mut world = pinging();
    world.links[0].loss = Loss::both(0.1);
    world.duration = Duration::from_secs(200);
    let seen = outcome(&world).datagrams.expect("replies are counted");
    let lost = seen.lost as f64 / (seen.received + seen.lost) as f64;
    assert!((lost - 0.19).abs() < 0.03, "{seen:?}");
}

#[test]
fn no_request_leaves_after_the_stop_and_an_interval_is_longer_than_nothing() {
    let mut world = pinging();
    world.flows[0].stop = Some(Instant::ZERO + Duration::from_secs(5));
    let found = outcome(&world);
    assert_eq!(found.at_end.sent_packets, 50);
    assert_eq!(found.round_trips.map(|times| times.count), Some(30));
    world.flows[0].traffic =
        Traffic::Ping(PingFlow { payload_bytes: 56, interval: Duration::ZERO });
    assert!(run(&world, &mut Discard, &mut |_| {}).is_err());
}
