//! A varying channel in a whole world: losses under fading and bursts, rates on a walk,
//! handovers.

use crate::common::{AP, flow, server, world};
use fairwave_dot11::{Phy, Standard, noise, rate_control, success};
use fairwave_queue::{Limit, Spec};
use fairwave_sim::world::Discard as Stale;
use fairwave_sim::world::{
    BySignal, ErrorModel, Fading, GilbertElliott, Handover, Node, Path, Radio, RateChoice, Roaming,
    Role, SaturateFlow, Source, Traffic, WayPoint, World,
};
use fairwave_sim::{Outcome, run};
use fairwave_trace::{Discard, Kind, NodeId, Sample, Sink};
use fairwave_units::{BitRate, Db, Duration, Hertz, Instant, Metres, math};

const STATION: NodeId = NodeId(1);

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn secs(secs: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(secs)
}

fn cbr(payload_bytes: u32, millis: u64) -> Traffic {
    Traffic::Datagrams(Source::Cbr { payload_bytes, interval: Duration::from_millis(millis) })
}

fn radio(world: &mut World, node: NodeId) -> &mut Radio {
    world.nodes[node.0 as usize].radio.as_mut().expect("the node has a radio")
}

/// One station `distance` metres from its access point, which sends `traffic` to the server; one
/// attempt at each frame.
fn one_attempt(distance: f64, traffic: Traffic) -> World {
    let mut world = world(Standard::A, 54, 1, Duration::ZERO);
    (world.duration, world.warm_up) = (Duration::from_secs(60), Duration::ZERO);
    world.cells[0].short_retry_limit = 1;
    radio(&mut world, STATION).position = (Metres(distance), Metres(0.0));
    world.flows = vec![flow("up", STATION, server(&world), traffic)];
    world
}

fn share_received(outcome: &Outcome) -> f64 {
    let seen = outcome.flows[0].datagrams.expect("a datagram flow");
    seen.received as f64 / outcome.flows[0].at_end.sent_packets as f64
}

/// Under Rayleigh fading the SNR is exponentially distributed, so that the share of frames that
/// arrive is the integral of the success at each SNR from the preamble's detection on.
#[test]
fn throughput_under_rayleigh_fading_is_the_mean_over_its_distribution() {
    for distance in [12.0, 19.0, 30.0] {
        let mut world = one_attempt(distance, cbr(1472, 5));
        let cell = &mut world.cells[0];
        cell.fading = Some(Fading { rice_k: 0.0, doppler_hz: 40.0 });
        let mode = cell.phy.mode(BitRate::mbps(54)).expect("a rate of 802.11a");
        let loss = fairwave_dot11::path_loss(cell.frequency, 3.0, Metres(distance));
        let level = fairwave_units::Dbm(16.0) - loss;
        let mean = (level - noise(Hertz(20_000_000), Db(7.0))).linear();
        let arrives = |snr: f64| success(mode.modulation(), snr, 8.0 * 1536.0);
        let step = 0.002;
        let expected: f64 = (0..5000)
            .map(|i| (f64::from(i) + 0.5) * step)
            .filter(|x| x * mean >= Db(4.0).linear())
            .map(|x| arrives(x * mean) * math::exp(-x) * step)
            .sum();
        let measured = share_received(&simulate(&world));
        assert!((measured - expected).abs() < 0.03, "{distance} m: {measured} {expected}");
    }
}

/// 0.02 / (0.02 + 0.25) of the frames meet the bad state, in which all are lost.
#[test]
fn a_gilbert_elliott_link_loses_its_share() {
    let mut world = one_attempt(4.0, cbr(1000, 2));
    let chain = GilbertElliott { p: 0.02, r: 0.25, good: 0.0, bad: 1.0 };
    world.cells[0].errors = ErrorModel::Bursts(chain);
    let lost = 1.0 - share_received(&simulate(&world));
    assert!((lost - chain.loss()).abs() < 0.008, "{lost} {}", chain.loss());
}

/// A saturated station that walks from 1 m to 61 m in 20 s.
fn walk(mbps: u64, algorithm: Option<&str>) -> f64 {
    let mut world = world(Standard::A, mbps, 1, Duration::ZERO);
    world.warm_up = Duration::ZERO;
    let station = radio(&mut world, STATION);
    let point = |s, x| WayPoint { at: secs(s), position: (Metres(x), Metres(0.0)) };
    station.path = Path::new(vec![point(0.0, 1.0), point(20.0, 61.0)]);
    station.rates = algorithm.map(|name| RateChoice {
        algorithm: (*rate_control::find(name).expect("it is in the list")).into(),
        initial: Phy::new(Standard::A).legacy_modes().last(),
    });
    world.flows =
        vec![flow("up", STATION, AP, Traffic::Saturate(SaturateFlow { payload_bytes: 1472 }))];
    simulate(&world).flows[0].goodput.as_mbps_f64()
}

