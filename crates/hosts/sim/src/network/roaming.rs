//! Stations that change their access point.
//!
//! A station has a seat on the channel of each access point that it may use, and is present on
//! one at most. It leaves between two frame exchanges, takes its waiting frames along, and is
//! deaf and silent for a set time. What its access point holds or still gets for it meanwhile
//! waits there, and is routed anew once the station is associated again. A station whose MAC
//! attempts stays on its channel meanwhile and sends its frames, which no radio receives.
//!
//! This file decides when a station goes and which packets it takes; [`super::access`] moves it.

use super::metered::Metered;
use super::radio::Cell;
use crate::actors::{Actor, Actors, Ids};
use crate::packet::{Packet, Queued};
use crate::world::{Discard, Roaming};
use fairwave_dot11::channel::RadioId;
use fairwave_trace::{NodeId, StationSample};
use fairwave_units::{Dbm, Duration, Instant};
use std::collections::VecDeque;

/// Interval at which a station compares levels: about the usual beacon interval.
const COMPARE_EVERY: Duration = Duration::from_millis(100);

/// Wait for the end of a frame exchange that keeps a station from leaving.
const EXCHANGE: Duration = Duration::from_millis(1);

/// A station's place on the channel of an access point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) ap: NodeId,
    pub(super) cell: usize,
    pub(super) radio: RadioId,
}

/// State of a roaming station.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Associated,
    /// To leave for a seat at that time, for so long.
    Preparing(usize, Duration, Instant),
    /// To leave for a seat as soon as its exchange is over, for so long.
    Leaving(usize, Duration),
    /// Away until it takes a seat.
    Away(usize, Instant),
}

/// Present action of a station. Seats are places in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing.
    Stay,
    /// It has chosen a seat, and leaves for it when the time to prepare is over.
    Prepare {
        /// The seat.
        to: usize,
    },
    /// It leaves its channel for a seat, and is without association for so long.
    Leave {
        /// The seat.
        to: usize,
        /// How long.
        away: Duration,
    },
    /// It takes a seat.
    Associate {
        /// The seat.
        to: usize,
    },
}

/// A handover that a station has decided on.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// The seat to go to.
    to: usize,
    /// Time without an access point.
    away: Duration,
    /// Time at which it leaves.
    at: Instant,
}

/// A station that may change its access point.
#[derive(Debug)]
pub(super) struct Roamer<'w> {
    pub(super) node: NodeId,
    roaming: &'w Roaming,
    seats: Vec<Seat>,
    /// The seat taken, or left last.
    seat: usize,
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

impl<'w> Roamer<'w> {
    /// A station that is associated with the access point of the seat `first`.
    pub(super) fn new(node: NodeId, seats: Vec<Seat>, first: usize, roaming: &'w Roaming) -> Self {
        Self {
            node,
            roaming,
            seats,
            seat: first,
            state: State::Associated,
            handovers_done: 0,
            compare_at: roaming.by_signal.map(|_| Instant::ZERO + COMPARE_EVERY),
            better: None,
            own: VecDeque::new(),
            held: VecDeque::new(),
        }
    }

    /// Begins at the strongest of its access points instead.
    pub(super) fn begin_with_strongest(&mut self, cells: &[Cell]) {
        self.seat = self.strongest(cells, Instant::ZERO);
    }

    pub(super) fn is_away(&self) -> bool {
        matches!(self.state, State::Away(..))
    }

    /// Whether it is associated with `ap`.
    pub(super) fn is_with(&self, ap: NodeId) -> bool {
        !self.is_away() && self.here().ap == ap
    }

    /// The seat that it has, or left last.
    pub(super) fn here(&self) -> Seat {
        self.seats[self.seat]
    }

    pub(super) fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// Whether its MAC continues to send while it is away.
    pub(super) fn attempts(&self) -> bool {
        self.roaming.attempts
    }

    /// The next frame of those it took along that `may` leave.
    fn next_own(&mut self, may: impl FnMut(&Queued) -> bool) -> Option<Queued> {
        let next = self.own.iter().position(may)?;
        self.own.remove(next)
    }

