//! The connections of one port as one state machine over datagrams.

use super::carry::Over;
use super::source::{Source, Traffic};
use bytes::Bytes;
use fairwave_dccp::{Config, Connection, Event, Feature, Input, Packet, Standard, State, Stats};
use fairwave_machine::Machine;
use fairwave_sockets::Datagrams;
use fairwave_sockets::{Incoming, Outgoing};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, ResetCode, Seq48, Side};
use fairwave_wire::seal::Key;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// Maximum number of simultaneous connections; a listener answers no further Request.
const CONNECTIONS: usize = 16;
/// Time for which a connection that has ended is kept, to answer packets that still arrive.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// Time after which a connection whose client has not answered may be replaced by another.
const HALF_OPEN: Duration = Duration::from_secs(5);
/// Time after which a client ends a connection whose server acknowledges nothing.
const SILENCE: Duration = Duration::from_secs(15);
/// Number of datagrams, at the source's pace, that a server may acknowledge together.
const TOGETHER: u32 = 4;
/// Time without packets after which a server ends a connection: more than twice the longest time
/// between two packets of TFRC (RFC 5348 section 4.3).
const IDLE: Duration = Duration::from_secs(150);
/// Time for which a client's packets are unanswered before it believes ICMP errors, which anybody
/// can forge, and which Linux sends for a raw socket whose buffer is full.
const DOUBT: Duration = Duration::from_secs(5);

/// Options of an endpoint.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Protocol below DCCP.
    pub over: Over,
    /// Configuration of each connection. The local port is that of the endpoint; the remote port is
    /// that of the server, or zero for a listener.
    pub connection: Config,
    /// The congestion control profiles.
    pub profiles: Standard,
    /// Address of the server, for a client.
    pub server: Option<SocketAddr>,
    /// Local address, used where datagrams do not state theirs.
    pub local: Option<IpAddr>,
    /// Traffic of a client.
    pub traffic: Option<Traffic>,
    /// Secret from which initial sequence numbers are derived, so that they cannot be guessed (RFC
    /// 4340 section 7.2).
    pub secret: Key,
}

/// The remote end: its address, with the port of UDP if that is the protocol below, and its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// Port of DCCP.
    pub port: u16,
}

/// Inputs of an endpoint.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A client opens its connection.
    Start,
    /// A datagram arrived.
    Arrived(Incoming),
    /// Close all connections. A listener accepts no new ones.
    Stop,
    /// ICMP reported that nobody listens at the peer's port.
    Refused,
    /// End the connections that have not closed in time.
    Abandon,
}

/// Ending of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was closed in order.
    Closed,
    /// The server closed it in order before the client did.
    ClosedEarly,
    /// The peer reset it.
    Reset(ResetCode, [u8; 3]),
    /// This end reset it, because the peer violated the protocol.
    Failed(ResetCode),
    /// The peer was silent for too long.
    TimedOut,
    /// The peer is silent, and its host refuses packets to it.
    Refused,
}

/// Events of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum EndpointEvent {
    /// A handshake is complete.
    Established(Peer),
    /// A connection is over.
    Ended(Peer, End, Box<Account>),
}

/// Measurements of a connection so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Time at which it was established.
    pub established: Option<Instant>,
    /// Time at which the first and the last application data arrived.
    pub arrived: Option<(Instant, Instant)>,
    /// Number of the peer's packets that are missing between the first and the last received one,
    /// after the handshake.
    pub missing: u64,
    /// Counters, and the state of congestion control.
    pub stats: Stats,
    /// Congestion control profiles of the data from this end, and of the data to it.
    pub profiles: (u8, u8),
}

/// The connections of one port. Damaged packets and those for other ports are counted and not
/// answered.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    lines: BTreeMap<Peer, Line>,
    /// Answers to packets that belong to no connection.
    strays: VecDeque<Outgoing>,
    events: VecDeque<EndpointEvent>,
    opened: u64,
    is_stopping: bool,
    ignored: Ignored,
}

