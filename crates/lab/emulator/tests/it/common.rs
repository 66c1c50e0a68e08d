//! Worlds with two ends, and the programs that hold the other side of each.

use fairwave_dot11::{Capabilities, Phy, Standard};
use fairwave_emulator::address;
use fairwave_emulator::drive::{Drive, End, Inbox, Offload, Options, Report, Turn, Way};
use fairwave_linux::clock::Clock;
use fairwave_queue::Limit;
use fairwave_sim::world::{Cell, DelayDistribution, Link, Loss, Node, Radio, Role, Service, World};
use fairwave_trace::{Discard, NodeId, Sink};
use fairwave_units::{BitRate, Dbm, Duration, Instant, Metres, Seed};
use fairwave_wire::datagram::{Datagram, Transport};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ops::ControlFlow;

pub(crate) const AP: NodeId = NodeId(0);
pub(crate) const STATION: NodeId = NodeId(1);
pub(crate) const SERVER: NodeId = NodeId(2);

pub(crate) fn link(ends: (NodeId, NodeId), rate: Option<BitRate>, delay: Duration) -> Link {
    Link {
        ends,
        rate,
        delay,
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter: Duration::ZERO,
        loss: Loss::NONE,
        queue: Limit::Packets(100).into(),
        back: None,
        changes: Vec::new(),
    }
}

fn world(nodes: Vec<Node>, cells: Vec<Cell>, links: Vec<Link>) -> World {
    World {
        seed: Seed(1),
        duration: Duration::from_secs(3600),
        warm_up: Duration::ZERO,
        sample_every: Duration::from_millis(100),
        bins: None,
        nodes,
        cells,
        links,
        flows: Vec::new(),
        soc: Vec::new(),
        monitors: Vec::new(),
    }
}

/// A station of an 802.11a cell, its access point, and a server behind 100 Mbps and 1 ms.
pub(crate) fn cell() -> World {
    let mode = Phy::new(Standard::A).mode(BitRate::mbps(54)).expect("a rate of 802.11a");
    let radio = |role, x| Radio {
        cell: 0,
        role,
        position: (Metres(x), Metres(0.0)),
        path: None,
        snr_trace: None,
        rates: None,
        capabilities: Capabilities::default(),
        roaming: None,
        power: Dbm(16.0),
        mode,
        queue: Limit::Packets(100).into(),
        service: Service::default(),
    };
    let node = |name: &str, radio| Node { name: name.into(), radio };
    let nodes = vec![
        node("ap", Some(radio(Role::AccessPoint, 0.0))),
        node("sta", Some(radio(Role::Station { ap: AP }, 4.0))),
        node("server", None),
    ];
    let behind = link((AP, SERVER), Some(BitRate::mbps(100)), Duration::from_millis(1));
    world(nodes, vec![Cell::new(Phy::new(Standard::A))], vec![behind])
}

/// The same three nodes on a line of links without delay.
pub(crate) fn wire() -> World {
    let nodes = ["ap", "sta", "server"].map(|name| Node { name: name.into(), radio: None });
    let links = [STATION, SERVER].map(|end| link((AP, end), None, Duration::ZERO));
    world(nodes.into(), Vec::new(), links.into())
}

/// Ends at the station and at the server, and the programs' sides of them.
pub(crate) fn ends(offload: Offload) -> (Vec<End>, [OwnedFd; 2]) {
    let pair = |node| {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (fd, program) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .expect("a pair of sockets");
        (End { node, fd, offload, way: Way::Addressed { gateway: None } }, program)
    };
    let ((a, sta), (b, server)) = (pair(STATION), pair(SERVER));
    (vec![a, b], [sta, server])
}

pub(crate) fn send(program: &OwnedFd, bytes: &[u8]) {
    assert_eq!(rustix::io::write(program, bytes), Ok(bytes.len()));
}

/// Whether there was room for a packet that a program sends: its socket is as full as the loop is
/// late.
pub(crate) fn try_send(program: &OwnedFd, bytes: &[u8]) -> bool {
    rustix::io::write(program, bytes).is_ok()
}

/// The next packet that a program gets, if there is one.
pub(crate) fn receive(program: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 1 << 16];
    let len = rustix::io::read(program, &mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}

/// A UDP datagram from the station to `to`.
pub(crate) fn udp(to: NodeId, id: u16, payload_len: u32) -> Vec<u8> {
    let transport = Transport::Udp { source_port: 7, destination_port: 8 };
    let (source, destination) = (address::v4(STATION), address::v4(to));
    let datagram = Datagram { source, destination, id, ttl: 64, tos: 0, transport, payload_len };
    let mut bytes = Vec::new();
    datagram.write(&mut bytes).expect("it fits");
    bytes
}

/// A test must end, whatever goes wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn options() -> Options {
    let end = Some(Instant::ZERO + PATIENCE);
    Options { end, measures_host: false, give_up: PATIENCE, ..Options::default() }
}

/// Drives a world without a sink and a record.
pub(crate) fn drive(
    world: &World,
    ends: Vec<End>,
    options: Options,
    on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
) -> Report {
    let mut sink = Discard;
    drive_into(world, ends, options, &mut sink, on_turn)
}

pub(crate) fn drive_into(
    world: &World,
    ends: Vec<End>,
    options: Options,
    sink: &mut dyn Sink,
    on_turn: &mut dyn FnMut(&Turn<'_>) -> ControlFlow<()>,
) -> Report {
    let drive = Drive {
        clock: Clock::start(),
        inbox: Inbox::default(),
        associations: None,
        world,
        ends,
        options,
        record: None,
        stop: None,
    };
    drive.run(sink, on_turn).expect("the world is right")
}