    /// Time of its next check.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        match self.state {
            State::Leaving(..) => Some(now + EXCHANGE),
            State::Away(_, until) => Some(until),
            State::Preparing(_, _, until) => Some(until.max(now)),
            State::Associated => {
                let next = self.roaming.handovers.get(self.handovers_done);
                let handover = next.map(|next| next.at - self.roaming.prepare);
                // A time to compare that passed while it was away is now.
                handover.into_iter().chain(self.compare_at).min().map(|at| at.max(now))
            }
        }
    }

    /// Its present action.
    pub(super) fn decide(&mut self, cells: &[Cell], now: Instant) -> Move {
        match self.state {
            State::Leaving(to, away) => Move::Leave { to, away },
            State::Away(to, until) if until <= now => Move::Associate { to },
            State::Away(..) => Move::Stay,
            State::Preparing(to, away, until) if until <= now => Move::Leave { to, away },
            State::Preparing(..) => Move::Stay,
            State::Associated => {
                let next = self.due_handover(now).or_else(|| self.compare(cells, now));
                let Some(Next { to, away, at }) = next else { return Move::Stay };
                self.state = State::Preparing(to, away, at);
                Move::Prepare { to }
            }
        }
    }

    /// The next handover at a set time, if it is time to prepare for it.
    fn due_handover(&mut self, now: Instant) -> Option<Next> {
        let prepare = self.roaming.prepare;
        let next = self.roaming.handovers.get(self.handovers_done);
        let due = next.filter(|due| due.at - prepare <= now)?;
        self.handovers_done += 1;
        let to = self.seats.iter().position(|seat| seat.ap == due.to)?;
        (to != self.seat).then_some(Next { to, away: due.disconnection, at: due.at })
    }

    /// The handover that its signals ask for now.
    fn compare(&mut self, cells: &[Cell], now: Instant) -> Option<Next> {
        let by_signal = self.roaming.by_signal?;
        if self.compare_at.is_none_or(|at| at > now) {
            return None;
        }
        self.compare_at = Some(now + COMPARE_EVERY);
        let best = self.strongest(cells, now);
        let level = |seat| self.level(seat, cells, now);
        if (level(best) - level(self.seat)).0 < by_signal.hysteresis.0 || best == self.seat {
            self.better = None;
            return None;
        }
        let since = self.better.filter(|(seat, _)| *seat == best).map_or(now, |b| b.1);
        self.better = Some((best, since));
        let (away, at) = (by_signal.disconnection, now + self.roaming.prepare);
        (now.since(since) >= by_signal.dwell).then_some(Next { to: best, away, at })
    }

    /// The strongest of its access points at `now`, as a seat.
    fn strongest(&self, cells: &[Cell], now: Instant) -> usize {
        let level = |seat: &usize| self.level(*seat, cells, now).0;
        let seats = 0..self.seats.len();
        seats.max_by(|a, b| level(a).total_cmp(&level(b)).then(b.cmp(a))).unwrap_or(0)
    }

    fn level(&self, seat: usize, cells: &[Cell], now: Instant) -> Dbm {
        let seat = self.seats[seat];
        let cell = &cells[seat.cell];
        let ap = cell.nodes.iter().position(|node| *node == seat.ap);
        debug_assert!(ap.is_some(), "worlds are checked: candidates are access points");
        cell.channel.measure(RadioId(ap.unwrap_or(0) as u32), seat.radio, now)
    }

    /// Its exchange is not over: it leaves later.
    pub(super) fn leave_later(&mut self, to: usize, away: Duration) {
        self.state = State::Leaving(to, away);
    }

    /// It has left its channel for a seat, with the frames of its MAC.
    pub(super) fn leave(
        &mut self,
        to: usize,
        until: Instant,
        frames: impl Iterator<Item = Queued>,
    ) {
        debug_assert!(!self.is_away(), "it leaves once");
        self.own.extend(frames);
        self.better = None;
        self.state = State::Away(to, until);
    }

    /// An exchange of its attempts is not over: it takes its seat later.
    pub(super) fn associate_later(&mut self, to: usize, now: Instant) {
        self.state = State::Away(to, now + EXCHANGE);
    }

    /// Its attempts are over, and these frames are left in its MAC.
    pub(super) fn take_along(&mut self, frames: impl Iterator<Item = Queued>) {
        self.own.extend(frames);
    }

    /// It takes a seat. Returns the packets that its last access point kept for it, in order.
    pub(super) fn associate(&mut self, to: usize) -> VecDeque<Packet> {
        debug_assert!(self.is_away(), "it has left");
        self.seat = to;
        self.state = State::Associated;
        core::mem::take(&mut self.held)
    }

    /// The access point of a seat.
    pub(super) fn ap_of(&self, seat: usize) -> NodeId {
        self.seats[seat].ap
    }

    /// Its last access point keeps a packet for it; false if there is no room.
    pub(super) fn hold(&mut self, packet: Packet) -> bool {
        let has_room = (self.held.len() as u64) < u64::from(self.roaming.hold);
        if has_room {
            self.held.push_back(packet);
        }
        has_room
    }

    /// Removes from its waiting packets, those it took along before those of `queue`, the packets
    /// to drop now that one more comes while it is away, or that it is back.
    pub(super) fn discard(
        &mut self,
        queue: &mut Metered,
        is_back: bool,
        now: Instant,
    ) -> Vec<Packet> {
        let Some(discard) = self.roaming.discard else { return Vec::new() };
        let (max, age) = match discard {
            Discard::Oldest(packets) if is_back => (packets as usize, None),
            Discard::Oldest(_) => return Vec::new(),
            Discard::Older(age) => (usize::MAX, Some(age)),
        };
        let goes = |packet: &Packet| age.is_none_or(|age| now.since(packet.sent) > age);
        let mut gone: Vec<Packet> = Vec::new();
        self.own.retain(|queued| {
            let stays = gone.len() == max || !goes(&queued.packet);
            if !stays {
                gone.push(queued.packet);
            }
            stays
        });
        while gone.len() < max
            && let Some(queued) = queue.withdraw(now, self.node.0, &goes)
        {
            gone.push(queued.packet);
        }
        gone
    }

    /// Its counters on all channels; values of the present are those of the present one.
    pub(super) fn stats(&self, cells: &[Cell]) -> StationSample {
        let here = self.here();
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
}

