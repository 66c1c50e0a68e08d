//! Description of a world's flow on sockets of the kernel, with all defaults resolved.

use super::place::Place;
use super::shared::Shared;
use crate::address;
use fairwave_cc::{AckLossOptions, TcpAvConfig};
use fairwave_dot11::AccessCategory;
use fairwave_sim::ports;
use fairwave_sim::world::{
    DccpFlow, Flow, ProbeFlow, ShakeFlow, ShakePath, TcpFlow, Traffic, World,
};
use fairwave_trace::{FlowId, NodeId};
use fairwave_traffic::Source;
use fairwave_units::{BitRate, Bytes, Instant, Seed, Stream};
use std::net::{IpAddr, SocketAddr};

/// A flow that runs on sockets.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The flow of the world, which identifies its samples.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// Its source. The port may be 0: the kernel then chooses one.
    pub source: Place,
    /// Its sink. The port may be 0, too.
    pub sink: Place,
    /// Time at which it starts.
    pub start: Instant,
    /// Time at which its application stops sending. Data written before is still delivered.
    pub stop: Option<Instant>,
    /// Traffic class of its packets in both directions: DSCP and ECN bits.
    pub traffic_class: u8,
    /// Its traffic.
    pub load: Load,
}

/// Traffic of a flow.
#[derive(Clone, Debug)]
pub enum Load {
    /// A connection of the kernel's TCP, opened by the source.
    Connection(Connection),
    /// UDP datagrams.
    Datagrams(Datagrams),
    /// A session of the buffer probe.
    Probe(Probe),
    /// A connection of DCCP that Fairwave's own code carries.
    Dccp(Box<Dccp>),
    /// A stream over several paths that Fairwave's own code carries.
    Shared(Box<Shared>),
}

/// A connection of the kernel's TCP.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The proxy that the source asks for the sink, if there is one.
    pub through: Option<Through>,
    /// Whether it may use several paths (MPTCP, RFC 8684): those that the namespaces announce to
    /// the kernel.
    pub is_multipath: bool,
    /// Name of the congestion control algorithm at both ends in the kernel; at most 15 bytes.
    pub congestion_control: String,
    /// Target of [`TCP_AV`], and its options. Without a target, and with another algorithm, they
    /// have no effect.
    pub av: TcpAvConfig,
    /// Maximum segment size in bytes, without options; `None` derives it from the MTU.
    pub mss: Option<u16>,
    /// Send buffer in bytes; `None` lets the kernel size it as the window grows.
    pub send_buffer: Option<u32>,
    /// Receive buffer in bytes; `None` lets the kernel size it.
    pub receive_buffer: Option<u32>,
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    pub no_delay: bool,
    /// Whether the receiver delays no ACK: by a route of its namespace if no other flow of the two
    /// nodes delays ACKs, and by `TCP_QUICKACK` after each read, as the kernel may leave that mode
    /// at any time (tcp(7)).
    pub acks_at_once: bool,
    /// Data that the application at the source writes.
    pub writes: Writes,
}

/// A proxy that a connection passes: a program at a node, which accepts CONNECT requests (RFC 9110
/// section 9.3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// Its node and address.
    pub place: Place,
    /// Its target rate towards the sink, if its algorithm has a target.
    pub target: Option<BitRate>,
    /// Name of its algorithm towards the sink in the kernel.
    pub congestion_control: String,
}

/// Data that an application writes to a connection.
#[derive(Clone, Debug)]
pub enum Writes {
    /// As much as the socket accepts, up to this size; `None` until the flow stops.
    Bulk(Option<Bytes>),
    /// Data of a source, with its random stream.
    Timed(Source, Stream),
}

/// Datagrams of a source.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// Times and lengths of the datagrams.
    pub source: Source,
    /// The random stream of the source.
    pub random: Stream,
    /// Whether the sink returns each datagram to the source, which measures the round-trip time.
    pub echo: bool,
}

/// A connection of DCCP by the code of `fairwave dccp`, inside UDP.
#[derive(Clone, Debug)]
pub struct Dccp {
    /// Options of both ends, and the source of the datagrams.
    pub flow: DccpFlow,
    /// The random stream of the source.
    pub random: Stream,
}

/// A session of the buffer probe.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Trials, and limits of both ends.
    pub flow: ProbeFlow,
    /// The run's master seed, from which both ends derive their key.
    pub seed: Seed,
    /// The flow whose trains it watches.
    pub watches: Option<FlowId>,
}

/// Error for a flow of a world that cannot run on sockets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow} cannot run on the kernel's sockets: {why}")]
pub struct Unsupported {
    /// The flow's name.
    pub flow: String,
    /// The property that sockets do not support.
    pub why: &'static str,
}

/// Code that carries flows of SHAKE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShakeBy {
    /// Fairwave's own, over UDP.
    #[default]
    Fairwave,
    /// The kernel's MPTCP.
    Mptcp,
}

