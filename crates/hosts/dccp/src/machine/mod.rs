//! The connections of one port as one state machine over datagrams.

mod listener;
mod refusal;
mod replacement;

use crate::carry::{Over, Peer};
use crate::forgotten::Forgotten;
use crate::line::{Account, End, Line, Opening};
use crate::replaceable::Replaceable;
use bytes::Bytes;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::{Config, Event, Input, Standard, State, Waiting};
use fairwave_machine::Machine;
use fairwave_sockets::{Datagrams, Incoming, Outgoing};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, Seq48};
use fairwave_wire::seal::{Key, Tag};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// Bytes by which the header of IPv6 is longer than that of IPv4.
const IPV6_LONGER: u32 = 20;
/// First of the dynamic ports (RFC 6335).
pub(crate) const EPHEMERAL: u16 = 49_152;

/// Options of the connections of a port.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Protocol below DCCP.
    pub over: Over,
    /// Configuration of each connection. The local port is that of a listener, or of a client's
    /// first connection; the remote port is that of the server, or zero for a listener.
    pub connection: Config,
    /// The congestion control profiles.
    pub profiles: Standard,
    /// Address of the server, for a client.
    pub server: Option<SocketAddr>,
    /// Local address, used where datagrams do not state theirs.
    pub local: Option<IpAddr>,
    /// Maximum number of simultaneous connections; a listener answers no further Request.
    pub max_connections: usize,
    /// Maximum number of connections whose handshake is not complete. Beyond it, a listener answers
    /// Requests with an Init Cookie and keeps no state (RFC 4340 section 8.1.4).
    pub max_half_open: usize,
    /// Time for which a client tries to open a connection again that it has lost; `None` ends it.
    pub reconnect: Option<Duration>,
    /// Secret from which initial sequence numbers are derived, so that they cannot be guessed (RFC
    /// 4340 section 7.2).
    pub secret: Key,
}

/// Name of a connection, which no other one of this port has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u64);

/// Inputs of the connections of a port.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A client opens its connection.
    Start,
    /// A datagram arrived.
    Arrived(Incoming),
    /// The application sends a datagram over a connection.
    Send(Id, Waiting<Bytes>),
    /// The application closes a connection.
    Close(Id),
    /// The application ends a connection at once, with a Reset.
    Abort(Id),
    /// A handover on the way to a host, for its connections.
    Handover(IpAddr, Handover),
    /// A client has this address now: its connection is opened again from there.
    Moved(IpAddr),
    /// The kernel knows the path to a peer to take datagrams of this many bytes at most.
    PathTakes(SocketAddr, u32),
    /// Close all connections. A listener accepts no new ones.
    Stop,
    /// ICMP reported that nobody listens at the peer's port.
    Refused,
    /// End the connections that have not closed in time.
    Abandon,
}

/// Events of the connections of a port.
#[derive(Clone, Debug, PartialEq)]
pub enum PortEvent {
    /// A handshake is complete.
    Established(Id),
    /// A lost connection is established again.
    Restored(Id),
    /// Application data arrived.
    Data(Id, Bytes),
    /// The send queue of a connection is half empty, as it was asked to report.
    Room(Id),
    /// A connection is over.
    Ended(Id, End, Box<Account>),
}

/// The connections of one port. Damaged packets and those for ports that it never had are counted
/// and not answered.
#[derive(Debug)]
pub struct Connections {
    settings: Settings,
    lines: BTreeMap<Id, Line>,
    by_peer: BTreeMap<Peer, Id>,
    /// Connections that may have something to send, each once.
    ready: VecDeque<Id>,
    /// Deadlines of the others.
    deadlines: BTreeSet<(Instant, Id)>,
    /// Answers to packets that belong to no connection.
    strays: VecDeque<Outgoing>,
    events: VecDeque<PortEvent>,
    forgotten: Forgotten,
    /// Connections that others may replace.
    replaceable: Replaceable<Id>,
    opened: u64,
    is_stopping: bool,
    ignored: Ignored,
    cookies: Cookies,
    /// Bytes that the path of the latest datagram is known to take.
    whole: Option<u32>,
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

/// Handshakes for which a listener keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookies {
    /// Requests answered with an Init Cookie.
    pub sent: u64,
    /// Cookies returned by clients that opened a connection.
    pub returned: u64,
    /// Cookies that were forged, changed or too old.
    pub refused: u64,
    /// Maximum number of connections at one time whose handshake was not complete.
    pub half_open_max: u64,
}

