//! The machine: handshakes, and the sessions that follow.

use super::budget::Budget;
use super::carrier::CarrierReport;
use super::config::Config;
use super::datagrams::{DatagramError, DatagramStats};
use super::event::{Event, Refused, StreamState};
use super::keys::Keys;
use super::path::PathStats;
use super::route::{MAX_PATHS, Route, Transmit};
use super::sent::Sent;
use super::session::Session;
use super::settings::Settings;
use crate::noise::{Initiator, answer};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant, Seed, Stream as Draws};
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::{Datagram, Priority};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Sessions whose opener has not shown that it has the keys, and the time that it has for that.
pub(super) const MAX_UNCONFIRMED: usize = 64;
const CONFIRM: Duration = Duration::from_secs(10);
/// Time after which a silent session is over: for the end that opened it, which asks, and for the
/// other, which waits for questions.
const SILENCE: Duration = Duration::from_secs(10);
const FORGOTTEN: Duration = Duration::from_secs(180);

/// Inputs.
#[derive(Clone, Debug)]
pub enum Input {
    /// A datagram arrived.
    Arrived(Route, Vec<u8>),
    /// A path works, at first or again. Its number is that of its socket.
    PathUp(Route),
    /// A path is gone.
    PathDown(u8),
    /// A path of the sessions that this end opens has this priority from now on.
    Prioritize(u8, Priority),
    /// A session is to be opened over the paths that there are.
    Connect,
    /// All sessions are over.
    Close,
}

/// A handshake that this end began.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) initiator: Initiator,
    /// The first datagram.
    pub(super) first: Vec<u8>,
    pub(super) session: u32,
    /// Time of the next attempt; with keys, the time at which they replace the present session.
    pub(super) at: Instant,
    pub(super) wait: Duration,
    /// Keys of the answer, while the present session may still answer.
    pub(super) keys: Option<Keys>,
}

/// A handshake that this end answered: the same first datagram, over another path or again, gets
/// the same answer.
#[derive(Debug)]
struct Answered {
    first: Vec<u8>,
    second: Vec<u8>,
    session: usize,
    until: Instant,
}

/// State of one session and its place in the queues.
#[derive(Debug)]
struct Entry {
    session: Session,
    index: u32,
    deadline: Option<Instant>,
    is_dirty: bool,
}

/// The sessions of one host.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) config: Config,
    budget: Budget,
    pub(super) draws: Draws,
    /// By number; a number is never used again.
    sessions: BTreeMap<usize, Entry>,
    next: usize,
    pub(super) by_index: BTreeMap<u32, usize>,
    timers: BTreeSet<(Instant, usize)>,
    dirty: VecDeque<usize>,
    pub(super) routes: Vec<Option<Route>>,
    pub(super) priorities: [Priority; MAX_PATHS],
    pub(super) opening: Option<Opening>,
    /// The session that this end opened last.
    pub(super) current: Option<usize>,
    wants_session: bool,
    answered: VecDeque<Answered>,
    pub(super) outgoing: VecDeque<Transmit>,
    pub(super) events: VecDeque<Event>,
    pub(super) refused: Refused,
}

impl Endpoint {
    /// A host without sessions.
    pub fn new(config: Config, seed: Seed) -> Self {
        Self {
            budget: Budget::new(config.max_buffered_in_all),
            config,
            draws: seed.stream("shake/endpoint"),
            sessions: BTreeMap::new(),
            next: 0,
            by_index: BTreeMap::new(),
            timers: BTreeSet::new(),
            dirty: VecDeque::new(),
            routes: Vec::new(),
            priorities: [Priority::Regular; MAX_PATHS],
            opening: None,
            current: None,
            wants_session: false,
            answered: VecDeque::new(),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
        }
    }

    /// The session that this end opened, once it has keys.
    pub fn session(&self) -> Option<usize> {
        self.current
    }

    /// Counts of refused datagrams.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// Number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Asks the paths of a session for their round-trip times, which is done each second anyway.
    pub fn ask(&mut self, now: Instant, session: usize) {
        self.with(session, |open| open.ask(now));
    }

    /// Whether a session exists.
    pub fn has_session(&self, session: usize) -> bool {
        self.sessions.contains_key(&session)
    }

