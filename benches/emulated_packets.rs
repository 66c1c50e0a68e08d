//! Real packets through the emulator's loop, for a profiler. `emulated-packets wire 10000` sends 10
//! 000 packets of 1200 bytes over a wire without delay. `emulated-packets tcp 1000` sends 1000
//! segments of 10 000 bytes, which are split and coalesced again. `emulated-packets cell 1000`
//! sends 1000 packets over a cell of 802.11a. The nodes' ends are socket pairs. Prints the number
//! of packets written: the difference of two lengths gives the cost of a packet, without the
//! construction.

mod worlds;

use fairwave_emulator::address;
use fairwave_emulator::drive::{Drive, End, Inbox, Offload, Options, Turn, Way};
use fairwave_linux::clock::Clock;
use fairwave_sim::world::{Node, World};
use fairwave_trace::{Discard, NodeId};
use fairwave_units::Duration;
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::tcp;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ops::ControlFlow;

const USAGE: &str = "usage: emulated-packets wire|tcp|cell PACKETS";
/// Maximum length of a run.
const HOUR: Duration = Duration::from_secs(3600);
/// Frames that are sent before the first is taken out.
const UNDER_WAY: u64 = 8;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, frames] = &arguments[..] else { return Err(USAGE.into()) };
    let frames: u64 = frames.parse().map_err(|error| format!("{frames}: {error}"))?;
    let (world, offload, frame) = match case.as_str() {
        "wire" => (wire(), Offload::Off, datagram(1172, false)),
        "tcp" => (wire(), Offload::On, segment()),
        "cell" => (cell(), Offload::Off, datagram(1172, false)),
        other => return Err(format!("{other}: {USAGE}")),
    };
    print(run(&world, offload, &frame, frames)?);
    Ok(())
}

/// One station and its access point, without flows.
fn cell() -> World {
    let mut world = worlds::saturated_uplink(1, HOUR);
    world.flows.clear();
    world
}

/// The same nodes on wires without delay.
fn wire() -> World {
    let mut world = worlds::tcp_uploads(1, HOUR);
    world.flows.clear();
    let mut link = world.links[0].clone();
    (link.rate, link.delay, link.ends) = (None, Duration::ZERO, (NodeId(0), NodeId(1)));
    world.links = vec![link];
    world.cells.clear();
    world.nodes = ["a", "b"].map(|name| Node { name: name.into(), radio: None }).into();
    world
}

fn datagram(payload_len: u32, is_tcp: bool) -> Vec<u8> {
    let flags = tcp::Flags { ack: true, ..tcp::Flags::default() };
    let transport = match is_tcp {
        true => Transport::Tcp(tcp::Header { flags, ..tcp::Header::default() }),
        false => Transport::Udp { source_port: 1, destination_port: 2 },
    };
    let (source, destination) = (address::v4(NodeId(1)), address::v4(NodeId(0)));
    let datagram = Datagram { source, destination, id: 1, ttl: 64, tos: 0, transport, payload_len };
    let mut bytes = Vec::new();
    datagram.write(&mut bytes).expect("it fits");
    bytes
}

/// A segment of 10 000 bytes for which a kernel's offload header requests splitting at 1448 bytes.
fn segment() -> Vec<u8> {
    let mut frame = vec![1, 1];
    for word in [40u16, 1448, 20, 16] {
        frame.extend(word.to_ne_bytes());
    }
    frame.extend(datagram(10_000, true));
    frame
}

fn run(world: &World, offload: Offload, frame: &[u8], frames: u64) -> Result<u64, String> {
    let (sender, from) = end(NodeId(1), offload)?;
    let (receiver, to) = end(NodeId(0), offload)?;
    let options = Options { measures_host: false, give_up: HOUR, ..Options::default() };
    let ends = vec![sender, receiver];
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
    let mut buffer = vec![0; 1 << 16];
    let (mut sent, mut taken) = (0, 0);
    let mut on_turn = |_: &Turn<'_>| {
        while rustix::io::read(&to, &mut buffer[..]).is_ok() {
            taken += 1;
        }
        while sent < frames && sent < taken + UNDER_WAY {
            sent += u64::from(rustix::io::write(&from, frame).is_ok());
        }
        if taken >= frames { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = drive.run(&mut Discard, &mut on_turn).map_err(|error| error.to_string())?;
    Ok(report.ends[1].packets_out)
}

/// An end of a node, and the other side of its socket pair.
fn end(node: NodeId, offload: Offload) -> Result<(End, OwnedFd), String> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let (fd, program) = pair.map_err(|error| error.to_string())?;
    Ok((End { node, fd, offload, way: Way::Addressed { gateway: None } }, program))
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(packets: u64) {
    println!("{packets}");
}
