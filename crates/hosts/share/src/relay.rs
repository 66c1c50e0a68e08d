//! The lender's end of all sessions as a machine: handshakes, leases, and the datagrams between
//! borrowers and their servers.

use crate::sealed::Sealed;
use fairwave_cluster::{Excess, LeaseId, Ledger, Lent, Reach, Way};
use fairwave_machine::Machine;
use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_shake_host::noise::{Psk, answer};
use fairwave_units::{Duration, Instant, Seed, Stream as Draws};
use fairwave_wire::cluster::{Denial, Frame};
use fairwave_wire::shake::record::{Datagram, Record};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// Sessions whose borrower has not shown that it has the keys, and the time that it has for that.
pub(crate) const MAX_UNCONFIRMED: usize = 64;
const CONFIRM: Duration = Duration::from_secs(10);
/// Maximum number of sessions, with and without a lease.
pub(crate) const MAX_SESSIONS: usize = 128;
/// Time without a record of the borrower after which a session without a lease is over.
const IDLE: Duration = Duration::from_secs(30);
/// Headers of UDP and of each version of IP, in bytes.
const IPV4_HEADERS: u64 = 28;
const IPV6_HEADERS: u64 = 48;

/// Inputs of a relay.
#[derive(Clone, Debug)]
pub enum Input {
    /// A datagram of the local network.
    Local(Incoming),
    /// A datagram at the socket of a session towards its server: its sender, and the payload.
    Uplink(u32, SocketAddr, Vec<u8>),
    /// The socket of a session is open.
    Opened(u32),
    /// The socket of a session could not be opened.
    NoUplink(u32),
    /// The lent interface is gone, or another one of its name: sockets over it are of no use.
    Replugged,
    /// Networks that borrowers may not or may reach.
    Reach(Reach),
    /// The day's number, and whether it is a time of lending.
    Day(i64, bool),
    /// All sessions are over.
    Close,
}

/// Outputs of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A datagram for the local network.
    Local(Outgoing),
    /// The session needs a socket over the uplink, in place of one that it has, for datagrams to
    /// this server alone. The answer is [`Input::Opened`] or [`Input::NoUplink`].
    Open(u32, SocketAddr),
    /// A datagram for the server, from the session's socket.
    Uplink(u32, SocketAddr, Vec<u8>),
    /// The session's socket has no use any more.
    Shut(u32),
}

/// Observations of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A borrower has a lease.
    Lent(Lent),
    /// A lease is over, with its counts.
    Ended(Lent),
    /// A borrower has got no lease for this server, or lost it.
    Denied(IpAddr, SocketAddr, Denial),
}

/// Datagrams that were not believed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// No datagram of a session, or no frame of this protocol in it.
    pub malformed: u64,
    /// Of a session that there is not, or from an address that is not the session's server.
    pub unknown: u64,
    /// Not sealed with the session's keys, or repeated.
    pub forged: u64,
    /// Handshakes without the secret.
    pub strangers: u64,
    /// Handshakes beyond the number of sessions.
    pub crowded: u64,
    /// Datagrams of a borrower without a lease.
    pub unlent: u64,
}

/// A handshake that was answered: the same first datagram again gets the same answer.
#[derive(Debug)]
struct Answered {
    first: Vec<u8>,
    second: Vec<u8>,
    session: u32,
    until: Instant,
}

/// A packet of a lease, which may have to wait for its turn at the rate.
#[derive(Debug)]
struct Waiting {
    session: u32,
    lease: LeaseId,
    way: Way,
    datagram: Vec<u8>,
}

/// The lease of a session.
#[derive(Clone, Copy, Debug)]
struct Held {
    lease: LeaseId,
    target: SocketAddr,
    /// Whether it has a socket. Before that, the borrower gets no answer.
    is_open: bool,
}

#[derive(Debug)]
struct Session {
    sealed: Sealed,
    peer: SocketAddr,
    /// Address to which the answer of the handshake went: the borrower has received there.
    answered_at: Option<SocketAddr>,
    began: Instant,
    /// Address of this host that the borrower uses.
    own: Option<IpAddr>,
    lease: Option<Held>,
    /// The latest denial that was reported.
    denied: Option<Denial>,
    received_at: Instant,
    is_confirmed: bool,
    expires: Instant,
}

