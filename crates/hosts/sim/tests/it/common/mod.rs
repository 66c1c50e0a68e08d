//! Worlds for tests: one cell, one AP, one server behind it.

use fairwave_dot11::{AccessCategory, Mode, Phy, Standard};
use fairwave_queue::Limit;
use fairwave_sim::world::{
    Cell, DelayDistribution, Flow, Link, Loss, Node, Radio, Role, Service, TcpFlow, Traffic, World,
};
use fairwave_tcp::{Config, DelayedAck};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Dbm, Duration, Instant, Metres, Seed, math};

/// The access point; stations follow, the server comes last.
pub(crate) const AP: NodeId = NodeId(0);

pub(crate) fn cell(standard: Standard) -> Cell {
    Cell::new(Phy::new(standard))
}

fn radio(role: Role, angle: f64, distance: f64, mode: Mode, queue: u32) -> Radio {
    Radio {
        cell: 0,
        role,
        position: (Metres(distance * math::cos(angle)), Metres(distance * math::sin(angle))),
        path: None,
        snr_trace: None,
        rates: None,
        capabilities: fairwave_dot11::Capabilities::default(),
        roaming: None,
        service: Service::default(),
        power: Dbm(16.0),
        mode,
        queue: Limit::Packets(queue).into(),
    }
}

/// `stations` stations 4 m around an AP with a queue of 100 packets, and a server behind
/// 100 Mbps and `delay`.
pub(crate) fn world(standard: Standard, mbps: u64, stations: u32, delay: Duration) -> World {
    let mode = Phy::new(standard).mode(BitRate::mbps(mbps)).expect("a rate of the PHY");
    let ap = Node { name: "ap".into(), radio: Some(radio(Role::AccessPoint, 0.0, 0.0, mode, 100)) };
    let station = |i: u32| {
        let angle = 2.0 * core::f64::consts::PI * f64::from(i) / f64::from(stations);
        let radio = radio(Role::Station { ap: AP }, angle, 4.0, mode, 1000);
        Node { name: format!("sta{}", i + 1), radio: Some(radio) }
    };
    let server = Node { name: "server".into(), radio: None };
    let link = Link {
        ends: (AP, NodeId(stations + 1)),
        rate: Some(BitRate::mbps(100)),
        delay,
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter: Duration::ZERO,
        loss: Loss::NONE,
        back: None,
        queue: Limit::Packets(10_000).into(),
        changes: Vec::new(),
    };
    World {
        seed: Seed(1),
        duration: Duration::from_secs(20),
        warm_up: Duration::from_secs(2),
        sample_every: Duration::from_millis(100),
        bins: None,
        nodes: [ap].into_iter().chain((0..stations).map(station)).chain([server]).collect(),
        cells: vec![cell(standard)],
        links: vec![link],
        flows: Vec::new(),
        soc: Vec::new(),
        monitors: Vec::new(),
    }
}

/// The node of the server in such a world.
pub(crate) fn server(world: &World) -> NodeId {
    NodeId(world.nodes.len() as u32 - 1)
}

pub(crate) fn flow(name: &str, source: NodeId, sink: NodeId, traffic: Traffic) -> Flow {
    let (start, category) = (Instant::ZERO, AccessCategory::BestEffort);
    Flow {
        name: name.into(),
        source,
        sink,
        start,
        stop: None,
        category,
        traffic,
        proxy: None,
        playout: None,
    }
}

/// Greedy TCP with an ACK for every `ack_every` segments.
pub(crate) fn tcp(algorithm: &str, ack_every: u32) -> TcpFlow {
    let delayed_ack = DelayedAck { every: ack_every, ..Config::default().delayed_ack };
    let receiver = Config { delayed_ack, ..Config::default() };
    TcpFlow {
        sender: Config::default(),
        receiver,
        congestion_control: algorithm.into(),
        size: None,
        source: None,
    }
}

/// Every station uploads to the server by TCP, starting within the first second.
pub(crate) fn uploads(mut world: World, traffic: &TcpFlow) -> World {
    let server = server(&world);
    let mut starts = world.seed.stream("starts");
    world.flows = (1..server.0)
        .map(|i| {
            let start = Instant::from_nanos(starts.below(1_000_000_000));
            let flow = flow(&format!("up{i}"), NodeId(i), server, Traffic::Tcp(traffic.clone()));
            Flow { start, ..flow }
        })
        .collect();
    world
}