    /// The paths of a session.
    pub fn paths(&self, now: Instant, session: usize) -> Vec<PathStats> {
        self.sessions.get(&session).map_or_else(Vec::new, |entry| entry.session.stats(now))
    }

    /// Bytes of a session's streams that were written and never sent.
    pub fn unsent(&self, session: usize) -> u64 {
        self.sessions.get(&session).map_or(0, |entry| entry.session.unsent())
    }

    /// Opens a stream; `None` if the session is over, has its number of streams, or was opened by
    /// the peer.
    pub fn open(&mut self, now: Instant, session: usize) -> Option<usize> {
        let stream = self.sessions.get_mut(&session)?.session.open(now, &self.config)?;
        self.touch(session);
        Some(stream)
    }

    /// Writes to a stream: no more than its send space is taken.
    pub fn write(&mut self, now: Instant, session: usize, stream: usize, data: Bytes) {
        self.with(session, |open| open.with(stream, |carrier| carrier.write(now, data)));
    }

    /// Ends this end's half of a stream.
    pub fn finish(&mut self, now: Instant, session: usize, stream: usize) {
        self.with(session, |open| open.with(stream, |carrier| carrier.finish(now)));
    }

    /// Gives a stream up.
    pub fn abort(&mut self, now: Instant, session: usize, stream: usize) {
        self.with(session, |open| open.with(stream, |carrier| carrier.abort(now)));
    }

    /// Releases a stream: the application reads it no more, and its number may be used again.
    pub fn release(&mut self, now: Instant, session: usize, stream: usize) {
        self.with(session, |open| open.release(now, stream));
    }

    /// Reads from a stream.
    pub fn read(&mut self, session: usize, stream: usize, max: u32) -> Option<Bytes> {
        let data = self.sessions.get_mut(&session)?.session.read(stream, max);
        if data.is_some() {
            self.touch(session);
        }
        data
    }

    /// State of a stream; `None` if there is none.
    pub fn stream(&self, session: usize, stream: usize) -> Option<StreamState> {
        self.sessions.get(&session)?.session.stream(stream)
    }

    /// Id of a stream, which no other has; `None` if there is none.
    pub fn id(&self, session: usize, stream: usize) -> Option<u64> {
        self.sessions.get(&session)?.session.streams.get(stream).map(|found| found.id)
    }

    /// State and counts of a stream at this end; `None` if there is none.
    pub fn report(&self, session: usize, stream: usize) -> Option<(CarrierReport, &Sent)> {
        self.sessions.get(&session)?.session.report(stream)
    }

    /// Takes the ends of a stream's data that left for the first time since the last call, in bytes
    /// from its start, with their times; empty unless [`Config::notes_departures`].
    pub fn take_departures(&mut self, session: usize, stream: usize) -> Vec<(u64, Instant)> {
        let entry = self.sessions.get_mut(&session);
        entry.map(|entry| entry.session.take_departures(stream)).unwrap_or_default()
    }

    /// Queues a datagram of an application, which is dropped after `lifetime` (10 s at most).
    ///
    /// # Errors
    /// If it is too long, or there is no session.
    pub fn send_datagram(
        &mut self,
        now: Instant,
        session: usize,
        flow: u32,
        payload: Bytes,
        lifetime: Duration,
    ) -> Result<(), DatagramError> {
        let Some(entry) = self.sessions.get_mut(&session) else {
            return Err(DatagramError::NoSession);
        };
        entry.session.send_datagram(now, flow, payload, lifetime)?;
        self.touch(session);
        Ok(())
    }

    /// Takes the oldest datagram of a flow.
    pub fn receive_datagram(&mut self, now: Instant, session: usize, flow: u32) -> Option<Bytes> {
        self.sessions.get_mut(&session)?.session.receive_datagram(now, flow)
    }

    /// Counters of a session's datagrams.
    pub fn datagrams(&self, session: usize) -> DatagramStats {
        let found = self.sessions.get(&session);
        found.map_or_else(DatagramStats::default, |entry| entry.session.datagrams.stats())
    }

    pub(super) fn with(&mut self, session: usize, act: impl FnOnce(&mut Session)) {
        if let Some(entry) = self.sessions.get_mut(&session) {
            act(&mut entry.session);
            self.touch(session);
        }
    }