/// The lender's end of all sessions.
#[derive(Debug)]
pub struct Relay {
    psk: Psk,
    ledger: Ledger,
    draws: Draws,
    /// By index.
    sessions: BTreeMap<u32, Session>,
    timers: BTreeSet<(Instant, u32)>,
    /// By departure, and the order of arrival.
    waiting: BTreeMap<(Instant, u64), Waiting>,
    arrivals: u64,
    answered: VecDeque<Answered>,
    outputs: VecDeque<Output>,
    events: VecDeque<Event>,
    refused: Refused,
}

impl Relay {
    /// A relay without sessions.
    pub fn new(psk: Psk, ledger: Ledger, seed: Seed) -> Self {
        Self {
            psk,
            ledger,
            draws: seed.stream("share/relay"),
            sessions: BTreeMap::new(),
            timers: BTreeSet::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            answered: VecDeque::new(),
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
        }
    }

    /// The leases and their account.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Counts of refused datagrams.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn take(&mut self, now: Instant, incoming: &Incoming) {
        match Datagram::parse(&incoming.bytes) {
            Ok(Datagram::Record(record)) => self.take_record(now, incoming, &record),
            Ok(Datagram::Initiation { from, noise }) => {
                self.take_initiation(now, incoming, from, noise);
            }
            Ok(Datagram::Answer { .. }) => self.refused.unknown += 1,
            Err(_) => self.refused.malformed += 1,
        }
    }

    fn take_initiation(&mut self, now: Instant, incoming: &Incoming, from: u32, noise: &[u8]) {
        let reply = |bytes: Vec<u8>| {
            Output::Local(Outgoing { from: incoming.to, ..Outgoing::new(incoming.from, bytes) })
        };
        if let Some(known) = self.answered.iter().find(|known| known.first == incoming.bytes) {
            let session = self.sessions.get_mut(&known.session);
            let other = session.filter(|session| session.answered_at != Some(incoming.from));
            if let Some(session) = other {
                // An answer that went to two addresses proves neither.
                session.answered_at = None;
            }
            self.outputs.push_back(reply(known.second.clone()));
            return;
        }
        let Some((_, second, channel)) = answer(&self.psk, noise) else {
            self.refused.strangers += 1;
            return;
        };
        if self.answered.len() >= MAX_UNCONFIRMED {
            self.forget_oldest(now);
        }
        if self.sessions.len() >= MAX_SESSIONS {
            self.refused.crowded += 1;
            return;
        }
        let index = self.unused_index();
        let mut bytes = Vec::new();
        Datagram::Answer { to: from, from: index, noise: &second }.write(&mut bytes);
        let expires = now + CONFIRM;
        let session = Session {
            sealed: Sealed::new(from, channel),
            peer: incoming.from,
            answered_at: Some(incoming.from),
            began: now,
            own: incoming.to,
            lease: None,
            denied: None,
            received_at: now,
            is_confirmed: false,
            expires,
        };
        self.sessions.insert(index, session);
        self.timers.insert((expires, index));
        let first = incoming.bytes.clone();
        self.answered.push_back(Answered {
            first,
            second: bytes.clone(),
            session: index,
            until: expires,
        });
        self.outputs.push_back(reply(bytes));
    }

    fn unused_index(&mut self) -> u32 {
        loop {
            let index = self.draws.next_u64() as u32;
            if !self.sessions.contains_key(&index) {
                return index;
            }
        }
    }

    /// Discards the oldest handshake, and its session if it was not used.
    fn forget_oldest(&mut self, now: Instant) {
        let Some(oldest) = self.answered.pop_front() else { return };
        if self.sessions.get(&oldest.session).is_some_and(|session| !session.is_confirmed) {
            self.remove(now, oldest.session);
        }
    }

    fn take_record(&mut self, now: Instant, incoming: &Incoming, record: &Record<'_>) {
        let index = record.to;
        let Some(session) = self.sessions.get_mut(&index) else {
            self.refused.unknown += 1;
            return;
        };
        let Some(bytes) = session.sealed.open(record) else {
            self.refused.forged += 1;
            return;
        };
        // The borrower's address may change.
        (session.peer, session.own) = (incoming.from, incoming.to);
        (session.received_at, session.is_confirmed) = (now, true);
        match Frame::parse(&bytes) {
            Ok(Frame::Ask(target)) => {
                let target = SocketAddr::new(target.ip().to_canonical(), target.port());
                self.take_ask(now, index, target);
            }
            Ok(Frame::Carried(datagram)) => self.carry_up(now, index, datagram),
            Ok(Frame::Over) => self.remove(now, index),
            Ok(Frame::Grant(_) | Frame::Deny(_)) | Err(_) => self.refused.malformed += 1,
        }
        self.set_timer(index);
    }

    fn take_ask(&mut self, now: Instant, index: u32, target: SocketAddr) {
        let Some(session) = self.sessions.get(&index) else { return };
        let borrower = session.peer.ip();
        match session.lease {
            Some(held) if held.target == target => return self.renew(now, index, held),
            Some(_) => self.end_lease(now, index),
            None => {}
        }
        self.remove_before(now, index, target);
        match self.ledger.ask(now, borrower, target) {
            Ok(lease) => {
                if let Some(session) = self.sessions.get_mut(&index) {
                    session.lease = Some(Held { lease, target, is_open: false });
                }
                self.outputs.push_back(Output::Open(index, target));
            }
            Err(denial) => self.deny(now, index, target, denial),
        }
    }

    /// Removes older sessions of the same borrower with a lease for the same server: the borrower
    /// has lost them, and its farewell was lost too. A record's source address is not
    /// authenticated, so any host with the key could name that of another borrower. The new session
    /// counts only at the address to which the handshake's answer went.
    fn remove_before(&mut self, now: Instant, index: u32, target: SocketAddr) {
        let Some(session) = self.sessions.get(&index) else { return };
        let (peer, began) = (session.peer, session.began);
        if session.answered_at != Some(peer) {
            return;
        }
        let is_before = |(_, other): &(&u32, &Session)| {
            let is_same = other.lease.is_some_and(|held| held.target == target);
            is_same && other.peer == peer && other.began < began
        };
        let before: Vec<u32> =
            self.sessions.iter().filter(is_before).map(|(index, _)| *index).collect();
        before.into_iter().for_each(|index| self.remove(now, index));
    }

    /// A session has its socket: the borrower learns of the lease, unless it knows it.
    fn take_socket(&mut self, now: Instant, index: u32) {
        let Some(session) = self.sessions.get_mut(&index) else { return };
        let Some(held) = session.lease.as_mut().filter(|held| !held.is_open) else { return };
        held.is_open = true;
        let held = *held;
        session.denied = None;
        let lent = self.ledger.lent().find(|lent| lent.lease == held.lease);
        self.events.extend(lent.map(Event::Lent));
        self.renew(now, index, held);
    }

    fn renew(&mut self, now: Instant, index: u32, held: Held) {
        match self.ledger.renew(now, held.lease) {
            Ok(terms) if held.is_open => self.say(index, &Frame::Grant(terms)),
            Ok(_) => {}
            Err(denial) => self.deny(now, index, held.target, denial),
        }
    }

    /// Ends a session's lease, if it has one, and sends the borrower the reason.
    fn deny(&mut self, now: Instant, index: u32, target: SocketAddr, denial: Denial) {
        self.end_lease(now, index);
        let Some(session) = self.sessions.get_mut(&index) else { return };
        if session.denied.replace(denial) != Some(denial) {
            let borrower = session.peer.ip().to_canonical();
            self.events.push_back(Event::Denied(borrower, target, denial));
        }
        self.say(index, &Frame::Deny(denial));
    }

    fn held(&self, index: u32) -> Option<Held> {
        self.sessions.get(&index)?.lease
    }

    fn say(&mut self, index: u32, frame: &Frame<'_>) {
        let Some(session) = self.sessions.get_mut(&index) else { return };
        let Some(bytes) = session.sealed.seal(frame) else { return };
        let datagram = Outgoing { from: session.own, ..Outgoing::new(session.peer, bytes) };
        self.outputs.push_back(Output::Local(datagram));
    }

    fn carry_up(&mut self, now: Instant, index: u32, datagram: &[u8]) {
        let Some(Held { lease, target, .. }) = self.held(index).filter(|held| held.is_open) else {
            self.refused.unlent += 1;
            return;
        };
        let datagram = datagram.to_vec();
        self.carry(now, target, Waiting { session: index, lease, way: Way::Up, datagram });
    }

    fn carry_down(&mut self, now: Instant, index: u32, from: SocketAddr, datagram: Vec<u8>) {
        let held = self.held(index).filter(|held| held.target == from);
        let Some(Held { lease, target, .. }) = held else {
            self.refused.unknown += 1;
            return;
        };
        self.carry(now, target, Waiting { session: index, lease, way: Way::Down, datagram });
    }

    /// Accounts for a datagram, and carries it now or when it is its turn.
    fn carry(&mut self, now: Instant, target: SocketAddr, waiting: Waiting) {
        let bytes = packet(target, &waiting.datagram);
        match self.ledger.carry(now, waiting.lease, waiting.way, bytes) {
            Ok(departure) if departure > now => {
                self.arrivals += 1;
                self.waiting.insert((departure, self.arrivals), waiting);
            }
            Ok(_) => self.depart(waiting),
            Err(Excess::Rate) => {}
            Err(Excess::Over(denial)) => self.deny(now, waiting.session, target, denial),
        }
    }

    /// Sends packets whose turn it is.
    fn release(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let waiting = first.remove();
            self.depart(waiting);
        }
    }

    fn depart(&mut self, waiting: Waiting) {
        let Waiting { session, lease, way, datagram } = waiting;
        // A lease that is over takes its packets with it.
        let held = self.held(session).filter(|held| held.lease == lease);
        let Some(Held { target, .. }) = held else { return };
        match way {
            Way::Up => self.outputs.push_back(Output::Uplink(session, target, datagram)),
            Way::Down => self.say(session, &Frame::Carried(&datagram)),
        }
    }

    fn end_lease(&mut self, now: Instant, index: u32) {
        let lease = self.sessions.get_mut(&index).and_then(|session| session.lease.take());
        if let Some(held) = lease {
            let ended = self.ledger.end(now, held.lease).filter(|_| held.is_open);
            self.events.extend(ended.map(Event::Ended));
            self.outputs.push_back(Output::Shut(index));
        }
    }

    fn remove(&mut self, now: Instant, index: u32) {
        self.end_lease(now, index);
        if let Some(session) = self.sessions.remove(&index) {
            self.timers.remove(&(session.expires, index));
        }
        self.answered.retain(|answered| answered.session != index);
    }

    fn set_timer(&mut self, index: u32) {
        let Some(session) = self.sessions.get_mut(&index) else { return };
        let lease = session.lease.and_then(|held| self.ledger.expires(held.lease));
        let expires = lease.unwrap_or(session.received_at + IDLE);
        self.timers.remove(&(session.expires, index));
        self.timers.insert((expires, index));
        session.expires = expires;
    }

    /// Ends leases, with this reason for their borrowers.
    fn deny_all(&mut self, now: Instant, leases: &[LeaseId], denial: Denial) {
        let of = |(index, session): (&u32, &Session)| {
            let held = session.lease?;
            leases.contains(&held.lease).then_some((*index, held.target))
        };
        let ended: Vec<(u32, SocketAddr)> = self.sessions.iter().filter_map(of).collect();
        for (index, target) in ended {
            self.deny(now, index, target, denial);
            self.set_timer(index);
        }
    }
}

