//! A flow over SHAKE: one connection whose paths pass nodes of their own, over UDP or as TCP.
//!
//! The simulated network carries lengths. Headers wait here, by the number of the datagram that
//! carries them, while that is under way.

mod format;

use crate::flow::backlog::Backlog;
use crate::flow::carried::{Carried, UnderWay};
use crate::flow::departures::Departures;
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::transport::{Host, Transport};
use crate::key::shared_key;
use crate::outcome::{FlowOutcome, ShakeOutcome};
use crate::packet::Packet;
use fairwave_machine::Machine;
pub use fairwave_shake::Config as ShakeConfig;
use fairwave_shake::{
    ChosenScheduler, Connection, Event, Input, PathReport, Rules, Segment, Stats, growth,
};
use fairwave_tcp::Virtual;
use fairwave_trace::{FlowSample, NodeId, PathSample};
use fairwave_units::{BitRate, Bytes, Duration, Instant, Seed};
use fairwave_wire::datagram::{self, Contents, Piece, patterned};
use fairwave_wire::seal::{Key, TAG_LEN};
use fairwave_wire::shake::{Body, DATA_OVERHEAD, Reason, Side, connection_key};
use fairwave_wire::tcp;
pub use format::ShakeFormat;
use format::{Place, TcpFormat};
use std::collections::VecDeque;

/// A SHAKE flow.
#[derive(Clone, Debug)]
pub struct ShakeFlow {
    /// Settings of both ends.
    pub config: ShakeConfig,
    /// Format of its messages.
    pub format: ShakeFormat,
    /// Scheduler of new data.
    pub scheduler: ChosenScheduler,
    /// Growth of windows, by its name in [`fairwave_shake::GROWTHS`].
    pub growth: String,
    /// Amount of data to send; `None` sends until the flow stops.
    pub size: Option<Bytes>,
    /// Its paths, numbered in this order.
    pub paths: Vec<ShakePath>,
}

/// A path of a SHAKE flow. Times count from the flow's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShakePath {
    /// The node that its packets pass, both ways.
    pub via: NodeId,
    /// Its bandwidth as configured at the source.
    pub nominal: Option<BitRate>,
    /// Time at which the source joins it.
    pub join: Duration,
    /// Time at which the source leaves it.
    pub leave: Option<Duration>,
    /// Time at which the source joins it again.
    pub rejoin: Option<Duration>,
}

/// Configuration of a path of the source.
#[derive(Clone, Copy, Debug)]
enum Step {
    Join(Option<BitRate>),
    Leave,
}

/// Counts of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    segments: u64,
    /// Of them those whose first byte had been sent before, on whatever path.
    repeated: u64,
}

/// The two ends, and the state between them.
#[derive(Debug)]
struct Shake {
    ports: Both<u16>,
    connections: Both<Connection<Virtual>>,
    /// The nodes that paths pass, by their number.
    vias: Vec<NodeId>,
    /// Future events of paths, the earliest first.
    steps: VecDeque<(Instant, u8, Step)>,
    backlog: Backlog,
    size: Option<Bytes>,
    closing: bool,
    /// End of the data that each end has sent at least once.
    sent_up_to: Both<u64>,
    /// TCP headers of messages; without them they are Fairwave's own.
    tcp: Option<TcpFormat>,
    departures: Departures,
    tallies: Vec<Tally>,
    acks_sent: u64,
    carried: Both<Carried<Segment<Virtual>>>,
    /// Key of the connection, for captures. Nothing is sealed for the simulated network.
    key: Key,
    reset: Option<Reason>,
}

impl Description for ShakeFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Shake::new(self, setup))
    }

    fn check(&self) -> Result<(), String> {
        let leaves_late = |path: &ShakePath| path.leave.is_none_or(|leave| leave > path.join);
        let returns_later = |path: &ShakePath| {
            path.rejoin.is_none_or(|at| path.leave.is_some_and(|left| left < at))
        };
        let rules = [
            (self.config.mss > 0, "its segments are empty"),
            (!self.paths.is_empty(), "it has no path"),
            (self.paths.len() <= self.config.max_paths.min(256), "it has too many paths"),
            (self.paths.iter().all(leaves_late), "a path leaves before it has joined"),
            (self.paths.iter().all(returns_later), "a path is joined again before it has left"),
            (self.scheduler.build().is_some(), "no scheduler is called so"),
            (growth(&self.growth).is_some(), "no algorithm of growth is called so"),
        ];
        let broken = rules.iter().find(|(holds, _)| !holds);
        broken.map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }

    fn payload_bytes(&self) -> u32 {
        self.config.mss
    }

    fn datagram_bytes(&self) -> Option<u32> {
        let own = Some(self.config.mss.saturating_add(DATA_OVERHEAD as u32));
        own.filter(|_| self.format == ShakeFormat::Udp)
    }

    fn vias(&self) -> Vec<NodeId> {
        self.paths.iter().map(|path| path.via).collect()
    }
}

