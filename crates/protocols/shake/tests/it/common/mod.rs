//! Two connections, a line for each path, and what their applications write and read.

use bytes::Bytes;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_shake::{Config, Connection, Event, Input, Profile, Rules, Segment, envelope};
use fairwave_tcp::{Payload, Virtual};
use fairwave_units::{Instant, Seed};
use fairwave_wire::seal::Key;
use fairwave_wire::shake::{Side, connection_key};

/// IPv4 and UDP.
const HEADERS: u64 = 28;
pub(crate) const ID: u64 = 0x5eed;

/// What lies between a machine and a line.
pub(crate) trait Carrier<P> {
    type Item: Clone;
    fn pack(&mut self, segment: Segment<P>) -> (Self::Item, u64);
    fn unpack(&mut self, item: Self::Item) -> Option<Segment<P>>;
}

/// Segments as they are.
pub(crate) struct Plain;

impl Carrier<Virtual> for Plain {
    type Item = Segment<Virtual>;

    fn pack(&mut self, segment: Segment<Virtual>) -> (Self::Item, u64) {
        let size = segment.header.len_with(segment.payload.len() as usize) as u64 + HEADERS;
        (segment, size)
    }

    fn unpack(&mut self, item: Self::Item) -> Option<Segment<Virtual>> {
        Some(item)
    }
}

/// Sealed bytes.
pub(crate) struct Sealed {
    pub(crate) key: Key,
    pub(crate) refused: u64,
}

impl Sealed {
    pub(crate) fn new() -> Self {
        let shared = Key::new(b"a secret of the two ends").unwrap();
        Self { key: connection_key(&shared, ID), refused: 0 }
    }
}

impl Carrier<Bytes> for Sealed {
    type Item = Bytes;

    fn pack(&mut self, segment: Segment<Bytes>) -> (Bytes, u64) {
        let mut out = Vec::new();
        envelope::seal(&segment, &self.key, &mut out).expect("what a machine says can be written");
        let size = out.len() as u64 + HEADERS;
        (Bytes::from(out), size)
    }

    fn unpack(&mut self, item: Bytes) -> Option<Segment<Bytes>> {
        let opened = envelope::open(&item, &self.key);
        self.refused += u64::from(opened.is_err());
        opened.ok()
    }
}

/// What one end's application does.
pub(crate) struct App<P: Payload> {
    pub(crate) to_write: P::Store,
    pub(crate) finishes: bool,
    pub(crate) reads: bool,
    pub(crate) got: Vec<P>,
    pub(crate) events: Vec<(Instant, Event)>,
    finished: bool,
}

impl<P: Payload> Default for App<P> {
    fn default() -> Self {
        Self {
            to_write: P::Store::default(),
            finishes: true,
            reads: true,
            got: Vec::new(),
            events: Vec::new(),
            finished: false,
        }
    }
}

pub(crate) struct Net<P: Payload, C: Carrier<P>> {
    pub(crate) ends: [Connection<P>; 2],
    pub(crate) apps: [App<P>; 2],
    pub(crate) lines: Vec<Line<C::Item>>,
    pub(crate) carrier: C,
    pub(crate) now: Instant,
}

pub(crate) fn rules() -> Rules {
    Profile::Modern.rules()
}

impl<P: Payload, C: Carrier<P>> Net<P, C> {
    /// Paths 0, 1, .. over `wires`, not joined yet; end 0 opens.
    pub(crate) fn new(
        seed: Seed,
        config: Config,
        rules: impl Fn() -> Rules,
        wires: &[(Wire, Wire)],
        carrier: C,
    ) -> Self {
        let seed_of = |name: &str| Seed(seed.stream(name).next_u64());
        let end = |side, name| Connection::new(config, rules(), side, ID, seed_of(name));
        let line = |(index, (to, back)): (usize, &(Wire, Wire))| {
            Line::new(seed_of(&format!("line {index}")), *to, *back)
        };
        Self {
            ends: [end(Side::Opener, "opener"), end(Side::Acceptor, "acceptor")],
            apps: [App::default(), App::default()],
            lines: wires.iter().enumerate().map(line).collect(),
            carrier,
            now: Instant::ZERO,
        }
    }

    pub(crate) fn report(&mut self, end: usize, input: Input<P>) {
        self.ends[end].handle(self.now, input);
        self.drain(end);
    }

    pub(crate) fn join_all(&mut self) {
        for path in 0..self.lines.len() {
            self.report(0, Input::Join { path: path as u8, nominal: None });
        }
    }

    fn app_writes(&mut self, end: usize) {
        use fairwave_tcp::Store;
        let (app, connection) = (&mut self.apps[end], &mut self.ends[end]);
        let len = app.to_write.len().min(connection.send_space().into()) as u32;
        if len > 0 {
            connection.handle(self.now, Input::Write(app.to_write.copy(0, len)));
            app.to_write.discard(len.into());
        } else if app.to_write.is_empty() && app.finishes && !app.finished {
            app.finished = true;
            connection.handle(self.now, Input::Finish);
        }
    }

    /// The drain rule, with an application that writes and reads what it can.
    pub(crate) fn drain(&mut self, end: usize) {
        loop {
            self.app_writes(end);
            let mut idle = true;
            while let Some(segment) = self.ends[end].poll(self.now) {
                let path = usize::from(segment.header.path);
                let (item, size) = self.carrier.pack(segment);
                let from = if end == 0 { End::A } else { End::B };
                self.lines[path].send(self.now, from, item, size);
            }
            while let Some(event) = self.ends[end].event() {
                self.apps[end].events.push((self.now, event));
                idle = false;
            }
            while self.apps[end].reads
                && let Some(data) = self.ends[end].read(u32::MAX)
            {
                self.apps[end].got.push(data);
                idle = false;
            }
            if idle {
                return;
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let arrivals = self.lines.iter().filter_map(Line::next_arrival);
        arrivals.chain(self.ends.iter().filter_map(Machine::deadline)).min()
    }

    /// One instant; false if nothing happens until `end`.
    pub(crate) fn step(&mut self, end: Instant) -> bool {
        let Some(at) = self.next().filter(|at| *at <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        assert!(at >= self.now, "a deadline of {at} lies before {}", self.now);
        self.now = at;
        for path in 0..self.lines.len() {
            while let Some((to, item)) = self.lines[path].arrive(at) {
                let to = usize::from(to == End::B);
                if let Some(segment) = self.carrier.unpack(item) {
                    self.ends[to].handle(at, Input::Segment(segment));
                }
                self.drain(to);
            }
        }
        for end in 0..2 {
            if self.ends[end].deadline().is_some_and(|deadline| deadline <= at) {
                self.ends[end].wake(at);
            }
            self.drain(end);
        }
        true
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
    }

    /// Until both ends are over; panics at `limit`.
    pub(crate) fn run_to_the_end(&mut self, limit: Instant, seed: Seed) {
        while !self.ends.iter().all(Connection::is_over) {
            let steps = self.step(limit);
            let stats = self.ends.each_ref().map(Connection::stats);
            assert!(steps, "not over by {limit}, seed {}: {stats:?}", seed.0);
        }
    }
}

impl<C: Carrier<Bytes>> Net<Bytes, C> {
    pub(crate) fn got(&self, end: usize) -> Vec<u8> {
        self.apps[end].got.concat()
    }
}
