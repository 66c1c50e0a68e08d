//! The two ends of a flow and the application behind each.

use crate::Error;
use crate::packet::{Packet, address};
use crate::world::{Flow, TcpFlow, Traffic};
use fairwave_cc as cc;
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Event, Input, Segment, Virtual};
use fairwave_trace::{FlowId, FlowSample, NodeId};
use fairwave_units::{Bytes, Duration, Instant, Seed, Seq32};
use fairwave_wire::datagram::{Datagram, Transport};

/// First port of servers; flow `i` uses the i-th from here, modulo [`PORTS`]. Ports of both ends
/// are dynamic ones (RFC 6335 section 6) to which dissectors of captures attach no protocol, so
/// that none reads a meaning into the payload pattern.
const FIRST_PORT: u16 = 60_100;
/// First port of clients, likewise.
const FIRST_CLIENT_PORT: u16 = 50_000;
/// Ports for each end.
const PORTS: u32 = 4_000;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where the data comes from.
    Source,
    /// Where the data goes.
    Sink,
}

/// Delivery to the receiving application, as it went on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub(crate) bytes: u64,
    pub(crate) last: Instant,
    pub(crate) longest_silence: Duration,
    pub(crate) completed: Option<Instant>,
}

impl Delivery {
    fn new() -> Self {
        Self { bytes: 0, last: Instant::ZERO, longest_silence: Duration::ZERO, completed: None }
    }

    fn take(&mut self, bytes: u32, now: Instant) {
        self.bytes += u64::from(bytes);
        self.note_silence(now);
        self.last = now;
    }

    /// Counts the silence that ends, or is cut off, at `now`.
    pub(crate) fn note_silence(&mut self, now: Instant) {
        self.longest_silence = self.longest_silence.max(now.since(self.last));
    }

    /// Silence counts anew from `now`.
    pub(crate) fn restart_silence(&mut self, now: Instant) {
        self.last = now;
        self.longest_silence = Duration::ZERO;
    }
}

/// A flow under way.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) id: FlowId,
    source: NodeId,
    sink: NodeId,
    pub(crate) transport: TransportState,
    pub(crate) delivery: Delivery,
    /// Pure ACKs dropped on their way.
    pub(crate) acks_dropped: u64,
    next_datagram_id: [u16; 2],
}

#[derive(Debug)]
pub(crate) enum TransportState {
    Tcp(Box<Tcp>),
    Udp(Udp),
}

/// A TCP flow: two connections, and an application that writes as much as fits.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) source: Connection<Virtual>,
    pub(crate) sink: Connection<Virtual>,
    /// What the application still has to write; `None` never ends.
    unwritten: Option<u64>,
    size: Option<Bytes>,
    connected: bool,
    closing: bool,
}

/// A UDP flow.
#[derive(Debug)]
pub(crate) struct Udp {
    payload_bytes: u32,
    pub(crate) interval: Option<Duration>,
    ports: (u16, u16),
    pub(crate) sent: u64,
}

fn ports(id: FlowId) -> (u16, u16) {
    let offset = (id.0 % PORTS) as u16;
    (FIRST_CLIENT_PORT + offset, FIRST_PORT + offset)
}

impl FlowState {
    pub(crate) fn new(id: FlowId, flow: &Flow, seed: Seed) -> Result<Self, Error> {
        let transport = match &flow.traffic {
            Traffic::Tcp(tcp) => TransportState::Tcp(Box::new(Tcp::new(id, flow, tcp, seed)?)),
            Traffic::Cbr { payload_bytes, interval } => {
                TransportState::Udp(Udp::new(id, *payload_bytes, Some(*interval)))
            }
            Traffic::Saturate { payload_bytes } => {
                TransportState::Udp(Udp::new(id, *payload_bytes, None))
            }
        };
        Ok(Self {
            id,
            source: flow.source,
            sink: flow.sink,
            transport,
            delivery: Delivery::new(),
            acks_dropped: 0,
            next_datagram_id: [0; 2],
        })
    }

    /// Wraps a transport unit of `end` into a datagram to the other end.
    fn packet(&mut self, end: End, transport: Transport, payload_len: u32) -> Packet {
        let (source, destination) = match end {
            End::Source => (self.source, self.sink),
            End::Sink => (self.sink, self.source),
        };
        let id = self.next_datagram_id[end as usize];
        self.next_datagram_id[end as usize] = id.wrapping_add(1);
        let datagram = Datagram {
            source: address(source),
            destination: address(destination),
            id,
            ttl: 64,
            tos: 0,
            transport,
            payload_len,
        };
        Packet { flow: self.id, source, destination, datagram }
    }

    /// The next packet that `end` has to send.
    pub(crate) fn poll(&mut self, end: End, now: Instant) -> Option<Packet> {
        let TransportState::Tcp(tcp) = &mut self.transport else { return None };
        let Segment { header, ecn, payload } = tcp.end(end).poll(now)?;
        let mut packet = self.packet(end, Transport::Tcp(header), payload.0);
        packet.datagram.tos = ecn.put(packet.datagram.tos);
        Some(packet)
    }

    /// The next datagram of a UDP source.
    pub(crate) fn next_datagram(&mut self) -> Option<Packet> {
        let TransportState::Udp(udp) = &mut self.transport else { return None };
        udp.sent += 1;
        let (source_port, destination_port) = udp.ports;
        let bytes = udp.payload_bytes;
        Some(self.packet(End::Source, Transport::Udp { source_port, destination_port }, bytes))
    }