impl Spec {
    /// Describes the flow `id` of `world` on sockets; flows of SHAKE are carried `by` this code. It
    /// has the same ports as in the simulator, and the same random streams, so that a source sends
    /// the same datagrams at the same times. `address_of` returns the address of a node.
    ///
    /// # Errors
    /// [`Unsupported`] if it is none of TCP, DCCP, SHAKE, multi-connection SHAKE, timed datagrams
    /// and the buffer probe, or has a property that sockets do not support.
    pub fn of(
        world: &World,
        id: FlowId,
        by: ShakeBy,
        address_of: impl Fn(NodeId) -> IpAddr,
    ) -> Result<Self, Unsupported> {
        let flow = &world.flows[id.0 as usize];
        let (client, server) = ports(id);
        let refused = |why| Unsupported { flow: flow.name.clone(), why };
        let mut load = load(world, flow, by, client).map_err(refused)?;
        let place = |address, node, port| Place { node, address: SocketAddr::new(address, port) };
        if let (Load::Connection(connection), Some(proxy)) = (&mut load, &flow.proxy) {
            let (algorithm, port) =
                (kernel_name(proxy.congestion_control.name()), PROXY_PORT + id.0 as u16);
            let aims = proxy.congestion_control.name() == AIMING;
            connection.through = Some(Through {
                place: place(address_of(proxy.at), proxy.at, port),
                target: proxy.far.av.target.filter(|_| aims),
                congestion_control: algorithm.to_owned(),
            });
        }
        // The first subflow takes the first path; the kernel opens the others.
        let own = match flow.traffic.vias().first() {
            Some(via) => address::on_path(flow.source, *via).map(IpAddr::V4),
            None => Some(address_of(flow.source)),
        };
        Ok(Self {
            id,
            name: flow.name.clone(),
            source: place(own.ok_or_else(|| refused(NO_ADDRESSES))?, flow.source, client),
            sink: place(address_of(flow.sink), flow.sink, server),
            start: flow.start,
            stop: flow.stop,
            traffic_class: traffic_class(flow.category),
            load,
        })
    }
}

fn load(world: &World, flow: &Flow, by: ShakeBy, port: u16) -> Result<Load, &'static str> {
    let random = || world.seed.stream(&format!("traffic/{}", flow.name));
    if flow.proxy.is_some() && !matches!(flow.traffic, Traffic::Tcp(_)) {
        return Err("it is no plain TCP, and passes a proxy");
    }
    if flow.playout.is_some() {
        return Err("it has a viewer");
    }
    match &flow.traffic {
        Traffic::Tcp(tcp) if tcp.sender.ack_loss() != AckLossOptions::DEFAULT => {
            Err("the kernel's remedy on lost ACKs has the usual threshold, decision and exclusions")
        }
        Traffic::Tcp(tcp) => Ok(Load::Connection(connection(tcp, random))),
        Traffic::Datagrams(source) => {
            let (source, random) = (source.clone(), random());
            Ok(Load::Datagrams(Datagrams { source, random, echo: false }))
        }
        Traffic::Saturate(_) => Err("it sends whenever its radio's queue has room"),
        Traffic::Web(_) => Err("it is a browser"),
        Traffic::Probe(probe) => Ok(Load::Probe(Probe {
            flow: probe.clone(),
            seed: world.seed,
            watches: probe.watches.as_ref().and_then(|name| flow_named(world, name)),
        })),
        Traffic::Ping(_) => Err("it measures round trips"),
        Traffic::Dccp(_) if flow.category != AccessCategory::BestEffort => Err(UNMARKED),
        Traffic::Dccp(dccp) => {
            Ok(Load::Dccp(Box::new(Dccp { flow: dccp.clone(), random: random() })))
        }
        Traffic::Rtc(_) => Err("it sends real-time media"),
        Traffic::Shake(shake) if by == ShakeBy::Mptcp => Ok(Load::Connection(multipath(shake)?)),
        Traffic::Shake(_) | Traffic::MultiTcp(_) => shared(world, flow, port),
    }
}

/// A flow over several paths that Fairwave's own code carries, from this port of each path's
/// address.
fn shared(world: &World, flow: &Flow, port: u16) -> Result<Load, &'static str> {
    if flow.category != AccessCategory::BestEffort {
        return Err(UNMARKED);
    }
    let way = |via: NodeId| {
        let address = address::on_path(flow.source, via)?;
        let place = Place { node: flow.source, address: (address, port).into() };
        Some((world.nodes[via.0 as usize].name.clone(), place))
    };
    let shared = match &flow.traffic {
        Traffic::Shake(shake) => Shared::of_shake(shake, world.seed, way),
        Traffic::MultiTcp(set) => Shared::of_set(set, world.seed, way),
        _ => None,
    };
    Ok(Load::Shared(Box::new(shared.ok_or(NO_ADDRESSES)?)))
}

fn flow_named(world: &World, name: &str) -> Option<FlowId> {
    let place = world.flows.iter().position(|flow| flow.name == name)?;
    Some(FlowId(place as u32))
}

