//! An endpoint on a socket.

use super::carry::{Over, PROTOCOL};
use super::endpoint::{Account, End, Endpoint, EndpointEvent, Fact, Ignored, Peer, Settings};
use super::source::Traffic;
use fairwave_dccp::{Ccid, Config, QueueLimits, Standard};
use fairwave_linux::clock::Clock;
use fairwave_linux::random::{fill, random};
use fairwave_sockets::Raw;
use fairwave_sockets::Udp;
use fairwave_sockets::{Counts, Driver};
use fairwave_sockets::{Left, Outgoing, Taken, Transport};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::UDP_PORT;
use fairwave_wire::seal::Key;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use thiserror::Error;

/// Period at which the loop checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time for a client to establish its connection.
const PATIENCE: Duration = Duration::from_secs(15);
/// Maximum time for connections to close.
const CLOSING: Duration = Duration::from_secs(6);
/// Maximum number of datagrams that wait to be sent while the application is faster than congestion
/// control allows.
const QUEUE: usize = 64;
/// First of the dynamic ports (RFC 6335).
const EPHEMERAL: u16 = 49_152;

/// Socket of a host: see [`Over`].
#[derive(Debug)]
pub enum Socket {
    /// A raw socket.
    Raw(Raw),
    /// A UDP socket.
    Udp(Udp),
}

/// Errors of a host.
#[derive(Debug, Error)]
pub enum Error {
    /// The process lacks the privilege to open a raw socket.
    #[error(
        "a raw socket of protocol 33 needs root or CAP_NET_RAW: {0}; --udp needs neither, where \
         both ends speak it (RFC 6773)"
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
         has \
         no DCCP"
    )]
    NoProtocol(IpAddr),
    /// The other host has no program that listens at the UDP port.
    #[error("nobody listens at UDP port {} of {}", .0.port(), .0.ip())]
    NobodyListens(SocketAddr),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Remote end of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// A server, to which the host sends. The port is that of DCCP.
    Server(SocketAddr, Traffic),
    /// Any client that connects to this address and port of DCCP.
    Anybody(SocketAddr),
}

/// Options of a host.
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
    /// Service code that a client requests and a server offers.
    pub service: u32,
    /// Mark of the packets of a raw socket (`SO_MARK`).
    pub mark: Option<u32>,
}

impl Request {
    /// Options over raw IP, with CCID 3.
    pub fn new(with: Addressee) -> Self {
        let ccids = vec![Ccid::TFRC];
        let service = super::SERVICE;
        Self { with, over: Over::Ip, udp_port: UDP_PORT, ccids, service, mark: None }
    }
}

/// Events and measurements of a running host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent {
    /// A connection was established or has ended.
    Endpoint(Instant, EndpointEvent),
    /// Measurements of a connection so far; once per interval.
    Sample(Instant, Peer, Box<Account>),
}

/// An endpoint whose socket is open.
#[derive(Debug)]
pub struct Host {
    driver: Driver<Socket>,
    endpoint: Endpoint,
    /// The server, for a client.
    server: Option<SocketAddr>,
    /// Time at which it was asked to stop.
    stopped: Option<Instant>,
}

impl Host {
    /// Opens the socket: privileges are needed only here.
    ///
    /// # Errors
    /// If the kernel refuses the socket, or there is no route to the server.
    pub fn open(request: &Request) -> Result<Self, Error> {
        let connection = config(request)?;
        let (socket, server, local) = match request.with {
            Addressee::Server(server, _) => {
                let (socket, local) = towards(request, server)?;
                let port = if request.over == Over::Udp { request.udp_port } else { 0 };
                (socket, Some(SocketAddr::new(server.ip(), port)), Some(local))
            }
            Addressee::Anybody(address) => (listening(request, address)?, None, None),
        };
        if let Socket::Raw(raw) = &socket {
            raw.accept_port(connection.local_port)?;
        }
        let mut secret = [0; 32];
        fill(&mut secret)?;
        let traffic = match request.with {
            Addressee::Server(_, traffic) => Some(traffic),
            Addressee::Anybody(_) => None,
        };
        let bytes = traffic.map(|traffic| traffic.bytes);
        let standard = Standard::default();
        let settings = Settings {
            over: request.over,
            connection,
            profiles: Standard {
                segment_bytes: bytes.map_or(standard.segment_bytes, f64::from),
                ..standard
            },
            server: server.map(|server| with_scope(request, server)),
            local,
            traffic,
            secret: Key::new(&secret).expect("32 bytes are enough"),
        };
        let driver = Driver::new(socket, Clock::start());
        Ok(Self { driver, endpoint: Endpoint::new(settings), server, stopped: None })
    }