impl Connections {
    /// Creates a port without connections.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            lines: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            ready: VecDeque::new(),
            deadlines: BTreeSet::new(),
            strays: VecDeque::new(),
            events: VecDeque::new(),
            forgotten: Forgotten::default(),
            replaceable: Replaceable::new(),
            opened: 0,
            is_stopping: false,
            ignored: Ignored::default(),
            cookies: Cookies::default(),
            whole: None,
        }
    }

    /// Numbers of datagrams that were not answered so far.
    pub const fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// Bytes of a datagram that the path of the latest one that was polled is known to take; `None`
    /// if there is no search for it.
    pub const fn whole(&self) -> Option<u32> {
        self.whole
    }

    /// Handshakes without state so far.
    pub fn cookies(&self) -> Cookies {
        Cookies { half_open_max: self.replaceable.half_open().1 as u64, ..self.cookies }
    }

    /// Measurements of a connection so far, until it has been over for a while.
    pub fn account(&self, id: Id) -> Option<Account> {
        self.lines.get(&id).map(Line::account)
    }

    /// The remote end of a connection, and the DCCP port of this end.
    pub fn ends(&self, id: Id) -> Option<(Peer, u16)> {
        self.lines.get(&id).map(|line| (line.peer, line.port()))
    }

    /// Number of datagrams in the send queue of a connection that accepts more.
    pub fn queued(&self, id: Id) -> Option<usize> {
        self.lines.get(&id).and_then(Line::queued)
    }

    /// Has a connection report once when its send queue is half empty, or accepts no more.
    pub fn want_room(&mut self, id: Id) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.wants_room = true;
        }
    }

    /// The connection that was opened last, if it is there.
    pub fn newest(&self) -> Option<Id> {
        Some(Id(self.opened)).filter(|id| self.lines.contains_key(id))
    }

    /// Maximum number of connections.
    pub const fn max_connections(&self) -> usize {
        self.settings.max_connections
    }

    /// Configuration of the connections.
    pub const fn config(&self) -> &Config {
        &self.settings.connection
    }

    /// The DCCP port of a client's connection, which is another one after it was lost.
    pub fn client_port(&self) -> Option<u16> {
        self.settings.server?;
        self.lines.values().find(|line| line.is_alive()).map(Line::port)
    }

    /// The hosts of the established connections, each with the scope of its address: the number of
    /// an interface, or 0.
    pub fn hosts(&self) -> BTreeSet<(IpAddr, u32)> {
        let open = self.lines.values().filter(|line| line.is_alive());
        let scope = |address| match address {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(six) => six.scope_id(),
        };
        open.map(|line| (line.peer.address.ip(), scope(line.peer.address))).collect()
    }

    /// Number of connections with state here: open ones, those whose handshake is not complete, and
    /// those that ended in the last 2 s.
    pub fn kept(&self) -> usize {
        self.lines.len()
    }

    /// Whether no connection is left.
    pub fn is_empty(&self) -> bool {
        self.lines.len() == self.replaceable.over()
    }

    /// Random bits for a new connection, which outsiders cannot guess.
    fn tag(&mut self, peer: Peer) -> Tag {
        self.opened += 1;
        let who = peer.address.to_string();
        let parts = [&self.opened.to_be_bytes()[..], who.as_bytes(), &peer.port.to_be_bytes()];
        self.settings.secret.tag("dccp initial sequence number", &parts)
    }

    fn opening(&mut self, now: Instant, peer: Peer, local: Option<IpAddr>) -> Opening {
        let [a, b, c, d, e, f, g, h, ..] = self.tag(peer).0;
        let mut config = self.settings.connection.clone();
        if let Some(path) =
            config.path.as_mut().filter(|_| !peer.address.ip().to_canonical().is_ipv4())
        {
            path.max -= IPV6_LONGER;
            // Routers do not, and this host does only once ICMP has reported the narrow link.
            config.is_fragmented = false;
        }
        if self.settings.server.is_some() && self.opened > 1 {
            // The server may still know the connection before.
            config.local_port = EPHEMERAL | u16::from_be_bytes([g, h]);
        }
        self.forgotten.note_port(config.local_port);
        Opening {
            now,
            number: Seq48::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])),
            config,
            profiles: self.settings.profiles,
            local: local.or(self.settings.local),
        }
    }

    fn insert(&mut self, line: Line) -> Id {
        let id = Id(self.opened);
        if let Some(before) = self.by_peer.insert(line.peer, id) {
            self.remove(before);
        }
        // One that returned a cookie is open already.
        if line.connection.state() < State::Open {
            self.replaceable.begin(id);
        }
        self.lines.insert(id, line);
        self.touch(id);
        id
    }

    fn remove(&mut self, id: Id) {
        let Some(line) = self.lines.remove(&id) else { return };
        line.armed.map(|at| self.deadlines.remove(&(at, id)));
        self.replaceable.remove(id);
        if line.wants_room {
            self.events.push_back(PortEvent::Room(id));
        }
        if self.by_peer.get(&line.peer) == Some(&id) {
            self.by_peer.remove(&line.peer);
        }
    }

    /// Has a connection polled.
    fn touch(&mut self, id: Id) {
        if let Some(line) = self.lines.get_mut(&id).filter(|line| !line.is_ready) {
            line.is_ready = true;
            self.ready.push_back(id);
        }
    }

    fn start(&mut self, now: Instant) {
        let Some(address) = self.settings.server else { return };
        // Those who wait for data of the connection before learn of its end.
        for before in self.ids(Line::is_alive) {
            self.lose(now, before, End::Closed);
        }
        let peer = Peer { address, port: self.settings.connection.remote_port };
        let mut line = Line::new(&self.opening(now, peer, None), peer);
        line.connection.handle(now, Input::Open);
        self.insert(line);
    }

    fn arrived(&mut self, now: Instant, datagram: &Incoming) {
        let Some(packet) = self.settings.over.read(datagram, self.settings.local) else {
            self.ignored.broken += 1;
            return;
        };
        let peer = Peer { address: datagram.from, port: packet.header.source_port };
        let is_request = matches!(packet.header.kind, Kind::Request { .. });
        let known = self.by_peer.get(&peer).copied();
        let line = known.and_then(|id| self.lines.get(&id).map(|line| (id, line)));
        let port = line.as_ref().map_or(self.settings.connection.local_port, |(_, it)| it.port());
        let is_here = packet.header.destination_port == port;
        match line {
            Some((id, line)) if is_here && !(is_request && line.ended.is_some()) => {
                self.take(now, id, packet);
                self.touch(id);
            }
            _ if self.settings.server.is_some() => self.refuse(now, peer, packet),
            _ if !is_here => self.ignored.foreign += 1,
            _ => self.welcome(now, peer, datagram.to, packet),
        }
    }

    /// Hands an input to a connection.
    fn input(&mut self, now: Instant, id: Id, input: Input<Bytes>) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.connection.handle(now, input);
            self.touch(id);
        }
    }

    fn close(&mut self, now: Instant, id: Id) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.is_closing = true;
        }
        self.input(now, id, Input::Close);
    }

    fn ids(&self, which: impl Fn(&Line) -> bool) -> Vec<Id> {
        self.lines.iter().filter(|(_, line)| which(line)).map(|(id, _)| *id).collect()
    }

    fn stop(&mut self, now: Instant) {
        self.is_stopping = true;
        self.ids(|_| true).into_iter().for_each(|id| self.close(now, id));
    }

    /// Ends the connections for which `ends` returns a reason, without a handshake.
    fn abandon(&mut self, now: Instant, ends: impl Fn(&Line) -> Option<End>) {
        for id in self.ids(|line| line.is_open() && ends(line).is_some()) {
            let Some(end) = self.lines.get(&id).and_then(&ends) else { continue };
            self.lose(now, id, end);
        }
    }

    fn end(&mut self, now: Instant, id: Id, end: End) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        line.ended = Some(now);
        self.replaceable.end(id);
        let account = Box::new(line.account());
        self.events.push_back(PortEvent::Ended(id, end, account));
        self.touch(id);
    }

    /// Handles the events of a connection.
    fn note(&mut self, now: Instant, id: Id) {
        while let Some(end) = self.next_end(now, id) {
            if self.reopens(id, end) {
                self.reopen(now, id, None, Vec::new());
            } else {
                self.end(now, id, end);
            }
        }
    }

    /// Handles the events of a connection up to the next that ends it.
    fn next_end(&mut self, now: Instant, id: Id) -> Option<End> {
        let is_early = self.settings.server.is_some() && !self.is_stopping;
        loop {
            let line = self.lines.get_mut(&id)?;
            let end = match line.connection.event()? {
                Event::Established => {
                    let event = match line.establish(now) {
                        true => PortEvent::Established(id),
                        false => PortEvent::Restored(id),
                    };
                    self.replaceable.establish(id);
                    self.events.push_back(event);
                    continue;
                }
                Event::Data { payload, .. } => {
                    line.note_data(now);
                    self.events.push_back(PortEvent::Data(id, payload));
                    continue;
                }
                Event::Unsent { why, .. } => {
                    line.note_unsent(why);
                    continue;
                }
                Event::Closed if is_early && !line.is_closing => End::ClosedEarly,
                Event::Closed => End::Closed,
                Event::Reset { code, data } => End::Reset(code, data),
                Event::Failed { code } => End::Failed(code),
                Event::TimedOut => End::TimedOut,
            };
            return Some(end);
        }
    }

    /// Reports room in the send queue of a connection that is to report it.
    fn offer_room(&mut self, id: Id) {
        let half = self.settings.connection.queue.datagrams / 2;
        if let Some(line) = self.lines.get_mut(&id).filter(|line| line.wants_room)
            && line.queued().is_none_or(|queued| queued <= half)
        {
            line.wants_room = false;
            self.events.push_back(PortEvent::Room(id));
        }
    }

    /// Sets the deadline of a connection.
    fn arm(&mut self, id: Id) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let deadline = line.deadline();
        if line.armed != deadline {
            line.armed.map(|at| self.deadlines.remove(&(at, id)));
            line.armed = deadline;
            deadline.map(|at| self.deadlines.insert((at, id)));
        }
    }
}