/// Datagrams that were not answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// They are damaged, or no packets of DCCP.
    pub broken: u64,
    /// They are for other ports.
    pub foreign: u64,
    /// They ask for more connections than the maximum.
    pub turned_away: u64,
}

impl Endpoint {
    /// Creates an endpoint without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            lines: BTreeMap::new(),
            strays: VecDeque::new(),
            events: VecDeque::new(),
            opened: 0,
            is_stopping: false,
            ignored: Ignored::default(),
        }
    }

    /// Numbers of datagrams that were not answered so far.
    pub const fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// Measurements of the established connections so far.
    pub fn accounts(&self) -> impl Iterator<Item = (Peer, Account)> {
        let open = self.lines.iter().filter(|(_, line)| line.is_open());
        open.map(|(peer, line)| (*peer, line.account()))
    }

    /// Whether connections are left.
    pub fn is_empty(&self) -> bool {
        self.lines.values().all(|line| line.ended.is_some())
    }

    /// An initial sequence number that outsiders cannot guess, different for each connection.
    fn first_number(&mut self, peer: Peer) -> Seq48 {
        self.opened += 1;
        let who = peer.address.to_string();
        let parts = [&self.opened.to_be_bytes()[..], who.as_bytes(), &peer.port.to_be_bytes()];
        let tag = self.settings.secret.tag("dccp initial sequence number", &parts);
        let [a, b, c, d, e, f, ..] = tag.0;
        Seq48::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    fn line(&mut self, now: Instant, peer: Peer, local: Option<IpAddr>) -> Line {
        let number = self.first_number(peer);
        let profiles = Box::new(self.settings.profiles);
        Line {
            connection: Connection::new(self.settings.connection.clone(), number, profiles),
            local: local.or(self.settings.local),
            source: None,
            began: now,
            established: None,
            arrived: None,
            before: None,
            ended: None,
            received_at: now,
            unanswered: None,
        }
    }

    fn start(&mut self, now: Instant) {
        let Some(address) = self.settings.server else { return };
        let peer = Peer { address, port: self.settings.connection.remote_port };
        let mut line = self.line(now, peer, None);
        line.connection.handle(now, Input::Open);
        self.lines.insert(peer, line);
    }

    fn arrived(&mut self, now: Instant, datagram: &Incoming) {
        let Some(packet) = self.settings.over.read(datagram, self.settings.local) else {
            self.ignored.broken += 1;
            return;
        };
        if packet.header.destination_port != self.settings.connection.local_port {
            self.ignored.foreign += 1;
            return;
        }
        let peer = Peer { address: datagram.from, port: packet.header.source_port };
        let is_request = matches!(packet.header.kind, Kind::Request { .. });
        match self.lines.get_mut(&peer) {
            Some(line) if !(is_request && line.ended.is_some()) => line.take(now, packet),
            _ if self.settings.server.is_some() => self.ignored.foreign += 1,
            _ => self.welcome(now, peer, datagram.to, packet),
        }
    }

    /// Handles a packet from an unknown peer at a listener.
    fn welcome(&mut self, now: Instant, peer: Peer, to: Option<IpAddr>, packet: Packet<Bytes>) {
        if self.is_stopping || !self.has_room(now, peer) {
            self.ignored.turned_away += 1;
            return;
        }
        let mut line = self.line(now, peer, to);
        line.connection.handle(now, Input::Listen);
        line.connection.handle(now, Input::Packet(packet));
        if line.connection.state() > State::Listen {
            // Only a valid Request creates state. Every other packet gets its answer, such as a
            // Reset, from a temporary connection that is then dropped.
            self.lines.insert(peer, line);
            return;
        }
        while let Some(answer) = line.connection.poll(now) {
            let answer = line.outgoing(self.settings.over, peer, &answer);
            // Bounded, as any received packet can cause an answer.
            self.strays.extend(answer.filter(|_| self.strays.len() < CONNECTIONS));
        }
    }

    /// Whether one more connection is possible. It replaces a connection that has ended, or one
    /// whose client has not answered for long: the address of that client may be forged.
    fn has_room(&mut self, now: Instant, peer: Peer) -> bool {
        if self.lines.len() >= CONNECTIONS && !self.lines.contains_key(&peer) {
            let is_idle = |line: &Line| {
                let is_slow = line.established.is_none() && now.since(line.began) > HALF_OPEN;
                line.ended.is_some() || is_slow
            };
            let idle = self.lines.iter().find(|(_, line)| is_idle(line)).map(|(peer, _)| *peer);
            return idle.is_some_and(|idle| self.lines.remove(&idle).is_some());
        }
        true
    }

    fn stop(&mut self, now: Instant) {
        self.is_stopping = true;
        for line in self.lines.values_mut() {
            line.source = None;
            line.connection.handle(now, Input::Close);
        }
    }

    /// Ends the connections for which `ends` returns a reason, without a handshake.
    fn abandon(&mut self, now: Instant, ends: impl Fn(&Line) -> Option<End>) {
        for (peer, line) in self.lines.iter_mut().filter(|(_, line)| line.is_open()) {
            let Some(end) = ends(line) else { continue };
            line.connection.handle(now, Input::Abort);
            // The end that an abort reports is not the reason for it.
            while line.connection.event().is_some() {}
            (line.source, line.ended) = (None, Some(now));
            self.events.push_back(EndpointEvent::Ended(*peer, end, Box::new(line.account())));
        }
    }

    /// Handles the events of the connections.
    fn note(&mut self, now: Instant) {
        let is_client = self.settings.server.is_some();
        let is_early = is_client && !self.is_stopping;
        for (peer, line) in &mut self.lines {
            while let Some(event) = line.connection.event() {
                let end = match event {
                    Event::Established => {
                        line.established = Some(now);
                        line.before = Some(line.progress());
                        let traffic = self.settings.traffic.filter(|_| is_client);
                        line.source = traffic.map(|traffic| Source::new(traffic, now));
                        self.events.push_back(EndpointEvent::Established(*peer));
                        continue;
                    }
                    Event::Data { .. } => {
                        let first = line.arrived.map_or(now, |(first, _)| first);
                        line.arrived = Some((first, now));
                        continue;
                    }
                    Event::Unsent { .. } => continue,
                    Event::Closed if is_early => End::ClosedEarly,
                    Event::Closed => End::Closed,
                    Event::Reset { code, data } => End::Reset(code, data),
                    Event::Failed { code } => End::Failed(code),
                    Event::TimedOut => End::TimedOut,
                };
                (line.source, line.ended) = (None, Some(now));
                self.events.push_back(EndpointEvent::Ended(*peer, end, Box::new(line.account())));
            }
        }
    }
}

