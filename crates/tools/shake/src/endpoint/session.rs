//! A session: the paths and the streams between two hosts that have keys.

use super::path::{MTUS, Path};
use super::{Config, Event, MAX_PATHS, Mode, PathStats, Route, Transmit};
use crate::noise::{Channel, TAG_LEN};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_shake::{Connection, Input as Fact, Segment};
use fairwave_units::{Duration, Instant, Seed, Stream as Draws};
use fairwave_wire::shake::record::{Echo, Frame, RECORD_HEAD_LEN, Record};
use fairwave_wire::shake::{Body, Header, Reason, Side};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Time between questions while streams are open, and while none is: short enough for a NAT's
/// memory of UDP (RFC 4787 section 4.3: 2 minutes, often 30 s).
const BUSY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(15);
/// Time for which a stream that is over answers a peer that missed its last acknowledgement.
const LINGER: Duration = Duration::from_secs(10);

/// A stream of the session.
#[derive(Debug)]
struct Stream {
    id: u64,
    connection: Connection<Bytes>,
    /// Its entry among the timers.
    deadline: Option<Instant>,
    is_dirty: bool,
    /// Whether the application has let it go.
    is_released: bool,
    over_since: Option<Instant>,
    reset: Option<Reason>,
    mss: u16,
}

/// A frame that waits to leave.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Ping(u8, Option<u16>),
    Pong(u8, Echo),
    Close(u8),
}

/// State of one session.
#[derive(Debug)]
pub(super) struct Session {
    number: usize,
    side: Side,
    mode: Mode,
    /// Its index at the peer.
    remote: u32,
    channel: Channel,
    draws: Draws,
    paths: Vec<Path>,
    streams: Slab<Stream>,
    by_id: BTreeMap<u64, usize>,
    timers: BTreeSet<(Instant, usize)>,
    dirty: VecDeque<usize>,
    waiting: VecDeque<Waiting>,
    /// Time of the latest record from the peer.
    pub(super) heard: Instant,
    /// Whether the peer has shown that it has the keys.
    pub(super) is_confirmed: bool,
    pub(super) is_closed: bool,
    ask_at: Option<Instant>,
    /// Largest payload that the peer's paths take.
    peer_mss: Option<u16>,
    events: VecDeque<Event>,
    /// Memory for frames.
    frame: Vec<u8>,
}

impl Session {
    pub(super) fn new(
        number: usize,
        side: Side,
        mode: Mode,
        remote: u32,
        channel: Channel,
        now: Instant,
        seed: Seed,
    ) -> Self {
        Self {
            number,
            side,
            mode,
            remote,
            channel,
            draws: seed.stream("shake/session"),
            paths: Vec::new(),
            streams: Slab::new(),
            by_id: BTreeMap::new(),
            timers: BTreeSet::new(),
            dirty: VecDeque::new(),
            waiting: VecDeque::new(),
            heard: now,
            is_confirmed: side == Side::Opener,
            is_closed: false,
            ask_at: (side == Side::Opener).then_some(now),
            peer_mss: None,
            events: VecDeque::new(),
            frame: Vec::new(),
        }
    }

    fn path(&mut self, id: u8) -> Option<&mut Path> {
        let index = usize::from(id);
        if index >= MAX_PATHS {
            return None;
        }
        while self.paths.len() <= index {
            self.paths.push(Path::default());
        }
        self.paths.get_mut(index)
    }

    /// The host has a path, at first or again.
    pub(super) fn path_up(&mut self, now: Instant, id: u8, route: Route) {
        let Some(path) = self.path(id) else { return };
        path.route = Some(route);
        path.is_up = true;
        path.restart();
        self.waiting.extend(MTUS.map(|mtu| Waiting::Ping(id, Some(mtu))));
        self.ask_at = Some(now + BUSY);
        // Streams take the path when it has answered.
    }

    /// The host has lost a path.
    pub(super) fn path_down(&mut self, now: Instant, id: u8) {
        let Some(path) = self.path(id) else { return };
        path.is_up = false;
        self.tell_all(now, |_| Some(Fact::Leave { path: id }));
    }

