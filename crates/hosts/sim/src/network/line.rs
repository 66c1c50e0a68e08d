//! One direction of a wired link: queue, transmission, propagation.
//!
//! With a tick it is a dummynet pipe (L. Rizzo, "Dummynet: a simple approach to the evaluation of
//! network protocols", ACM CCR 27(1), 1997), whose clock is that of the kernel: a packet counts as
//! arrived at the tick before, its transmission ends at a tick, and the delay is a number of
//! ticks. Packets of one tick come out together.
//!
//! A delay may be drawn from a distribution, from a stream of the line's own. Packets keep their
//! order.
//!
//! Rate, delay, losses and state may change at set times. Packets that have left keep their time of
//! arrival; a packet in transmission continues at the new rate and has the new delay.

use super::metered::Metered;
use crate::packet::{LINK, Packet, Queued};
use crate::world::{Change, DelayDistribution, Link, Loss, Pace};
use fairwave_dot11::BurstLink;
use fairwave_machine::Machine;
use fairwave_trace::DropCause;
use fairwave_units::{BitRate, Duration, Instant, Stream, math};
use std::collections::VecDeque;

/// One direction of a link. Packets that arrive come out of `poll`, lost ones out of `event`.
#[derive(Debug)]
pub(crate) struct Line {
    /// 0 from the link's first end, 1 from its second.
    way: usize,
    rate: Option<BitRate>,
    /// Mean, in whole ticks if there are any.
    delay: Duration,
    distribution: DelayDistribution,
    tick: Option<Duration>,
    jitter: Duration,
    loss: Loss,
    is_up: bool,
    random: Stream,
    delays: Stream,
    bursts: BurstLink,
    pub(crate) queue: Metered,
    busy_until: Instant,
    /// Earliest time to ask the queue again, if it gave nothing to the free line though packets
    /// wait.
    held: Option<Instant>,
    /// Time at which the last transmission would have ended without a clock: the next begins there.
    finish: Instant,
    /// The packet sent last, which may still be being sent; `None` if it was lost.
    newest: Option<Newest>,
    /// Time at which the packet sent last arrives, jitter apart: the next one does not before.
    order: Instant,
    /// Packets on their way, by time of arrival.
    flight: VecDeque<(Instant, Packet)>,
    lost: VecDeque<(Packet, DropCause)>,
    /// Changes still to come.
    changes: VecDeque<Change>,
}

/// Data on the packet sent last, for a change.
#[derive(Clone, Copy, Debug)]
struct Newest {
    /// Time of its arrival: the last of that time in `flight`.
    arrival: Instant,
    /// Value of `order` before it.
    order_before: Instant,
    draw: Draw,
}

/// Random parts of a packet's delay.
#[derive(Clone, Copy, Debug)]
struct Draw {
    /// Its propagation delay as a multiple of the mean.
    share: f64,
    jitter: Duration,
}

/// Random streams of a line, one for each use.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// Losses and jitter.
    pub(super) random: Stream,
    /// Propagation delays.
    pub(super) delays: Stream,
    /// The chain of its losses.
    pub(super) bursts: Stream,
    /// The queue.
    pub(super) queue: Stream,
}

impl Line {
    /// The direction `way` of a link.
    pub(crate) fn new(link: &Link, way: usize, streams: Streams) -> Self {
        let Streams { random, delays, bursts, queue } = streams;
        Self {
            way,
            rate: link.pace(way).rate,
            delay: to_tick(link.pace(way).delay, link.tick),
            distribution: link.distribution,
            tick: link.tick,
            jitter: link.jitter,
            loss: link.loss[way],
            is_up: true,
            random,
            delays,
            bursts: BurstLink::new(bursts),
            queue: Metered::new(link.queue(way), queue),
            busy_until: Instant::ZERO,
            held: None,
            finish: Instant::ZERO,
            newest: None,
            order: Instant::ZERO,
            flight: VecDeque::new(),
            lost: VecDeque::new(),
            changes: link.changes.iter().copied().collect(),
        }
    }