impl Machine for Endpoint {
    type Input = Fact;
    type Output = Outgoing;
    type Event = EndpointEvent;

    fn handle(&mut self, now: Instant, fact: Fact) {
        match fact {
            Fact::Start => self.start(now),
            Fact::Arrived(datagram) => self.arrived(now, &datagram),
            Fact::Stop => self.stop(now),
            Fact::Refused => self.abandon(now, |line| line.refused(now)),
            Fact::Abandon => self.abandon(now, |_| Some(End::TimedOut)),
        }
        self.note(now);
    }

    fn wake(&mut self, now: Instant) {
        self.lines.retain(|_, line| line.ended.is_none_or(|at| now < at + AFTERWARDS));
        self.lines.values_mut().for_each(|line| line.connection.wake(now));
        self.note(now);
        let is_silent = |line: &Line| line.silent_at().is_some_and(|at| at <= now);
        self.abandon(now, |line| is_silent(line).then_some(End::TimedOut));
    }

    fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(stray) = self.strays.pop_front() {
            return Some(stray);
        }
        let over = self.settings.over;
        for (peer, line) in &mut self.lines {
            while let Some(packet) = line.poll(now) {
                if let Some(outgoing) = line.outgoing(over, *peer, &packet) {
                    return Some(outgoing);
                }
            }
        }
        self.note(now);
        None
    }

    fn deadline(&self) -> Option<Instant> {
        self.lines.values().filter_map(Line::deadline).min()
    }

    fn event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }
}