    fn tell_all(&mut self, now: Instant, fact: impl Fn(&Stream) -> Option<Fact<Bytes>>) {
        for slot in 0..self.streams.capacity() {
            let Some(stream) = self.streams.get_mut(slot) else { continue };
            if let Some(fact) = fact(stream) {
                stream.connection.handle(now, fact);
                self.touch(slot);
            }
        }
    }

    fn touch(&mut self, slot: usize) {
        if let Some(stream) = self.streams.get_mut(slot).filter(|stream| !stream.is_dirty) {
            stream.is_dirty = true;
            self.dirty.push_back(slot);
        }
    }

    /// Payload of a segment that every path takes that has answered: `None` before one has.
    pub(super) fn mss(&self) -> Option<u16> {
        let up = self.paths.iter().filter(|path| path.is_up);
        up.filter_map(Path::mss).min()
    }

    /// Payload of the segments of a new stream.
    fn stream_mss(&self) -> u16 {
        let least = Path::default().payload_of(MTUS[2]) - 20;
        self.mss().or(self.peer_mss).unwrap_or(least).max(least)
    }

    fn add(&mut self, config: &Config, side: Side, id: u64) -> usize {
        let mss = self.stream_mss();
        let shake = fairwave_shake::Config { mss: mss.into(), ..config.shake };
        let seed = Seed(self.draws.next_u64());
        let slot = self.streams.insert(Stream {
            id,
            connection: Connection::new(shake, self.mode.rules(), side, id, seed),
            deadline: None,
            is_dirty: false,
            is_released: false,
            over_since: None,
            reset: None,
            mss,
        });
        self.by_id.insert(id, slot);
        slot
    }

    /// Opens a stream on all paths that work.
    pub(super) fn open(&mut self, now: Instant, config: &Config) -> Option<usize> {
        if self.streams.len() >= config.max_streams || self.side == Side::Acceptor {
            return None;
        }
        let id = self.draws.next_u64();
        let slot = self.add(config, self.side, id);
        for path in 0..self.paths.len() {
            self.join(now, slot, path as u8);
        }
        self.ask_at = self.ask_at.map(|at| at.min(now + BUSY));
        Some(slot)
    }

    /// Joins a path to a stream, if it has answered and takes the stream's segments.
    fn join(&mut self, now: Instant, slot: usize, id: u8) {
        let path = &self.paths[usize::from(id)];
        let Some(stream) = self.streams.get_mut(slot) else { return };
        if path.is_up && path.mss().is_some_and(|mss| mss >= stream.mss) {
            stream.connection.handle(now, Fact::Join { path: id, nominal: None });
            self.touch(slot);
        }
    }

    /// Takes a record that came over `route`. Returns whether it was of the peer and new.
    pub(super) fn take(
        &mut self,
        now: Instant,
        config: &Config,
        record: &Record<'_>,
        route: Route,
    ) -> bool {
        let (id, len) = (record.path, record.sealed.len() + RECORD_HEAD_LEN);
        if usize::from(id) >= MAX_PATHS {
            return false;
        }
        self.path(id);
        let path = &mut self.paths[usize::from(id)];
        let Some(bytes) = self.channel.open(record, &mut path.seen) else { return false };
        path.note_received(len);
        if self.side == Side::Acceptor {
            // The opener's address may change, also by a NAT.
            path.route = Some(route);
            path.is_up = true;
        }
        (self.heard, self.is_confirmed) = (now, true);
        let bytes = Bytes::from(bytes);
        match Frame::parse(&bytes) {
            Ok(Frame::Message(header, payload)) if header.path == id => {
                let payload = bytes.slice_ref(payload);
                self.take_message(now, config, header, payload);
            }
            Ok(Frame::Ping(echo)) => {
                self.peer_mss = Some(echo.mss).filter(|mss| *mss > 0);
                self.waiting.push_back(Waiting::Pong(id, echo));
            }
            Ok(Frame::Pong(echo)) => self.take_pong(now, id, &echo),
            Ok(Frame::Close) => self.close(now),
            // A peer with the key that speaks otherwise: nothing to answer.
            Ok(_) | Err(_) => {}
        }
        true
    }

