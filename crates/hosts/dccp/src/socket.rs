//! Sockets of a port: raw ones of protocol 33, or one of UDP.

use crate::carry::{Over, PROTOCOL};
use crate::machine::{EPHEMERAL, Settings};
use crate::mtu::{Cut, Cutter};
use fairwave_dccp::tfrc::{Remedies, Sensitivity};
use fairwave_dccp::{Ccid, Config, PathLimits, QueueLimits, Standard};
use fairwave_linux::random::{fill, random};
use fairwave_sockets::{Left, Outgoing, Raw, Taken, Transport, Udp};
use fairwave_units::Duration;
use fairwave_wire::dccp::UDP_PORT;
use fairwave_wire::seal::Key;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use thiserror::Error;

/// Maximum time for a client to establish its connection.
const PATIENCE: Duration = Duration::from_secs(15);
/// Maximum number of datagrams that wait to be sent while the application is faster than congestion
/// control allows.
const QUEUE: usize = 64;
/// Maximum number of simultaneous connections of a listener.
const CONNECTIONS: usize = 16;
/// Time without packets after which a client inside UDP sends one: the minimum of RFC 8085 section
/// 3.5. RFC 4787 (REQ-5) has translators of addresses keep a port for two minutes, but many forget
/// it after 30 s.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Sizes between which the largest packet inside UDP is searched: RFC 8899's `BASE_PLPMTU`, and
/// what Ethernet takes with IPv4.
const PATH: PathLimits = PathLimits { min: 1_200, max: 1_472 };
/// Factor of loss intervals from before a handover (remedy C).
const OLD_INTERVALS: f64 = 0.25;
/// The service code of RFC 4340 section 8.1.2, `FWAV`.
pub const SERVICE: u32 = u32::from_be_bytes(*b"FWAV");

/// Socket of a port: see [`Over`].
#[derive(Debug)]
pub(crate) enum Socket {
    /// A raw socket. That of a client is connected, so that the kernel reports ICMP errors, and has
    /// a spare for the time after a change of the address: a connected one keeps its own, and
    /// another one needs privileges.
    Raw {
        /// The socket in use.
        raw: Raw,
        /// One that is not connected.
        spare: Option<Box<Raw>>,
    },
    /// A UDP socket, and its options.
    Udp(Udp, Cutter),
}

/// Reasons why a port could not be opened, or a connection not be established.
#[derive(Debug, Error)]
pub enum Error {
    /// The process lacks the privilege to open a raw socket.
    #[error(
        "a raw socket of protocol 33 needs root or CAP_NET_RAW: {0}; inside UDP (--udp, \
         --encapsulate) neither is needed, where both ends speak it (RFC 6773)"
    )]
    Privilege(#[source] io::Error),
    /// The kernel refused a socket.
    #[error("no socket at {address}: {cause}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// Error from the kernel.
        #[source]
        cause: io::Error,
    },
    /// The other host does not speak DCCP.
    #[error(
        "{0} answers by ICMP that it does not speak DCCP: nothing listens there, and its kernel \
         has no DCCP"
    )]
    NoProtocol(IpAddr),
    /// The other host has no program that listens at the UDP port.
    #[error("no program listens at UDP port {} of {}", .0.port(), .0.ip())]
    NobodyListens(SocketAddr),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Remote end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// A server. The port is that of DCCP.
    Server(SocketAddr),
    /// Any client that connects to this address and port of DCCP.
    Anybody(SocketAddr),
}

/// Options of a port.
#[derive(Clone, Debug)]
pub struct Request {
    /// Remote end.
    pub with: Addressee,
    /// Protocol below DCCP; over UDP, the port of the server is `udp_port`.
    pub over: Over,
    /// The server's UDP port.
    pub udp_port: u16,
    /// Congestion control profile of the data that this host sends, and those that the data to it
    /// may have, in order of preference.
    pub ccids: Vec<Ccid>,
    /// Parameters of congestion control, such as the remedies for handovers.
    pub profiles: Standard,
    /// Service code that a client requests and a server offers.
    pub service: u32,
    /// Mark of the packets of a raw socket (`SO_MARK`).
    pub mark: Option<u32>,
    /// The send queue of each connection.
    pub queue: QueueLimits,
    /// Packets that either end may have in flight at the beginning (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
    /// Maximum application data of a packet in bytes.
    pub max_payload: u32,
    /// Maximum number of simultaneous connections.
    pub max_connections: usize,
    /// Maximum number of connections whose handshake is not complete. Beyond it, a listener answers
    /// Requests with an Init Cookie and keeps no state (RFC 4340 section 8.1.4). Below it there are
    /// no cookies, as some clients return none; with 0 there is always one.
    pub max_half_open: usize,
    /// Time for which a client tries to open a connection again that it has lost; `None` ends it.
    pub reconnect: Option<Duration>,
    /// Whether the endpoint watches links, routes, addresses and radios of this host, and notifies
    /// congestion control of handovers.
    pub watch: bool,
}