/// Bytes of the IP packet with a datagram to or from a server.
fn packet(server: SocketAddr, datagram: &[u8]) -> u64 {
    let headers = if server.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    datagram.len() as u64 + headers
}

impl Machine for Relay {
    type Input = Input;
    type Output = Output;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input) {
        // A packet that a late wake has kept leaves before the next.
        self.release(now);
        match input {
            Input::Local(incoming) => self.take(now, &incoming),
            Input::Uplink(index, from, datagram) => self.carry_down(now, index, from, datagram),
            Input::Opened(index) => self.take_socket(now, index),
            Input::NoUplink(index) => {
                if let Some(held) = self.held(index) {
                    self.deny(now, index, held.target, Denial::Uplink);
                    self.set_timer(index);
                }
            }
            Input::Replugged => {
                let held = self.sessions.iter().filter_map(|(index, session)| {
                    session.lease.map(|held| Output::Open(*index, held.target))
                });
                self.outputs.extend(held);
            }
            Input::Reach(reach) => {
                let ended = self.ledger.set_reach(reach);
                self.deny_all(now, &ended, Denial::Target);
            }
            Input::Day(day, is_open) => {
                let ended = self.ledger.set_day(day, is_open);
                self.deny_all(now, &ended, Denial::Closed);
            }
            Input::Close => {
                let all: Vec<u32> = self.sessions.keys().copied().collect();
                for index in all {
                    self.say(index, &Frame::Over);
                    self.remove(now, index);
                }
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        self.release(now);
        while let Some((_, index)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.remove(now, index);
        }
        while self.answered.front().is_some_and(|answered| answered.until <= now) {
            self.answered.pop_front();
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let answered = self.answered.front().map(|answered| answered.until);
        let departure = self.waiting.first_key_value().map(|((at, _), _)| *at);
        [timer, answered, departure].into_iter().flatten().min()
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
