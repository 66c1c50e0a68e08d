//! Sockets of flows: opened in the namespaces of their nodes, bound, and configured.

use super::error::Error;
use super::place::Place;
use super::spec::{Connection, Load, Spec};
use super::target::Target;
use fairwave_trace::NodeId;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketFlags, SocketType, bind, connect, getsockname, ipproto,
    listen, socket_with, sockopt as option,
};
use std::fs;
use std::io;
use std::net::SocketAddr;

/// Runs functions in the network namespaces of nodes.
pub trait Within {
    /// Runs `job` in the namespace of `node`, and returns its result.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    fn within<T: Send + 'static>(
        &self,
        node: NodeId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T>;
}

/// Runs everything in the caller's network namespace, whose addresses all nodes share.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerNamespace;

impl Within for CallerNamespace {
    fn within<T: Send + 'static>(
        &self,
        _: NodeId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        Ok(job())
    }
}

/// The sockets of a flow before it starts.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Socket of the source, bound.
    pub(super) source: OwnedFd,
    /// Socket of the sink: it listens, or receives the source's datagrams.
    pub(super) sink: OwnedFd,
    /// The address of the source; the kernel may have chosen its port.
    pub(super) source_address: SocketAddr,
    /// The address of the sink; the kernel may have chosen its port.
    pub(super) sink_address: SocketAddr,
    /// Target rate of the source's socket, if it has one.
    pub(super) target: Option<Target>,
}

/// A failed step, and its error.
type Refused = (&'static str, io::Error);
/// A socket with its own address.
type Bound = Result<(OwnedFd, SocketAddr), Refused>;

impl Sockets {
    /// Opens the sockets of a flow.
    pub(super) fn open(spec: &Spec, namespaces: &impl Within) -> Result<Self, Error> {
        let opened = match &spec.load {
            Load::Connection(connection) => Self::of_connection(spec, connection, namespaces),
            Load::Datagrams(_) => Self::of_datagrams(spec, None, namespaces),
            Load::Probe(_) => Self::of_datagrams(spec, Some(PROBE_BUFFER), namespaces),
            Load::Dccp(_) | Load::Shared(_) => unreachable!("Fairwave's own code opens them"),
        };
        opened.map_err(|(what, cause)| match (&spec.load, what) {
            (Load::Connection(connection), CONGESTION) => {
                congestion_control_error(spec, connection, namespaces, cause)
            }
            _ => Error::Socket { flow: spec.name.clone(), what, cause },
        })
    }

    fn of_connection(
        spec: &Spec,
        connection: &Connection,
        namespaces: &impl Within,
    ) -> Result<Self, Refused> {
        let open = |place: Place, is_sink| {
            let (connection, class) = (connection.clone(), spec.traffic_class);
            let job = move || stream(place.address, &connection, class, is_sink);
            namespaces.within(place.node, job).map_err(|cause| ("enter its namespace", cause))?
        };
        let (sink, sink_address) = open(spec.sink, true)?;
        let (source, source_address) = open(spec.source, false)?;
        let target = attempt("set its target", Target::set(&source, connection))?;
        Ok(Self { source, sink, source_address, sink_address, target })
    }

    fn of_datagrams(
        spec: &Spec,
        buffer: Option<usize>,
        namespaces: &impl Within,
    ) -> Result<Self, Refused> {
        let open = |place: Place| {
            let class = spec.traffic_class;
            let job = move || datagrams(place.address, class, buffer);
            namespaces.within(place.node, job).map_err(|cause| ("enter its namespace", cause))?
        };
        let (sink, sink_address) = open(spec.sink)?;
        let (source, source_address) = open(spec.source)?;
        // Both sockets are connected, so that the kernel drops datagrams from other senders.
        attempt("connect", connect(&source, &sink_address))?;
        attempt("connect", connect(&sink, &source_address))?;
        Ok(Self { source, sink, source_address, sink_address, target: None })
    }
}

/// Size of each buffer of a probe's sockets in bytes: large enough that a train's bottleneck is in
/// the emulated network, not in the socket.
const PROBE_BUFFER: usize = 4 << 20;
/// The step that sets the congestion control algorithm, as error messages name it.
const CONGESTION: &str = "set its congestion control";

fn attempt<T, E: Into<io::Error>>(what: &'static str, result: Result<T, E>) -> Result<T, Refused> {
    result.map_err(|error| (what, error.into()))
}

/// Opens a TCP socket. That of the sink listens.
fn stream(address: SocketAddr, connection: &Connection, class: u8, is_sink: bool) -> Bound {
    let protocol = if connection.is_multipath { ipproto::MPTCP } else { ipproto::TCP };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family(address), SocketType::STREAM, flags, Some(protocol));
    let socket = attempt("open a socket", socket)?;
    attempt("reuse its address", option::set_socket_reuseaddr(&socket, true))?;
    attempt("set its traffic class", set_class(&socket, address, class))?;
    attempt(CONGESTION, set_congestion_control(&socket, &connection.congestion_control))?;
    attempt("set TCP_NODELAY", option::set_tcp_nodelay(&socket, connection.no_delay))?;
    if let Some(mss) = connection.mss.filter(|_| !connection.is_multipath) {
        attempt("set its MSS", setsockopt(&socket, sockopt::TcpMaxSeg, &u32::from(mss)))?;
    }
    if let Some(bytes) = connection.send_buffer {
        attempt("set its send buffer", set_send_buffer(&socket, bytes as usize))?;
    }
    if let Some(bytes) = connection.receive_buffer {
        attempt("set its receive buffer", set_receive_buffer(&socket, bytes as usize))?;
    }
    attempt("bind", bind(&socket, &address))?;
    if is_sink {
        attempt("listen", listen(&socket, 1))?;
    }
    with_address(socket)
}

