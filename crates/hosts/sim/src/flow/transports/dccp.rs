//! A flow over a DCCP connection: a source whose datagrams wait in the connection until its
//! congestion control lets them go.
//!
//! The simulated network carries headers and lengths. Options and data wait here, by the number of
//! the datagram that carries them, while that is under way.

use crate::flow::carried::{Carried, UnderWay};
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::feed::Feed;
use crate::flow::reception::Reception;
use crate::flow::screen::Screen;
use crate::flow::transport::{Host, Notice, Transport};
use crate::outcome::FlowOutcome;
use crate::packet;
pub use fairwave_dccp::ccid::Ccid;
use fairwave_dccp::ccid::Handover;
pub use fairwave_dccp::tfrc::{FirstInterval, Profile as TfrcProfile, Remedies, Sensitivity};
use fairwave_dccp::{
    Config, Connection, Event, Input, Packet, Payload, QueueLimits, Standard, Stats, ccid3,
};
use fairwave_machine::Machine;
use fairwave_trace::{FlowSample, RateSample};
use fairwave_traffic::Source;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::datagram::{self, Contents};
use fairwave_wire::dccp::Seq48;

/// The service code that both ends agree on: "FAIR" (RFC 4340 section 8.1.2).
const SERVICE: u32 = 0x4641_4952;

/// A DCCP flow.
#[derive(Clone, Debug)]
pub struct DccpFlow {
    /// Congestion control profile of the data.
    pub ccid: Ccid,
    /// Edition of TFRC.
    pub profile: TfrcProfile,
    /// Rate of TFRC's interval before the first loss, if it is not that of the edition.
    pub first_interval: Option<FirstInterval>,
    /// Reaction of its congestion control to handovers.
    pub remedies: Remedies,
    /// Source of its datagrams; `None`: there are always some waiting.
    pub source: Option<Source>,
    /// Payload of each datagram in bytes, where there are always some.
    pub payload_bytes: u32,
    /// Datagrams that wait in the connection, at most.
    pub send_queue: u32,
    /// Datagrams that have waited longer are not sent.
    pub send_within: Option<Duration>,
    /// Packets that either end may have in flight (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
}

impl DccpFlow {
    /// The largest payload of its datagrams, in bytes.
    pub fn largest_payload_bytes(&self) -> u32 {
        self.source.as_ref().map_or(self.payload_bytes, Source::largest_payload_bytes)
    }

    /// Its send queue.
    pub fn queue(&self) -> QueueLimits {
        QueueLimits {
            datagrams: self.send_queue as usize,
            age: self.send_within,
            ..QueueLimits::default()
        }
    }

    /// Its congestion control, at both ends.
    pub fn profiles(&self) -> Standard {
        let (profile, remedies) = (self.profile, self.remedies);
        Standard {
            segment_bytes: f64::from(self.largest_payload_bytes()),
            tfrc_sender: ccid3::SenderConfig { profile, remedies, ..Default::default() },
            tfrc_receiver: ccid3::ReceiverConfig {
                profile,
                first_interval: self.first_interval,
                remedies,
                ..Default::default()
            },
        }
    }
}

/// A datagram of the source: of its bytes the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Made {
    bytes: u32,
    /// Number among the source's datagrams, counting from zero.
    number: u64,
    at: Instant,
}

impl Payload for Made {
    fn len(&self) -> u32 {
        self.bytes
    }
}

/// Times at which datagrams are made.
#[derive(Debug)]
enum Schedule {
    /// Whenever there is room for one.
    Saturate { bytes: u32 },
    /// As the source says.
    Timed(Box<Feed>),
    /// Not any more.
    Stopped,
}

/// The two ends, and the state between them.
#[derive(Debug)]
struct Dccp {
    connections: Both<Connection<Made>>,
    schedule: Schedule,
    payload_bytes: u32,
    max_waiting: usize,
    made: u64,
    started: bool,
    carried: Both<Carried<Packet<Made>>>,
    reception: Reception,
}

impl Description for DccpFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Dccp::new(self, setup))
    }

    fn payload_bytes(&self) -> u32 {
        self.largest_payload_bytes()
    }

    fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    fn needs_handovers(&self) -> bool {
        self.remedies.any()
    }
}

impl Dccp {
    fn new(flow: &DccpFlow, setup: &Setup<'_>) -> Self {
        let Both { source: client, sink: server } = setup.ports();
        let mut isn = setup.stream("isn");
        let mut iss = || Seq48::new(isn.next_u64());
        let payload_bytes = flow.largest_payload_bytes();
        let connection = |(local_port, remote_port), iss| {
            let config = Config { local_port, remote_port, ..config(flow) };
            Connection::new(config, iss, Box::new(flow.profiles()))
        };
        let saturate = Schedule::Saturate { bytes: flow.payload_bytes };
        let schedule = flow
            .source
            .as_ref()
            .map_or(saturate, |source| Schedule::Timed(Box::new(setup.feed(source))));
        Self {
            connections: Both {
                source: connection((client, server), iss()),
                sink: connection((server, client), iss()),
            },
            schedule,
            payload_bytes,
            max_waiting: flow.send_queue as usize,
            made: 0,
            started: false,
            carried: Both::default(),
            reception: Reception::default(),
        }
    }

    /// Makes the datagrams that are due.
    fn make(&mut self, now: Instant, mut screen: Option<&mut Screen>) {
        while let Some(bytes) = self.due(now, screen.as_deref_mut()) {
            let made = Made { bytes, number: self.made, at: now };
            self.made += 1;
            self.connections.source.handle(now, Input::Send(made));
        }
        while self.connections.source.event().is_some() {}
    }

