//! The receiving end: any number of senders, few at a time.

mod outgoing;
mod session;
#[cfg(test)]
mod tests;

use crate::{Received, Transmit, header_bytes};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::{self, Cookie, Head, Limits, Message, Refusal};
use fairwave_wire::seal::{Key, Tag};
use session::Session;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// For how long a cookie is good, at least; at most for twice as long.
const COOKIE_LIFE: Duration = Duration::from_secs(10);
/// Number of sessions that that are over are remembered while their cookies may be good.
const MAX_ENDED: usize = 256;

/// A session: whose, and its number.
type Place = (SocketAddr, u64);

/// Configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The secret that both ends share.
    pub key: Key,
    /// A secret of this receiver alone, drawn anew when it starts.
    pub cookie_key: Key,
    /// Maximum of its grants.
    pub limits: Limits,
    /// Number of sessions that it serves at once.
    pub sessions: usize,
    /// After how long a silence it forgets a session.
    pub idle: Duration,
}

/// Observations of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// It agreed to a session.
    Agreed(SocketAddr, Limits),
    /// A session is over: by its sender's message, its silence, or its time.
    Ended(SocketAddr),
}

/// The receiving end. It speaks only when spoken to, with a seal; requested packets go to the host
/// of the session.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    sessions: BTreeMap<Place, Session>,
    /// Sessions that are over, and until when a repeated Start could bring them back.
    ended: VecDeque<(Place, Instant)>,
    answers: VecDeque<Transmit>,
    events: VecDeque<ReceiverEvent>,
    rejected: u64,
    surplus: u64,
}

impl Receiver {
    /// A receiver without sessions.
    pub fn new(config: ReceiverConfig) -> Self {
        let (answers, events) = (VecDeque::new(), VecDeque::new());
        let (sessions, ended) = (BTreeMap::new(), VecDeque::new());
        Self { config, sessions, ended, answers, events, rejected: 0, surplus: 0 }
    }

    /// Number of sessions that it serves now.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Datagrams so far that have no seal of the key or of a session.
    pub const fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Packets of sessions so far that came a second time, out of turn, or beyond the grant.
    pub const fn surplus(&self) -> u64 {
        self.surplus
    }

    /// Cookie that shows that `from` asked in this `epoch`, for a reader with the cookie key.
    fn cookie(&self, from: SocketAddr, session: u64, nonce: u64, epoch: u64) -> Cookie {
        let address = match from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let port = from.port().to_be_bytes();
        let numbers = [session, nonce, epoch].map(u64::to_be_bytes);
        let parts: [&[u8]; 5] = [&address, &port, &numbers[0], &numbers[1], &numbers[2]];
        let Tag(cookie) = self.config.cookie_key.tag("fairwave probe cookie", &parts);
        cookie
    }

    fn epoch(now: Instant) -> u64 {
        now.as_nanos() / COOKIE_LIFE.as_nanos()
    }

    /// A message sealed with the shared key. Only the answer to a cookie that is good makes state.
    fn greet(&mut self, now: Instant, received: &Received) {
        let Received { from, bytes, .. } = received;
        let Ok((session, message)) = probe::open(bytes, &self.config.key) else {
            self.rejected += 1;
            return;
        };
        let epoch = Self::epoch(now);
        let answer = match message {
            Message::Hello { nonce } => {
                Message::Challenge { cookie: self.cookie(*from, session, nonce, epoch) }
            }
            Message::Start { nonce, cookie, wanted } => {
                let known = |epoch| self.cookie(*from, session, nonce, epoch) == cookie;
                if known(epoch) || epoch.checked_sub(1).is_some_and(known) {
                    let key = probe::session_key(&self.config.key, session, nonce, &cookie);
                    return self.start(now, received, session, &key, wanted);
                }
                Message::Refuse { reason: Refusal::Cookie }
            }
            _ => return,
        };
        let key = self.config.key.clone();
        self.answer(received, session, &key, &answer);
    }