    /// Counters of the socket so far.
    pub fn counts(&self) -> Counts {
        self.driver.counts()
    }

    /// Numbers of datagrams that were not answered so far.
    pub const fn ignored(&self) -> Ignored {
        self.endpoint.ignored()
    }

    /// Runs until a client's connection has ended, or until `stop` returns true and all connections
    /// are closed. A client closes `time` after the handshake. `tell` receives the measurements of
    /// each connection once per `interval`.
    ///
    /// # Errors
    /// If the socket fails, or the server's host reports that no program listens.
    pub fn run(
        &mut self,
        time: Duration,
        interval: Duration,
        mut stop: impl FnMut() -> bool,
        mut report: impl FnMut(HostEvent),
    ) -> Result<(), Error> {
        let mut events = Vec::new();
        let is_client = self.server.is_some();
        if is_client {
            self.driver.report(&mut self.endpoint, Fact::Start, &mut events);
        }
        let (mut sample_at, mut close_at, mut is_over) = (None, None, false);
        while !is_over {
            let now = self.driver.now();
            let is_time = close_at.is_some_and(|at| at <= now);
            if self.stopped.is_none() && (is_time || stop()) {
                self.stopped = Some(now);
                self.driver.report(&mut self.endpoint, Fact::Stop, &mut events);
            }
            if sample_at.is_some_and(|at| at <= now) {
                sample_at = sample_at.map(|at| at + interval);
                self.endpoint
                    .accounts()
                    .for_each(|(peer, it)| report(HostEvent::Sample(now, peer, Box::new(it))));
            }
            let until = [sample_at, close_at.filter(|_| self.stopped.is_none())];
            let until = until.into_iter().flatten().fold(now + LOOK, Instant::min);
            self.driver.turn(&mut self.endpoint, until, &mut events)?;
            self.look_at_trouble(close_at.is_none(), &mut events)?;
            let now = self.driver.now();
            let is_late = self.stopped.is_some_and(|at| now > at + CLOSING);
            if is_late {
                self.driver.report(&mut self.endpoint, Fact::Abandon, &mut events);
            }
            for event in events.drain(..) {
                match &event {
                    EndpointEvent::Established(_) => {
                        sample_at.get_or_insert(now + interval);
                        close_at = is_client.then(|| now + time);
                    }
                    EndpointEvent::Ended(..) => is_over = is_client,
                }
                report(HostEvent::Endpoint(now, event));
            }
            let is_closed = self.stopped.is_some() && !is_client && self.endpoint.is_empty();
            is_over |= is_late || is_closed;
        }
        Ok(())
    }

    /// Evaluates ICMP errors, which report a server that does not exist. Once a connection is
    /// established, they count only if the server is silent too.
    fn look_at_trouble(
        &mut self,
        is_opening: bool,
        events: &mut Vec<EndpointEvent>,
    ) -> Result<(), Error> {
        let trouble = self.driver.take_trouble();
        let Some((server, error)) = self.server.zip(trouble) else { return Ok(()) };
        let refusal = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOPROTOOPT | Errno::PROTO) => Error::NoProtocol(server.ip()),
            Some(Errno::CONNREFUSED) => Error::NobodyListens(server),
            _ => return Ok(()),
        };
        if is_opening {
            return Err(refusal);
        }
        self.driver.report(&mut self.endpoint, Fact::Refused, events);
        Ok(())
    }
}

