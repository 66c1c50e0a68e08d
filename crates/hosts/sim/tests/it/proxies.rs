//! Flows that pass a proxy: what arrives, what is seen, and where a proxy may be.

use crate::common::{flow, tcp};
use fairwave_cc::TcpAvConfig;
use fairwave_queue::Limit;
use fairwave_sim::world::{
    DelayDistribution, Flow, Link, Loss, Node, Opening, Proxy, Source, TcpFlow, Traffic, World,
};
use fairwave_sim::{Outcome, passes, run};
use fairwave_tcp::Config;
use fairwave_trace::{Discard, FlowSample, Kind, NodeId, Sample, Sink};
use fairwave_units::{BitRate, Bytes, Duration, Instant, Seed};

const PROXY: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const SERVER: NodeId = NodeId(2);
/// The first client, behind the proxy; the others are at the router.
const CLIENT: NodeId = NodeId(3);

/// Clients, a router, and a server behind 10 Mbps, 20 ms and 50 packets.
fn world(clients: u32) -> World {
    let node = |name: String| Node { name, radio: None };
    let link = |ends, mbps, millis, queue| Link {
        ends,
        rate: Some(BitRate::mbps(mbps)),
        distribution: DelayDistribution::Fixed,
        tick: None,
        delay: Duration::from_millis(millis),
        jitter: Duration::ZERO,
        loss: Loss::NONE,
        back: None,
        queue: Limit::Packets(queue).into(),
        changes: Vec::new(),
    };
    let names = ["proxy", "router", "server"].map(String::from).into_iter();
    let client =
        |i: u32| link((NodeId(CLIENT.0 + i), if i == 0 { PROXY } else { ROUTER }), 100, 1, 999);
    let trunk = [link((PROXY, ROUTER), 100, 1, 999), link((ROUTER, SERVER), 10, 20, 50)];
    World {
        seed: Seed(1),
        duration: Duration::from_secs(60),
        warm_up: Duration::from_secs(10),
        sample_every: Duration::from_millis(500),
        bins: Some(Duration::from_secs(7)),
        soc: Vec::new(),
        monitors: Vec::new(),
        nodes: names.chain((0..clients).map(|i| format!("pc{i}"))).map(node).collect(),
        cells: Vec::new(),
        links: trunk.into_iter().chain((0..clients).map(client)).collect(),
        flows: Vec::new(),
    }
}

fn proxy(algorithm: &str, target: Option<BitRate>) -> Option<Proxy> {
    let av = TcpAvConfig { target, ..TcpAvConfig::DEFAULT };
    let side = Config { send_buffer: 200_000, receive_buffer: 30_000, av, ..Config::default() };
    let (congestion_control, opening) = (algorithm.into(), Opening::AfterFar);
    Some(Proxy { at: PROXY, near: side, far: side, congestion_control, opening })
}

fn upload(client: u32, traffic: TcpFlow) -> Flow {
    flow(&format!("up{client}"), NodeId(CLIENT.0 + client), SERVER, Traffic::Tcp(traffic))
}

fn outcome(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

/// The first flow's samples.
#[derive(Default)]
struct Samples(Vec<FlowSample>);

impl Sink for Samples {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Flow
    }

    fn record(&mut self, _at: Instant, sample: &Sample) {
        if let Sample::Flow(id, sample) = sample
            && id.0 == 0
        {
            self.0.push(*sample);
        }
    }
}

/// In both directions of opening, through loss on the far side.
#[test]
fn what_is_sent_arrives_and_no_more() {
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut world = world(1);
        world.links[1].loss = Loss::both(0.02);
        let size = Some(Bytes(3_000_000));
        let sized = Traffic::Tcp(TcpFlow { size, ..tcp("newreno", 2) });
        world.flows = vec![Flow { proxy: proxy("newreno", None), ..flow("it", from, to, sized) }];
        let flow = &outcome(&world).flows[0];
        assert_eq!(flow.at_end.delivered_bytes, 3_000_000);
        assert!(flow.completed.is_some());
        let proxy = flow.at_end.proxy.expect("it has one");
        let behind =
            if from == CLIENT { proxy.retransmissions } else { flow.at_end.retransmissions };
        let before =
            if from == CLIENT { flow.at_end.retransmissions } else { proxy.retransmissions };
        assert!(behind > 20 && before == 0, "{behind} where it is lossy, {before} where not");
    }
}

