//! A flow over a set of TCP connections, one for each path: multi-connection SHAKE.
//!
//! The connections differ by the client's port. Their packets carry lengths, so what is written in
//! the streams beside the data goes from one end to the other here, when it is written.

use super::End;
use super::contents::MarkedStream;
use super::delivery::Delivery;
use super::tcp::law;
use super::transport::{FIRST_CLIENT_PORT, PORTS, ports};
use crate::Error;
use crate::world::{Flow, MultiTcpFlow};
use fairwave_machine::Machine;
use fairwave_shake::multi::{Config, Dial, Event, Input, Multi};
use fairwave_tcp::{self as tcp, Segment, Virtual};
use fairwave_trace::{FlowId, FlowSample, NodeId, PathSample};
use fairwave_units::{Bytes, Duration, Instant, Seed, Seq32};
use fairwave_wire::datagram::Contents;
use fairwave_wire::tcp::Header;

/// The two ends of a set, and an application that writes as much as fits.
#[derive(Debug)]
pub(crate) struct MultiTcp {
    source: Multi<Virtual>,
    sink: Multi<Virtual>,
    /// The node that each connection's packets go to first.
    vias: Vec<NodeId>,
    /// The client's port of the first connection, counted from the first of all.
    first: u32,
    /// What the application still has to write; `None` never ends.
    unwritten: Option<u64>,
    size: Option<Bytes>,
    is_closing: bool,
    /// What each end has written beside the data on each connection, where somebody captures.
    shown: Option<Box<[Vec<MarkedStream>; 2]>>,
}

