//! A running flow: its application's phase, its transport, and the state shared with the engine.

use super::carried::UnderWay;
use super::delivery::Delivery;
use super::description::Setup;
use super::ends::{End, Ends};
use super::screen::Screen;
use super::transport::{Host, Notice, Transport};
use crate::outcome::FlowOutcome;
use crate::packet::Packet;
use crate::world::Flow;
use fairwave_probe::Account;
use fairwave_tcp::{Segment, Virtual};
use fairwave_trace::{FlowId, FlowSample, NodeId, PathSample};
use fairwave_traffic::Source;
use fairwave_units::{Instant, Seed};
use fairwave_wire::datagram::Contents;

/// Phase of a flow's application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Running,
    Stopped,
}

/// A flow under way.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) id: FlowId,
    start: Instant,
    stop: Option<Instant>,
    phase: Phase,
    /// Whether it keeps the queue of its source's radio from being empty.
    pub(crate) saturates: bool,
    ends: Ends,
    transport: Box<dyn Transport>,
    pub(crate) delivery: Delivery,
    /// Pure ACKs dropped on their way.
    pub(crate) acks_dropped: u64,
    /// Pure ACKs that gave way to later ones.
    pub(crate) acks_filtered: u64,
    /// Viewer of the arriving data, if its quality as a video is wanted.
    screen: Option<Box<Screen>>,
}

/// The viewer of a flow whose source has frames, if there is one.
fn screen(flow: &Flow) -> Option<Screen> {
    let source = flow.traffic.source()?;
    Some(Screen::new(flow.playout?, source.frame_interval()))
}

impl FlowState {
    /// A flow that has not begun, of a world that has been checked. `paced` replaces a saturating
    /// source, where its interface is no radio.
    pub(crate) fn new(id: FlowId, flow: &Flow, paced: Option<&Source>, seed: Seed) -> Self {
        let Flow { name, source, sink, start, stop, playout, traffic, .. } = flow;
        let (source, sink, start, is_watched) = (*source, *sink, *start, playout.is_some());
        let setup = Setup { id, name, source, sink, start, is_watched, paced, seed };
        let traffic = traffic.description();
        Self {
            id,
            start,
            stop: *stop,
            phase: Phase::Waiting,
            saturates: traffic.saturates().is_some() && paced.is_none(),
            ends: Ends::new(id, source, sink),
            transport: traffic.build(&setup),
            delivery: Delivery::default(),
            acks_dropped: 0,
            acks_filtered: 0,
            screen: screen(flow).map(Box::new),
        }
    }

    /// The transport, and the state lent to it for a call.
    fn parts(&mut self, now: Instant) -> (&mut dyn Transport, Host<'_>) {
        let (ends, delivery) = (&mut self.ends, &mut self.delivery);
        let host = Host { now, ends, delivery, screen: self.screen.as_deref_mut() };
        (&mut *self.transport, host)
    }

    /// The next segment or message that `end` has to send.
    pub(crate) fn poll(&mut self, end: End, now: Instant) -> Option<Packet> {
        let (transport, mut host) = self.parts(now);
        let packet = transport.poll(end, &mut host);
        debug_assert!(
            packet.is_none_or(|packet| self.ends.sent(end, &packet)),
            "flow {:?} sent a packet that is not of its {end:?}",
            self.id
        );
        debug_assert!(
            packet.is_some() || self.deadline(end).is_none_or(|at| at >= now),
            "flow {:?}: its {end:?} has nothing to send and a deadline before {now}",
            self.id
        );
        packet
    }

    /// A segment of `end`, or of a proxy that stands for it, as a datagram to the other end.
    pub(crate) fn wrap(&mut self, end: End, segment: &Segment<Virtual>, now: Instant) -> Packet {
        self.ends.tcp(end, segment, now)
    }

    /// The next datagram of a source that is due, or that saturates.
    pub(crate) fn next_datagram(&mut self, now: Instant) -> Option<Packet> {
        let (transport, mut host) = self.parts(now);
        transport.next_datagram(&mut host)
    }

    /// A packet of this flow reached `node`, which is one of its ends. Returns which.
    pub(crate) fn receive(&mut self, node: NodeId, packet: &Packet, now: Instant) -> End {
        let end = self.ends.at(node);
        debug_assert!(self.ends.sent(end.other(), packet), "it is not for {end:?}: {packet:?}");
        let (transport, mut host) = self.parts(now);
        transport.receive(end, packet, &mut host);
        end
    }