    /// Starts sending `packet` at `start`, which a clock may not distinguish from `now`.
    fn launch(&mut self, packet: Packet, start: Instant, now: Instant) {
        self.held = None;
        let bytes = u64::from(packet.datagram.wire_len());
        let time = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(bytes));
        self.set_finish(start + time);
        if self.loses() {
            return self.lose(packet);
        }
        let draw = self.draw();
        self.propagate(packet, draw, now);
    }

    fn draw(&mut self) -> Draw {
        let share = match self.distribution {
            DelayDistribution::Fixed => 1.0,
            DelayDistribution::Uniform => 2.0 * self.delays.unit(),
            DelayDistribution::Exponential => -math::ln(1.0 - self.delays.unit()),
        };
        let jitter = match self.jitter {
            Duration::ZERO => 0,
            maximum => self.random.below(maximum.as_nanos().saturating_add(1)),
        };
        Draw { share, jitter: Duration::from_nanos(jitter) }
    }

    /// The propagation delay of a packet.
    fn delay_of(&self, draw: Draw) -> Duration {
        match self.distribution {
            DelayDistribution::Fixed => self.delay,
            _ => Duration::from_nanos((self.delay.as_nanos() as f64 * draw.share) as u64),
        }
    }

    fn set_finish(&mut self, finish: Instant) {
        self.finish = finish;
        self.busy_until = Instant::ZERO + to_tick(finish.since(Instant::ZERO), self.tick);
    }

    fn loses(&mut self) -> bool {
        let p = match self.loss {
            _ if !self.is_up => 1.0,
            Loss::Rate(p) => p,
            Loss::Bursts(chain) => self.bursts.next(&chain),
        };
        self.random.chance(p)
    }

    fn lose(&mut self, packet: Packet) {
        self.newest = None;
        self.queue.count_drop(DropCause::LinkLoss);
        self.lost.push_back((packet, DropCause::LinkLoss));
    }

    /// The packet sent last will arrive.
    fn propagate(&mut self, packet: Packet, draw: Draw, now: Instant) {
        let order_before = self.order;
        // A delay that has shrunk, or was drawn shorter, would let a packet overtake another.
        self.order = (self.busy_until + self.delay_of(draw)).max(order_before);
        let arrival = (self.order + draw.jitter).max(now);
        // Without jitter, none overtakes another.
        if self.flight.back().is_none_or(|(at, _)| *at <= arrival) {
            self.flight.push_back((arrival, packet));
        } else {
            let later = self.flight.iter().rev().take_while(|(at, _)| *at > arrival).count();
            self.flight.insert(self.flight.len() - later, (arrival, packet));
        }
        self.newest = Some(Newest { arrival, order_before, draw });
    }

    /// Carries out the changes of the link that are due.
    fn change(&mut self, now: Instant) {
        while let Some(change) = self.changes.pop_front_if(|change| change.at <= now) {
            self.become_as(&change);
        }
    }

    /// Applies `change` at its time, which is now.
    pub(super) fn become_as(&mut self, change: &Change) {
        let sending = self.take_sending(change.at);
        let Pace { rate, delay } = change.pace(self.way);
        if self.finish > change.at {
            let left = self.finish.since(change.at);
            self.set_finish(change.at + rescaled(left, self.rate, rate));
        }
        self.rate = rate;
        self.delay = to_tick(delay, self.tick);
        self.loss = change.loss[self.way];
        self.is_up = change.is_up;
        match sending {
            Some((packet, _)) if !self.is_up => self.lose(packet),
            Some((packet, draw)) => self.propagate(packet, draw, change.at),
            None => {}
        }
    }

    /// Removes the packet in transmission at `now` from the packets in flight; also its draw.
    fn take_sending(&mut self, now: Instant) -> Option<(Packet, Draw)> {
        let newest = self.newest.filter(|_| self.busy_until > now)?;
        let place = self.flight.iter().rposition(|(at, _)| *at == newest.arrival)?;
        let (_, packet) = self.flight.remove(place)?;
        self.order = newest.order_before;
        Some((packet, newest.draw))
    }
}

