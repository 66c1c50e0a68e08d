//! A session: the paths and the streams between two hosts that have keys.

use super::budget::{Budget, Share};
use super::carrier::{self, Carrier, CarrierReport, Piece};
use super::config::Config;
use super::datagrams::Datagrams;
use super::event::{Event, StreamState};
use super::keys::Keys;
use super::path::{MIN_MSS, Path};
use super::route::{MAX_PATHS, Route, Transmit};
use super::sent::Sent;
use super::settings::{Mode, Settings};
use super::steady::Steady;
use crate::noise::{Channel, TAG_LEN};
use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_shake::{Connection, Input as Fact, Segment, multi};
use fairwave_units::{Duration, Instant, Seed, Stream as Draws};
use fairwave_wire::shake::record::{Bundle, Echo, Frame, RECORD_HEAD_LEN, Record};
use fairwave_wire::shake::{Body, Header, Reason, Side};
use slab::Slab;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;

/// Time between questions while streams are open, and while none is: short enough for a NAT's
/// memory of UDP (RFC 4787 section 4.3: 2 minutes, often 30 s).
pub(super) const BUSY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(15);

/// Repeats of a reset. An idle peer sends nothing on the stream that would be answered with one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeated {
    /// Time of the first.
    pub(super) since: Option<Instant>,
    /// Number of them.
    pub(super) count: u32,
}

/// A stream of the session.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u64,
    pub(super) carrier: Carrier,
    /// Its entry among the timers.
    pub(super) deadline: Option<Instant>,
    pub(super) is_dirty: bool,
    /// Whether the application has let it go.
    pub(super) is_released: bool,
    pub(super) over_since: Option<Instant>,
    /// Time since which it is over and released.
    pub(super) lingers_since: Option<Instant>,
    pub(super) reset: Option<Reason>,
    /// Number of paths, from the first on, that have carried the reason of a set's reset.
    pub(super) announced: usize,
    pub(super) mss: u16,
    pub(super) max_mss: u16,
    /// Bytes that it may buffer in each direction; none once its buffers were freed.
    pub(super) share: Share,
    sent: Sent,
}

/// A frame that waits to leave.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiting {
    Ping(u8, Option<u16>),
    Pong(u8, Echo),
    Close(u8),
    /// The reset of a set, for a path.
    Reset(u8, u64, Reason),
}

/// The header of a message that resets a set.
pub(super) fn reset_header(from: Side, path: u8, connection: u64, reason: Reason) -> Header {
    let (number, body) = (NonZeroU64::MIN, Body::Reset { reason });
    Header { connection, from, path, number, sent_us: 0, body }
}

/// State of one session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) number: usize,
    pub(super) side: Side,
    pub(super) settings: Settings,
    /// Its index at the peer.
    remote: u32,
    channel: Channel,
    budget: Budget,
    draws: Draws,
    pub(super) paths: Vec<Path>,
    pub(super) streams: Slab<Stream>,
    pub(super) by_id: BTreeMap<u64, usize>,
    /// Released streams that are over, by the time since which they are.
    pub(super) lingering: BTreeSet<(Instant, usize)>,
    /// Streams reset by this end whose peer may have missed that.
    pub(super) resets: BTreeMap<usize, Repeated>,
    pub(super) timers: BTreeSet<(Instant, usize)>,
    dirty: VecDeque<usize>,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) datagrams: Datagrams,
    /// Time of the latest record from the peer.
    pub(super) heard: Instant,
    /// Whether the peer has shown that it has the keys.
    pub(super) is_confirmed: bool,
    pub(super) is_closed: bool,
    pub(super) ask_at: Option<Instant>,
    /// Time of the next questions if one of the latest is answered, in a session without streams.
    pub(super) rest_until: Option<Instant>,
    /// Largest payload that the peer's paths take.
    pub(super) peer_mss: Option<u16>,
    pub(super) steady: Steady,
    pub(super) events: VecDeque<Event>,
    /// Memory for frames, and for segments of TCP.
    frame: Vec<u8>,
    tcp: Vec<u8>,
}

