//! A flow over a set of TCP connections, one for each path: multi-connection SHAKE.
//!
//! The connections differ by the client's port. Their packets carry lengths, so the marks in the
//! streams beside the data go from one end to the other here, when they are written.

use super::tcp::{TcpFlow, controller};
use crate::flow::backlog::Backlog;
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End, segment};
use crate::flow::ports::{FIRST_CLIENT_PORT, PORTS};
use crate::flow::transport::{Host, Transport};
use crate::packet::Packet;
use fairwave_machine::Machine;
pub use fairwave_shake::multi::Split;
use fairwave_shake::multi::{Config, ConnectionReport, Dial, Event, Input, Mark, Multi};
use fairwave_tcp::{self as tcp, Virtual};
use fairwave_trace::{FlowSample, NodeId, PathSample};
use fairwave_units::{Bytes, Duration, Instant, Seq32};
use fairwave_wire::datagram::{Contents, Piece};
use fairwave_wire::multi::Header;
use fairwave_wire::tcp as wire;
use std::collections::VecDeque;
use std::ops::Range;

/// A flow of multi-connection SHAKE: one stream over a TCP connection for each path.
#[derive(Clone, Debug)]
pub struct MultiTcpFlow {
    /// The connections, all alike; `source` is not used.
    pub tcp: TcpFlow,
    /// Path of each connection.
    pub paths: Vec<MultiTcpPath>,
    /// Rule by which blocks are spread.
    pub split: Split,
    /// Bytes of a block.
    pub block: u16,
    /// Bytes that either end keeps outside its connections
    /// ([`fairwave_shake::multi::Config::receive_buffer`], and `send_buffer`).
    pub buffer: u32,
}

/// The way of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiTcpPath {
    /// The node that its packets go to first, in both directions.
    pub via: NodeId,
    /// Relative number of its blocks, with [`Split::Weighted`].
    pub weight: u32,
}

/// The two ends of a set, and an application that writes as much as fits.
#[derive(Debug)]
struct MultiTcp {
    sets: Both<Multi<Virtual>>,
    /// The node that each connection's packets go to first.
    vias: Vec<NodeId>,
    /// The client's port of the first connection, counted from the first of all.
    first: u32,
    backlog: Backlog,
    size: Option<Bytes>,
    is_closing: bool,
    /// Marks of each end beside the data on each connection, for captures.
    shown: Option<Box<Both<Vec<MarkedStream>>>>,
}

impl Description for MultiTcpFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(MultiTcp::new(self, setup))
    }

    fn check(&self) -> Result<(), String> {
        let of = |config: tcp::Config| vec![config; self.paths.len()];
        let config = config(self);
        let checked = config.check(&of(self.tcp.sender));
        let both = checked.and_then(|()| config.check(&of(self.tcp.receiver)));
        both.map_err(|why| why.to_string())?;
        self.tcp.check()
    }

    fn payload_bytes(&self) -> u32 {
        self.tcp.sender.mss.into()
    }

    fn datagram_bytes(&self) -> Option<u32> {
        None
    }

    fn vias(&self) -> Vec<NodeId> {
        self.paths.iter().map(|path| path.via).collect()
    }
}

fn config(flow: &MultiTcpFlow) -> Config {
    Config {
        split: flow.split,
        weights: flow.paths.iter().map(|path| path.weight).collect(),
        block: flow.block,
        send_buffer: flow.buffer,
        receive_buffer: flow.buffer,
    }
}

impl MultiTcp {
    /// A set that has been checked.
    fn new(flow: &MultiTcpFlow, setup: &Setup<'_>) -> Self {
        let Both { source: client, sink: server } = setup.ports();
        let first = u32::from(client - FIRST_CLIENT_PORT);
        let mut isn = setup.stream("isn");
        let mut dials = |end| -> Vec<Dial> {
            let dial = |index: u32| {
                let client = FIRST_CLIENT_PORT + ((first + index) % PORTS) as u16;
                let (config, local_port, remote_port) = match end {
                    End::Source => (flow.tcp.sender, client, server),
                    End::Sink => (flow.tcp.receiver, server, client),
                };
                Dial {
                    config: tcp::Config { local_port, remote_port, ..config },
                    iss: Seq32(isn.next_u64() as u32),
                    algorithm: controller(&flow.tcp.congestion_control),
                }
            };
            (0..flow.paths.len() as u32).map(dial).collect()
        };
        let (config, set) = (config(flow), setup.stream("set").next_u64());
        let checked = "the set has been checked";
        Self {
            sets: Both {
                source: Multi::opener(&config, set, dials(End::Source)).expect(checked),
                sink: Multi::acceptor(&config, dials(End::Sink)).expect(checked),
            },
            vias: flow.paths.iter().map(|path| path.via).collect(),
            first,
            backlog: Backlog::new(flow.tcp.size),
            size: flow.tcp.size,
            is_closing: false,
            shown: None,
        }
    }