impl Datagrams for Endpoint {
    fn arrived(datagram: Incoming) -> Fact {
        Fact::Arrived(datagram)
    }

    fn departs(output: Outgoing) -> Outgoing {
        output
    }
}

/// One connection.
#[derive(Debug)]
struct Line {
    connection: Connection<Bytes>,
    /// Destination address of the peer's packets.
    local: Option<IpAddr>,
    source: Option<Source>,
    began: Instant,
    established: Option<Instant>,
    arrived: Option<(Instant, Instant)>,
    /// Its progress at the end of the handshake.
    before: Option<(Seq48, u64)>,
    ended: Option<Instant>,
    /// Arrival of the last packet.
    received_at: Instant,
    /// Time of the first packet sent since that arrival.
    unanswered: Option<Instant>,
}

impl Line {
    /// Greatest sequence number received, and number of packets received.
    fn progress(&self) -> (Seq48, u64) {
        (self.connection.greatest_received(), self.connection.stats().packets_received)
    }

    fn is_open(&self) -> bool {
        self.established.is_some() && self.ended.is_none()
    }

    /// Hands over a packet. Only packets that the connection accepts show that the peer lives.
    fn take(&mut self, now: Instant, packet: Packet<Bytes>) {
        let (_, before) = self.progress();
        self.connection.handle(now, Input::Packet(packet));
        if self.progress().1 > before {
            (self.received_at, self.unanswered) = (now, None);
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Packet<Bytes>> {
        if let Some(source) = &mut self.source {
            // The queue of a connection that closes stays empty, whatever is sent.
            while self.connection.accepts_data()
                && let Some(data) = source.next(now, self.connection.queued())
            {
                self.connection.handle(now, Input::Send(data));
            }
        }
        let packet = self.connection.poll(now)?;
        self.unanswered.get_or_insert(now);
        Some(packet)
    }

    /// Time at which an open connection ends because its peer is silent.
    fn silent_at(&self) -> Option<Instant> {
        let at = match &self.source {
            Some(source) => {
                self.unanswered.map(|at| at + SILENCE.max(source.pace() * u64::from(TOGETHER)))
            }
            // A server's acknowledgements have no answer.
            None => Some(self.received_at + IDLE),
        };
        at.filter(|_| self.is_open())
    }

    /// Reason to end the connection after an ICMP error.
    fn refused(&self, now: Instant) -> Option<End> {
        let is_silent = self.unanswered.is_some_and(|at| now.since(at) >= DOUBT);
        is_silent.then_some(End::Refused)
    }

    fn outgoing(&self, over: Over, peer: Peer, packet: &Packet<Bytes>) -> Option<Outgoing> {
        let bytes = over.write(packet, self.local, peer.address)?;
        Some(Outgoing { to: peer.address, from: self.local, ecn: packet.ecn, bytes })
    }

    fn deadline(&self) -> Option<Instant> {
        let over = self.ended.map(|at| at + AFTERWARDS);
        let source = self.source.as_ref().and_then(Source::deadline);
        [over, source, self.connection.deadline(), self.silent_at()].into_iter().flatten().min()
    }

    fn account(&self) -> Account {
        let missing = self.before.map_or(0, |(first, count)| {
            let (last, received) = self.progress();
            last.distance(first).saturating_sub(received - count)
        });
        let ccid = |side| self.connection.feature(side, Feature::Ccid) as u8;
        Account {
            established: self.established,
            arrived: self.arrived,
            missing,
            stats: self.connection.stats(),
            profiles: (ccid(Side::Local), ccid(Side::Remote)),
        }
    }
}
