//! Captures of simulated connections, whose truth is known.
use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_machine::line::{End, Line, Tally, Wire};
use fairwave_tcp::{Config, Connection, Event, Input, Segment, Stats, Virtual};
use fairwave_trace::analysis::{self, Analyzer, Captured, Stream, Totals};
use fairwave_units::{Duration, Instant, Seed, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::pcapng::{Interface, LinkType, Section, Writer};
use std::net::Ipv4Addr;

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// Longest part of a packet that is captured: all headers.
const SNAP: usize = 128;

/// A packet of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    pub(crate) at: Instant,
    pub(crate) bytes: Vec<u8>,
    pub(crate) len: u32,
}

impl Shot {
    pub(crate) fn frame(&self) -> Captured<'_> {
        let link = LinkType::RawIp;
        Captured { at: self.at, link, bytes: &self.bytes, original_len: self.len }
    }
}

/// Analyses a capture.
pub(crate) fn analyse(shots: &[Shot]) -> (Vec<Stream>, Totals) {
    analyse_as(analysis::Config::default(), shots)
}

pub(crate) fn analyse_as(config: analysis::Config, shots: &[Shot]) -> (Vec<Stream>, Totals) {
    let mut analyzer = Analyzer::new(config);
    let mut streams = Vec::new();
    shots.iter().for_each(|shot| analyzer.push(shot.frame(), &mut streams));
    let totals = analyzer.finish(&mut streams);
    (streams, totals)
}

/// Writes a capture for other tools to read.
pub(crate) fn pcapng(shots: &[Shot]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Section::default()).unwrap();
    let interface = Interface { link_type: LinkType::RawIp, name: None, snap_len: None };
    let id = writer.add_interface(&interface).unwrap();
    for shot in shots {
        // The writer knows no snap length: what was cut is filled up with nothing.
        let mut bytes = shot.bytes.clone();
        bytes.resize(shot.len as usize, 0);
        writer.write_packet(id, shot.at, &bytes, None).unwrap();
    }
    writer.into_inner()
}

/// A transfer from A to B over a line, and its captures at both ends.
pub(crate) struct Transfer {
    pub(crate) ends: [Connection<Virtual>; 2],
    /// Segments with the identification of their IP packet.
    line: Line<(u16, Segment<Virtual>)>,
    now: Instant,
    /// IPv4 identifications.
    ids: [u16; 2],
    pub(crate) captures: [Vec<Shot>; 2],
    /// When A's retransmission timer expired.
    pub(crate) timeouts: Vec<Instant>,
    left: u32,
    ports: [u16; 2],
}

impl Transfer {
    pub(crate) fn new(seed: Seed, config: Config, wires: [Wire; 2], bytes: u32) -> Self {
        let algorithm =
            |initial: Initial| fairwave_cc::build("newreno", initial).expect("a listed algorithm");
        let ports = [40_000, 5_001];
        let [a, b] = [(0, ports), (1, [ports[1], ports[0]])].map(|(end, [mine, other])| {
            let config = Config { local_port: mine, remote_port: other, ..config };
            let iss = seed.stream(if end == 0 { "iss/a" } else { "iss/b" }).below(1 << 32) as u32;
            Connection::new(config, Seq32(iss), Box::new(algorithm))
        });
        let mut transfer = Self {
            ends: [a, b],
            line: Line::new(seed, wires[0], wires[1]),
            now: Instant::ZERO + MS(5),
            ids: [0; 2],
            captures: [Vec::new(), Vec::new()],
            timeouts: Vec::new(),
            left: bytes,
            ports,
        };
        transfer.input(End::B, Input::Listen);
        transfer.input(End::A, Input::Open);
        transfer
    }

    pub(crate) fn stats(&self) -> Stats {
        self.ends[0].stats()
    }

    /// What the line did to what A sent, and to what B sent.
    pub(crate) fn tallies(&self) -> [Tally; 2] {
        [self.line.tally(End::A), self.line.tally(End::B)]
    }

    /// Until both ends are closed, or until nothing more happens before `end`.
    pub(crate) fn run(mut self, end: Instant) -> Self {
        while self.now < end && self.step() {}
        self
    }

    fn input(&mut self, end: End, input: Input<Virtual>) {
        self.ends[end as usize].handle(self.now, input);
        self.drain(end);
    }

    fn drain(&mut self, end: End) {
        let mine = end as usize;
        while let Some(segment) = self.ends[mine].poll(self.now) {
            let size = u64::from(segment.wire_len()) + 20;
            self.ids[mine] = self.ids[mine].wrapping_add(1);
            self.capture(end, end, &segment, self.ids[mine]);
            self.line.send(self.now, end, (self.ids[mine], segment), size);
        }
        while let Some(event) = self.ends[mine].event() {
            match (end, event) {
                (End::B, Event::Readable) => {
                    self.ends[mine].read(u32::MAX);
                }
                (End::B, Event::RemoteClosed) => self.input(End::B, Input::Close),
                (End::A, Event::Timeout(_)) => self.timeouts.push(self.now),
                _ => {}
            }
        }
        let open = self.stats().cwnd > 0 && self.ends[0].send_space() > 0;
        if end == End::A && self.left > 0 && open {
            let len = self.left.min(self.ends[0].send_space());
            self.left -= len;
            self.input(End::A, Input::Write(Virtual(len)));
            if self.left == 0 {
                self.input(End::A, Input::Close);
            }
        }
    }

    fn step(&mut self) -> bool {
        let deadlines = self.ends.iter().filter_map(Machine::deadline);
        let Some(at) = deadlines.chain(self.line.next_arrival()).min() else { return false };
        self.now = at;
        while let Some((end, (id, segment))) = self.line.arrive(at) {
            self.capture(end, end.other(), &segment, id);
            self.ends[end as usize].handle(at, Input::Segment(segment));
            self.drain(end);
        }
        for end in [End::A, End::B] {
            if self.ends[end as usize].deadline().is_some_and(|deadline| deadline <= at) {
                self.ends[end as usize].wake(at);
                self.drain(end);
            }
        }
        true
    }

    /// Notes a segment that `from` sent and that passes the end `at`.
    fn capture(&mut self, at: End, from: End, segment: &Segment<Virtual>, id: u16) {
        let mut header = segment.header;
        let [mine, other] = match from {
            End::A => self.ports,
            End::B => [self.ports[1], self.ports[0]],
        };
        (header.source_port, header.destination_port) = (mine, other);
        let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let datagram = Datagram {
            source: addresses[from as usize],
            destination: addresses[from.other() as usize],
            id,
            ttl: 64,
            tos: segment.ecn.put(0),
            transport: Transport::Tcp(header),
            payload_len: segment.payload.0,
        };
        let mut bytes = Vec::new();
        datagram.write(&mut bytes).expect("a connection sends legal headers");
        let len = bytes.len() as u32;
        bytes.truncate(SNAP);
        self.captures[at as usize].push(Shot { at: self.now, bytes, len });
    }
}