fn connection(tcp: &TcpFlow, random: impl Fn() -> Stream) -> Connection {
    let (sender, receiver) = (&tcp.sender, &tcp.receiver);
    let fixed = |bytes: u32, grows: Option<u32>| grows.is_none().then_some(bytes);
    Connection {
        through: None,
        is_multipath: false,
        congestion_control: kernel_name(tcp.congestion_control.name()).to_owned(),
        av: sender.av,
        mss: Some(sender.mss),
        send_buffer: fixed(sender.send_buffer, sender.send_buffer_max),
        receive_buffer: fixed(receiver.receive_buffer, receiver.receive_buffer_max),
        no_delay: !sender.nagle,
        acks_at_once: receiver.delayed_ack.every == 1,
        writes: match &tcp.source {
            Some(source) => Writes::Timed(source.clone(), random()),
            None => Writes::Bulk(tcp.size),
        },
    }
}

/// A connection of the kernel's MPTCP over the paths of a SHAKE flow, or of TCP if it has a single
/// path. Schedulers and formats are the kernel's own.
fn multipath(shake: &ShakeFlow) -> Result<Connection, &'static str> {
    let stays = |path: &ShakePath| path.join.is_zero() && path.leave.is_none();
    if !shake.paths.iter().all(stays) {
        return Err("its paths join or leave under way, and the kernel's are there from the start");
    }
    if shake.growth != UNCOUPLED {
        return Err("the windows of its paths are coupled, and the kernel couples none");
    }
    Ok(Connection {
        through: None,
        is_multipath: shake.paths.len() > 1,
        congestion_control: "reno".to_owned(),
        av: TcpAvConfig::DEFAULT,
        mss: None,
        send_buffer: Some(shake.config.send_buffer),
        receive_buffer: Some(shake.config.receive_buffer),
        no_delay: true,
        acks_at_once: false,
        writes: Writes::Bulk(shake.size),
    })
}

/// Reason for which a flow's paths have no addresses: they encode numbers of nodes, which have a
/// limit.
const NO_ADDRESSES: &str = "its nodes have no path addresses";
/// Reason for which the code of Fairwave does not carry a flow of another access category.
const UNMARKED: &str = "its datagrams bear no code point, and it has an access category";
/// Port of the proxy of the first flow; those of other flows follow.
const PROXY_PORT: u16 = 1080;
/// The algorithm of [`fairwave_sim`] with a target rate.
const AIMING: &str = "tcp-av";
/// The same in the kernel.
pub(super) const TCP_AV: &str = "fw_tcp_av";

/// The algorithm of SHAKE in which the window of each path grows as Reno's does.
const UNCOUPLED: &str = "uncoupled";

/// Algorithms of [`fairwave_sim`] with another name in the kernel. The kernel's Reno stays in
/// recovery until the whole window is acknowledged (RFC 6582), so that it is both `reno` and
/// `newreno`. Names that begin with `fw_` are BPF programs, which have to be loaded first.
const NAMES: [(&str, &str); 9] = [
    ("newreno", "reno"),
    ("ack-loss-timestamps+reno", "fw_ackloss_reno"),
    ("ack-loss-timestamps+cubic", "fw_ackloss_cubi"),
    ("compound", "fw_compound"),
    ("ack-loss-timestamps+compound", "fw_ackloss_comp"),
    ("ack-loss-literal+reno", "fw_literal_reno"),
    ("ack-loss-literal+cubic", "fw_literal_cubi"),
    ("ack-loss-literal+compound", "fw_literal_comp"),
    (AIMING, TCP_AV),
];

/// The kernel's name of an algorithm of [`fairwave_sim`].
fn kernel_name(name: &str) -> &str {
    NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, kernels)| kernels)
}

/// The algorithm of [`fairwave_sim`] that corresponds to the kernel's `name`: by default the one
/// with the same name. The simulator may not have it.
pub fn simulated_congestion_control(name: &str) -> &str {
    NAMES.iter().find(|(_, kernels)| *kernels == name).map_or(name, |(ours, _)| ours)
}

/// The traffic class that RFC 8325 (section 4.3) maps to an access category: CS1, default
/// forwarding, AF41 and EF.
fn traffic_class(category: AccessCategory) -> u8 {
    let dscp = match category {
        AccessCategory::Background => 8,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 34,
        AccessCategory::Voice => 46,
    };
    dscp << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_packets_bear_their_code_points() {
        let classes = AccessCategory::ALL.map(traffic_class);
        assert_eq!(classes, [0x20, 0, 0x88, 0xb8]);
    }

    #[test]
    fn the_kernels_reno_is_newreno() {
        assert_eq!((kernel_name("newreno"), kernel_name("cubic")), ("reno", "cubic"));
        assert_eq!(
            (simulated_congestion_control("reno"), simulated_congestion_control("bbr")),
            ("newreno", "bbr")
        );
    }

    #[test]
    fn names_of_programs_are_no_longer_than_the_kernel_takes() {
        assert!(NAMES.iter().all(|(_, kernels)| kernels.len() <= 15));
        assert_eq!(kernel_name("ack-loss-timestamps+compound"), "fw_ackloss_comp");
    }
}
