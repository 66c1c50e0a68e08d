//! One direction of a wired link: queue, transmission, propagation.

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
    rate: BitRate,
    delay: Duration,
    jitter: Duration,
    loss: f64,
    random: Stream,
    pub(crate) queue: Metered,
    busy_until: Instant,
    /// Packets on their way, by time of arrival.
    flight: VecDeque<(Instant, Packet)>,
    lost: VecDeque<(Packet, DropCause)>,
}

impl Line {
    pub(crate) fn new(link: &Link, random: Stream) -> Self {
        Self {
            rate: link.rate,
            delay: link.delay,
            jitter: link.jitter,
            loss: link.loss,
            random,
            queue: Metered::new(&link.queue),
            busy_until: Instant::ZERO,
            flight: VecDeque::new(),
            lost: VecDeque::new(),
        }
    }

    /// Starts sending `packet` at `at`.
    fn launch(&mut self, packet: Packet, at: Instant) {
        self.busy_until = at + self.rate.time_for(u64::from(packet.datagram.wire_len()));
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
        let later = self.flight.iter().rev().take_while(|(at, _)| *at > arrival).count();
        self.flight.insert(self.flight.len() - later, (arrival, packet));
    }
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
            self.launch(queued.packet, now);
        }
        self.collect_dropped();
    }

    fn wake(&mut self, now: Instant) {
        while self.busy_until <= now {
            let Some(queued) = self.queue.pop(LINK, now) else { break };
            self.launch(queued.packet, self.busy_until);
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
mod tests {
    use super::*;
    use crate::packet::address;
    use fairwave_machine::contract;
    use fairwave_queue::Limit;
    use fairwave_trace::{FlowId, NodeId};
    use fairwave_units::Seed;
    use fairwave_wire::datagram::{Datagram, Transport};

    fn packet(id: u16) -> Packet {
        let (source, destination) = (NodeId(0), NodeId(1));
        let transport = Transport::Udp { source_port: 1, destination_port: 2 };
        let datagram = Datagram {
            source: address(source),
            destination: address(destination),
            id,
            ttl: 64,
            tos: 0,
            transport,
            payload_len: 1472,
        };
        let (number, sent) = (u32::from(id), Instant::ZERO);
        Packet { flow: FlowId(0), source, destination, number, sent, datagram }
    }

    fn line(jitter: Duration, loss: f64, queue: u32) -> Line {
        let link = Link {
            ends: (NodeId(0), NodeId(1)),
            rate: BitRate::mbps(100),
            delay: Duration::from_millis(100),
            jitter,
            loss,
            queue: Limit::Packets(queue).into(),
        };
        Line::new(&link, Seed(1).stream("link"))
    }

    /// Ten packets at once; the arrivals in microseconds and order.
    fn arrivals(line: &mut Line) -> Vec<(u64, u16)> {
        let inputs = (0..10).map(|id| (Instant::ZERO, packet(id)));
        let out = contract::check(line, inputs, Instant::from_nanos(1_000_000_000));
        out.iter().map(|(at, p)| (at.as_nanos() / 1000, p.datagram.id)).collect()
    }

    #[test]
    fn packets_are_sent_one_after_another() {
        let got = arrivals(&mut line(Duration::ZERO, 0.0, 100));
        let expected: Vec<_> = (0..10).map(|i| (100_000 + 120 * (u64::from(i) + 1), i)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_full_queue_drops_at_the_tail() {
        let mut line = line(Duration::ZERO, 0.0, 4);
        let got = arrivals(&mut line);
        assert_eq!(got.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(line.queue.sample().drops[DropCause::QueueFull as usize], 5);
    }

    #[test]
    fn jitter_reorders_and_loses_nothing() {
        let got = arrivals(&mut line(Duration::from_millis(10), 0.0, 100));
        let mut order: Vec<u16> = got.iter().map(|a| a.1).collect();
        assert!(got.is_sorted_by_key(|a| a.0) && !order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn losses_are_counted() {
        let mut line = line(Duration::ZERO, 0.5, 100);
        let got = arrivals(&mut line).len() as u64;
        let lost = line.queue.sample().drops[DropCause::LinkLoss as usize];
        assert_eq!(got + lost, 10);
        assert!(lost > 0 && got > 0);
    }
}