#[test]
fn rate_control_beats_every_constant_rate_on_a_walk() {
    let constant = [6, 9, 12, 18, 24, 36, 48, 54].map(|mbps| walk(mbps, None));
    let best = constant.into_iter().fold(0.0, f64::max);
    let minstrel = walk(54, Some("minstrel"));
    assert!(minstrel > 1.05 * best, "minstrel {minstrel}, constant {constant:?}");
    let aarf = walk(54, Some("aarf"));
    assert!(aarf > best, "AARF {aarf}, constant {constant:?}");
}

/// A sink that keeps associations.
#[derive(Default)]
struct Associations(Vec<(Instant, Option<NodeId>)>);

impl Sink for Associations {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Association
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        if let Sample::Association(STATION, ap) = sample {
            self.0.push((at, *ap));
        }
    }
}

const SECOND_AP: NodeId = NodeId(3);

/// Two access points 60 m apart on channels of their own, both joined to the server, and a
/// station between them.
fn two_cells(roaming: Roaming) -> World {
    let mut world = world(Standard::A, 54, 1, Duration::ZERO);
    world.warm_up = Duration::ZERO;
    let first = radio(&mut world, AP);
    first.mode = Phy::new(Standard::A).lowest_mode();
    let first = first.clone();
    let second = Radio { cell: 1, position: (Metres(60.0), Metres(0.0)), ..first };
    world.cells.push(world.cells[0].clone());
    world.nodes.push(Node { name: "ap2".into(), radio: Some(second) });
    let link = world.links[0].clone();
    world.links.push(fairwave_sim::world::Link { ends: (SECOND_AP, link.ends.1), ..link });
    let station = radio(&mut world, STATION);
    station.position = (Metres(10.0), Metres(0.0));
    station.roaming = Some(Roaming { candidates: vec![AP, SECOND_AP], hold: 50, ..roaming });
    station.queue = Limit::Packets(50).into();
    world
}

/// 100 datagrams a second each way; from 5 s on the station has no access point for 2 s.
#[test]
fn a_handover_leaves_a_gap_and_queues_keep_what_they_can() {
    let handover = Handover { at: secs(5.0), to: SECOND_AP, disconnection: Duration::from_secs(2) };
    let mut world = two_cells(Roaming { handovers: vec![handover], ..Roaming::default() });
    radio(&mut world, STATION).position = (Metres(30.0), Metres(0.0));
    radio(&mut world, STATION).mode = Phy::new(Standard::A).lowest_mode();
    let server = NodeId(2);
    world.flows = vec![
        flow("up", STATION, server, cbr(200, 10)),
        flow("down", server, STATION, cbr(200, 10)),
    ];
    let mut seen = Associations::default();
    let outcome = run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    let [(start, _), (left, None), (joined, Some(SECOND_AP))] = seen.0[..] else {
        panic!("{:?}", seen.0)
    };
    assert_eq!(start, Instant::ZERO);
    assert!(left.since(secs(5.0)) <= Duration::from_millis(2), "{left}");
    assert_eq!(joined.since(left), Duration::from_secs(2));
    for flow in &outcome.flows {
        let silence = flow.longest_silence.as_secs_f64();
        assert!((silence - 2.0).abs() < 0.02, "{}: {silence} s", flow.name);
        // 200 datagrams in 2 s, of which 50 find room, and one or two at the MAC.
        let lost = flow.datagrams.expect("a datagram flow").lost;
        assert!((147..=151).contains(&lost), "{}: {lost} lost", flow.name);
    }
}

/// 100 datagrams a second into a queue of 50, away from 5 s on for 2 s. What stays of them, and
/// how old the oldest is then: the queue's 50 of the first half second, so 2 s; of those after 25
/// are gone, those made from 5.25 s on, so 1.75 s; or the 20 of the last 200 ms.
#[test]
fn a_station_drops_what_waited_too_long() {
    for (discard, lost, oldest) in [
        (None, 147..=151, 2.0),
        (Some(Stale::Oldest(25)), 172..=176, 1.75),
        (Some(Stale::Older(Duration::from_millis(200))), 178..=182, 0.2),
    ] {
        let disconnection = Duration::from_secs(2);
        let handover = Handover { at: secs(5.0), to: SECOND_AP, disconnection };
        let handovers = vec![handover];
        let mut world = two_cells(Roaming { handovers, discard, ..Roaming::default() });
        radio(&mut world, STATION).position = (Metres(30.0), Metres(0.0));
        radio(&mut world, STATION).mode = Phy::new(Standard::A).lowest_mode();
        world.flows = vec![flow("up", STATION, NodeId(2), cbr(200, 10))];
        let flow = simulate(&world).flows.remove(0);
        let seen = flow.datagrams.expect("a datagram flow");
        assert!(lost.contains(&seen.lost), "{discard:?}: {} lost", seen.lost);
        let most = flow.delay.expect("some arrived").most.as_secs_f64();
        assert!((most - oldest).abs() < 0.04, "{discard:?}: {most} s");
    }
}