impl Session {
    pub(super) fn new(
        number: usize,
        side: Side,
        settings: Settings,
        keys: Keys,
        budget: Budget,
        now: Instant,
        seed: Seed,
    ) -> Self {
        Self {
            number,
            side,
            settings,
            remote: keys.remote,
            channel: keys.channel,
            budget,
            draws: seed.stream("shake/session"),
            paths: Vec::new(),
            streams: Slab::new(),
            by_id: BTreeMap::new(),
            lingering: BTreeSet::new(),
            resets: BTreeMap::new(),
            timers: BTreeSet::new(),
            dirty: VecDeque::new(),
            waiting: VecDeque::new(),
            datagrams: Datagrams::default(),
            heard: now,
            is_confirmed: side == Side::Opener,
            is_closed: false,
            ask_at: (side == Side::Opener).then_some(now),
            rest_until: None,
            peer_mss: None,
            steady: Steady::default(),
            events: VecDeque::new(),
            frame: Vec::new(),
            tcp: Vec::new(),
        }
    }

    pub(super) fn path(&mut self, id: u8) -> Option<&mut Path> {
        let index = usize::from(id);
        if index >= MAX_PATHS {
            return None;
        }
        while self.paths.len() <= index {
            self.paths.push(Path::default());
        }
        self.paths.get_mut(index)
    }

    pub(super) fn each(&mut self, act: impl Fn(&mut Stream)) {
        for slot in 0..self.streams.capacity() {
            if let Some(stream) = self.streams.get_mut(slot) {
                act(stream);
                self.touch(slot);
            }
        }
    }

    pub(super) fn touch(&mut self, slot: usize) {
        if let Some(stream) = self.streams.get_mut(slot).filter(|stream| !stream.is_dirty) {
            stream.is_dirty = true;
            self.dirty.push_back(slot);
        }
    }

    fn add(&mut self, now: Instant, config: &Config, side: Side, id: u64) -> usize {
        let mss = self.stream_mss().min(config.max_mss);
        let shares = self.streams.iter().map(|(_, stream)| u64::from(stream.share.bytes()));
        let shares = shares.filter(|share| *share > 0);
        let (streams, taken) = shares.fold((0, 0), |(count, sum), share| (count + 1, sum + share));
        let legs = self.settings.weights.len();
        let max = match self.settings.mode {
            Mode::Multi => config.set.max_buffered(legs),
            _ => config.shake.send_buffer,
        };
        let share = self.budget.take(config.share(streams, taken).min(max));
        let bytes = share.bytes();
        let receive_buffer = bytes.min(config.shake.receive_buffer);
        let carrier = match self.settings.mode {
            Mode::Multi => {
                let (weights, draws) = (&self.settings.weights, &mut self.draws);
                let set = config.set.within(bytes, legs);
                carrier::set(now, &set, side, id, mss, weights, draws)
            }
            mode => {
                let shake = fairwave_shake::Config {
                    mss: mss.into(),
                    send_buffer: bytes,
                    receive_buffer,
                    ..config.shake
                };
                let seed = Seed(self.draws.next_u64());
                let connection = Connection::new(shake, config.rules(mode), side, id, seed);
                Carrier::Shake(Box::new(connection))
            }
        };
        let slot = self.streams.insert(Stream {
            id,
            carrier,
            deadline: None,
            is_dirty: false,
            is_released: false,
            over_since: None,
            lingers_since: None,
            reset: None,
            announced: 0,
            mss,
            max_mss: config.max_mss,
            share,
            sent: Sent::new(config.notes_departures),
        });
        self.by_id.insert(id, slot);
        self.pass_priorities(now, slot);
        slot
    }