/// Opens a UDP socket with receive timestamps; `buffer` is the size of its send and receive buffers
/// in bytes.
fn datagrams(address: SocketAddr, class: u8, buffer: Option<usize>) -> Bound {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family(address), SocketType::DGRAM, flags, Some(ipproto::UDP));
    let socket = attempt("open a socket", socket)?;
    attempt("set its traffic class", set_class(&socket, address, class))?;
    let stamps = setsockopt(&socket, sockopt::ReceiveTimestampns, &true);
    attempt("ask for times of arrival", stamps)?;
    if let Some(bytes) = buffer {
        attempt("set its send buffer", set_send_buffer(&socket, bytes))?;
        attempt("set its receive buffer", set_receive_buffer(&socket, bytes))?;
    }
    attempt("bind", bind(&socket, &address))?;
    with_address(socket)
}

fn with_address(socket: OwnedFd) -> Bound {
    let address = getsockname(&socket).and_then(SocketAddr::try_from);
    let address = attempt("ask for its address", address)?;
    Ok((socket, address))
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

fn set_class(socket: &OwnedFd, address: SocketAddr, class: u8) -> Result<(), Errno> {
    match address {
        SocketAddr::V4(_) => option::set_ip_tos(socket, class),
        SocketAddr::V6(_) => option::set_ipv6_tclass(socket, class.into()),
    }
}

/// Sets the congestion control algorithm. Long names are rejected here: the kernel would truncate
/// one, and might find another algorithm by the rest.
fn set_congestion_control(socket: &OwnedFd, name: &str) -> Result<(), Errno> {
    const MAX: usize = 15;
    if name.is_empty() || name.len() > MAX {
        return Err(Errno::NOENT);
    }
    option::set_tcp_congestion(socket, name)
}

/// Sets the size of the send buffer, beyond the system's limit if permitted.
fn set_send_buffer(socket: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    option::set_socket_send_buffer_size_force(socket, bytes)
        .or_else(|_| option::set_socket_send_buffer_size(socket, bytes))
}

fn set_receive_buffer(socket: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    option::set_socket_recv_buffer_size_force(socket, bytes)
        .or_else(|_| option::set_socket_recv_buffer_size(socket, bytes))
}

/// Returns the congestion control algorithms available in this process's network namespace.
///
/// # Errors
/// If the list in `/proc/sys` cannot be read.
pub fn available_congestion_controls() -> io::Result<Vec<String>> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Builds the error for a refused algorithm, with a list of those that can be used.
fn congestion_control_error(
    spec: &Spec,
    connection: &Connection,
    namespaces: &impl Within,
    cause: io::Error,
) -> Error {
    let (flow, algorithm) = (spec.name.clone(), connection.congestion_control.clone());
    let list = |name: &'static str| {
        let read = move || fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}"));
        let text = namespaces.within(spec.source.node, read).and_then(|text| text);
        let text = text.unwrap_or_else(|_| "(not known)".to_owned());
        text.split_whitespace().collect::<Vec<_>>().join(", ")
    };
    match Errno::from_io_error(&cause) {
        Some(Errno::NOENT) => Error::UnknownAlgorithm {
            flow,
            algorithm,
            available: list("available_congestion_control"),
        },
        Some(Errno::PERM) => Error::RestrictedAlgorithm {
            flow,
            algorithm,
            allowed: list("allowed_congestion_control"),
        },
        _ => Error::Socket { flow, what: CONGESTION, cause },
    }
}

/// Returns the address of a peer, if it is an IP address.
pub(super) fn peer(address: &Option<SocketAddrAny>) -> Option<SocketAddr> {
    SocketAddr::try_from(address.clone()?).ok()
}