    /// The connection that has this port of the client.
    fn connection(&self, client: u16) -> u8 {
        let offset = u32::from(client.wrapping_sub(FIRST_CLIENT_PORT)) + PORTS - self.first;
        (offset % PORTS) as u8
    }

    /// Lets the application at `end` write or read, after an event of its connections. The
    /// receiving one closes when the sending one has.
    fn run_application(&mut self, end: End, host: &mut Host<'_>) {
        match end {
            End::Source => self.write(host.now),
            End::Sink => self.read(host),
        }
        let mut is_remote_closed = false;
        while let Some(event) = self.sets[end].event() {
            is_remote_closed |= event == Event::RemoteClosed;
        }
        if is_remote_closed {
            self.sets[end].handle(host.now, Input::Close);
        }
        self.carry_marks(end, host.now);
    }

    fn write(&mut self, now: Instant) {
        let source = &mut self.sets.source;
        loop {
            let bytes = self.backlog.take(source.send_space());
            if bytes == 0 {
                break;
            }
            source.handle(now, Input::Write(Virtual(bytes)));
        }
        if self.backlog.is_empty() && !self.is_closing {
            self.is_closing = true;
            source.handle(now, Input::Close);
        }
    }

    fn read(&mut self, host: &mut Host<'_>) {
        while let Some(Virtual(bytes)) = self.sets.sink.read(u32::MAX) {
            host.deliver(bytes);
        }
        host.delivery.note_completion(self.size, host.now);
    }

    /// Passes the marks of `end` beside the data to the other end, before its segments arrive.
    fn carry_marks(&mut self, end: End, now: Instant) {
        for connection in 0..self.vias.len() as u8 {
            while let Some(mark) = self.sets[end].reported(connection) {
                if let Some(streams) = &mut self.shown {
                    streams[end][usize::from(connection)].write(mark);
                }
                self.sets[end.other()].handle(now, Input::Told(connection, mark));
            }
        }
    }
}

impl Transport for MultiTcp {
    fn start(&mut self, host: &mut Host<'_>) {
        self.sets.sink.handle(host.now, Input::Start);
        self.sets.source.handle(host.now, Input::Start);
        self.run_application(End::Source, host);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.backlog = Backlog::EMPTY;
        self.run_application(End::Source, host);
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let (connection, segment) = self.sets[end].poll(host.now)?;
        let via = self.vias[usize::from(connection)];
        Some(Packet { via, ..host.tcp(end, &segment) })
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        let Some(segment) = segment(packet) else { return };
        let client = match end {
            End::Source => segment.header.destination_port,
            End::Sink => segment.header.source_port,
        };
        let connection = self.connection(client);
        self.sets[end].handle(host.now, Input::Segment(connection, segment));
        self.run_application(end, host);
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        self.sets[end].wake(host.now);
        self.run_application(end, host);
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        self.sets[end].deadline()
    }

    fn show_contents(&mut self) {
        let streams = || self.vias.iter().map(|_| MarkedStream::default()).collect();
        self.shown = Some(Box::new(Both { source: streams(), sink: streams() }));
    }

    fn last_contents(&mut self, end: End, packet: &Packet) -> Option<Contents> {
        let header = segment(packet)?.header;
        let client = match end {
            End::Source => header.source_port,
            End::Sink => header.destination_port,
        };
        let connection = usize::from(self.connection(client));
        let acked = self.sets[end].connections().nth(connection)?.tcp.bytes_acked;
        let stream = self.shown.as_mut()?[end].get_mut(connection)?;
        stream.segment(&header, packet.datagram.payload_len, acked)
    }

    fn sample(&self) -> FlowSample {
        set_sample(self.sets.source.connections(), self.sets.sink.connections())
    }

    fn path(&self, number: usize) -> Option<PathSample> {
        self.sets.source.connections().nth(number).map(|connection| set_path_sample(&connection))
    }
}