/// Returns the time of the rest `left` of a transmission at the rate `old` at the rate `new`,
/// rounded up.
fn rescaled(left: Duration, old: Option<BitRate>, new: Option<BitRate>) -> Duration {
    let (Some(old), Some(new)) = (old, new) else { return Duration::ZERO };
    let nanos = (u128::from(left.as_nanos()) * u128::from(old.0)).div_ceil(u128::from(new.0));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The first tick that is not before the end of `span`; without ticks that end.
fn to_tick(span: Duration, tick: Option<Duration>) -> Duration {
    let ticks = |tick: Duration| span.as_nanos().next_multiple_of(tick.as_nanos());
    tick.map_or(span, |tick| Duration::from_nanos(ticks(tick)))
}

/// The last tick that is not after `at`.
fn floor(at: Instant, tick: Duration) -> Instant {
    let nanos = at.as_nanos();
    Instant::from_nanos(nanos - nanos % tick.as_nanos())
}

impl Line {
    /// Sends waiting packets while the line is free and the queue gives one.
    fn serve(&mut self, now: Instant) {
        while self.busy_until <= now {
            let released = self.queue.deadline();
            let Some(queued) = self.queue.pop(LINK, now) else { return self.hold(now) };
            let start = match self.held {
                // The line has waited for the queue until now.
                Some(_) => now,
                // A shaper may have released it after the line had become free.
                None => released.map_or(self.finish, |at| at.min(now).max(self.finish)),
            };
            self.launch(queued.packet, start, now);
        }
    }

    /// The queue gave nothing to the free line.
    fn hold(&mut self, now: Instant) {
        if self.queue.len() > 0 {
            // Not at this instant: a scheduler from outside may leave a deadline that has passed.
            self.held = Some(now + Duration::from_nanos(1));
        }
    }

    /// Time at which to ask the queue for the next of its packets; `None` if a new packet comes
    /// first.
    fn next_start(&self) -> Option<Instant> {
        match (self.queue.deadline(), self.held) {
            // A shaper may hold the next packet back for longer than the line is busy.
            (Some(at), None) => Some(at.max(self.busy_until)),
            (Some(at), Some(earliest)) => Some(at.max(earliest)),
            (None, None) => Some(self.busy_until),
            (None, Some(_)) => None,
        }
    }

    fn collect_dropped(&mut self) {
        while let Some(dropped) = self.queue.dropped() {
            self.lost.push_back(dropped);
        }
    }
}

impl Machine for Line {
    type Input = Packet;
    type Output = Packet;
    type Event = (Packet, DropCause);

    fn handle(&mut self, now: Instant, packet: Packet) {
        self.change(now);
        let queued = Queued { packet, receiver: 0, category: LINK };
        if self.busy_until > now || !self.queue.is_empty(LINK) {
            self.queue.push(queued, now);
            // A scheduler that held packets back may choose this one. If its deadline is now, the
            // line is woken at once.
            if self.held.is_some() && self.next_start().is_none_or(|at| at > now) {
                self.serve(now);
            }
        } else if let Some(queued) = self.queue.pass(queued, now) {
            let start = self.tick.map_or(now, |tick| floor(now, tick));
            self.launch(queued.packet, start, now);
        } else {
            self.hold(now);
        }
        self.collect_dropped();
    }

    fn wake(&mut self, now: Instant) {
        self.change(now);
        self.serve(now);
        self.collect_dropped();
    }

    fn poll(&mut self, now: Instant) -> Option<Packet> {
        self.flight.pop_front_if(|(arrival, _)| *arrival <= now).map(|(_, packet)| packet)
    }

    fn deadline(&self) -> Option<Instant> {
        let arrival = self.flight.front().map(|(arrival, _)| *arrival);
        let next = if self.queue.is_empty(LINK) { None } else { self.next_start() };
        let change = self.changes.front().map(|change| change.at);
        Instant::first_of(Instant::first_of(arrival, next), change)
    }

    fn event(&mut self) -> Option<(Packet, DropCause)> {
        self.lost.pop_front()
    }
}

#[cfg(test)]
mod tests;