/// Refuses a set that cannot work.
pub(crate) fn check(flow: &Flow, multi: &MultiTcpFlow) -> Result<(), Error> {
    let of = |config: tcp::Config| vec![config; multi.paths.len()];
    let config = config(multi);
    let checked = config.check(&of(multi.tcp.sender));
    let both = checked.and_then(|()| config.check(&of(multi.tcp.receiver)));
    both.map_err(|why| Error::Invalid(format!("flow {}: {why}", flow.name)))
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
    pub(super) fn new(id: FlowId, name: &str, flow: &MultiTcpFlow, seed: Seed) -> Self {
        let (client, server) = ports(id);
        let first = u32::from(client - FIRST_CLIENT_PORT);
        let mut isn = seed.stream(&format!("isn/{name}"));
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
                    law: law(&flow.tcp.congestion_control),
                }
            };
            (0..flow.paths.len() as u32).map(dial).collect()
        };
        let (config, set) = (config(flow), seed.stream(&format!("set/{name}")).next_u64());
        let checked = "the set has been checked";
        Self {
            source: Multi::opener(&config, set, dials(End::Source)).expect(checked),
            sink: Multi::acceptor(&config, dials(End::Sink)).expect(checked),
            vias: flow.paths.iter().map(|path| path.via).collect(),
            first,
            unwritten: flow.tcp.size.map(|size| size.0),
            size: flow.tcp.size,
            is_closing: false,
            shown: None,
        }
    }

    pub(super) fn start(&mut self, delivery: &mut Delivery, now: Instant) {
        self.sink.handle(now, Input::Start);
        self.source.handle(now, Input::Start);
        self.run_application(End::Source, delivery, now);
    }

    /// The application writes no more.
    pub(super) fn stop(&mut self, delivery: &mut Delivery, now: Instant) {
        self.unwritten = Some(0);
        self.run_application(End::Source, delivery, now);
    }

    fn end(&mut self, end: End) -> &mut Multi<Virtual> {
        match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        }
    }

    /// The next segment that `end` has to send, and the node that it goes to first.
    pub(super) fn poll(&mut self, end: End, now: Instant) -> Option<(NodeId, Segment<Virtual>)> {
        let (connection, segment) = self.end(end).poll(now)?;
        Some((self.vias[usize::from(connection)], segment))
    }

    /// A segment has come to `end`.
    pub(super) fn receive(
        &mut self,
        end: End,
        segment: Segment<Virtual>,
        delivery: &mut Delivery,
        now: Instant,
    ) {
        let client = match end {
            End::Source => segment.header.destination_port,
            End::Sink => segment.header.source_port,
        };
        let connection = self.connection(client);
        self.end(end).handle(now, Input::Segment(connection, segment));
        self.run_application(end, delivery, now);
    }

    /// The connection that has this port of the client.
    fn connection(&self, client: u16) -> u8 {
        let offset = u32::from(client.wrapping_sub(FIRST_CLIENT_PORT)) + PORTS - self.first;
        (offset % PORTS) as u8
    }

    /// Somebody will ask for [`Self::contents`].
    pub(super) fn show_contents(&mut self) {
        let streams = || self.vias.iter().map(|_| MarkedStream::default()).collect();
        self.shown = Some(Box::new([streams(), streams()]));
    }

    /// What a segment that `end` sends now carries.
    pub(super) fn contents(&mut self, end: End, header: &Header, len: u32) -> Option<Contents> {
        let client = match end {
            End::Source => header.source_port,
            End::Sink => header.destination_port,
        };
        let connection = usize::from(self.connection(client));
        let acked = self.end(end).connections().nth(connection)?.tcp.bytes_acked;
        let stream = self.shown.as_mut()?[end as usize].get_mut(connection)?;
        stream.segment(header, len, acked)
    }

    pub(super) fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.source.deadline(),
            End::Sink => self.sink.deadline(),
        }
    }

    pub(super) fn wake(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        self.end(end).wake(now);
        self.run_application(end, delivery, now);
    }

    /// Lets the application at `end` write or read, after its connections heard something. The
    /// receiving one closes when the sending one has.
    fn run_application(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        match end {
            End::Source => self.write(now),
            End::Sink => self.read(delivery, now),
        }
        let mut is_remote_closed = false;
        while let Some(event) = self.end(end).event() {
            is_remote_closed |= event == Event::RemoteClosed;
        }
        if is_remote_closed {
            self.end(end).handle(now, Input::Close);
        }
        self.carry_marks(end, now);
    }

    fn write(&mut self, now: Instant) {
        loop {
            let space = self.source.send_space();
            let left = self.unwritten.unwrap_or(u64::MAX);
            let bytes = u64::from(space).min(left) as u32;
            if bytes == 0 {
                break;
            }
            self.source.handle(now, Input::Write(Virtual(bytes)));
            self.unwritten = self.unwritten.map(|left| left - u64::from(bytes));
        }
        if self.unwritten == Some(0) && !self.is_closing {
            self.is_closing = true;
            self.source.handle(now, Input::Close);
        }
    }

    fn read(&mut self, delivery: &mut Delivery, now: Instant) {
        while let Some(Virtual(bytes)) = self.sink.read(u32::MAX) {
            delivery.take(bytes, now);
        }
        if self.size.is_some_and(|size| delivery.bytes >= size.0) {
            delivery.completed.get_or_insert(now);
        }
    }

    /// Tells the other end what `end` has written beside the data, before its segments arrive.
    fn carry_marks(&mut self, end: End, now: Instant) {
        let (from, to) = match end {
            End::Source => (&mut self.source, &mut self.sink),
            End::Sink => (&mut self.sink, &mut self.source),
        };
        for connection in 0..self.vias.len() as u8 {
            while let Some(mark) = from.told(connection) {
                if let Some(streams) = &mut self.shown {
                    streams[end as usize][usize::from(connection)].write(mark);
                }
                to.handle(now, Input::Told(connection, mark));
            }
        }
    }

    /// Sums over all connections; times of the fastest.
    pub(super) fn sample(&self) -> FlowSample {
        let mut sum = FlowSample::default();
        for (source, sink) in self.source.connections().zip(self.sink.connections()) {
            let (source, sink) = (source.tcp, sink.tcp);
            sum.sent_packets += source.segments_sent;
            sum.retransmissions += source.retransmissions;
            sum.timeouts += source.timeouts;
            sum.fast_recoveries += source.fast_recoveries;
            sum.cwnd = sum.cwnd.saturating_add(source.cwnd);
            sum.ssthresh = sum.ssthresh.saturating_add(source.ssthresh);
            sum.flight = sum.flight.saturating_add(source.flight);
            sum.acks_sent += sink.acks_sent;
            sum.acks_lost_inferred += source.acks_lost;
        }
        let up = self.source.connections().filter(|connection| connection.is_up);
        let fastest = up.map(|up| up.tcp).min_by_key(|tcp| tcp.srtt.unwrap_or(Duration::MAX));
        sum.srtt = fastest.and_then(|tcp| tcp.srtt);
        sum.rto = fastest.map_or(Duration::ZERO, |tcp| tcp.rto);
        sum
    }

    /// The state of each connection.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathSample> {
        self.source.connections().map(|connection| {
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
        })
    }
}
