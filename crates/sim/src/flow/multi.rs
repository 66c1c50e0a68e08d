//! A flow over a set of TCP connections, one for each path: multi-connection SHAKE.
//!
//! The connections differ by the client's port. Their packets carry lengths, so what is written in
//! the streams beside the data goes from one end to the other here, when it is written.

use super::backlog::Backlog;
use super::contents::MarkedStream;
use super::ends::{Both, End, segment};
use super::ports::{FIRST_CLIENT_PORT, PORTS, ports};
use super::tcp::law;
use super::transport::{Host, Transport};
use crate::Error;
use crate::packet::Packet;
use crate::world::{Flow, MultiTcpFlow};
use fairwave_machine::Machine;
use fairwave_shake::multi::{Config, Dial, Event, Input, Multi};
use fairwave_tcp::{self as tcp, Virtual};
use fairwave_trace::{FlowId, FlowSample, NodeId, PathSample};
use fairwave_units::{Bytes, Duration, Instant, Seed, Seq32};
use fairwave_wire::datagram::Contents;

/// The two ends of a set, and an application that writes as much as fits.
#[derive(Debug)]
pub(crate) struct MultiTcp {
    sets: Both<Multi<Virtual>>,
    /// The node that each connection's packets go to first.
    vias: Vec<NodeId>,
    /// The client's port of the first connection, counted from the first of all.
    first: u32,
    backlog: Backlog,
    size: Option<Bytes>,
    is_closing: bool,
    /// What each end has written beside the data on each connection, where somebody captures.
    shown: Option<Box<Both<Vec<MarkedStream>>>>,
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

    /// Lets the application at `end` write or read, after its connections heard something. The
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

    /// Tells the other end what `end` has written beside the data, before its segments arrive.
    fn carry_marks(&mut self, end: End, now: Instant) {
        for connection in 0..self.vias.len() as u8 {
            while let Some(mark) = self.sets[end].told(connection) {
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

    /// Sums over all connections; times of the fastest.
    fn sample(&self) -> FlowSample {
        let mut sum = FlowSample::default();
        for (source, sink) in self.sets.source.connections().zip(self.sets.sink.connections()) {
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
        let up = self.sets.source.connections().filter(|connection| connection.is_up);
        let fastest = up.map(|up| up.tcp).min_by_key(|tcp| tcp.srtt.unwrap_or(Duration::MAX));
        sum.srtt = fastest.and_then(|tcp| tcp.srtt);
        sum.rto = fastest.map_or(Duration::ZERO, |tcp| tcp.rto);
        sum
    }

    fn path(&self, number: usize) -> Option<PathSample> {
        let connection = self.sets.source.connections().nth(number)?;
        let tcp = connection.tcp;
        Some(PathSample {
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
        })
    }
}