/// All stations that roam.
#[derive(Debug)]
pub(super) struct Roamers<'w> {
    pub(super) all: Vec<Roamer<'w>>,
    /// Each node's place among them, if it roams.
    places: Vec<Option<usize>>,
    pub(super) ids: Ids,
}

impl<'w> Roamers<'w> {
    /// Roaming of a world with this number of nodes.
    pub(super) fn new(all: Vec<Roamer<'w>>, nodes: usize, actors: &mut Actors) -> Self {
        let mut places = vec![None; nodes];
        for (i, roamer) in all.iter().enumerate() {
            places[roamer.node.0 as usize] = Some(i);
        }
        Self { ids: actors.enlist(all.len(), Actor::Roamer), all, places }
    }

    /// The place of a node among them, if it roams.
    pub(super) fn place(&self, node: NodeId) -> Option<usize> {
        self.places[node.0 as usize]
    }

    /// The roamer of a node, if it roams.
    pub(super) fn of(&self, node: NodeId) -> Option<&Roamer<'w>> {
        self.place(node).map(|i| &self.all[i])
    }

    /// The next frame that `may` leave of those that a node took along, if it roams.
    pub(super) fn next_own(
        &mut self,
        node: NodeId,
        may: impl FnMut(&Queued) -> bool,
    ) -> Option<Queued> {
        self.place(node).and_then(|i| self.all[i].next_own(may))
    }

    /// The place of a node that is between two access points.
    pub(super) fn away(&self, node: NodeId) -> Option<usize> {
        self.place(node).filter(|&i| self.all[i].is_away())
    }

    /// Returns the node that gets the waiting packets at `node` for `receiver`: of a station that
    /// roams, its access point.
    pub(super) fn peer(&self, node: NodeId, receiver: u32) -> u32 {
        self.of(node).map_or(receiver, |roamer| roamer.here().ap.0)
    }

    /// Present or most recent access point of each.
    pub(super) fn access_points(&self) -> Vec<(NodeId, NodeId)> {
        self.all.iter().map(|roamer| (roamer.node, roamer.here().ap)).collect()
    }
}
