//! A flow over SHAKE: one connection whose paths pass nodes of their own, over UDP.
//!
//! The simulated network carries lengths. Headers wait here, by the number of the datagram that
//! carries them, while that is under way.

use super::carried::{Carried, UnderWay};
use super::delivery::Delivery;
use super::{End, contents, ports};
use crate::key::shared_key;
use crate::outcome::ShakeOutcome;
use crate::world::ShakeFlow;
use fairwave_machine::Machine;
use fairwave_shake::{Connection, Event, Input, Rules, Segment, growth, scheduler};
use fairwave_tcp::Virtual;
use fairwave_trace::{FlowId, FlowSample, NodeId, PathSample};
use fairwave_units::{BitRate, Duration, Instant, Seed};
use fairwave_wire::datagram::Contents;
use fairwave_wire::seal::Key;
use fairwave_wire::shake::{Body, Reason, Side, connection_key};
use std::collections::VecDeque;

/// What a path of the source is to do.
#[derive(Clone, Copy, Debug)]
enum Step {
    Join(Option<BitRate>),
    Leave,
}

/// What was sent on a path.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    segments: u64,
    /// Of them those whose first byte had been sent before, on whatever path.
    repeated: u64,
}

/// A message on its way: what its datagram carries, and the node that it passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) bytes: u32,
    pub(super) via: NodeId,
}

/// The two ends, and what is between them.
#[derive(Debug)]
pub(crate) struct Shake {
    pub(super) ports: (u16, u16),
    source: Connection<Virtual>,
    sink: Connection<Virtual>,
    /// The nodes that paths pass, by their number.
    vias: Vec<NodeId>,
    /// What is to happen to paths, the earliest first.
    steps: VecDeque<(Instant, u8, Step)>,
    /// What the application still has to write; `None` never ends.
    unwritten: Option<u64>,
    size: Option<u64>,
    closing: bool,
    /// End of what the source has sent at least once.
    sent_up_to: u64,
    tallies: Vec<Tally>,
    acks_sent: u64,
    carried: [Carried<Segment<Virtual>>; 2],
    /// That of the connection, for who captures it. Nothing is sealed for the simulated network.
    key: Key,
    reset: Option<Reason>,
}

impl Shake {
    /// `flow` has been checked.
    pub(super) fn new(
        id: FlowId,
        name: &str,
        flow: &ShakeFlow,
        start: Instant,
        seed: Seed,
    ) -> Self {
        let mut random = seed.stream(&format!("shake/{name}"));
        let connection = random.next_u64();
        let mut end = |side| {
            let rules = Rules {
                scheduler: scheduler(&flow.scheduler).expect("checked before"),
                growth: growth(&flow.growth).expect("checked before"),
            };
            let nonces = Seed(random.next_u64());
            Connection::new(flow.config, rules, side, connection, nonces)
        };
        Self {
            ports: ports(id),
            source: end(Side::Opener),
            sink: end(Side::Acceptor),
            vias: flow.paths.iter().map(|path| path.via).collect(),
            steps: steps(flow, start),
            unwritten: flow.size.map(|size| size.0),
            size: flow.size.map(|size| size.0),
            closing: false,
            sent_up_to: 0,
            tallies: vec![Tally::default(); flow.paths.len()],
            acks_sent: 0,
            carried: Default::default(),
            key: connection_key(&shared_key(seed), connection),
            reset: None,
        }
    }

    pub(super) fn start(&mut self, delivery: &mut Delivery, now: Instant) {
        self.step(now);
        self.run_application(End::Source, delivery, now);
    }

    /// The application writes no more.
    pub(super) fn stop(&mut self, delivery: &mut Delivery, now: Instant) {
        self.unwritten = Some(0);
        self.run_application(End::Source, delivery, now);
    }

    /// Lets paths join and leave that are due to.
    pub(super) fn step(&mut self, now: Instant) {
        while let Some((_, path, step)) = self.steps.pop_front_if(|(at, ..)| *at <= now) {
            let input = match step {
                Step::Join(nominal) => Input::Join { path, nominal },
                Step::Leave => Input::Leave { path },
            };
            self.source.handle(now, input);
        }
    }

    /// When the next path joins or leaves.
    pub(super) fn step_deadline(&self) -> Option<Instant> {
        let next = self.steps.front().map(|(at, ..)| *at);
        next.filter(|_| !self.source.is_over())
    }