    /// Opens a stream on all paths that work.
    pub(super) fn open(&mut self, now: Instant, config: &Config) -> Option<usize> {
        if self.side == Side::Acceptor || !self.make_room(config.max_streams) {
            return None;
        }
        let id = self.draws.next_u64();
        let slot = self.add(now, config, self.side, id);
        for path in 0..self.paths.len() {
            self.join(now, slot, path as u8);
        }
        self.touch(slot);
        self.ask_at = self.ask_at.map(|at| at.min(now + BUSY));
        Some(slot)
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
            Ok(Frame::Segment { set, tcp }) => {
                let tcp = bytes.slice_ref(tcp);
                self.take_segment(now, config, id, set, &tcp);
            }
            Ok(Frame::Ping(echo)) => {
                if self.side == Side::Acceptor {
                    self.prioritize(now, id, echo.priority);
                }
                self.take_peer_mss(now, echo.mss);
                self.waiting.push_back(Waiting::Pong(id, echo));
                self.repeat_resets(now, id);
            }
            Ok(Frame::Bundle(messages)) => {
                for header in messages.map_while(Result::ok).filter(|header| header.path == id) {
                    self.take_message(now, config, header, Bytes::new());
                }
            }
            Ok(Frame::Pong(echo)) => {
                self.take_pong(now, id, &echo);
                self.repeat_resets(now, id);
            }
            Ok(Frame::Close) => self.close(now),
            Ok(Frame::Unreliable(datagram)) => {
                self.take_datagram(now, &datagram, bytes.slice_ref(datagram.payload));
            }
            // A peer with the key that speaks otherwise: nothing to answer.
            Ok(_) | Err(_) => {}
        }
        true
    }

    fn take_message(&mut self, now: Instant, config: &Config, header: Header, payload: Bytes) {
        let opens = matches!(header.body, Body::Join(join) if join.open)
            && self.settings.mode != Mode::Multi;
        let Some(slot) = self.find(now, config, header.connection, opens) else { return };
        match (&mut self.streams[slot].carrier, header.body) {
            (Carrier::Shake(connection), _) => {
                connection.handle(now, Fact::Segment(Segment { header, payload }));
                self.touch(slot);
            }
            (Carrier::Multi(_), Body::Reset { reason }) => self.take_reset(now, slot, reason),
            (Carrier::Multi(_), _) => {}
        }
    }

    /// A segment for a set's connection. The first that opens one makes the set.
    fn take_segment(&mut self, now: Instant, config: &Config, leg: u8, set: u64, bytes: &Bytes) {
        let Some(segment) = carrier::read_tcp(bytes) else { return };
        let opens = segment.header.flags.syn && self.settings.mode == Mode::Multi;
        let Some(slot) = self.find(now, config, set, opens) else { return };
        if let Carrier::Multi(machine) = &mut self.streams[slot].carrier {
            machine.handle(now, multi::Input::Segment(leg, segment));
            self.touch(slot);
        }
    }

    /// The stream with an id of the peer's: a new one if the message `opens` it.
    fn find(&mut self, now: Instant, config: &Config, id: u64, opens: bool) -> Option<usize> {
        if let Some(slot) = self.by_id.get(&id).copied() {
            return Some(slot);
        }
        if !opens || self.side == Side::Opener || !self.make_room(config.max_streams) {
            return None;
        }
        let slot = self.add(now, config, Side::Acceptor, id);
        self.events.push_back(Event::Accepted { session: self.number, stream: slot });
        Some(slot)
    }

    /// The peer is gone, or this end goes: every stream ends.
    pub(super) fn close(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.each(|stream| stream.carrier.abort(now));
            self.ask_at = None;
        }
    }

    /// Tells the peer that the session is over.
    pub(super) fn bid_farewell(&mut self) {
        self.waiting.extend((0..self.paths.len()).map(|path| Waiting::Close(path as u8)));
    }

    /// Acts on a stream's machine.
    pub(super) fn with(&mut self, slot: usize, act: impl FnOnce(&mut Carrier)) {
        if let Some(stream) = self.streams.get_mut(slot) {
            act(&mut stream.carrier);
            self.touch(slot);
        }
    }

    /// Reads from a stream; windows may open.
    pub(super) fn read(&mut self, slot: usize, max: u32) -> Option<Bytes> {
        let data = self.streams.get_mut(slot)?.carrier.read(max);
        if data.is_some() {
            self.touch(slot);
        }
        data
    }

    pub(super) fn stream(&self, slot: usize) -> Option<StreamState> {
        let stream = self.streams.get(slot)?;
        Some(StreamState {
            send_space: stream.carrier.send_space(),
            is_read_to_the_end: stream.carrier.is_read_to_the_end(),
            is_over: stream.carrier.is_over(),
            reset: stream.reset,
        })
    }

    /// State and counts of a stream.
    pub(super) fn report(&self, slot: usize) -> Option<(CarrierReport, &Sent)> {
        let stream = self.streams.get(slot)?;
        Some((stream.carrier.report(), &stream.sent))
    }

    /// Takes the departures of a stream's data.
    pub(super) fn take_departures(&mut self, slot: usize) -> Vec<(u64, Instant)> {
        self.streams.get_mut(slot).map(|stream| stream.sent.take_departures()).unwrap_or_default()
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
            stream.carrier.wake(now);
            if self.removal(slot).is_some_and(|at| at <= now) {
                self.remove(slot);
            } else {
                self.touch(slot);
            }
        }
        if self.ask_at.is_some_and(|at| at <= now) {
            self.ask(now);
        }
    }

    /// Asks every path whether it works, and one without an answer so far for its MTU. While
    /// streams are open the MTU is checked.
    pub(super) fn ask(&mut self, now: Instant) {
        let has_streams = !self.streams.is_empty();
        for (id, path) in self.paths.iter_mut().enumerate().filter(|(_, path)| path.is_up) {
            let id = id as u8;
            let known = if has_streams { path.mtu_to_check(now) } else { None };
            self.waiting.extend(known.map(|mtu| Waiting::Ping(id, Some(mtu))));
            if path.mss().is_some() {
                self.waiting.push_back(Waiting::Ping(id, None));
            }
            self.waiting.extend(path.mtus_to_ask().map(|mtu| Waiting::Ping(id, Some(mtu))));
        }
        if self.side == Side::Opener {
            self.grow(now, self.mss());
        }
        let is_busy = has_streams || self.mss().is_none();
        // An answer lets an idle session rest.
        self.rest_until = Some(now + IDLE).filter(|_| !is_busy);
        self.ask_at = Some(now + BUSY);
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
        if let Some(transmit) = self.poll_datagram(now) {
            return Some(transmit);
        }
        while let Some(slot) = self.dirty.front().copied() {
            if let Some(transmit) = self.announce_reset(slot) {
                return Some(transmit);
            }
            let piece = self.streams.get_mut(slot).and_then(|stream| stream.carrier.poll(now));
            if let Some(piece) = piece {
                let stream = &mut self.streams[slot];
                let id = stream.id;
                if let Piece::Message(segment) = &piece {
                    stream.sent.note(now, segment);
                }
                if let Some(transmit) = self.piece(id, &piece) {
                    return Some(transmit);
                }
                continue;
            }
            self.dirty.pop_front();
            self.settle(now, slot);
        }
        (0..self.paths.len()).find_map(|path| self.bundled(path as u8))
    }

    /// A record with something of a stream.
    fn piece(&mut self, id: u64, piece: &Piece) -> Option<Transmit> {
        match piece {
            Piece::Message(Segment { header, .. })
                if matches!(header.body, Body::Ack(_) | Body::Reset { .. }) =>
            {
                self.bundle(header)
            }
            Piece::Message(segment) => {
                let frame = Frame::Message(segment.header, &segment.payload);
                self.record(segment.header.path, &frame)
            }
            Piece::Tcp(leg, segment) => {
                let mut tcp = std::mem::take(&mut self.tcp);
                tcp.clear();
                let written = carrier::write_tcp(segment, &mut tcp);
                let frame = Frame::Segment { set: id, tcp: &tcp };
                let record = written.and_then(|()| self.record(*leg, &frame));
                self.tcp = tcp;
                record
            }
        }
    }

    /// Adds an acknowledgement or a reset to its path's bundle, which may leave behind data;
    /// returns the bundle before it if that has no room.
    fn bundle(&mut self, header: &Header) -> Option<Transmit> {
        let path = self.path(header.path)?;
        let before = path.bundle.len();
        Bundle::add(header, &mut path.bundle).ok()?;
        if path.bundle.len() <= usize::from(MIN_MSS) {
            return None;
        }
        let last = path.bundle.split_off(before);
        let full = self.bundled(header.path);
        self.path(header.path)?.bundle.extend(last);
        full
    }

    /// The bundle of a path, unless it is empty.
    fn bundled(&mut self, id: u8) -> Option<Transmit> {
        let path = self.path(id).filter(|path| !path.bundle.is_empty())?;
        let mut bundle = std::mem::take(&mut path.bundle);
        let record = self.record(id, &Frame::Bundle(Bundle(&bundle)));
        bundle.clear();
        self.path(id)?.bundle = bundle;
        record
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
            Waiting::Reset(path, connection, reason) => {
                self.bundle(&reset_header(self.side, path, connection, reason))
            }
        }
    }

    /// A record with a frame, if there is a way for it and it is not too long.
    pub(super) fn record(&mut self, id: u8, frame: &Frame<'_>) -> Option<Transmit> {
        let path = self.paths.get_mut(usize::from(id))?;
        let route = path.route.filter(|_| path.is_up)?;
        self.frame.clear();
        frame.write(&mut self.frame).ok()?;
        let number = path.take_number();
        let mut bytes = Vec::with_capacity(RECORD_HEAD_LEN + self.frame.len() + TAG_LEN);
        let head = Record { to: self.remote, path: id, number, sealed: &[] };
        fairwave_wire::shake::record::Datagram::Record(head).write(&mut bytes);
        self.channel.seal(id, number, &self.frame, &mut bytes)?;
        path.note_sent(bytes.len());
        Some(Transmit::new(route, bytes))
    }

    pub(super) fn mode(&self) -> Mode {
        self.settings.mode
    }

    pub(super) fn notify(&mut self, event: Event) {
        self.events.push_back(event);
    }

    pub(super) fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