/// Configuration of each connection.
fn config(request: &Request) -> Result<Config, Error> {
    let (local_port, remote_port) = match request.with {
        Addressee::Anybody(address) => (address.port(), 0),
        Addressee::Server(server, _) => (EPHEMERAL | random()? as u16, server.port()),
    };
    Ok(Config {
        local_port,
        remote_port,
        service: request.service,
        send_ccids: request.ccids.clone(),
        receive_ccids: request.ccids.clone(),
        queue: QueueLimits { datagrams: QUEUE, ..QueueLimits::default() },
        give_up: PATIENCE,
        ..Config::default()
    })
}

/// Adds the scope to the server's address, as received datagrams have it.
fn with_scope(request: &Request, server: SocketAddr) -> SocketAddr {
    match (request.with, server) {
        (Addressee::Server(SocketAddr::V6(given), _), SocketAddr::V6(mut server)) => {
            server.set_scope_id(given.scope_id());
            server.into()
        }
        _ => server,
    }
}

/// Opens a socket towards a server. Returns it with its local address.
fn towards(request: &Request, server: SocketAddr) -> Result<(Socket, IpAddr), Error> {
    let failed = |cause| Error::Socket { address: server, cause };
    match request.over {
        Over::Ip => {
            let raw = raw(Raw::connect(server, protocol(), request.mark), server)?;
            let local = raw.address().map_err(failed)?;
            Ok((Socket::Raw(raw), local))
        }
        Over::Udp => {
            let mut to = server;
            to.set_port(request.udp_port);
            let mut udp = Udp::connect(to).map_err(failed)?;
            udp.allow_gso();
            let local = udp.address().map_err(failed)?.ip();
            Ok((Socket::Udp(udp), local))
        }
    }
}

/// Opens a socket that accepts packets from any address.
fn listening(request: &Request, mut address: SocketAddr) -> Result<Socket, Error> {
    if request.over == Over::Ip {
        let raw = raw(Raw::bind(address.ip(), protocol(), request.mark), address)?;
        return Ok(Socket::Raw(raw));
    }
    address.set_port(request.udp_port);
    let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, request.udp_port));
    let udp = Udp::bind(address).or_else(|cause| match address.ip().is_unspecified() {
        // The kernel has no IPv6.
        true => Udp::bind(four),
        false => Err(cause),
    });
    let mut udp = udp.map_err(|cause| Error::Socket { address, cause })?;
    udp.allow_gso();
    Ok(Socket::Udp(udp))
}

fn protocol() -> NonZero<u8> {
    NonZero::new(PROTOCOL).expect("33 is not zero")
}

fn raw(opened: io::Result<Raw>, address: SocketAddr) -> Result<Raw, Error> {
    opened.map_err(|cause| match cause.raw_os_error().map(Errno::from_raw_os_error) {
        // `ACCESS` is different: a routing rule prohibits the route to the peer.
        Some(Errno::PERM) => Error::Privilege(cause),
        _ => Error::Socket { address, cause },
    })
}

impl Socket {
    fn transport(&mut self) -> &mut dyn Transport {
        match self {
            Self::Raw(raw) => raw,
            Self::Udp(udp) => udp,
        }
    }

    fn looked_at(&self) -> &dyn Transport {
        match self {
            Self::Raw(raw) => raw,
            Self::Udp(udp) => udp,
        }
    }
}

impl Transport for Socket {
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        self.transport().receive(into)
    }

    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize> {
        self.transport().send(queue)
    }

    fn wait(&self, for_room: bool, max: Duration) -> io::Result<()> {
        self.looked_at().wait(for_room, max)
    }

    fn calls(&self) -> (u64, u64) {
        self.looked_at().calls()
    }

    fn dropped(&self) -> u64 {
        self.looked_at().dropped()
    }

    fn unreadable(&self) -> u64 {
        self.looked_at().unreadable()
    }
}

/// The ending in words.
impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::ClosedEarly => f.write_str("closed early by the other end"),
            Self::Reset(code, data) => {
                write!(f, "reset by the other end: {} ({}), {data:?}", code.name(), code.0)
            }
            Self::Failed(code) => write!(f, "reset by this end: {} ({})", code.name(), code.0),
            Self::TimedOut => f.write_str("the other end is silent"),
            Self::Refused => f.write_str("the other end is silent, and its host refuses packets"),
        }
    }
}
