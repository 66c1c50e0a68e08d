//! A flow over a DCCP connection: a source whose datagrams wait in the connection until its
//! congestion control lets them go.
//!
//! The simulated network carries headers and lengths. Options and data wait here, by the number of
//! the datagram that carries them, while that is under way.

use super::carried::{Carried, UnderWay};
use super::feed::Feed;
use super::reception::Reception;
use super::screen::Screen;
use super::{Delivery, End, ports};
use crate::handover::Notice;
use crate::world::DccpFlow;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::{
    Config, Connection, Event, Input, Packet, Payload, QueueLimits, Standard, ccid3,
};
use fairwave_machine::Machine;
use fairwave_trace::{FlowId, FlowSample, NodeId, RateSample};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::dccp::{Options, Seq48};
use fairwave_wire::ipv4::Ecn;

/// The service code that both ends agree on: "FAIR" (RFC 4340 section 8.1.2).
const SERVICE: u32 = 0x4641_4952;

/// A datagram of the source: of its bytes the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    bytes: u32,
    /// Which of the source's it is, counting from zero.
    number: u64,
    at: Instant,
}

impl Payload for Made {
    fn len(&self) -> u32 {
        self.bytes
    }
}

/// When datagrams are made.
#[derive(Debug)]
enum Schedule {
    /// Whenever there is room for one.
    Saturate { bytes: u32 },
    /// As the source says.
    Timed(Box<Feed>),
    /// Not any more.
    Stopped,
}

/// Who gets the data at the sink.
#[derive(Debug)]
pub(crate) struct User<'a> {
    pub(super) delivery: &'a mut Delivery,
    pub(super) screen: Option<&'a mut Screen>,
}

/// The two ends, and what is between them.
#[derive(Debug)]
pub(crate) struct Dccp {
    source: Connection<Made>,
    sink: Connection<Made>,
    schedule: Schedule,
    payload_bytes: u32,
    most_waiting: usize,
    made: u64,
    started: bool,
    carried: [Carried<Packet<Made>>; 2],
    pub(super) reception: Reception,
}

impl Dccp {
    pub(super) fn new(id: FlowId, name: &str, flow: &DccpFlow, start: Instant, seed: Seed) -> Self {
        let (client, server) = ports(id);
        let mut isn = seed.stream(&format!("isn/{name}"));
        let mut iss = || Seq48::new(isn.next_u64());
        let payload_bytes = flow.largest_payload_bytes();
        let connection = |(local_port, remote_port), iss| {
            let config = Config { local_port, remote_port, ..config(flow) };
            Connection::new(config, iss, Box::new(profiles(flow)))
        };
        let random = || seed.stream(&format!("traffic/{name}"));
        let feed = |source| Box::new(Feed::new(source, start, random()));
        let saturate = Schedule::Saturate { bytes: flow.payload_bytes };
        let schedule = flow.source.as_ref().map_or(saturate, |s| Schedule::Timed(feed(s)));
        Self {
            source: connection((client, server), iss()),
            sink: connection((server, client), iss()),
            schedule,
            payload_bytes,
            most_waiting: flow.send_queue as usize,
            made: 0,
            started: false,
            carried: Default::default(),
            reception: Reception::default(),
        }
    }

    pub(super) fn start(&mut self, screen: Option<&mut Screen>, now: Instant) {
        self.started = true;
        self.sink.handle(now, Input::Listen);
        self.source.handle(now, Input::Open);
        self.make(screen, now);
    }

    pub(super) fn stop(&mut self, now: Instant) {
        self.schedule = Schedule::Stopped;
        self.source.handle(now, Input::Close);
    }

    /// When the source makes its next datagram.
    pub(super) fn source_deadline(&self) -> Option<Instant> {
        match &self.schedule {
            Schedule::Timed(feed) => feed.deadline(),
            Schedule::Saturate { .. } | Schedule::Stopped => None,
        }
    }

    /// Makes the datagrams that are due.
    pub(super) fn make(&mut self, mut screen: Option<&mut Screen>, now: Instant) {
        while let Some(bytes) = self.due(screen.as_deref_mut(), now) {
            let made = Made { bytes, number: self.made, at: now };
            self.made += 1;
            self.source.handle(now, Input::Send(made));
        }
        while self.source.event().is_some() {}
    }

    fn due(&mut self, screen: Option<&mut Screen>, now: Instant) -> Option<u32> {
        let has_room = self.started && self.source.queued() < self.most_waiting;
        match &mut self.schedule {
            Schedule::Saturate { bytes } => Some(*bytes).filter(|_| has_room),
            Schedule::Timed(feed) => feed.next_payload(now, screen),
            Schedule::Stopped => None,
        }
    }

