//! One direction of a wired link: queue, transmission, propagation.
//!
//! With a tick it is a dummynet pipe (L. Rizzo, "Dummynet: a simple approach to the evaluation of
//! network protocols", ACM CCR 27(1), 1997), whose clock is that of the kernel: a packet counts as
//! arrived at the tick before, its transmission ends at a tick, and the delay is a number of
//! ticks. Packets of one tick come out together.

use crate::metered::Metered;
use crate::packet::{LINK, Packet, Queued};
use crate::world::Link;
use fairwave_machine::Machine;
use fairwave_trace::DropCause;
use fairwave_units::{BitRate, Duration, Instant, Stream};
use std::collections::VecDeque;

/// One direction of a link. Packets that arrive come out of `poll`, lost ones out of `event`.
#[derive(Debug)]
pub(crate) struct Line {
    rate: Option<BitRate>,
    /// In whole ticks, if there are any.
    delay: Duration,
    tick: Option<Duration>,
    jitter: Duration,
    loss: f64,
    random: Stream,
    pub(crate) queue: Metered,
    busy_until: Instant,
    /// When the last transmission would have ended without a clock: the next begins there.
    finish: Instant,
    /// Packets on their way, by time of arrival.
    flight: VecDeque<(Instant, Packet)>,
    lost: VecDeque<(Packet, DropCause)>,
}

impl Line {
    pub(crate) fn new(link: &Link, random: Stream) -> Self {
        Self {
            rate: link.rate,
            delay: link.tick.map_or(link.delay, |tick| ceil(link.delay, tick)),
            tick: link.tick,
            jitter: link.jitter,
            loss: link.loss,
            random,
            queue: Metered::new(&link.queue),
            busy_until: Instant::ZERO,
            finish: Instant::ZERO,
            flight: VecDeque::new(),
            lost: VecDeque::new(),
        }
    }

    /// Starts sending `packet` at `start`, which a clock may not tell from `now`.
    fn launch(&mut self, packet: Packet, start: Instant, now: Instant) {
        let bytes = u64::from(packet.datagram.wire_len());
        self.finish = start + self.rate.map_or(Duration::ZERO, |rate| rate.time_for(bytes));
        self.busy_until = match self.tick {
            None => self.finish,
            Some(tick) => Instant::ZERO + ceil(self.finish.since(Instant::ZERO), tick),
        };
        if self.random.chance(self.loss) {
            self.queue.count_drop(DropCause::LinkLoss);
            self.lost.push_back((packet, DropCause::LinkLoss));
            return;
        }
        let jitter = match self.jitter {
            Duration::ZERO => 0,
            most => self.random.below(most.as_nanos().saturating_add(1)),
        };
        let arrival = self.busy_until + self.delay + Duration::from_nanos(jitter);
        let arrival = arrival.max(now);
        let later = self.flight.iter().rev().take_while(|(at, _)| *at > arrival).count();
        self.flight.insert(self.flight.len() - later, (arrival, packet));
    }
}

/// The first tick that is not before the end of `span`.
fn ceil(span: Duration, tick: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos().next_multiple_of(tick.as_nanos()))
}

/// The last tick that is not after `at`.
fn floor(at: Instant, tick: Duration) -> Instant {
    let nanos = at.as_nanos();
    Instant::from_nanos(nanos - nanos % tick.as_nanos())
}

impl Line {
    fn collect_dropped(&mut self) {
        self.lost.extend(core::iter::from_fn(|| self.queue.dropped()));
    }
}

impl Machine for Line {
    type Input = Packet;
    type Output = Packet;
    type Event = (Packet, DropCause);

    fn handle(&mut self, now: Instant, packet: Packet) {
        let queued = Queued { packet, receiver: 0, category: LINK };
        if self.busy_until > now || !self.queue.is_empty(LINK) {
            self.queue.push(queued, now);
        } else if let Some(queued) = self.queue.pass(queued, now) {
            let start = self.tick.map_or(now, |tick| floor(now, tick));
            self.launch(queued.packet, start, now);
        }
        self.collect_dropped();
    }

    fn wake(&mut self, now: Instant) {
        while self.busy_until <= now {
            let Some(queued) = self.queue.pop(LINK, now) else { break };
            self.launch(queued.packet, self.finish, now);
        }
        self.collect_dropped();
    }

    fn poll(&mut self, now: Instant) -> Option<Packet> {
        self.flight.pop_front_if(|(arrival, _)| *arrival <= now).map(|(_, packet)| packet)
    }

    fn deadline(&self) -> Option<Instant> {
        let arrival = self.flight.front().map(|(arrival, _)| *arrival);
        if self.queue.is_empty(LINK) {
            return arrival;
        }
        Some(arrival.map_or(self.busy_until, |arrival| arrival.min(self.busy_until)))
    }

    fn event(&mut self) -> Option<(Packet, DropCause)> {
        self.lost.pop_front()
    }
}

#[cfg(test)]
mod tests;
