//! Peers that do not behave.

use super::*;
use fairwave_cc::TcpAvConfig;
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::{Bytes, Duration};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::sync_channel;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

const UNTIL_DONE: Timing = Timing {
    duration: Duration::from_secs(30),
    warm_up: Duration::ZERO,
    sample_every: None,
    bins: None,
    ends_when_idle: true,
};

fn spec(size: Option<u64>) -> Spec {
    let place = |node| Place { node: NodeId(node), address: ANY };
    Spec {
        id: FlowId(0),
        name: "bulk".to_owned(),
        source: place(0),
        sink: place(1),
        start: Instant::ZERO,
        stop: None,
        traffic_class: 0,
        load: Load::Connection(Connection {
            through: None,
            is_multipath: false,
            congestion_control: "reno".to_owned(),
            av: TcpAvConfig::DEFAULT,
            mss: None,
            send_buffer: Some(1 << 20),
            receive_buffer: Some(1 << 20),
            no_delay: true,
            acks_at_once: false,
            writes: Writes::Bulk(size.map(Bytes)),
        }),
    }
}

fn sockets(spec: &Spec) -> Sockets {
    Sockets::open(spec, &CallerNamespace).expect("they open")
}

fn start(spec: Spec, sockets: Sockets) -> Running {
    let prepared = Prepared { flows: vec![Box::new(ConnectionFlow::new(sockets, spec))] };
    let (samples, _) = sync_channel(0);
    prepared.start(Clock::start(), UNTIL_DONE, samples).expect("the thread starts")
}

fn failure(running: Running) -> Failure {
    let report = running.finish().expect("the thread ends well");
    report.flows[0].failure.clone().expect("the flow failed")
}

#[test]
fn a_peer_that_refuses_is_told_with_the_flows_name() {
    let spec = spec(None);
    let mut sockets = sockets(&spec);
    let gone = TcpListener::bind(ANY).and_then(|socket| socket.local_addr());
    sockets.sink_address = gone.expect("a port is free");
    let failure = failure(start(spec, sockets));
    assert_eq!((&*failure.flow, failure.what), ("bulk", "connect"));
    assert!(failure.to_string().contains("Connection refused"), "{failure}");
}

#[test]
fn a_peer_that_resets_ends_its_flow() {
    let spec = spec(None);
    let mut sockets = sockets(&spec);
    let other = TcpListener::bind(ANY).expect("a port is free");
    sockets.sink_address = other.local_addr().expect("it has an address");
    let running = start(spec, sockets);
    let (mut peer, _) = other.accept().expect("it connects");
    peer.read_exact(&mut [0; 100]).expect("it sends");
    // What it has not read makes it send a reset.
    drop(peer);
    let failure = failure(running);
    assert_eq!(failure.what, "send");
    assert!(failure.to_string().contains("reset by peer"), "{failure}");
}

#[test]
fn a_peer_that_closes_early_ends_its_flow() {
    let mut spec = spec(None);
    let Load::Connection(connection) = &mut spec.load else { unreachable!() };
    // The source has nothing to write, so that it hears of the end by that alone.
    let source =
        fairwave_traffic::Source::Cbr { payload_bytes: 1, interval: Duration::from_secs(3600) };
    connection.writes = Writes::Timed(source, fairwave_units::Seed(1).stream("bulk"));
    let mut sockets = sockets(&spec);
    let other = TcpListener::bind(ANY).expect("a port is free");
    sockets.sink_address = other.local_addr().expect("it has an address");
    let running = start(spec, sockets);
    let (mut peer, _) = other.accept().expect("it connects");
    peer.read_exact(&mut [0]).expect("it sends");
    drop(peer);
    assert_eq!(failure(running).what, "send");
}

#[test]
fn a_stranger_at_the_port_of_a_flow_is_turned_away() {
    let mut spec = spec(Some(1_000_000));
    spec.start = Instant::ZERO + Duration::from_millis(50);
    let sockets = sockets(&spec);
    let mut unknown = TcpStream::connect(sockets.sink_address).expect("it listens");
    let report = start(spec, sockets).finish().expect("the thread ends well");
    assert_eq!(report.flows[0].failure, None);
    assert_eq!(report.flows[0].outcome.at_end.delivered_bytes, 1_000_000);
    assert_eq!(unknown.read(&mut [0]).expect("it is closed"), 0);
}

#[test]
fn the_ports_of_a_flow_are_free_when_it_has_ended() {
    let spec = spec(None);
    let sockets = sockets(&spec);
    let (source, sink) = (sockets.source_address, sockets.sink_address);
    let running = start(spec, sockets);
    running.stop().expect("the thread ends well");
    for address in [source, sink] {
        TcpListener::bind(address).expect("nobody has it");
    }
}
