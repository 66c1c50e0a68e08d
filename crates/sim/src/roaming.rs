//! Stations that change their access point.
//!
//! A station has a seat on the channel of each access point that it may use, and is present on
//! one at most. It leaves between two frame exchanges, takes its waiting frames along, and is
//! deaf and silent for a set time. What its access point holds or still gets for it meanwhile
//! waits there, and is routed anew once the station is associated again.

use crate::handover::Notice;
use crate::packet::{Packet, Queued};
use crate::radio::Cell;
use crate::routes;
use crate::simulator::{Actor, Simulator};
use crate::world::{Discard, Roaming, Role, World};
use fairwave_dot11::channel::RadioId;
use fairwave_trace::{DropCause, Kind, NodeId, Sample, Sink, StationSample};
use fairwave_units::{Dbm, Duration, Instant};
use std::collections::VecDeque;

/// How often a station compares levels: about the usual beacon interval.
const COMPARE_EVERY: Duration = Duration::from_millis(100);

/// How long to wait for the end of a frame exchange that keeps a station from leaving.
const EXCHANGE: Duration = Duration::from_millis(1);

/// A station's place on the channel of an access point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) ap: NodeId,
    pub(crate) cell: usize,
    pub(crate) radio: RadioId,
}

/// Where a roaming station stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Associated,
    /// To leave for a seat as soon as its exchange is over, for so long.
    Leaving(usize, Duration),
    /// Away until it takes a seat.
    Away(usize, Instant),
}

/// A station that may change its access point.
#[derive(Debug)]
pub(crate) struct Roamer {
    pub(crate) node: NodeId,
    pub(crate) seats: Vec<Seat>,
    /// The seat taken, or left last.
    pub(crate) seat: usize,
    state: State,
    /// Handovers of [`Roaming::handovers`] that are past.
    handovers_done: usize,
    compare_at: Option<Instant>,
    /// A seat that has been better by the hysteresis, and since when.
    better: Option<(usize, Instant)>,
    /// Frames that it had at its MAC when it left.
    own: VecDeque<Queued>,
    /// Packets for it at its last access point.
    held: VecDeque<Packet>,
}

impl Roamer {
    pub(crate) fn new(node: NodeId, seats: Vec<Seat>, seat: usize, roaming: &Roaming) -> Self {
        Self {
            node,
            seats,
            seat,
            state: State::Associated,
            handovers_done: 0,
            compare_at: roaming.by_signal.map(|_| Instant::ZERO + COMPARE_EVERY),
            better: None,
            own: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(self.state, State::Away(..))
    }

    /// Whether it is associated with `ap`.
    pub(crate) fn is_with(&self, ap: NodeId) -> bool {
        !self.is_away() && self.seats[self.seat].ap == ap
    }

    /// The next frame of those it took along.
    pub(crate) fn next_own(&mut self) -> Option<Queued> {
        self.own.pop_front()
    }

    /// When to look after it.
    fn deadline(&self, roaming: &Roaming, now: Instant) -> Option<Instant> {
        match self.state {
            State::Leaving(..) => Some(now + EXCHANGE),
            State::Away(_, until) => Some(until),
            State::Associated => {
                let handover = roaming.handovers.get(self.handovers_done).map(|h| h.at);
                // A time to compare that passed while it was away is now.
                handover.into_iter().chain(self.compare_at).min().map(|at| at.max(now))
            }
        }
    }

    /// Its counters on all channels; what describes the present is that of the present one.
    pub(crate) fn stats(&self, cells: &[Cell]) -> StationSample {
        let here = self.seats[self.seat];
        let mut sum = cells[here.cell].channel.stats(here.radio);
        let mut seen = vec![here.cell];
        for seat in &self.seats {
            if !seen.contains(&seat.cell) {
                seen.push(seat.cell);
                let other = cells[seat.cell].channel.stats(seat.radio);
                sum.attempts += other.attempts;
                sum.failures += other.failures;
                sum.collisions += other.collisions;
                sum.successes += other.successes;
                sum.retry_drops += other.retry_drops;
                sum.airtime += other.airtime;
                sum.control_airtime += other.control_airtime;
            }
        }
        sum
    }

    /// The strongest of its access points at `now`, as a seat.
    pub(crate) fn strongest(&self, world: &World, cells: &[Cell], now: Instant) -> usize {
        let level = |seat: &usize| self.level(*seat, world, cells, now).0;
        let seats = 0..self.seats.len();
        seats.max_by(|a, b| level(a).total_cmp(&level(b)).then(b.cmp(a))).unwrap_or(0)
    }

    fn level(&self, seat: usize, world: &World, cells: &[Cell], now: Instant) -> Dbm {
        let seat = self.seats[seat];
        debug_assert!(world.nodes[seat.ap.0 as usize].radio.is_some(), "worlds are checked");
        let cell = &cells[seat.cell];
        let ap = cell.nodes.iter().position(|node| *node == seat.ap).unwrap_or(0);
        cell.channel.measure(RadioId(ap as u32), seat.radio, now)
    }
}

/// How a roaming station roams.
pub(crate) fn roaming(world: &World, node: NodeId) -> &Roaming {
    let radio = world.nodes[node.0 as usize].radio.as_ref();
    radio.and_then(|radio| radio.roaming.as_ref()).expect("only roaming stations are roamers")
}

impl Simulator<'_> {
    /// Sets the first deadlines of roaming stations and tells where all begin.
    pub(crate) fn begin_roaming(&mut self, sink: &mut dyn Sink) {
        for i in 0..self.roamers.len() {
            self.after_roamer(i);
        }
        if !sink.wants(Kind::Association) {
            return;
        }
        for (i, node) in self.world.nodes.iter().enumerate() {
            let role = node.radio.as_ref().map(|radio| radio.role);
            if let Some(Role::Station { ap }) = role {
                let ap = self.roamer_of(NodeId(i as u32)).map_or(ap, |r| r.seats[r.seat].ap);
                sink.record(Instant::ZERO, &Sample::Association(NodeId(i as u32), Some(ap)));
            }
        }
    }