impl Machine for Connections {
    type Input = Fact;
    type Output = Outgoing;
    type Event = PortEvent;

    fn handle(&mut self, now: Instant, fact: Fact) {
        match fact {
            Fact::Start => self.start(now),
            Fact::Arrived(datagram) => self.arrived(now, &datagram),
            Fact::Send(id, waiting) => self.input(now, id, Input::SendBefore(waiting)),
            Fact::Close(id) => self.close(now, id),
            Fact::Abort(id) => self.input(now, id, Input::Abort),
            Fact::Handover(host, handover) => {
                for id in self.ids(|line| line.is_open() && line.peer.address.ip() == host) {
                    self.input(now, id, Input::Handover(handover));
                }
            }
            Fact::Moved(local) => self.moved(now, local),
            Fact::PathTakes(address, bytes) => {
                let ends = [0, u16::MAX].map(|port| Peer { address, port });
                let ids: Vec<_> =
                    self.by_peer.range(ends[0]..=ends[1]).map(|(_, id)| *id).collect();
                ids.into_iter().for_each(|id| self.input(now, id, Input::PathTakes(bytes)));
            }
            Fact::Stop => self.stop(now),
            Fact::Refused => self.abandon(now, |line| line.refused(now)),
            Fact::Abandon => self.abandon(now, |_| Some(End::TimedOut)),
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some((at, id)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.remove(&(at, id));
            let Some(line) = self.lines.get_mut(&id) else { continue };
            line.armed = None;
            if line.is_forgotten(now) {
                self.remove(id);
                continue;
            }
            line.connection.wake(now);
            let is_silent = line.silent_at().is_some_and(|at| at <= now);
            self.touch(id);
            if is_silent {
                self.lose(now, id, End::TimedOut);
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        loop {
            self.whole = None;
            if let Some(stray) = self.strays.pop_front() {
                return Some(stray);
            }
            let id = *self.ready.front()?;
            if let Some(line) = self.lines.get_mut(&id) {
                while let Some(packet) = line.poll(now) {
                    if let Some(outgoing) = line.outgoing(self.settings.over, &packet) {
                        self.whole = line.connection.path_size();
                        return Some(outgoing);
                    }
                }
                line.is_ready = false;
            }
            self.ready.pop_front();
            self.note(now, id);
            self.offer_room(id);
            self.arm(id);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    fn event(&mut self) -> Option<PortEvent> {
        self.events.pop_front()
    }
}

impl Datagrams for Connections {
    fn arrived(datagram: Incoming) -> Fact {
        Fact::Arrived(datagram)
    }

    fn departs(output: Outgoing) -> Outgoing {
        output
    }
}
