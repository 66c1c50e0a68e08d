//! Plan of namespaces: nodes, addresses, routes, settings.

use fairwave_linux::realtime::Processors;
pub use fairwave_linux::{KeeperCommand, Prefix};
use std::net::{IpAddr, Ipv4Addr};

/// All namespaces of a run.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The nodes. Their order is the order of indices in [`Namespaces`](crate::Namespaces).
    pub nodes: Vec<NodePlan>,
    /// Ways out to the network of this machine.
    pub uplinks: Vec<UplinkPlan>,
    /// Processors on which the nodes' kernels handle packets that arrive at `fw0` (receive packet
    /// steering). Without, or where the kernel has no `net.core.rps_default_mask`, the thread that
    /// writes a packet to the TUN device also does the receiver's work, up to its socket.
    pub receivers: Option<Processors>,
    /// Command of the keeper.
    pub keeper: KeeperCommand,
}

/// One node: a network namespace with a TUN device `fw0`.
#[derive(Debug, Clone)]
pub struct NodePlan {
    /// Name, unique in the plan; all namespaces resolve it to the node's addresses.
    pub name: String,
    /// IPv4 and IPv6 addresses of `fw0`, each with the prefix that is reached through it.
    pub addresses: Vec<Prefix>,
    /// Further addresses of `fw0`, to which no name resolves.
    pub aliases: Vec<Ipv4Addr>,
    /// Addresses of the node from each of which the kernel's MPTCP opens a subflow of every
    /// connection that begins here. With some, or none, a connection may have several subflows;
    /// without, the kernel's MPTCP stays as it is.
    pub endpoints: Option<Vec<Ipv4Addr>>,
    /// MTU of `fw0`, bytes of IP packet.
    pub mtu: u32,
    /// Packets that the kernel keeps for a reader of the TUN before it drops the next.
    pub txqueuelen: u32,
    /// Whether the kernel may hand over segments larger than the MTU, and packets without
    /// checksums.
    pub offload: Offload,
    /// Further routes through `fw0`.
    pub routes: Vec<Route>,
    /// Settings of the namespace: `("net.ipv4.tcp_congestion_control", "reno")`. `fw0` exists when
    /// they are written, and has no addresses yet.
    pub sysctls: Vec<(String, String)>,
    /// Name servers written to `/etc/resolv.conf` inside. With none, that file is the machine's,
    /// unless the plan has an uplink: then they are the machine's own name servers.
    pub nameservers: Vec<IpAddr>,
}

impl NodePlan {
    /// A node with `fw0` at 1500 bytes, 1000 packets and offloads, without addresses.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            addresses: Vec::new(),
            aliases: Vec::new(),
            endpoints: None,
            mtu: 1500,
            txqueuelen: 1000,
            offload: Offload::On,
            routes: Vec::new(),
            sysctls: Vec::new(),
            nameservers: Vec::new(),
        }
    }
}

/// A route through `fw0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Destination; `0.0.0.0/0` is the default route.
    pub to: Prefix,
    /// Whether TCP delays no ACK to the destination (`quickack` of ip-route(8)).
    pub quick_acks: bool,
}

impl Route {
    /// A route on which TCP delays ACKs as usual.
    pub fn new(to: Prefix) -> Self {
        Self { to, quick_acks: false }
    }
}

/// Whether the kernel leaves segmentation and checksums to the reader of the TUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offload {
    /// Segments of up to 64 KiB (TCP; UDP too where the kernel can), checksums left to the reader.
    /// The virtio header before each packet states the work left to do.
    #[default]
    On,
    /// Packets as they would be on the wire. The virtio header is there, and all zero.
    Off,
}

/// State of `fw0` that its node's kernel and programs see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// It runs.
    Up,
    /// It has no carrier: the kernel drops what programs send.
    NoCarrier,
    /// It is dormant (RFC 2863): packets pass, and programs see that it does not run.
    Dormant,
}

/// A way out for one node: its packets to elsewhere leave this machine by an interface of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkPlan {
    /// Name of the node.
    pub node: String,
    /// Name of the machine's interface.
    pub interface: String,
    /// Whether IPv6 leaves there too; [`lack_of_ipv6`](crate::lack_of_ipv6) says whether it can.
    pub has_ipv6: bool,
}