    fn start(&mut self, now: Instant, start: &Received, id: u64, key: &Key, wanted: Limits) {
        let place = (start.from, id);
        if !self.sessions.contains_key(&place) {
            let is_used = self.ended.iter().any(|(ended, _)| *ended == place);
            if is_used || self.sessions.len() >= self.config.sessions {
                let reason = if is_used { Refusal::Cookie } else { Refusal::Busy };
                let key = self.config.key.clone();
                return self.answer(start, id, &key, &Message::Refuse { reason });
            }
            let granted = wanted.stricter(self.config.limits);
            self.sessions
                .insert(place, Session::new(key.clone(), granted, header_bytes(place.0), now));
            debug_assert!(self.sessions.len() <= self.config.sessions, "too many sessions");
            self.events.push_back(ReceiverEvent::Agreed(start.from, granted));
        }
        // A repeated Start has the same key, unless somebody starts anew under an old number; to
        // that one this answer means nothing.
        let granted = self.sessions[&place].granted;
        self.answer(start, id, key, &Message::Accept { granted });
    }

    /// A message sealed with a session's key.
    fn serve(&mut self, now: Instant, id: u64, received: &Received) {
        let place = (received.from, id);
        let opened = self.sessions.get_mut(&place).and_then(|session| {
            let (_, message) = probe::open(&received.bytes, &session.key).ok()?;
            Some((session, message))
        });
        let Some((session, message)) = opened else {
            self.rejected += 1;
            return;
        };
        (session.last_received, session.own) = (now, received.own);
        match message {
            Message::Data { train, number, .. } => {
                self.surplus += u64::from(!session.note(train, number, now));
            }
            Message::End { train, chunk, .. } => {
                if let Some(report) = session.report(train, chunk) {
                    let key = session.key.clone();
                    self.answer(received, id, &key, &Message::Report(report));
                }
            }
            Message::Done => self.forget(now, place),
            Message::Fetch(order) => {
                if let Some(packets) = session.fetch(order, now) {
                    let (key, train) = (session.key.clone(), order.train);
                    self.answer(received, id, &key, &Message::Sent { train, packets });
                }
            }
            _ => {}
        }
    }

    fn forget(&mut self, now: Instant, place: Place) {
        self.sessions.remove(&place);
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        // `age` looks at the front only, so those that end first must be there.
        debug_assert!(self.ended.back().is_none_or(|(_, until)| *until <= now + COOKIE_LIFE * 2));
        self.ended.push_back((place, now + COOKIE_LIFE * 2));
        debug_assert!(self.ended.len() <= MAX_ENDED, "{} are remembered", self.ended.len());
        self.events.push_back(ReceiverEvent::Ended(place.0));
    }

    /// Answers, but never with more bytes than were received.
    fn answer(&mut self, received: &Received, session: u64, key: &Key, message: &Message) {
        let mut bytes = Vec::new();
        // A longer answer to a forged address would multiply an attacker's traffic.
        let written = message.write(session, key, 0, &mut bytes);
        if written.is_ok() && bytes.len() <= received.bytes.len() {
            self.answers.push_back(Transmit { to: received.from, own: received.own, bytes });
        }
    }

    /// A packet that a session has ordered and that is due.
    fn ordered(&mut self, now: Instant) -> Option<Transmit> {
        self.sessions.iter_mut().find_map(|((to, id), session)| {
            let (message, len) = session.due(now)?;
            let mut bytes = Vec::with_capacity(len);
            message.write(*id, &session.key, len, &mut bytes).ok()?;
            Some(Transmit { to: *to, own: session.own, bytes })
        })
    }

    /// Forgets the sessions whose time is over.
    fn age(&mut self, now: Instant) {
        while self.ended.front().is_some_and(|(_, until)| *until <= now) {
            self.ended.pop_front();
        }
        let idle = self.config.idle;
        let over = |session: &Session| session.ends(idle) <= now;
        let old: Vec<_> =
            self.sessions.iter().filter(|(_, s)| over(s)).map(|(place, _)| *place).collect();
        for place in old {
            self.forget(now, place);
        }
    }
}

impl Machine for Receiver {
    type Input = Received;
    type Output = Transmit;
    type Event = ReceiverEvent;

    fn handle(&mut self, now: Instant, received: Received) {
        self.age(now);
        match Head::read(&received.bytes) {
            Ok(head) if head.is_within_session() => self.serve(now, head.session, &received),
            Ok(_) => self.greet(now, &received),
            Err(_) => self.rejected += 1,
        }
    }

    fn wake(&mut self, now: Instant) {
        self.age(now);
    }

    fn poll(&mut self, now: Instant) -> Option<Transmit> {
        self.answers.pop_front().or_else(|| self.ordered(now))
    }

    fn deadline(&self) -> Option<Instant> {
        let sessions = self.sessions.values();
        sessions.flat_map(|s| [Some(s.ends(self.config.idle)), s.next()]).flatten().min()
    }

    fn event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }
}