    fn take_pong(&mut self, now: Instant, id: u8, echo: &Echo) {
        let Some(path) = self.path(id) else { return };
        let before = path.mss();
        if path.take_answer(now, echo) && path.mss() != before {
            let slots = 0..self.streams.capacity();
            slots.for_each(|slot| self.join(now, slot, id));
            self.events.push_back(Event::PathUp { session: self.number, path: id });
        }
    }

    fn take_message(&mut self, now: Instant, config: &Config, header: Header, payload: Bytes) {
        let opens = matches!(header.body, Body::Join(join) if join.open);
        let known = self.by_id.get(&header.connection).copied();
        let is_new = known.is_none() && opens && self.side == Side::Acceptor;
        let slot = match known {
            Some(slot) => slot,
            None if is_new && self.streams.len() < config.max_streams => {
                let slot = self.add(config, Side::Acceptor, header.connection);
                self.events.push_back(Event::Accepted { session: self.number, stream: slot });
                slot
            }
            None => return,
        };
        let segment = Segment { header, payload };
        self.streams[slot].connection.handle(now, Fact::Segment(segment));
        self.touch(slot);
    }

    /// The peer is gone, or this end goes: every stream ends.
    pub(super) fn close(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.tell_all(now, |_| Some(Fact::Abort));
            self.ask_at = None;
        }
    }

    /// Tells the peer that the session is over.
    pub(super) fn bid_farewell(&mut self) {
        self.waiting.extend((0..self.paths.len()).map(|path| Waiting::Close(path as u8)));
    }

    pub(super) fn write(&mut self, now: Instant, slot: usize, data: Bytes) {
        self.handle(now, slot, Fact::Write(data));
    }

    /// Passes a fact to a stream.
    pub(super) fn handle(&mut self, now: Instant, slot: usize, fact: Fact<Bytes>) {
        if let Some(stream) = self.streams.get_mut(slot) {
            stream.connection.handle(now, fact);
            self.touch(slot);
        }
    }

    /// Reads from a stream; windows may open.
    pub(super) fn read(&mut self, slot: usize, max: u32) -> Option<Bytes> {
        let data = self.streams.get_mut(slot)?.connection.read(max);
        if data.is_some() {
            self.touch(slot);
        }
        data
    }

    pub(super) fn connection(&self, slot: usize) -> Option<(&Connection<Bytes>, Option<Reason>)> {
        self.streams.get(slot).map(|stream| (&stream.connection, stream.reset))
    }

    /// The application has no use for a stream any more: what it wrote is still delivered.
    pub(super) fn release(&mut self, now: Instant, slot: usize) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        stream.is_released = true;
        stream.connection.handle(now, Fact::Close);
        self.touch(slot);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.timers.first().map(|(at, _)| *at);
        first.into_iter().chain(self.ask_at).min()
    }

    pub(super) fn wake(&mut self, now: Instant) {
        while let Some((at, slot)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, slot));
            let Some(stream) = self.streams.get_mut(slot) else { continue };
            stream.deadline = None;
            let lingered = stream.over_since.is_some_and(|since| now.since(since) >= LINGER);
            if lingered && stream.is_released {
                let stream = self.streams.remove(slot);
                self.by_id.remove(&stream.id);
                continue;
            }
            stream.connection.wake(now);
            self.touch(slot);
        }
        if self.ask_at.is_some_and(|at| at <= now) {
            self.ask(now);
        }
    }

    /// Asks every path whether it works, and one without an answer so far for its MTU.
    fn ask(&mut self, now: Instant) {
        for (id, path) in self.paths.iter().enumerate().filter(|(_, path)| path.is_up) {
            let id = id as u8;
            if path.mss().is_some() {
                self.waiting.push_back(Waiting::Ping(id, None));
            } else {
                self.waiting.extend(MTUS.map(|mtu| Waiting::Ping(id, Some(mtu))));
            }
        }
        let is_busy = !self.streams.is_empty() || self.mss().is_none();
        self.ask_at = Some(now + if is_busy { BUSY } else { IDLE });
    }

    /// Whether questions since the last record of the peer are without an answer on every path.
    pub(super) fn is_silent(&self) -> bool {
        let mut up = self.paths.iter().filter(|path| path.is_up).peekable();
        up.peek().is_some() && up.all(|path| path.is_silent(self.heard))
    }

    /// The next datagram.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Transmit> {
        while let Some(waiting) = self.waiting.pop_front() {
            if let Some(transmit) = self.frame(now, waiting) {
                return Some(transmit);
            }
        }
        while let Some(slot) = self.dirty.front().copied() {
            let segment = self.streams.get_mut(slot).and_then(|stream| stream.connection.poll(now));
            if let Some(segment) = segment {
                let path = segment.header.path;
                let frame = Frame::Message(segment.header, &segment.payload);
                if let Some(transmit) = self.record(path, &frame) {
                    return Some(transmit);
                }
                continue;
            }
            self.dirty.pop_front();
            self.settle(now, slot);
        }
        None
    }

    /// Takes the events of a drained stream, and enters its deadline.
    fn settle(&mut self, now: Instant, slot: usize) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        stream.is_dirty = false;
        let mut any = false;
        while let Some(event) = stream.connection.event() {
            any = true;
            if let fairwave_shake::Event::Reset { reason, .. } = event {
                stream.reset = Some(reason);
            }
        }
        if stream.connection.is_over() && stream.over_since.is_none() {
            stream.over_since = Some(now);
        }
        let linger = stream.over_since.filter(|_| stream.is_released).map(|since| since + LINGER);
        let deadline = stream.connection.deadline().into_iter().chain(linger).min();
        if deadline != stream.deadline {
            stream.deadline.map(|at| self.timers.remove(&(at, slot)));
            deadline.map(|at| self.timers.insert((at, slot)));
            stream.deadline = deadline;
        }
        if any {
            self.events.push_back(Event::Stream { session: self.number, stream: slot });
        }
    }

    fn frame(&mut self, now: Instant, waiting: Waiting) -> Option<Transmit> {
        let mss = self.mss().unwrap_or(0);
        match waiting {
            Waiting::Ping(id, mtu) => {
                let token = self.draws.next_u64() as u32;
                let echo = self.path(id)?.ask(now, token, mss, mtu);
                self.record(id, &Frame::Ping(echo))
            }
            Waiting::Pong(id, asked) => {
                let echo = self.path(id)?.reply(&asked, mss);
                self.record(id, &Frame::Pong(echo))
            }
            Waiting::Close(id) => self.record(id, &Frame::Close),
        }
    }

    /// A record with a frame, if there is a way for it.
    fn record(&mut self, id: u8, frame: &Frame<'_>) -> Option<Transmit> {
        let path = self.paths.get_mut(usize::from(id))?;
        let route = path.route.filter(|_| path.is_up)?;
        self.frame.clear();
        frame.write(&mut self.frame).ok()?;
        let number = path.take_number();
        let mut bytes = Vec::with_capacity(RECORD_HEAD_LEN + self.frame.len() + TAG_LEN);
        let head = Record { to: self.remote, path: id, number, sealed: &[] };
        fairwave_wire::shake::record::Datagram::Record(head).write(&mut bytes);
        self.channel.seal(id, number, &self.frame, &mut bytes);
        path.note_sent(bytes.len());
        Some(Transmit::new(route, bytes))
    }

    pub(super) fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn stats(&self) -> Vec<PathStats> {
        let known = |(_, path): &(usize, &Path)| path.route.is_some();
        let paths = self.paths.iter().enumerate().filter(known);
        paths.map(|(id, path)| path.stats(id as u8)).collect()
    }
}