    fn end(&mut self, end: End) -> &mut Connection<Made> {
        match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        }
    }

    pub(super) fn deadline(&self, end: End) -> Option<Instant> {
        match end {
            End::Source => self.source.deadline(),
            End::Sink => self.sink.deadline(),
        }
    }

    pub(super) fn wake(&mut self, end: End, user: User<'_>, now: Instant) {
        self.end(end).wake(now);
        self.run_application(end, user, now);
    }

    /// The next packet of `end`, at `node`, to be carried by its datagram with this number.
    pub(super) fn poll(
        &mut self,
        (end, node): (End, NodeId),
        number: u32,
        now: Instant,
    ) -> Option<Packet<Made>> {
        let packet = self.end(end).poll(now)?;
        if end == End::Source && matches!(self.schedule, Schedule::Saturate { .. }) {
            self.make(None, now);
        }
        self.carried[end as usize].push(number, node, packet.clone());
        Some(packet)
    }

    /// The options of the packet that `end` has made last.
    pub(super) fn last_options(&self, end: End) -> Option<&Options> {
        self.carried[end as usize].newest().map(|packet| &packet.options)
    }

    /// The packets of `end` that are under way.
    pub(super) fn under_way(&mut self, end: End) -> &mut dyn UnderWay {
        &mut self.carried[end as usize]
    }

    /// The datagram with this number of the other end came to `end`.
    pub(super) fn receive(
        &mut self,
        end: End,
        (number, ecn): (u32, Ecn),
        user: User<'_>,
        now: Instant,
    ) {
        let other = if end == End::Source { End::Sink } else { End::Source };
        let Some(packet) = self.carried[other as usize].take(number) else { return };
        self.end(end).handle(now, Input::Packet(Packet { ecn, ..packet }));
        self.run_application(end, user, now);
    }

    /// The application at `end` reads what has come.
    fn run_application(&mut self, end: End, mut user: User<'_>, now: Instant) {
        while let Some(event) = self.end(end).event() {
            if let Event::Data { payload, .. } = event {
                user.delivery.take(payload.bytes, now);
                self.reception.take(payload.number as u32, payload.at, now);
                if let Some(screen) = user.screen.as_deref_mut() {
                    screen.datagram(payload.number, now);
                }
            }
        }
    }

    /// What happens to the station at `end`. The other end is not told: what it reports of the gap
    /// the sender can tell by sequence numbers.
    pub(super) fn notice(&mut self, end: End, notice: Notice, now: Instant) {
        let handover = match notice {
            Notice::Leaves { .. } => Handover::Started,
            Notice::Arrives { share } => Handover::Ended { free: share },
        };
        self.end(end).handle(now, Input::Handover(handover));
    }

    /// Bytes of a usual packet of the source, and of its payload.
    pub(super) fn usual_bytes(&self) -> (u32, u32) {
        (IPV4_BYTES + DATA_BYTES + self.payload_bytes, self.payload_bytes)
    }

    pub(super) fn sample(&self) -> FlowSample {
        let (source, sink) = (self.source.stats(), self.sink.stats());
        let sender = source.sender.unwrap_or_default();
        let bytes = |packets: Option<u32>| packets.unwrap_or(0).saturating_mul(self.payload_bytes);
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
}

/// An IPv4 header without options.
const IPV4_BYTES: u32 = 20;
/// The header of a DCCP-Data packet with long sequence numbers.
const DATA_BYTES: u32 = 16;

/// Both ends are set up alike.
fn config(flow: &DccpFlow) -> Config {
    Config {
        service: SERVICE,
        send_ccids: vec![flow.ccid],
        receive_ccids: vec![flow.ccid],
        sequence_window: flow.sequence_window,
        max_payload: flow.largest_payload_bytes(),
        queue: QueueLimits {
            datagrams: flow.send_queue as usize,
            age: flow.send_within,
            ..QueueLimits::default()
        },
        ..Config::default()
    }
}

fn profiles(flow: &DccpFlow) -> Standard {
    let (profile, remedies) = (flow.profile, flow.remedies);
    let segment_bytes = f64::from(flow.largest_payload_bytes());
    Standard {
        segment_bytes,
        tfrc_sender: ccid3::SenderConfig { profile, remedies, ..Default::default() },
        tfrc_receiver: ccid3::ReceiverConfig { profile, remedies, ..Default::default() },
    }
}