    /// A packet of this flow reached `node`, which is one of its ends. Returns which.
    pub(crate) fn receive(&mut self, node: NodeId, packet: &Packet, now: Instant) -> End {
        let end = if node == self.sink { End::Sink } else { End::Source };
        let payload = Virtual(packet.datagram.payload_len);
        match (&mut self.transport, packet.datagram.transport) {
            (TransportState::Tcp(tcp), Transport::Tcp(header)) => {
                let ecn = packet.datagram.ecn();
                tcp.end(end).handle(now, Input::Segment(Segment { header, ecn, payload }));
                tcp.run_application(end, &mut self.delivery, now);
            }
            (TransportState::Udp(_), _) if end == End::Sink => self.delivery.take(payload.0, now),
            _ => {}
        }
        end
    }

    /// Starts the flow's application.
    pub(crate) fn start(&mut self, now: Instant) {
        if let TransportState::Tcp(tcp) = &mut self.transport {
            tcp.sink.handle(now, Input::Listen);
            tcp.source.handle(now, Input::Open);
            tcp.run_application(End::Source, &mut self.delivery, now);
        }
    }

    /// The application sends no more.
    pub(crate) fn stop(&mut self, now: Instant) {
        match &mut self.transport {
            TransportState::Tcp(tcp) => {
                tcp.unwritten = Some(0);
                tcp.run_application(End::Source, &mut self.delivery, now);
            }
            TransportState::Udp(udp) => udp.interval = None,
        }
    }

    /// A timer of one end's connection expired.
    pub(crate) fn wake(&mut self, end: End, now: Instant) {
        if let TransportState::Tcp(tcp) = &mut self.transport {
            tcp.end(end).wake(now);
            tcp.run_application(end, &mut self.delivery, now);
        }
    }

    pub(crate) fn deadline(&self, end: End) -> Option<Instant> {
        match (&self.transport, end) {
            (TransportState::Tcp(tcp), End::Source) => tcp.source.deadline(),
            (TransportState::Tcp(tcp), End::Sink) => tcp.sink.deadline(),
            (TransportState::Udp(_), _) => None,
        }
    }

    /// The flow's state and counters.
    pub(crate) fn sample(&self) -> FlowSample {
        let delivered_bytes = self.delivery.bytes;
        match &self.transport {
            TransportState::Udp(udp) => {
                FlowSample { delivered_bytes, sent_packets: udp.sent, ..FlowSample::default() }
            }
            TransportState::Tcp(tcp) => {
                let source = tcp.source.stats();
                FlowSample {
                    delivered_bytes,
                    sent_packets: source.segments_sent,
                    retransmissions: source.retransmissions,
                    timeouts: source.timeouts,
                    fast_recoveries: source.fast_recoveries,
                    cwnd: source.cwnd,
                    ssthresh: source.ssthresh,
                    flight: source.flight,
                    srtt: source.srtt,
                    rto: source.rto,
                    acks_sent: tcp.sink.stats().acks_sent,
                    acks_dropped: self.acks_dropped,
                    acks_lost_inferred: source.acks_lost,
                }
            }
        }
    }
}

impl Tcp {
    fn new(id: FlowId, flow: &Flow, tcp: &TcpFlow, seed: Seed) -> Result<Self, Error> {
        let law = tcp.congestion_control.clone();
        if let Err(unknown) =
            cc::build(&law, cc::Initial { mss: 1, cwnd: 1, ssthresh: 1, byte_counting: true })
        {
            return Err(Error::Invalid(format!("flow {}: {unknown}", flow.name)));
        }
        let (client, server) = ports(id);
        let mut isn = seed.stream(&format!("isn/{}", flow.name));
        let mut end = |mut config: fairwave_tcp::Config, local_port, remote_port| {
            (config.local_port, config.remote_port) = (local_port, remote_port);
            let law = law.clone();
            let build = move |initial| cc::build(&law, initial).expect("checked above");
            Connection::new(config, Seq32(isn.next_u64() as u32), Box::new(build))
        };
        Ok(Self {
            source: end(tcp.sender, client, server),
            sink: end(tcp.receiver, server, client),
            unwritten: tcp.size.map(|size| size.0),
            size: tcp.size,
            connected: false,
            closing: false,
        })
    }

    fn end(&mut self, end: End) -> &mut Connection<Virtual> {
        match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        }
    }

    /// Lets the application at `end` write or read, after its connection heard something. The
    /// receiving one closes when the sending one has.
    fn run_application(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        let mut remote_closed = false;
        while let Some(event) = self.end(end).event() {
            remote_closed |= event == Event::RemoteClosed;
            self.connected |= event == Event::Established && end == End::Source;
        }
        match end {
            End::Source if self.connected => self.write(now),
            End::Source => {}
            End::Sink => self.read(delivery, now),
        }
        if remote_closed {
            self.end(end).handle(now, Input::Close);
        }
    }

    fn write(&mut self, now: Instant) {
        let space = self.source.send_space();
        let bytes =
            self.unwritten.map_or(space, |left| space.min(left.try_into().unwrap_or(space)));
        if bytes > 0 {
            self.source.handle(now, Input::Write(Virtual(bytes)));
            self.unwritten = self.unwritten.map(|left| left - u64::from(bytes));
        }
        if self.unwritten == Some(0) && !self.closing {
            self.closing = true;
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
}

impl Udp {
    fn new(id: FlowId, payload_bytes: u32, interval: Option<Duration>) -> Self {
        Self { payload_bytes, interval, ports: ports(id), sent: 0 }
    }
}