    fn touch(&mut self, session: usize) {
        if let Some(entry) = self.sessions.get_mut(&session).filter(|entry| !entry.is_dirty) {
            entry.is_dirty = true;
            self.dirty.push_back(session);
        }
    }

    pub(super) fn add(
        &mut self,
        now: Instant,
        side: Side,
        settings: Settings,
        keys: Keys,
    ) -> usize {
        let number = self.next;
        self.next += 1;
        let seed = Seed(self.draws.next_u64());
        let (index, budget) = (keys.index, self.budget.clone());
        let session = Session::new(number, side, settings, keys, budget, now, seed);
        let entry = Entry { session, index, deadline: None, is_dirty: false };
        self.sessions.insert(number, entry);
        self.by_index.insert(index, number);
        self.touch(number);
        number
    }

    pub(super) fn unused_index(&mut self) -> u32 {
        loop {
            let index = self.draws.next_u64() as u32;
            if !self.by_index.contains_key(&index) {
                return index;
            }
        }
    }

    fn take(&mut self, now: Instant, route: Route, bytes: &[u8]) {
        match Datagram::parse(bytes) {
            Ok(Datagram::Record(record)) => {
                let Some(session) = self.by_index.get(&record.to).copied() else {
                    self.refused.unknown += 1;
                    return;
                };
                let entry = self.sessions.get_mut(&session);
                if entry.is_some_and(|entry| entry.session.take(now, &self.config, &record, route))
                {
                    if self.current == Some(session) {
                        // It was a pause of the links or of the peer.
                        self.opening = None;
                    }
                    self.touch(session);
                } else {
                    self.refused.forged += 1;
                }
            }
            Ok(Datagram::Initiation { from, noise }) => {
                self.take_initiation(now, route, bytes, from, noise);
            }
            Ok(Datagram::Answer { to, from, noise }) => self.take_answer(now, to, from, noise),
            Err(_) => self.refused.malformed += 1,
        }
    }

    fn take_initiation(
        &mut self,
        now: Instant,
        route: Route,
        bytes: &[u8],
        from: u32,
        noise: &[u8],
    ) {
        if let Some(known) = self.answered.iter().find(|answered| answered.first == bytes) {
            self.outgoing.push_back(Transmit::new(route, known.second.clone()));
            return;
        }
        let Some((settings, second, channel)) = answer(&self.config.psk, noise) else {
            self.refused.strangers += 1;
            return;
        };
        let Some(settings) = Settings::parse(&settings) else {
            self.refused.malformed += 1;
            return;
        };
        if self.answered.len() >= MAX_UNCONFIRMED {
            self.forget_oldest(now);
        }
        if self.sessions.len() >= self.config.max_sessions {
            self.refused.crowded += 1;
            return;
        }
        let index = self.unused_index();
        let session =
            self.add(now, Side::Acceptor, settings, Keys { index, remote: from, channel });
        let mut reply = Vec::new();
        Datagram::Answer { to: from, from: index, noise: &second }.write(&mut reply);
        self.outgoing.push_back(Transmit::new(route, reply.clone()));
        let (first, until) = (bytes.to_vec(), now + CONFIRM);
        self.answered.push_back(Answered { first, second: reply, session, until });
    }

    /// Forgets the oldest handshake, and its session if it was not used.
    fn forget_oldest(&mut self, now: Instant) {
        let Some(oldest) = self.answered.pop_front() else { return };
        let unused = |entry: &Entry| !entry.session.is_confirmed;
        if self.sessions.get(&oldest.session).is_some_and(unused) {
            self.end(now, oldest.session);
        }
    }

    /// Ends a session: its streams are reset, its number is free.
    pub(super) fn end(&mut self, now: Instant, session: usize) {
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.session.close(now);
        self.touch(session);
    }

    fn remove(&mut self, session: usize) {
        let Some(entry) = self.sessions.remove(&session) else { return };
        self.by_index.remove(&entry.index);
        entry.deadline.map(|at| self.timers.remove(&(at, session)));
        self.answered.retain(|answered| answered.session != session);
        if self.current == Some(session) {
            self.current = None;
        }
        self.events.push_back(Event::Ended { session });
    }

