//! What access points agree with their stations: weights and curves, in a whole world.

use crate::common::{self, AP, flow, server, tcp, world};
use fairwave_dot11::{AccessCategory, Aggregation, Edca, Phy, Standard};
use fairwave_queue::{ALL, HfscConfig, Limit, ServiceCurve, SocpsConfig, Spec, Weight};
use fairwave_sim::run;
use fairwave_sim::world::{Service, Source, Traffic, World};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::{BitRate, Bytes, Duration};

/// [`greedy_over`] 802.11b at 11 Mbps.
fn greedy(spec: Spec, services: &[Service]) -> World {
    greedy_over(world(Standard::B, 11, services.len() as u32, Duration::ZERO), spec, services)
}

/// 1000-byte packets for every station each 1.5 ms, which is more than there
/// is; the access point serves by `spec`.
fn greedy_over(mut world: World, spec: Spec, services: &[Service]) -> World {
    let server = server(&world);
    for (node, service) in (1..).map(NodeId).zip(services) {
        let (payload_bytes, interval) = (972, Duration::from_micros(1500));
        let traffic = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
        world.flows.push(flow(&format!("f{}", node.0), server, node, traffic));
        world.nodes[node.0 as usize].radio.as_mut().expect("a station").service = *service;
    }
    world.nodes[AP.0 as usize].radio.as_mut().expect("an AP").queue = spec;
    world
}

/// What each flow gets, of IP packets in kbps.
fn goodputs(world: &World) -> Vec<f64> {
    let outcome = run(world, &mut Discard, &mut |_| {}).expect("the world is right");
    let wire = |flow: &fairwave_sim::FlowOutcome| flow.goodput.0 as f64 * 1000.0 / 972.0 / 1e3;
    outcome.flows.iter().map(wire).collect()
}

fn upper(kbps: u64) -> Service {
    let upper = Some(ServiceCurve::linear(BitRate(1000 * kbps)));
    Service { upper, ..Service::default() }
}

fn near(got: f64, wanted: f64, part: f64) {
    assert!((got / wanted - 1.0).abs() < part, "{got} instead of {wanted}");
}

const LIMIT: Limit = Limit::Packets(1000);

#[test]
fn weights_of_hosts_are_followed_by_every_scheduler_that_knows_weights() {
    for kind in ALL {
        let spec = (kind.spec)(LIMIT);
        if !spec.follows_weights() {
            continue;
        }
        let weighed = |weight: u32| Service { weight: Weight(weight << 16), ..Service::default() };
        let got = goodputs(&greedy(spec, &[weighed(3), weighed(1)]));
        assert!((got[0] / got[1] - 3.0).abs() < 0.06, "{}: {got:?}", kind.name);
    }
}

/// The upper limit makes the queue hold packets back while the radio is idle: it is woken when
/// they may be sent.
#[test]
fn an_upper_limited_host_gets_its_limit_within_a_percent() {
    for over in
        [Spec::Hfsc(HfscConfig::of(LIMIT)), Spec::Socps(SocpsConfig::Hfsc(HfscConfig::of(LIMIT)))]
    {
        near(goodputs(&greedy(over.clone(), &[upper(600)]))[0], 600.0, 0.01);
        let got = goodputs(&greedy(over, &[upper(300), Service::default(), upper(900)]));
        near(got[0], 300.0, 0.01);
        near(got[2], 900.0, 0.01);
        assert!(got[1] > 3000.0, "the rest is for who has no limit: {got:?}");
    }
}

/// A burst of 30 kB in the first 100 ms of a backlog, then 240 kbps: 30 kB + 19.9 s * 30 kB/s.
#[test]
fn an_upper_limit_of_two_pieces_lets_a_burst_through() {
    let (burst, delay) = (Bytes(30_000), Duration::from_millis(100));
    let upper = Some(ServiceCurve::burst(burst, delay, BitRate(240_000)));
    let mut world =
        greedy(Spec::Hfsc(HfscConfig::of(LIMIT)), &[Service { upper, ..Service::default() }]);
    world.warm_up = Duration::ZERO;
    near(goodputs(&world)[0], (30_000.0 + 19.9 * 30_000.0) * 8.0 / 20.0 / 1e3, 0.01);
}

/// TCP behind an upper limit, which its ACKs come back beside; aggregation takes packets out of
/// turn, and the host pays for them.
#[test]
fn tcp_and_aggregates_keep_to_an_upper_limit() {
    let services = [upper(2000), Service::default()];
    let mut aggregated = world(Standard::A, 54, 2, Duration::ZERO);
    let phy = Phy::new(Standard::N);
    aggregated.cells[0] = common::cell(Standard::N);
    aggregated.cells[0].edca = Some(Edca::defaults(phy));
    aggregated.cells[0].aggregation = Aggregation::most(phy);
    for node in &mut aggregated.nodes {
        node.radio.iter_mut().for_each(|radio| radio.mode = phy.modes(1)[7]);
    }
    for plain in [world(Standard::B, 11, 2, Duration::ZERO), aggregated] {
        let mut world = greedy_over(plain, Spec::Hfsc(HfscConfig::of(LIMIT)), &services);
        for flow in &mut world.flows {
            flow.traffic = Traffic::Tcp(tcp("cubic", 2));
        }
        let outcome = run(&world, &mut Discard, &mut |_| {}).expect("the world is right");
        // 1448 bytes of payload in 1500 of IP.
        near(outcome.flows[0].goodput.0 as f64, 2e6 * 1448.0 / 1500.0, 0.01);
        assert!(outcome.flows[1].goodput.0 > 2_500_000);
    }
}

/// Categories have queues of their own, and a limit in each.
#[test]
fn each_category_has_its_limit() {
    let mut world = greedy(Spec::Hfsc(HfscConfig::of(LIMIT)), &[upper(500)]);
    world.cells[0].edca = Some(Edca::defaults(world.cells[0].phy));
    let mut voice = world.flows[0].clone();
    (voice.name, voice.category) = ("voice".into(), AccessCategory::Voice);
    world.flows.push(voice);
    let got = goodputs(&world);
    near(got[0], 500.0, 0.01);
    near(got[1], 500.0, 0.01);
}

#[test]
fn what_no_queue_keeps_to_is_refused() {
    let refused = |spec, service| {
        let world = greedy(spec, &[service]);
        run(&world, &mut Discard, &mut |_| {}).expect_err("it cannot be").to_string()
    };
    let weighed = Service { weight: Weight(1), ..Service::default() };
    let drop_tail = Spec::DropTail { limit: LIMIT };
    let printed = refused(drop_tail, weighed);
    assert_eq!(printed, "service of sta1: its access point's queue knows no weights");
    let wfq = ALL.iter().find(|kind| kind.name == "wfq").expect("it is listed");
    let printed = refused((wfq.spec)(LIMIT), upper(100));
    assert_eq!(printed, "service of sta1: its access point's queue knows no service curves");
    let printed = refused(Spec::Hfsc(HfscConfig::of(LIMIT)), upper(0));
    assert_eq!(printed, "service of sta1: a curve ends with a rate of zero");
}