    fn end(&mut self, end: End) -> &mut Connection<Virtual> {
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

    pub(super) fn wake(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        self.end(end).wake(now);
        self.run_application(end, delivery, now);
    }

    /// The next message of `end`, at `node`, to be carried by its datagram with this number.
    pub(super) fn poll(
        &mut self,
        (end, node): (End, NodeId),
        number: u32,
        now: Instant,
    ) -> Option<Message> {
        let segment = self.end(end).poll(now)?;
        let path = usize::from(segment.header.path);
        let Virtual(payload) = segment.payload;
        match (end, segment.header.body) {
            (End::Source, Body::Data(data)) => {
                let tally = &mut self.tallies[path];
                tally.segments += 1;
                tally.repeated += u64::from(data.seq < self.sent_up_to);
                let after = data.seq + u64::from(payload) + u64::from(data.fin);
                self.sent_up_to = self.sent_up_to.max(after);
            }
            (End::Sink, Body::Ack(_)) => self.acks_sent += 1,
            _ => {}
        }
        let bytes = segment.header.len_with(payload as usize) as u32;
        self.carried[end as usize].push(number, node, segment);
        Some(Message { bytes, via: self.vias[path] })
    }

    /// The message that `end` has sent last, as bytes.
    pub(super) fn last_contents(&self, end: End) -> Option<Contents> {
        let segment = self.carried[end as usize].newest()?;
        contents::shake(segment, &self.key)
    }

    /// The messages of `end` that are under way.
    pub(super) fn under_way(&mut self, end: End) -> &mut dyn UnderWay {
        &mut self.carried[end as usize]
    }

    /// The datagram with this number of the other end came to `end`.
    pub(super) fn receive(&mut self, end: End, number: u32, delivery: &mut Delivery, now: Instant) {
        let other = if end == End::Source { End::Sink } else { End::Source };
        let Some(segment) = self.carried[other as usize].take(number) else { return };
        self.end(end).handle(now, Input::Segment(segment));
        self.run_application(end, delivery, now);
    }

    /// Lets the application at `end` write or read, after its connection heard something. The
    /// receiving one ends its stream when the sending one has.
    fn run_application(&mut self, end: End, delivery: &mut Delivery, now: Instant) {
        let mut finished = false;
        while let Some(event) = self.end(end).event() {
            finished |= event == Event::Finished;
            if let Event::Reset { reason, .. } = event {
                self.reset.get_or_insert(reason);
            }
        }
        match end {
            End::Source => self.write(now),
            End::Sink => self.read(delivery, now),
        }
        if finished {
            self.end(end).handle(now, Input::Finish);
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
            self.source.handle(now, Input::Finish);
        }
    }

    fn read(&mut self, delivery: &mut Delivery, now: Instant) {
        while let Some(Virtual(bytes)) = self.sink.read(u32::MAX) {
            delivery.take(bytes, now);
        }
        if self.size.is_some_and(|size| delivery.bytes >= size) {
            delivery.completed.get_or_insert(now);
        }
    }

    /// Windows and flight are sums over the paths that carry data, round-trip time and timeout
    /// those of the fastest.
    pub(super) fn sample(&self) -> FlowSample {
        let source = self.source.stats();
        let up = || self.source.paths().filter(|path| path.is_up);
        let sum = |part: fn(&fairwave_shake::PathReport) -> u32| {
            up().fold(0, |sum: u32, path| sum.saturating_add(part(&path)))
        };
        let fastest = up().min_by_key(|path| path.srtt.unwrap_or(Duration::MAX));
        FlowSample {
            sent_packets: source.segments,
            retransmissions: source.retransmissions,
            timeouts: source.timeouts,
            cwnd: sum(|path| path.cwnd),
            ssthresh: sum(|path| path.ssthresh),
            flight: sum(|path| path.flight),
            srtt: fastest.and_then(|path| path.srtt),
            rto: fastest.map_or(Duration::ZERO, |path| path.rto),
            acks_sent: self.acks_sent,
            ..FlowSample::default()
        }
    }

    /// The state of a path, by its number.
    pub(super) fn path(&self, number: usize) -> PathSample {
        let Tally { segments, repeated } = self.tallies[number];
        let counted = PathSample {
            sent_packets: segments,
            retransmissions: repeated,
            ..PathSample::default()
        };
        let joined = self.source.paths().find(|path| usize::from(path.id) == number);
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

    pub(super) fn paths(&self) -> usize {
        self.vias.len()
    }

    pub(super) fn outcome(&self) -> ShakeOutcome {
        let stats = self.source.stats();
        ShakeOutcome {
            losses_found: stats.losses_found,
            reinjections: stats.reinjections,
            probes: stats.probes,
            reset: self.reset,
        }
    }
}

/// Joins and leaves by time; at one time in the order of the paths.
fn steps(flow: &ShakeFlow, start: Instant) -> VecDeque<(Instant, u8, Step)> {
    let mut steps = Vec::new();
    for (path, number) in flow.paths.iter().zip(0..) {
        steps.push((start + path.join, number, Step::Join(path.nominal)));
        steps.extend(path.leave.map(|leave| (start + leave, number, Step::Leave)));
    }
    steps.sort_by_key(|(at, ..)| *at);
    steps.into()
}