/// The sender sees the proxy, 4 ms away and never full of its data beyond the window; the proxy
/// sees the server.
#[test]
fn both_connections_are_sampled() {
    let mut world = world(1);
    world.flows = vec![Flow { proxy: proxy("newreno", None), ..upload(0, tcp("newreno", 2)) }];
    let mut samples = Samples::default();
    run(&world, &mut samples, &mut |_| {}).expect("the world is right");
    assert_eq!(samples.0.len(), 120);
    for sample in &samples.0[20..] {
        let proxy = sample.proxy.expect("it has one");
        assert!(sample.flight <= 30_000, "{sample:?}");
        assert!(
            proxy.held_bytes <= 230_000 && proxy.held_bytes >= proxy.flight.into(),
            "{sample:?}"
        );
        assert!(proxy.cwnd > 10 * 1460 && proxy.srtt >= Some(Duration::from_millis(42)));
    }
}

/// Against four NewReno flows on 10 Mbps, whose fair share is 2 Mbps: without a target at most
/// twice that, with one of 6 Mbps what it asks for, in the sender itself as well.
#[test]
fn a_target_is_held_through_a_proxy_or_by_the_sender() {
    let target = Some(BitRate::mbps(6));
    let rate = |first: Flow| {
        let mut world = world(5);
        world.flows = (0..5).map(|i| upload(i, tcp("newreno", 2))).collect();
        world.flows[0] = first;
        outcome(&world).flows[0].goodput.as_mbps_f64()
    };
    let plain = rate(upload(0, tcp("newreno", 2)));
    let proxied = rate(Flow { proxy: proxy("tcp-av", target), ..upload(0, tcp("reno", 2)) });
    let mut own = tcp("tcp-av", 2);
    own.sender.av.target = target;
    let own = rate(upload(0, own));
    assert!((1.0..4.0).contains(&plain), "{plain} Mbps without a target");
    assert!((5.9..6.6).contains(&proxied), "{proxied} Mbps through a proxy");
    assert!((5.9..6.6).contains(&own), "{own} Mbps by the sender");
}

/// Sixty seconds have eight whole bins of seven.
#[test]
fn bins_add_up() {
    let mut world = world(1);
    world.flows = vec![upload(0, tcp("newreno", 2))];
    let flow = outcome(&world).flows.remove(0);
    assert_eq!(flow.bins.len(), 8);
    let (binned, all) = (flow.bins.iter().sum::<u64>(), flow.at_end.delivered_bytes);
    assert!(binned <= all && binned * 60 > all * 55, "{binned} of {all}");
    world.bins = None;
    assert_eq!(outcome(&world).flows[0].bins, [0_u64; 0]);
}

#[test]
fn a_proxy_must_be_on_the_way_of_a_tcp_flow() {
    let refused = |flow: Flow| {
        let mut world = world(2);
        world.flows = vec![flow];
        run(&world, &mut Discard, &mut |_| {}).map(drop).unwrap_err().to_string()
    };
    let with = |flow: Flow| Flow { proxy: proxy("reno", None), ..flow };
    assert!(refused(with(upload(1, tcp("reno", 2)))).contains("not on its way"));
    let at_its_end = flow("it", PROXY, SERVER, Traffic::Tcp(tcp("reno", 2)));
    assert!(refused(with(at_its_end)).contains("not on its way"));
    let interval = Duration::from_millis(1);
    let udp = Traffic::Datagrams(Source::Cbr { payload_bytes: 100, interval });
    assert!(refused(with(flow("it", CLIENT, SERVER, udp))).contains("only a TCP flow"));
    let unknown = Flow { proxy: proxy("nothing", None), ..upload(0, tcp("reno", 2)) };
    assert!(refused(unknown).contains("unknown congestion control"));
    assert!(passes(&world(1), &upload(0, tcp("reno", 2)), PROXY));
}