    fn path_up(&mut self, now: Instant, route: Route) {
        let place = usize::from(route.socket);
        if place >= MAX_PATHS {
            return;
        }
        if self.routes.len() <= place {
            self.routes.resize(place + 1, None);
        }
        self.routes[place] = Some(route);
        match self.current {
            Some(session) => self.with(session, |open| open.path_up(now, route.socket, route)),
            None => {
                if let Some(opening) = &self.opening {
                    self.outgoing.push_back(Transmit::new(route, opening.first.clone()));
                }
            }
        }
    }

    fn path_down(&mut self, now: Instant, path: u8) {
        if let Some(route) = self.routes.get_mut(usize::from(path)) {
            *route = None;
        }
        if let Some(session) = self.current {
            self.with(session, |open| open.path_down(now, path));
        }
    }

    /// Looks after a session whose time has come.
    fn look_after(&mut self, now: Instant, session: usize) {
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.session.wake(now);
        let silent = now.since(entry.session.heard);
        if self.current == Some(session) {
            if silent > SILENCE && entry.session.is_silent() && self.opening.is_none() {
                self.begin(now);
            }
        } else if silent > FORGOTTEN {
            self.end(now, session);
        }
        self.touch(session);
    }

    /// Enters the deadline of a drained session, and removes one that is over.
    fn settle(&mut self, session: usize) {
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.is_dirty = false;
        while let Some(event) = entry.session.event() {
            self.events.push_back(event);
        }
        if entry.session.is_closed {
            self.remove(session);
            return;
        }
        let forgotten = (self.current != Some(session)).then(|| entry.session.heard + FORGOTTEN);
        let past = Duration::from_nanos(1);
        let own = entry.session.deadline();
        let deadline = own.into_iter().chain(forgotten.map(|at| at + past)).min();
        if deadline != entry.deadline {
            entry.deadline.map(|at| self.timers.remove(&(at, session)));
            deadline.map(|at| self.timers.insert((at, session)));
            entry.deadline = deadline;
        }
    }
}

impl Machine for Endpoint {
    type Input = Input;
    type Output = Transmit;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Arrived(route, bytes) => self.take(now, route, &bytes),
            Input::PathUp(route) => self.path_up(now, route),
            Input::PathDown(path) => self.path_down(now, path),
            Input::Prioritize(path, priority) => {
                let Some(known) = self.priorities.get_mut(usize::from(path)) else { return };
                *known = priority;
                if let Some(session) = self.current {
                    self.with(session, |open| open.prioritize(now, path, priority));
                }
            }
            Input::Connect => {
                self.wants_session = true;
                self.begin(now);
            }
            Input::Close => {
                self.wants_session = false;
                self.opening = None;
                let sessions: Vec<_> = self.sessions.keys().copied().collect();
                for session in sessions {
                    self.with(session, |open| {
                        open.close(now);
                        open.bid_farewell();
                    });
                }
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some((at, session)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, session));
            if let Some(entry) = self.sessions.get_mut(&session) {
                entry.deadline = None;
            }
            self.look_after(now, session);
        }
        while self.answered.front().is_some_and(|answered| answered.until <= now) {
            self.forget_oldest(now);
        }
        if self.opening.as_ref().is_some_and(|opening| opening.at <= now) {
            self.go_on(now);
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(transmit) = self.outgoing.pop_front() {
            return Some(transmit);
        }
        while let Some(session) = self.dirty.front().copied() {
            let entry = self.sessions.get_mut(&session);
            if let Some(transmit) = entry.and_then(|entry| entry.session.poll(now)) {
                return Some(transmit);
            }
            self.dirty.pop_front();
            self.settle(session);
        }
        // A session that the peer has ended is opened anew.
        if self.wants_session && self.current.is_none() && self.opening.is_none() {
            self.begin(now);
            return self.outgoing.pop_front();
        }
        None
    }

    fn deadline(&self) -> Option<Instant> {
        let first = self.timers.first().map(|(at, _)| *at);
        let answered = self.answered.front().map(|answered| answered.until);
        let opening = self.opening.as_ref().map(|opening| opening.at);
        first.into_iter().chain(answered).chain(opening).min()
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