/// Sample of a set by the connections of its source's end and of its sink's: sums over all of
/// them, times of the fastest.
pub fn set_sample(
    source: impl Iterator<Item = ConnectionReport>,
    sink: impl Iterator<Item = ConnectionReport>,
) -> FlowSample {
    let mut sum = FlowSample::default();
    let mut fastest: Option<tcp::Stats> = None;
    for connection in source {
        let tcp = connection.tcp;
        sum.sent_packets += tcp.segments_sent;
        sum.retransmissions += tcp.retransmissions;
        sum.timeouts += tcp.timeouts;
        sum.fast_recoveries += tcp.fast_recoveries;
        sum.cwnd = sum.cwnd.saturating_add(tcp.cwnd);
        sum.ssthresh = sum.ssthresh.saturating_add(tcp.ssthresh);
        sum.flight = sum.flight.saturating_add(tcp.flight);
        sum.acks_lost_inferred += tcp.acks_lost;
        let rtt = |tcp: &tcp::Stats| tcp.srtt.unwrap_or(Duration::MAX);
        if connection.is_up && fastest.as_ref().is_none_or(|other| rtt(&tcp) < rtt(other)) {
            fastest = Some(tcp);
        }
    }
    sum.acks_sent = sink.map(|connection| connection.tcp.acks_sent).sum();
    sum.srtt = fastest.and_then(|tcp| tcp.srtt);
    sum.rto = fastest.map_or(Duration::ZERO, |tcp| tcp.rto);
    sum
}

/// Sample of the path of a set's connection.
pub fn set_path_sample(connection: &ConnectionReport) -> PathSample {
    let tcp = connection.tcp;
    PathSample {
        is_up: connection.is_up,
        cwnd: tcp.cwnd,
        ssthresh: tcp.ssthresh,
        flight: tcp.flight,
        srtt: tcp.srtt,
        rto: tcp.rto,
        delivered_bytes: connection.arrived,
        sent_packets: tcp.data_segments_sent,
        retransmissions: tcp.retransmissions + connection.repeated,
        timeouts: tcp.timeouts,
    }
}

/// The stream of a TCP connection of a set: marks, and behind each its block. Blocks hold the
/// pattern at their place in the application's stream.
#[derive(Debug, Default)]
struct MarkedStream {
    /// Number of its first byte, once the SYN has been sent.
    first: Option<Seq32>,
    /// Marks by their place, from one on that is not all acknowledged.
    marks: VecDeque<(u64, Mark)>,
    /// Place of the next mark.
    end: u64,
}

impl MarkedStream {
    /// The next mark has been written.
    fn write(&mut self, mark: Mark) {
        self.marks.push_back((self.end, mark));
        self.end = behind(self.end, &mark).end;
    }

    /// Returns a segment's part of it; the peer has acknowledged `acked` bytes.
    fn segment(&mut self, header: &wire::Header, len: u32, acked: u64) -> Option<Contents> {
        if header.flags.syn {
            self.first = Some(header.seq + 1);
        }
        while self.marks.get(1).is_some_and(|(at, _)| *at <= acked) {
            self.marks.pop_front();
        }
        let first = self.first? + acked as u32;
        let ahead = header.seq.0.wrapping_sub(first.0).cast_signed();
        let from = acked.checked_add_signed(ahead.into())?;
        let whole = from..from + u64::from(len);
        let is_kept = self.marks.front().is_some_and(|(at, _)| *at <= from);
        (len > 0 && is_kept && whole.end <= self.end).then(|| Contents::Payload(self.cut(&whole)))
    }

    fn cut(&self, whole: &Range<u64>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (at, mark) in &self.marks {
            let own = within(*at..*at + u64::from(mark.wire_len()), whole);
            if !own.is_empty() {
                let place = (own.start - at) as usize..(own.end - at) as usize;
                pieces.push(Piece::Bytes(bytes(mark)[place].to_vec()));
            }
            let block = behind(*at, mark);
            let own = within(block.clone(), whole);
            if let (false, Mark::Header(Header::Block { offset, .. })) = (own.is_empty(), mark) {
                let position = (offset + (own.start - block.start)) as u32;
                pieces.push(Piece::Pattern { position, len: (own.end - own.start) as u32 });
            }
        }
        pieces
    }
}

/// Place of the block behind a mark at `at`.
fn behind(at: u64, mark: &Mark) -> Range<u64> {
    let start = at + u64::from(mark.wire_len());
    let len = match mark {
        Mark::Header(Header::Block { len, .. }) => len.get(),
        Mark::Header(Header::End { .. }) | Mark::Preface(_) => 0,
    };
    start..start + u64::from(len)
}

fn within(part: Range<u64>, whole: &Range<u64>) -> Range<u64> {
    part.start.max(whole.start)..part.end.min(whole.end)
}

fn bytes(mark: &Mark) -> Vec<u8> {
    let mut out = Vec::new();
    match mark {
        Mark::Preface(preface) => preface.write(&mut out),
        Mark::Header(header) => header.write(&mut out),
    }
    .expect("a set numbers its connections, and no stream gets to 2^62");
    out
}