    /// Starts, continues or stops the application, as is due. Datagrams that are due then come out
    /// of [`Self::next_datagram`].
    pub(crate) fn wake_source(&mut self, now: Instant) {
        let stops = self.stop.is_some_and(|stop| now >= stop);
        let phase = self.phase;
        let (transport, mut host) = self.parts(now);
        self.phase = match phase {
            Phase::Waiting | Phase::Running if stops => {
                transport.stop(&mut host);
                Phase::Stopped
            }
            Phase::Waiting => {
                transport.start(&mut host);
                Phase::Running
            }
            Phase::Running | Phase::Stopped => {
                transport.step(&mut host);
                phase
            }
        };
    }

    /// Time at which [`Self::wake_source`] is due.
    pub(crate) fn source_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting => Some(self.start),
            Phase::Running => Instant::first_of(self.transport.source_deadline(), self.stop),
            Phase::Stopped => self.transport.source_deadline(),
        }
    }

    /// Whether a packet received at one end may let the other end send at the same instant.
    pub(crate) fn is_entangled(&self) -> bool {
        self.screen.is_some() || self.transport.is_entangled()
    }

    /// Whether it stopped, or never will start.
    pub(crate) fn has_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// A timer of one end's connections expired.
    pub(crate) fn wake(&mut self, end: End, now: Instant) {
        let (transport, mut host) = self.parts(now);
        transport.wake(end, &mut host);
        if let (Some(screen), End::Sink) = (&mut self.screen, end) {
            screen.wake(now);
        }
    }

    pub(crate) fn deadline(&self, end: End) -> Option<Instant> {
        let transport = self.transport.deadline(end);
        match &self.screen {
            Some(screen) if end == End::Sink => Instant::first_of(transport, screen.deadline()),
            _ => transport,
        }
    }

    /// Reports a handover of its station to `end`, if its transport asked for such reports.
    pub(crate) fn notice(&mut self, end: End, notice: Notice, now: Instant) {
        let (transport, mut host) = self.parts(now);
        transport.notice(end, notice, &mut host);
    }

    /// Bytes of a usual packet of the flow's source, and of its payload, where there is one.
    pub(crate) fn usual_bytes(&self) -> Option<(u32, u32)> {
        self.transport.usual_bytes()
    }

    /// Enables [`Self::last_contents`].
    pub(crate) fn show_contents(&mut self) {
        self.transport.show_contents();
    }

    /// Returns the contents of the packet that `end` has made last, where the datagram does not
    /// have them.
    pub(crate) fn last_contents(&mut self, end: End, packet: &Packet) -> Option<Contents> {
        self.transport.last_contents(end, packet)
    }

    /// The warm-up is over: statistics count from `now`.
    pub(crate) fn restart_statistics(&mut self, now: Instant) {
        self.delivery.restart_silence(now);
        self.delivery.delays.restart();
        if let Some(screen) = &mut self.screen {
            screen.restart(now);
        }
        self.transport.restart_statistics();
    }

    /// The part of the result that the flow itself knows, up to `now`; the rest is empty.
    pub(crate) fn outcome(&self, now: Instant) -> FlowOutcome {
        let playout = self.screen.as_ref().map(|screen| screen.outcome(now));
        let delay = self.delivery.delays.times();
        let mut outcome = FlowOutcome { delay, playout, ..FlowOutcome::default() };
        self.transport.fill(&mut outcome);
        outcome
    }

    /// The state of its paths, by their numbers; none where there is but one way.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathSample> + '_ {
        (0..).map_while(|number| self.transport.path(number))
    }

    /// The accounts of a buffer probe.
    pub(crate) fn accounts(&self) -> &[Account] {
        self.transport.accounts()
    }

    /// The flow's state and counters.
    pub(crate) fn sample(&self, now: Instant) -> FlowSample {
        FlowSample {
            delivered_bytes: self.delivery.bytes,
            acks_dropped: self.acks_dropped,
            acks_filtered: self.acks_filtered,
            playout: self.screen.as_ref().map(|screen| screen.sample(now)),
            ..self.transport.sample()
        }
    }

    /// Contents of the packets of this sender, where they are kept while in flight.
    fn under_way(&mut self, packet: &Packet) -> Option<&mut dyn UnderWay> {
        self.transport.under_way(self.ends.at(packet.source))
    }

    /// A packet of this flow is forwarded from `node`.
    pub(crate) fn passes(&mut self, packet: &Packet, node: NodeId) {
        if let Some(under_way) = self.under_way(packet) {
            under_way.passes(packet.number, node);
        }
    }

    /// A packet of this flow will not come.
    pub(crate) fn dropped(&mut self, packet: &Packet) {
        if let Some(under_way) = self.under_way(packet) {
            under_way.dropped(packet.number);
        }
    }

    /// The radio of `node` is done with a packet, and does not know whether it has arrived.
    pub(crate) fn given_up(&mut self, packet: &Packet, node: NodeId) {
        if let Some(under_way) = self.under_way(packet) {
            under_way.given_up(packet.number, node);
        }
    }
}