impl Request {
    /// Options over raw IP, with CCID 3.
    pub fn new(with: Addressee) -> Self {
        Self {
            with,
            over: Over::Ip,
            udp_port: UDP_PORT,
            ccids: vec![Ccid::TFRC],
            profiles: Standard::default(),
            service: SERVICE,
            mark: None,
            queue: QueueLimits { datagrams: QUEUE, ..QueueLimits::default() },
            sequence_window: Config::default().sequence_window,
            max_payload: Config::default().max_payload,
            max_connections: CONNECTIONS,
            max_half_open: CONNECTIONS / 2,
            reconnect: None,
            watch: false,
        }
    }
}

/// Remedies of congestion control for the handovers that an endpoint notices itself: A, which acts
/// only where the free rate of the new access point is known, B' and C. D is the deadline of each
/// datagram. B needs a peer that heeds notices, so that Linux's DCCP would have none of it.
pub fn remedies() -> Remedies {
    Remedies {
        set_ahead: true,
        leave_out: true,
        sensitive: Some(Sensitivity::Discount(OLD_INTERVALS)),
        ..Remedies::default()
    }
}

/// A port whose socket is open.
#[derive(Debug)]
pub struct Port {
    pub(crate) socket: Socket,
    pub(crate) settings: Settings,
    pub(crate) watch: bool,
}

impl Port {
    /// Opens the socket: privileges are needed only here.
    ///
    /// # Errors
    /// If the kernel refuses the socket, or there is no route to the server.
    pub fn open(request: &Request) -> Result<Self, Error> {
        let connection = config(request)?;
        let (socket, server, local) = match request.with {
            Addressee::Server(mut server) => {
                let (socket, local) = towards(request, server)?;
                server.set_port(if request.over == Over::Udp { request.udp_port } else { 0 });
                (socket, Some(server), Some(local))
            }
            Addressee::Anybody(address) => (listening(request, address)?, None, None),
        };
        socket.accept_port(connection.local_port)?;
        let mut secret = [0; 32];
        fill(&mut secret)?;
        let settings = Settings {
            over: request.over,
            connection,
            profiles: request.profiles,
            server,
            local,
            max_connections: request.max_connections,
            max_half_open: request.max_half_open,
            reconnect: request.reconnect,
            secret: Key::new(&secret).expect("32 bytes are enough"),
        };
        Ok(Self { socket, settings, watch: request.watch })
    }

    /// The address of this host, with the port of UDP where that is below.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.address()
    }
}

/// Configuration of each connection.
fn config(request: &Request) -> Result<Config, Error> {
    let (local_port, remote_port) = match request.with {
        Addressee::Anybody(address) => (address.port(), 0),
        Addressee::Server(server) => (EPHEMERAL | random()? as u16, server.port()),
    };
    let is_inside_udp = request.over == Over::Udp;
    let is_client = matches!(request.with, Addressee::Server(_));
    Ok(Config {
        local_port,
        remote_port,
        service: request.service,
        send_ccids: request.ccids.clone(),
        receive_ccids: request.ccids.clone(),
        queue: request.queue,
        sequence_window: request.sequence_window,
        max_payload: request.max_payload,
        give_up: PATIENCE,
        keep_alive: (is_inside_udp && is_client).then_some(KEEP_ALIVE),
        path: is_inside_udp.then_some(PATH),
        ..Config::default()
    })
}