    /// The roamer of a node, if it roams.
    pub(crate) fn roamer_of(&mut self, node: NodeId) -> Option<&mut Roamer> {
        self.roams[node.0 as usize].map(|i| &mut self.roamers[i])
    }

    fn after_roamer(&mut self, i: usize) {
        let roamer = &self.roamers[i];
        let deadline = roamer.deadline(roaming(self.world, roamer.node), self.now);
        self.set_deadline(Actor::Roamer(i), deadline);
    }

    /// Lets a roaming station do what is due.
    pub(crate) fn run_roamer(&mut self, i: usize, sink: &mut dyn Sink) {
        match self.roamers[i].state {
            State::Leaving(to, away) => self.leave(i, to, away, sink),
            State::Away(to, until) if until <= self.now => self.associate(i, to, sink),
            State::Away(..) => {}
            State::Associated => {
                if let Some((to, away)) = self.due_handover(i).or_else(|| self.compare(i)) {
                    self.leave(i, to, away, sink);
                }
            }
        }
        self.after_roamer(i);
    }

    /// The seat to go to now by the scenario's word, and how long that takes.
    fn due_handover(&mut self, i: usize) -> Option<(usize, Duration)> {
        let roamer = &mut self.roamers[i];
        let handovers = &roaming(self.world, roamer.node).handovers;
        let due = handovers.get(roamer.handovers_done).filter(|h| h.at <= self.now)?;
        roamer.handovers_done += 1;
        let to = roamer.seats.iter().position(|seat| seat.ap == due.to)?;
        (to != roamer.seat).then_some((to, due.disconnection))
    }

    /// The seat to go to now for its signal, and how long that takes.
    fn compare(&mut self, i: usize) -> Option<(usize, Duration)> {
        let roamer = &mut self.roamers[i];
        let by_signal = roaming(self.world, roamer.node).by_signal?;
        if roamer.compare_at.is_none_or(|at| at > self.now) {
            return None;
        }
        roamer.compare_at = Some(self.now + COMPARE_EVERY);
        let best = roamer.strongest(self.world, &self.cells, self.now);
        let level = |seat| roamer.level(seat, self.world, &self.cells, self.now);
        if (level(best) - level(roamer.seat)).0 < by_signal.hysteresis.0 || best == roamer.seat {
            roamer.better = None;
            return None;
        }
        let since = roamer.better.filter(|(seat, _)| *seat == best).map_or(self.now, |b| b.1);
        roamer.better = Some((best, since));
        (self.now.since(since) >= by_signal.dwell).then_some((best, by_signal.disconnection))
    }

