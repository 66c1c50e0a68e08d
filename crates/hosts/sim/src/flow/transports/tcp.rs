//! A flow over one TCP connection: an application that writes as much as fits, one that reads.

use crate::flow::backlog::Backlog;
use crate::flow::departures::Departures;
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End, segment};
use crate::flow::feed::Feed;
use crate::flow::transport::{Host, Transport};
use crate::packet::Packet;
use fairwave_cc::Chosen;
use fairwave_machine::Machine;
use fairwave_tcp::{BuildController, Config, Connection, Event, Input, Virtual};
use fairwave_trace::FlowSample;
use fairwave_traffic::Source;
use fairwave_units::{Bytes, Instant, Seq32, Stream};

/// A TCP flow.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    /// The sender's end. Ports are overwritten.
    pub sender: Config,
    /// The receiver's end. Ports are overwritten.
    pub receiver: Config,
    /// The algorithm.
    pub congestion_control: Chosen,
    /// Amount of data to send; `None` sends until the flow stops.
    pub size: Option<Bytes>,
    /// Source of its data, instead of as much as fits; then `size` is not used.
    pub source: Option<Source>,
}

/// Two connections, and an application that writes as much as fits, or the data of its source as
/// soon as it fits.
#[derive(Debug)]
struct Tcp {
    connections: Both<Connection<Virtual>>,
    backlog: Backlog,
    departures: Departures,
    /// Source of more data.
    feed: Option<Box<Feed>>,
    size: Option<Bytes>,
    connected: bool,
    closing: bool,
}

/// A closed connection between two ports. `algorithm` has been checked.
pub(super) fn connection(
    mut config: Config,
    local_port: u16,
    remote_port: u16,
    algorithm: &Chosen,
    isn: &mut Stream,
) -> Connection<Virtual> {
    (config.local_port, config.remote_port) = (local_port, remote_port);
    Connection::new(config, Seq32(isn.next_u64() as u32), controller(algorithm))
}

/// Makes a controller of this algorithm, which has been checked.
pub(crate) fn controller(algorithm: &Chosen) -> BuildController {
    let algorithm = algorithm.clone();
    Box::new(move |initial| algorithm.build(initial).expect("checked before"))
}

impl Description for TcpFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Tcp::new(self, setup))
    }

    fn check(&self) -> Result<(), String> {
        self.congestion_control.check().map_err(|unknown| unknown.to_string())
    }

    fn payload_bytes(&self) -> u32 {
        self.sender.mss.into()
    }

    fn datagram_bytes(&self) -> Option<u32> {
        None
    }

    fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }
}

impl Tcp {
    fn new(flow: &TcpFlow, setup: &Setup<'_>) -> Self {
        let Both { source: client, sink: server } = setup.ports();
        let (algorithm, mut isn) = (&flow.congestion_control, setup.stream("isn"));
        let feed = flow.source.as_ref().map(|source| setup.feed(source));
        Self {
            connections: Both {
                source: connection(flow.sender, client, server, algorithm, &mut isn),
                sink: connection(flow.receiver, server, client, algorithm, &mut isn),
            },
            backlog: feed.as_ref().map_or(Backlog::new(flow.size), |_| Backlog::EMPTY),
            departures: Departures::default(),
            feed: feed.map(Box::new),
            size: flow.size,
            connected: false,
            closing: false,
        }
    }

    /// Takes the source's data up to now.
    fn take_fed(&mut self, host: &mut Host<'_>) {
        while let Some(feed) = &mut self.feed
            && let Some(bytes) = feed.next_bytes(host.now, host.screen.as_deref_mut())
        {
            self.backlog.add(bytes);
        }
    }

    /// Lets the application at `end` write or read, after an event of its connection. The receiving
    /// one closes when the sending one has.
    fn run_application(&mut self, end: End, host: &mut Host<'_>) {
        let mut remote_closed = false;
        while let Some(event) = self.connections[end].event() {
            remote_closed |= event == Event::RemoteClosed;
            self.connected |= event == Event::Established && end == End::Source;
        }
        match end {
            End::Source if self.connected => self.write(host.now),
            End::Source => {}
            End::Sink => self.read(host),
        }
        if remote_closed {
            self.connections[end].handle(host.now, Input::Close);
        }
    }

    fn write(&mut self, now: Instant) {
        let source = &mut self.connections.source;
        let bytes = self.backlog.take(source.send_space());
        if bytes > 0 {
            source.handle(now, Input::Write(Virtual(bytes)));
        }
        let is_over = self.feed.as_ref().is_none_or(|feed| feed.deadline().is_none());
        if self.backlog.is_empty() && is_over && !self.closing {
            self.closing = true;
            source.handle(now, Input::Close);
        }
    }

    fn read(&mut self, host: &mut Host<'_>) {
        while let Some(Virtual(bytes)) = self.connections.sink.read(u32::MAX) {
            host.deliver_from(&mut self.departures, bytes);
        }
        host.delivery.note_completion(self.size, host.now);
    }
}

impl Transport for Tcp {
    fn start(&mut self, host: &mut Host<'_>) {
        self.connections.sink.handle(host.now, Input::Listen);
        self.connections.source.handle(host.now, Input::Open);
        self.step(host);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.backlog = Backlog::EMPTY;
        self.feed = None;
        self.run_application(End::Source, host);
    }

    fn step(&mut self, host: &mut Host<'_>) {
        self.take_fed(host);
        self.run_application(End::Source, host);
    }

    fn source_deadline(&self) -> Option<Instant> {
        self.feed.as_ref()?.deadline()
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let segment = self.connections[end].poll(host.now)?;
        if end == End::Source {
            self.departures.note_segment(&segment, host.now);
        }
        Some(host.tcp(end, &segment))
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        let Some(segment) = segment(packet) else { return };
        self.connections[end].handle(host.now, Input::Segment(segment));
        self.run_application(end, host);
        host.show_stream();
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        self.connections[end].wake(host.now);
        self.run_application(end, host);
        host.show_stream();
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        self.connections[end].deadline()
    }

    fn sample(&self) -> FlowSample {
        let source = self.connections.source.stats();
        FlowSample {
            sent_packets: source.segments_sent,
            retransmissions: source.retransmissions,
            timeouts: source.timeouts,
            fast_recoveries: source.fast_recoveries,
            cwnd: source.cwnd,
            ssthresh: source.ssthresh,
            flight: source.flight,
            srtt: source.srtt,
            rto: source.rto,
            acks_sent: self.connections.sink.stats().acks_sent,
            acks_lost_inferred: source.acks_lost,
            ..FlowSample::default()
        }
    }
}