/// Opens a socket towards a server. Returns it with its local address.
fn towards(request: &Request, server: SocketAddr) -> Result<(Socket, IpAddr), Error> {
    let failed = |cause| Error::Socket { address: server, cause };
    match request.over {
        Over::Ip => {
            let any = match server.ip() {
                IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let spare = opened(Raw::bind(any, protocol(), request.mark), server)?;
            // It takes no packet until it is used.
            spare.accept_port(0).map_err(failed)?;
            let raw = opened(Raw::connect(server, protocol(), request.mark), server)?;
            let local = raw.address().map_err(failed)?;
            Ok((Socket::Raw { raw, spare: Some(Box::new(spare)) }, local))
        }
        Over::Udp => {
            let mut to = server;
            to.set_port(request.udp_port);
            let udp = Udp::connect(to).map_err(failed)?;
            let local = udp.address().map_err(failed)?.ip();
            Ok((Socket::of(udp).map_err(failed)?, local))
        }
    }
}

/// Opens a socket that accepts packets from any address.
fn listening(request: &Request, mut address: SocketAddr) -> Result<Socket, Error> {
    if request.over == Over::Ip {
        let raw = opened(Raw::bind(address.ip(), protocol(), request.mark), address)?;
        return Ok(Socket::Raw { raw, spare: None });
    }
    address.set_port(request.udp_port);
    let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, request.udp_port));
    let udp = Udp::bind(address).or_else(|cause| match address.ip().is_unspecified() {
        // The kernel has no IPv6.
        true => Udp::bind(four),
        false => Err(cause),
    });
    let udp = udp.and_then(|udp| match address.ip().is_unspecified() {
        // A client takes answers from the address alone that it knows.
        true => udp.with_own_addresses(),
        false => Ok(udp),
    });
    udp.and_then(Socket::of).map_err(|cause| Error::Socket { address, cause })
}

fn protocol() -> NonZero<u8> {
    NonZero::new(PROTOCOL).expect("33 is not zero")
}

fn opened(raw: io::Result<Raw>, address: SocketAddr) -> Result<Raw, Error> {
    raw.map_err(|cause| match cause.raw_os_error().map(Errno::from_raw_os_error) {
        // `ACCESS` is different: a routing rule prohibits the route to the peer.
        Some(Errno::PERM) => Error::Privilege(cause),
        _ => Error::Socket { address, cause },
    })
}

impl Socket {
    /// A socket that sends and takes several datagrams as one message where the kernel can.
    /// Datagrams that arrive together have one stamp; congestion control looks at whole round
    /// trips.
    fn of(mut udp: Udp) -> io::Result<Self> {
        udp.allow_gso();
        udp.allow_gro();
        let cutter = Cutter::new(&udp)?;
        Ok(Self::Udp(udp, cutter))
    }

    /// Leaves packets for other ports of DCCP to the kernel.
    pub(crate) fn accept_port(&self, port: u16) -> io::Result<()> {
        match self {
            Self::Raw { raw, .. } => raw.accept_port(port),
            // It has its port of UDP for itself.
            Self::Udp(..) => Ok(()),
        }
    }

    /// Sends from the address that this host has towards the server now; returns it.
    pub(crate) fn move_towards(&mut self, server: SocketAddr) -> io::Result<IpAddr> {
        match self {
            Self::Raw { raw, spare } => {
                let source = Udp::source(server)?;
                if let Some(spare) = spare.take() {
                    *raw = *spare;
                }
                Ok(source)
            }
            Self::Udp(..) => {
                *self = Self::of(Udp::connect(server)?)?;
                Ok(self.address()?.ip())
            }
        }
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Raw { raw, .. } => Ok(SocketAddr::new(raw.address()?, 0)),
            Self::Udp(udp, _) => udp.address(),
        }
    }

    /// Copies of its descriptors, to wait for.
    pub(crate) fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        match self {
            Self::Raw { raw, .. } => raw.descriptors(),
            Self::Udp(udp, _) => Ok(vec![udp.descriptor()?]),
        }
    }

    fn transport(&mut self) -> &mut dyn Transport {
        match self {
            Self::Raw { raw, .. } => raw,
            Self::Udp(udp, _) => udp,
        }
    }

    pub(crate) fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        self.transport().receive(into)
    }

    /// Hands over datagrams that all may be cut in the same way; how many the kernel took.
    pub(crate) fn send(&mut self, queue: &[Outgoing], cut: Cut) -> io::Result<usize> {
        if let Self::Udp(_, cutter) = self {
            cutter.set(cut)?;
        }
        self.transport().send(queue)
    }

    /// Datagrams that found no room in the socket's buffer, and those that could not be read.
    pub(crate) fn losses(&self) -> (u64, u64) {
        let of = |transport: &dyn Transport| (transport.dropped(), transport.unreadable());
        match self {
            Self::Raw { raw, .. } => of(raw),
            Self::Udp(udp, _) => of(udp),
        }
    }
}