impl Shake {
    fn new(flow: &ShakeFlow, setup: &Setup<'_>) -> Self {
        let mut random = setup.stream("shake");
        let connection = random.next_u64();
        let config = flow.format.limit(flow.config);
        let mut end = |side| {
            let rules = Rules {
                scheduler: flow.scheduler.build().expect("checked before"),
                growth: growth(&flow.growth).expect("checked before"),
            };
            let nonces = Seed(random.next_u64());
            Connection::new(config, rules, side, connection, nonces)
        };
        Self {
            ports: setup.ports(),
            connections: Both { source: end(Side::Opener), sink: end(Side::Acceptor) },
            vias: flow.paths.iter().map(|path| path.via).collect(),
            steps: steps(flow, setup.start),
            backlog: Backlog::new(flow.size),
            size: flow.size,
            closing: false,
            sent_up_to: Both::default(),
            tcp: flow.format.tcp(&config),
            departures: Departures::default(),
            tallies: vec![Tally::default(); flow.paths.len()],
            acks_sent: 0,
            carried: Both::default(),
            key: connection_key(&shared_key(setup.seed), connection),
            reset: None,
        }
    }

    /// Lets paths join and leave that are due to.
    fn change_paths(&mut self, now: Instant) {
        while let Some((_, path, step)) = self.steps.pop_front_if(|(at, ..)| *at <= now) {
            let input = match step {
                Step::Join(nominal) => Input::Join { path, nominal },
                Step::Leave => Input::Leave { path },
            };
            self.connections.source.handle(now, input);
        }
    }

    /// Counts a message that `end` sends.
    fn count(&mut self, end: End, segment: &Segment<Virtual>, now: Instant) {
        match (end, segment.header.body) {
            (_, Body::Data(data)) => {
                let after = data.seq + u64::from(segment.payload.0);
                if end == End::Source {
                    let tally = &mut self.tallies[usize::from(segment.header.path)];
                    tally.segments += 1;
                    tally.repeated += u64::from(data.seq < self.sent_up_to.source);
                    self.departures.note(after, now);
                }
                let sent = &mut self.sent_up_to[end];
                *sent = (*sent).max(after + u64::from(data.fin));
            }
            (End::Sink, Body::Ack(_)) => self.acks_sent += 1,
            _ => {}
        }
    }

    /// The next packet of `end`, which carries this message.
    fn packet(&self, end: End, segment: &Segment<Virtual>, host: &mut Host<'_>) -> Packet {
        let payload = segment.payload.0;
        let Some(tcp) = self.tcp else {
            return host.udp(end, self.ports, segment.header.len_with(payload as usize) as u32);
        };
        let received = self.connections[end].received();
        let header = tcp::Header {
            source_port: self.ports[end],
            destination_port: self.ports[end.other()],
            ..tcp.header(segment, Place { sent: self.sent_up_to[end], received })
        };
        host.packet(end, datagram::Transport::Tcp(header), payload)
    }

    /// Lets the application at `end` write or read, after an event of its connection. The receiving
    /// one ends its stream when the sending one has.
    fn run_application(&mut self, end: End, host: &mut Host<'_>) {
        let mut finished = false;
        while let Some(event) = self.connections[end].event() {
            finished |= event == Event::Finished;
            if let Event::Reset { reason, .. } = event {
                self.reset.get_or_insert(reason);
            }
        }
        match end {
            End::Source => self.write(host.now),
            End::Sink => self.read(host),
        }
        if finished {
            self.connections[end].handle(host.now, Input::Finish);
        }
    }

    fn write(&mut self, now: Instant) {
        let source = &mut self.connections.source;
        let bytes = self.backlog.take(source.send_space());
        if bytes > 0 {
            source.handle(now, Input::Write(Virtual(bytes)));
        }
        if self.backlog.is_empty() && !self.closing {
            self.closing = true;
            source.handle(now, Input::Finish);
        }
    }

    fn read(&mut self, host: &mut Host<'_>) {
        while let Some(Virtual(bytes)) = self.connections.sink.read(u32::MAX) {
            host.deliver_from(&mut self.departures, bytes);
        }
        host.delivery.note_completion(self.size, host.now);
    }
}

impl Transport for Shake {
    fn start(&mut self, host: &mut Host<'_>) {
        self.change_paths(host.now);
        self.run_application(End::Source, host);
    }

    fn stop(&mut self, host: &mut Host<'_>) {
        self.backlog = Backlog::EMPTY;
        self.run_application(End::Source, host);
    }

    fn step(&mut self, host: &mut Host<'_>) {
        self.change_paths(host.now);
    }

    /// Time at which the next path joins or leaves.
    fn source_deadline(&self) -> Option<Instant> {
        let next = self.steps.front().map(|(at, ..)| *at);
        next.filter(|_| !self.connections.source.is_over())
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let segment = self.connections[end].poll(host.now)?;
        self.count(end, &segment, host.now);
        let via = self.vias[usize::from(segment.header.path)];
        let packet = self.packet(end, &segment, host);
        self.carried[end].push(packet.number, packet.source, segment);
        Some(Packet { via, ..packet })
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        let Some(mut segment) = self.carried[end.other()].take(packet.number) else { return };
        if let (Some(tcp), datagram::Transport::Tcp(header)) = (self.tcp, packet.datagram.transport)
        {
            tcp.admit_window(&mut segment, &header);
        }
        self.connections[end].handle(host.now, Input::Segment(segment));
        self.run_application(end, host);
    }

