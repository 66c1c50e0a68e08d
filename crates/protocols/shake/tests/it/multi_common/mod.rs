//! Two ends of a set of connections, a line for each, and applications that write and read.

use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Wire};
use fairwave_shake::multi::{Config, Dial, Event, Input, Marked, Multi, Split};
use fairwave_tcp::{self as tcp, Segment, Store};
use fairwave_units::{Instant, Seed, Seq32};

/// An IPv4 header.
const IPV4: u64 = 20;
pub(crate) const SET: u64 = 0x5eed;

/// A set as in the paper, section 3.2.4, without limits of its own but the block.
pub(crate) fn config(split: Split, connections: usize) -> Config {
    let weights = vec![1; connections];
    Config { split, weights, block: 1448, send_buffer: 52_560, receive_buffer: 52_560 }
}

pub(crate) fn dials(tcp: tcp::Config, connections: usize, side: u16) -> Vec<Dial> {
    let algorithm =
        |initial: Initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm");
    let dial = |index: u16| Dial {
        config: tcp::Config {
            local_port: 100 * (side + 1) + index,
            remote_port: 100 * (2 - side) + index,
            ..tcp
        },
        iss: Seq32(u32::from(side) * 77_000 + u32::from(index)),
        algorithm: Box::new(algorithm),
    };
    (0..connections as u16).map(dial).collect()
}

pub(crate) fn ends<P: Marked>(config: &Config, tcp: tcp::Config, count: usize) -> [Multi<P>; 2] {
    [
        Multi::opener(config, SET, dials(tcp, count, 0)).expect("a set that can be"),
        Multi::acceptor(config, dials(tcp, count, 1)).expect("a set that can be"),
    ]
}

pub(crate) struct Net<P: Marked> {
    pub(crate) ends: [Multi<P>; 2],
    pub(crate) lines: Vec<Line<Segment<P>>>,
    pub(crate) to_write: [P::Store; 2],
    pub(crate) got: [Vec<P>; 2],
    pub(crate) events: [Vec<(Instant, Event)>; 2],
    /// Whether each application reads.
    pub(crate) reads: [bool; 2],
    closed: [bool; 2],
    pub(crate) now: Instant,
}

impl<P: Marked> Net<P> {
    pub(crate) fn new(
        seed: Seed,
        config: &Config,
        tcp: tcp::Config,
        wires: &[(Wire, Wire)],
    ) -> Self {
        let line = |(index, (to, back)): (usize, &(Wire, Wire))| {
            let seed = Seed(seed.stream(&format!("line {index}")).next_u64());
            Line::new(seed, *to, *back)
        };
        Self {
            ends: ends(config, tcp, wires.len()),
            lines: wires.iter().enumerate().map(line).collect(),
            to_write: Default::default(),
            got: Default::default(),
            events: Default::default(),
            reads: [true; 2],
            closed: [false; 2],
            now: Instant::ZERO,
        }
    }

    pub(crate) fn start(&mut self) {
        for end in [1, 0] {
            self.ends[end].handle(self.now, Input::Start);
            self.drain(end);
        }
    }

    /// Lets the application at `end` write, read and close; whether it did anything.
    fn run_application(&mut self, end: usize) -> bool {
        let mut acts = false;
        let space = u64::from(self.ends[end].send_space());
        let len = self.to_write[end].len().min(space) as u32;
        if len > 0 {
            let data = self.to_write[end].copy(0, len);
            self.to_write[end].discard(u64::from(len));
            self.ends[end].handle(self.now, Input::Write(data));
            acts = true;
        } else if self.to_write[end].is_empty() && !self.closed[end] {
            self.closed[end] = true;
            self.ends[end].handle(self.now, Input::Close);
            acts = true;
        }
        while self.reads[end]
            && let Some(data) = self.ends[end].read(1000)
        {
            self.got[end].push(data);
            acts = true;
        }
        acts
    }

    /// The drain rule, with an application that writes and reads what it can.
    pub(crate) fn drain(&mut self, end: usize) {
        loop {
            let mut acts = self.run_application(end);
            for connection in 0..self.lines.len() {
                while let Some(mark) = self.ends[end].reported(connection as u8) {
                    self.ends[1 - end].handle(self.now, Input::Told(connection as u8, mark));
                }
            }
            let from = [End::A, End::B][end];
            while let Some((connection, segment)) = self.ends[end].poll(self.now) {
                let size = u64::from(segment.wire_len()) + IPV4;
                self.lines[usize::from(connection)].send(self.now, from, segment, size);
                acts = true;
            }
            while let Some(event) = self.ends[end].event() {
                self.events[end].push((self.now, event));
                acts = true;
            }
            if !acts {
                break;
            }
        }
    }

    /// Lets time pass until `end`, or until both ends are over.
    pub(crate) fn run(&mut self, until: Instant) {
        loop {
            let arrivals = self.lines.iter().filter_map(Line::next_arrival);
            let deadlines = self.ends.iter().filter_map(Machine::deadline);
            let next = arrivals.chain(deadlines).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = next;
            self.step();
            if self.ends.iter().all(Multi::is_over) {
                return;
            }
        }
    }

    fn step(&mut self) {
        for line in 0..self.lines.len() {
            while let Some((to, segment)) = self.lines[line].arrive(self.now) {
                let end = usize::from(to == End::B);
                self.ends[end].handle(self.now, Input::Segment(line as u8, segment));
                self.drain(end);
            }
        }
        for end in [0, 1] {
            if self.ends[end].deadline().is_some_and(|at| at <= self.now) {
                self.ends[end].wake(self.now);
                self.drain(end);
            }
        }
    }

    pub(crate) fn received(&self, end: usize, event: Event) -> bool {
        self.events[end].iter().any(|(_, received)| *received == event)
    }

    /// What happened to connections, for messages.
    pub(crate) fn reported(&self) -> [Vec<&(Instant, Event)>; 2] {
        let is_rare =
            |(_, event): &&(Instant, Event)| !matches!(event, Event::Readable | Event::SendSpace);
        self.events.each_ref().map(|events| events.iter().filter(is_rare).collect())
    }

    /// When `end` was told that the other's stream is whole.
    pub(crate) fn completed(&self, end: usize) -> Option<Instant> {
        self.events[end].iter().find(|(_, e)| *e == Event::RemoteClosed).map(|(at, _)| *at)
    }

    /// Makes a line lose everything, both ways.
    pub(crate) fn cut(&mut self, line: usize, wire: Wire) {
        for end in [End::A, End::B] {
            self.lines[line].set_wire(end, Wire { loss: 1.0, ..wire });
        }
    }

    /// Mends it.
    pub(crate) fn mend(&mut self, line: usize, wire: Wire) {
        for end in [End::A, End::B] {
            self.lines[line].set_wire(end, wire);
        }
    }
}