/// The MSDUs of a lifetime of 512 ms are as old as they are, however often the station looks for
/// older ones: of a gap of 2 s, those of the last 512 ms arrive.
#[test]
fn packets_that_a_station_does_not_drop_keep_their_age() {
    let handover = Handover { at: secs(5.0), to: SECOND_AP, disconnection: Duration::from_secs(2) };
    let longest = |discard| {
        let handovers = vec![handover];
        let mut world = two_cells(Roaming { handovers, discard, ..Roaming::default() });
        let station = radio(&mut world, STATION);
        station.position = (Metres(30.0), Metres(0.0));
        station.mode = Phy::new(Standard::A).lowest_mode();
        let (limit, lifetime) = (Limit::Packets(1000), Duration::from_millis(512));
        station.queue = Spec::Lifetime { limit, lifetime };
        world.flows = vec![flow("up", STATION, NodeId(2), cbr(200, 10))];
        simulate(&world).flows[0].delay.expect("some arrived").most
    };
    let longest = [None, Some(Stale::Older(Duration::from_secs(10)))].map(longest);
    assert!(longest.iter().all(|most| *most < Duration::from_millis(550)), "{longest:?}");
}

/// A MAC that goes on sending gives up a frame after seven attempts: 1012.5 slots of 9 us in the
/// mean (CW from 15 to 1023) and 0.46 ms of frame, DIFS and timeout for each, 12.3 ms in all. So
/// 162 of the 200 datagrams of the gap are gone, three standard deviations are 10, and the oldest
/// that is left was made 1.62 s into the gap. Nothing overflows.
#[test]
fn a_station_whose_mac_attempts_gives_up_frame_after_frame() {
    let disconnection = Duration::from_secs(2);
    let handovers = vec![Handover { at: secs(5.0), to: SECOND_AP, disconnection }];
    let mut world = two_cells(Roaming { handovers, attempts: true, ..Roaming::default() });
    radio(&mut world, STATION).position = (Metres(30.0), Metres(0.0));
    radio(&mut world, STATION).mode = Phy::new(Standard::A).lowest_mode();
    world.flows = vec![flow("up", STATION, NodeId(2), cbr(200, 10))];
    let flow = simulate(&world).flows.remove(0);
    let lost = flow.datagrams.expect("a datagram flow").lost;
    assert!((152..=172).contains(&lost), "{lost} lost");
    let oldest = flow.delay.expect("some arrived").most.as_secs_f64();
    assert!((oldest - 0.38).abs() < 0.11, "{oldest} s");
    assert!((flow.longest_silence.as_secs_f64() - 2.0).abs() < 0.03);
}

/// From AP to AP in 20 s: in the middle, and by the 6 dB of hysteresis later, the other is
/// stronger. 30 log10(x / (60 - x)) = 6 at x = 36.8 m, after 12.3 s; then comes the dwell time.
#[test]
fn a_walking_station_goes_to_the_stronger_access_point() {
    let by_signal = BySignal {
        hysteresis: Db(6.0),
        dwell: Duration::from_millis(500),
        disconnection: Duration::from_millis(100),
    };
    let mut world = two_cells(Roaming { by_signal: Some(by_signal), ..Roaming::default() });
    let point = |s, x| WayPoint { at: secs(s), position: (Metres(x), Metres(0.0)) };
    let station = radio(&mut world, STATION);
    station.path = Path::new(vec![point(0.0, 0.0), point(20.0, 60.0)]);
    station.mode = Phy::new(Standard::A).lowest_mode();
    world.flows = vec![flow("up", STATION, NodeId(2), cbr(200, 10))];
    let mut seen = Associations::default();
    let outcome = run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert_eq!(seen.0.len(), 3, "{:?}", seen.0);
    let left = seen.0[1].0.as_secs_f64();
    assert!((left - 12.3 - 0.5).abs() < 0.2, "{left}");
    assert_eq!(seen.0[2].1, Some(SECOND_AP));
    assert_eq!(outcome.flows[0].datagrams.expect("a datagram flow").lost, 0);
    let airtime = outcome.stations[1].at_end;
    assert!(airtime.successes >= 1990 && airtime.peer_snr.is_some(), "{airtime:?}");
}

#[test]
fn a_station_may_begin_with_the_strongest() {
    let mut world = two_cells(Roaming { begins_with_strongest: true, ..Roaming::default() });
    radio(&mut world, STATION).position = (Metres(50.0), Metres(0.0));
    world.flows = vec![flow("up", STATION, NodeId(2), cbr(200, 10))];
    let mut seen = Associations::default();
    let outcome = run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert_eq!(seen.0, [(Instant::ZERO, Some(SECOND_AP))]);
    assert_eq!(outcome.flows[0].datagrams.expect("a datagram flow").lost, 0);
}

#[test]
fn candidates_are_checked() {
    let ap = radio(&mut two_cells(Roaming::default()), AP).role;
    assert_eq!(ap, Role::AccessPoint);
    let mut world = two_cells(Roaming::default());
    radio(&mut world, STATION).roaming =
        Some(Roaming { candidates: vec![SECOND_AP], ..Roaming::default() });
    let refused = run(&world, &mut Discard, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("not among its candidates"), "{refused}");
}