    fn due(&mut self, now: Instant, screen: Option<&mut Screen>) -> Option<u32> {
        let queued = self.connections.source.queued();
        let has_room = self.started && queued < self.max_waiting;
        match &mut self.schedule {
            // The queue of a connection that has ended stays empty.
            Schedule::Saturate { bytes } => {
                let is_open = self.connections.source.accepts_data();
                Some(*bytes).filter(|_| has_room && is_open)
            }
            Schedule::Timed(feed) => feed.next_payload(now, screen),
            Schedule::Stopped => None,
        }
    }

    /// The application at `end` reads the received data.
    fn run_application(&mut self, end: End, host: &mut Host<'_>) {
        while let Some(event) = self.connections[end].event() {
            if let Event::Data { payload, .. } = event {
                host.deliver(payload.bytes);
                let delays = &mut host.delivery.delays;
                self.reception.take(payload.number as u32, payload.at, host.now, delays);
                host.show_datagram(payload.number);
            }
        }
    }
}

impl Transport for Dccp {
    fn start(&mut self, host: &mut Host<'_>) {
        self.started = true;
        self.connections.sink.handle(host.now, Input::Listen);
        self.connections.source.handle(host.now, Input::Open);
        self.step(host);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.schedule = Schedule::Stopped;
        self.connections.source.handle(host.now, Input::Close);
    }

    fn step(&mut self, host: &mut Host<'_>) {
        self.make(host.now, host.screen.as_deref_mut());
    }

    fn source_deadline(&self) -> Option<Instant> {
        match &self.schedule {
            Schedule::Timed(feed) => feed.deadline(),
            Schedule::Saturate { .. } | Schedule::Stopped => None,
        }
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<packet::Packet> {
        let sent = self.connections[end].poll(host.now)?;
        if end == End::Source && matches!(self.schedule, Schedule::Saturate { .. }) {
            self.make(host.now, None);
        }
        let bytes = sent.payload.map_or(0, |made| made.len());
        let mut packet = host.packet(end, datagram::Transport::Dccp(sent.header), bytes);
        packet.datagram.tos = sent.ecn.put(packet.datagram.tos);
        self.carried[end].push(packet.number, packet.source, sent);
        Some(packet)
    }

    fn receive(&mut self, end: End, packet: &packet::Packet, host: &mut Host<'_>) {
        let Some(sent) = self.carried[end.other()].take(packet.number) else { return };
        let ecn = packet.datagram.ecn();
        self.connections[end].handle(host.now, Input::Packet(Packet { ecn, ..sent }));
        self.run_application(end, host);
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        self.connections[end].wake(host.now);
        self.run_application(end, host);
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        self.connections[end].deadline()
    }

    fn notice(&mut self, end: End, notice: Notice, host: &mut Host<'_>) {
        let handover = match notice {
            Notice::Expects { share } => Handover::Expected { free: share },
            Notice::Leaves => Handover::Started,
            Notice::Arrives { share } => Handover::Ended { free: share },
        };
        self.connections[end].handle(host.now, Input::Handover(handover));
    }

    fn usual_bytes(&self) -> Option<(u32, u32)> {
        Some((IPV4_BYTES + DATA_BYTES + self.payload_bytes, self.payload_bytes))
    }

    fn under_way(&mut self, end: End) -> Option<&mut dyn UnderWay> {
        Some(&mut self.carried[end])
    }

    fn last_contents(&mut self, end: End, _packet: &packet::Packet) -> Option<Contents> {
        let options = &self.carried[end].newest()?.options;
        (!options.is_empty()).then(|| Contents::Options(options.clone()))
    }

    fn sample(&self) -> FlowSample {
        let (source, sink) = (self.connections.source.stats(), self.connections.sink.stats());
        dccp_sample(&source, &sink, self.payload_bytes)
    }

    fn restart_statistics(&mut self) {
        self.reception.restart();
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.datagrams = Some(self.reception.outcome());
    }
}

/// An IPv4 header without options.
const IPV4_BYTES: u32 = 20;
/// The header of a DCCP-Data packet with long sequence numbers.
const DATA_BYTES: u32 = 16;

/// A flow's sample by the counters of both ends; `payload_bytes` is the largest payload.
pub fn dccp_sample(source: &Stats, sink: &Stats, payload_bytes: u32) -> FlowSample {
    let sender = source.sender.unwrap_or_default();
    let bytes = |packets: Option<u32>| packets.unwrap_or(0).saturating_mul(payload_bytes);
    FlowSample {
        sent_packets: source.data_packets_sent,
        timeouts: sender.timeouts,
        fast_recoveries: sender.congestion_events,
        cwnd: bytes(sender.cwnd),
        ssthresh: sender.ssthresh.map_or(0, |packets| bytes(Some(packets))),
        flight: bytes(sender.pipe),
        srtt: sender.rtt,
        rto: sender.timeout.unwrap_or(Duration::ZERO),
        acks_sent: sink.packets_sent - sink.data_packets_sent,
        rate: sender.rate.map(|rate| RateSample {
            allowed: BitRate((8.0 * rate) as u64),
            loss_event_rate: Some(sender.loss_event_rate.unwrap_or(0.0)),
            mean_loss_interval: sender.mean_loss_interval,
        }),
        ..FlowSample::default()
    }
}

/// Both ends are set up alike.
fn config(flow: &DccpFlow) -> Config {
    Config {
        service: SERVICE,
        send_ccids: vec![flow.ccid],
        receive_ccids: vec![flow.ccid],
        sequence_window: flow.sequence_window,
        max_payload: flow.largest_payload_bytes(),
        queue: flow.queue(),
        ..Config::default()
    }
}
