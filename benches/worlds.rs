//! Worlds for timing: one 802.11a cell, an AP, and a server behind a wired link.

use fairwave_dot11::{AccessCategory, Phy, Standard};
use fairwave_queue::Limit;
use fairwave_sim::world::{
    Cell, DelayDistribution, Flow, Link, Loss, Node, Radio, Role, SaturateFlow, Service, TcpFlow,
    Traffic, World,
};
use fairwave_tcp::{Config, DelayedAck};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Dbm, Duration, Instant, Metres, Seed, math};

const AP: NodeId = NodeId(0);

/// `stations` stations that always have a UDP datagram of 1472 bytes for the AP.
pub(crate) fn saturated_uplink(stations: u32, duration: Duration) -> World {
    let mut world = cell_of(stations, duration);
    let traffic = || Traffic::Saturate(SaturateFlow { payload_bytes: 1472 });
    world.flows = (1..=stations).map(|i| flow(i, AP, Instant::ZERO, traffic())).collect();
    world
}

/// `stations` stations that upload to the server by NewReno, with an ACK for every two segments.
/// They start one after another within the first 100 ms.
pub(crate) fn tcp_uploads(stations: u32, duration: Duration) -> World {
    let delayed_ack = DelayedAck { every: 2, ..Config::default().delayed_ack };
    let tcp = TcpFlow {
        sender: Config::default(),
        receiver: Config { delayed_ack, ..Config::default() },
        congestion_control: "newreno".into(),
        size: None,
        source: None,
    };
    let mut world = cell_of(stations, duration);
    let server = NodeId(stations + 1);
    let step = Duration::from_millis(100) / u64::from(stations);
    let start = |i: u32| Instant::ZERO + step * u64::from(i);
    world.flows =
        (1..=stations).map(|i| flow(i, server, start(i), Traffic::Tcp(tcp.clone()))).collect();
    world
}

fn flow(station: u32, sink: NodeId, start: Instant, traffic: Traffic) -> Flow {
    let (source, category) = (NodeId(station), AccessCategory::BestEffort);
    Flow {
        name: format!("up{station}"),
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

/// Stations on a circle of 4 m around an AP; 100 Mbps and 100 ms from there to the server.
fn cell_of(stations: u32, duration: Duration) -> World {
    let ap = Node { name: "ap".into(), radio: Some(radio(Role::AccessPoint, 0.0, 0.0, 100)) };
    let station = |i: u32| {
        let angle = 2.0 * core::f64::consts::PI * f64::from(i) / f64::from(stations);
        let (x, y) = (4.0 * math::cos(angle), 4.0 * math::sin(angle));
        let radio = radio(Role::Station { ap: AP }, x, y, 1000);
        Node { name: format!("sta{}", i + 1), radio: Some(radio) }
    };
    let server = Node { name: "server".into(), radio: None };
    let link = Link {
        ends: (AP, NodeId(stations + 1)),
        rate: Some(BitRate::mbps(100)),
        delay: Duration::from_millis(100),
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
        duration,
        warm_up: Duration::ZERO,
        sample_every: Duration::ZERO,
        bins: None,
        nodes: [ap].into_iter().chain((0..stations).map(station)).chain([server]).collect(),
        cells: vec![cell()],
        links: vec![link],
        flows: Vec::new(),
        soc: Vec::new(),
        monitors: Vec::new(),
    }
}

fn radio(role: Role, x: f64, y: f64, queue: u32) -> Radio {
    Radio {
        cell: 0,
        role,
        position: (Metres(x), Metres(y)),
        path: None,
        snr_trace: None,
        rates: None,
        capabilities: fairwave_dot11::Capabilities::default(),
        roaming: None,
        service: Service::default(),
        power: Dbm(16.0),
        mode: Phy::new(Standard::A).mode(BitRate::mbps(54)).expect("54 Mbps is one of 802.11a"),
        queue: Limit::Packets(queue).into(),
    }
}

fn cell() -> Cell {
    let beacon_interval = Some(Duration::from_micros(102_400));
    Cell { beacon_interval, ..Cell::new(Phy::new(Standard::A)) }
}