    /// Leaves the channel, if no exchange is under way.
    fn leave(&mut self, i: usize, to: usize, away: Duration, sink: &mut dyn Sink) {
        let roamer = &mut self.roamers[i];
        let (node, seat) = (roamer.node, roamer.seats[roamer.seat]);
        let Some(frames) = self.cells[seat.cell].channel.leave(seat.radio) else {
            roamer.state = State::Leaving(to, away);
            return;
        };
        let receiver = node.0;
        let flows = &self.world.flows;
        roamer.own.extend(frames.into_iter().map(|packet| {
            let category = flows[packet.flow.0 as usize].category;
            Queued { packet, receiver, category }
        }));
        roamer.better = None;
        roamer.state = State::Away(to, self.now + away);
        self.after_cell(seat.cell);
        if let Some(port) = &mut self.ports[node.0 as usize] {
            port.is_present = false;
        }
        sink.record(self.now, &Sample::Association(node, None));
        while let Some(queued) = self.take_queued(seat.ap, node) {
            self.hold(i, queued.packet, sink);
        }
        let new_ap = self.roamers[i].seats[to].ap;
        self.notify(node, new_ap, |share| Notice::Leaves { share }, sink);
        if away.is_zero() {
            self.associate(i, to, sink);
        }
    }

    /// Drops what a roaming station is to drop of its waiting packets, now that one more comes
    /// while it is away, or that it is back.
    pub(crate) fn discard(&mut self, i: usize, is_back: bool, sink: &mut dyn Sink) {
        let (now, roamer) = (self.now, &mut self.roamers[i]);
        let node = roamer.node;
        let Some(discard) = roaming(self.world, node).discard else { return };
        let mut left = match discard {
            Discard::Oldest(packets) if is_back => packets,
            Discard::Oldest(_) => return,
            Discard::Older(_) => u32::MAX,
        };
        let mut goes = |packet: &Packet| {
            let stale = match discard {
                Discard::Older(age) => now.since(packet.sent) > age,
                Discard::Oldest(_) => left > 0,
            };
            left -= u32::from(stale);
            stale
        };
        let mut gone: Vec<Packet> = Vec::new();
        roamer.own.retain(|queued| {
            let stale = goes(&queued.packet);
            if stale {
                gone.push(queued.packet);
            }
            !stale
        });
        let Some(port) = &mut self.ports[node.0 as usize] else { return };
        gone.extend(port.queue.discard(node.0, goes, now));
        let queue = port.queue_id;
        gone.iter().for_each(|_| port.queue.count_drop(DropCause::Aqm));
        for packet in gone {
            self.dropped(&packet, queue, DropCause::Aqm, sink);
        }
    }

    /// Takes a packet for `to` out of the queue of the radio of `at`.
    fn take_queued(&mut self, at: NodeId, to: NodeId) -> Option<Queued> {
        self.ports[at.0 as usize].as_mut()?.queue.take_to(self.now, to.0)
    }

    /// Keeps a packet for a station that is away at its last access point, as long as there is
    /// room.
    pub(crate) fn hold(&mut self, i: usize, packet: Packet, sink: &mut dyn Sink) {
        let roamer = &mut self.roamers[i];
        if (roamer.held.len() as u64) < u64::from(roaming(self.world, roamer.node).hold) {
            return roamer.held.push_back(packet);
        }
        let ap = roamer.seats[roamer.seat].ap;
        if let Some(port) = &mut self.ports[ap.0 as usize] {
            port.queue.count_drop(DropCause::QueueFull);
            let queue = port.queue_id;
            self.dropped(&packet, queue, DropCause::QueueFull, sink);
        }
    }

    /// Takes a seat: routes change, and what waited goes on.
    fn associate(&mut self, i: usize, to: usize, sink: &mut dyn Sink) {
        let roamer = &mut self.roamers[i];
        let (node, last_ap) = (roamer.node, roamer.seats[roamer.seat].ap);
        let seat = roamer.seats[to];
        roamer.seat = to;
        roamer.state = State::Associated;
        let held = core::mem::take(&mut roamer.held);
        self.cells[seat.cell].channel.join(seat.radio);
        if let Some(port) = &mut self.ports[node.0 as usize] {
            (port.cell, port.radio, port.is_present) = (seat.cell, seat.radio, true);
        }
        let roamers = self.roamers.iter();
        let now_at: Vec<(NodeId, NodeId)> = roamers.map(|r| (r.node, r.seats[r.seat].ap)).collect();
        self.routes = routes::table_with(self.world, &now_at);
        sink.record(self.now, &Sample::Association(node, Some(seat.ap)));
        for packet in held {
            self.forward(last_ap, packet, sink);
        }
        self.discard(i, true, sink);
        self.notify(node, seat.ap, |share| Notice::Arrives { share }, sink);
        self.send_next(node, sink);
        // Saturating flows to the station, which paused, go on.
        self.send_next(seat.ap, sink);
        self.after_cell(seat.cell);
    }
}