    fn wake(&mut self, end: End, host: &mut Host<'_>) {
        self.connections[end].wake(host.now);
        self.run_application(end, host);
    }

    fn deadline(&self, end: End) -> Option<Instant> {
        self.connections[end].deadline()
    }

    fn under_way(&mut self, end: End) -> Option<&mut dyn UnderWay> {
        Some(&mut self.carried[end])
    }

    fn last_contents(&mut self, end: End, _packet: &Packet) -> Option<Contents> {
        // A TCP segment is complete with its header, and its payload the pattern of its number.
        let message = self.carried[end].newest().filter(|_| self.tcp.is_none())?;
        contents(message, &self.key)
    }

    fn sample(&self) -> FlowSample {
        let source = &self.connections.source;
        shake_sample(&source.stats(), source.paths(), self.acks_sent)
    }

    fn path(&self, number: usize) -> Option<PathSample> {
        let Tally { segments, repeated } = *self.tallies.get(number)?;
        let mut joined = self.connections.source.paths();
        let joined = joined.find(|path| usize::from(path.id) == number);
        Some(shake_path_sample(joined.as_ref(), segments, repeated))
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.shake = Some(ShakeOutcome::of(&self.connections.source.stats(), self.reset));
    }
}

/// Sample of a SHAKE connection by the state of its source's end, whose peer has sent `acks_sent`
/// acknowledgements. Windows and flight are sums over the paths that carry data, round-trip time
/// and timeout those of the fastest.
pub fn shake_sample(
    source: &Stats,
    paths: impl Iterator<Item = PathReport>,
    acks_sent: u64,
) -> FlowSample {
    let up: Vec<PathReport> = paths.filter(|path| path.is_up).collect();
    let sum = |part: fn(&PathReport) -> u32| {
        up.iter().fold(0, |sum: u32, path| sum.saturating_add(part(path)))
    };
    let fastest = up.iter().min_by_key(|path| path.srtt.unwrap_or(Duration::MAX));
    FlowSample {
        sent_packets: source.segments,
        retransmissions: source.retransmissions,
        timeouts: source.timeouts,
        cwnd: sum(|path| path.cwnd),
        ssthresh: sum(|path| path.ssthresh),
        flight: sum(|path| path.flight),
        srtt: fastest.and_then(|path| path.srtt),
        rto: fastest.map_or(Duration::ZERO, |path| path.rto),
        acks_sent,
        ..FlowSample::default()
    }
}

/// Sample of a path of a SHAKE connection: its state if it has joined, the segments sent on it, and
/// those among them whose first byte had been sent before.
pub fn shake_path_sample(joined: Option<&PathReport>, segments: u64, repeated: u64) -> PathSample {
    let counted =
        PathSample { sent_packets: segments, retransmissions: repeated, ..PathSample::default() };
    joined.map_or(counted, |path| PathSample {
        is_up: path.is_up,
        cwnd: path.cwnd,
        ssthresh: path.ssthresh,
        flight: path.flight,
        srtt: path.srtt,
        rto: path.rto,
        delivered_bytes: path.delivered,
        timeouts: path.timeouts,
        ..counted
    })
}

/// Joins and leaves by time; at one time in the order of the paths.
fn steps(flow: &ShakeFlow, start: Instant) -> VecDeque<(Instant, u8, Step)> {
    let mut steps = Vec::new();
    for (path, number) in flow.paths.iter().zip(0..) {
        steps.push((start + path.join, number, Step::Join(path.nominal)));
        steps.extend(path.leave.map(|leave| (start + leave, number, Step::Leave)));
        steps.extend(path.rejoin.map(|at| (start + at, number, Step::Join(path.nominal))));
    }
    steps.sort_by_key(|(at, ..)| *at);
    steps.into()
}

/// A message of SHAKE, sealed. Its payload is the pattern at its place in the stream, so that
/// every copy of a byte is the same.
fn contents(segment: &Segment<Virtual>, key: &Key) -> Option<Contents> {
    let Segment { header, payload: Virtual(len) } = segment;
    let position = match header.body {
        Body::Data(data) => data.seq as u32,
        _ => 0,
    };
    let payload = patterned(position, *len);
    let mut bytes = Vec::new();
    header.write(&payload, key, &mut bytes).ok()?;
    if *len == 0 {
        return Some(Contents::bytes(bytes));
    }
    let seal = bytes.split_off(bytes.len() - TAG_LEN);
    bytes.truncate(bytes.len() - payload.len());
    let payload = Piece::Pattern { position, len: *len };
    Some(Contents::Payload(vec![Piece::Bytes(bytes), payload, Piece::Bytes(seal)]))
}
