//! A flow of echo requests and replies (RFC 862), which measures round-trip times under load.

use crate::flow::carried::{Carried, UnderWay};
use crate::flow::delays::Delays;
use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::reception::Reception;
use crate::flow::transport::{Host, Transport};
use crate::outcome::FlowOutcome;
use crate::packet::Packet;
use fairwave_trace::FlowSample;
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Echo requests at a constant interval, each answered at once by a reply of the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingFlow {
    /// UDP payload of a request and of its reply, in bytes.
    pub payload_bytes: u32,
    /// Time between requests.
    pub interval: Duration,
}

/// A request, as its reply returns it.
#[derive(Clone, Copy, Debug)]
struct Request {
    number: u32,
    sent: Instant,
}

/// The source, which sends requests, and the sink, which replies.
#[derive(Debug)]
struct Ping {
    flow: PingFlow,
    ports: Both<u16>,
    /// Time of the next request; `None` after the last one.
    next: Option<Instant>,
    sent: u64,
    /// Requests that the sink has received and not answered yet.
    unanswered: VecDeque<Request>,
    /// Requests of the replies in flight.
    replies: Carried<Request>,
    /// Replies that the source has received.
    reception: Reception,
    round_trips: Delays,
}

impl Description for PingFlow {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        Box::new(Ping {
            flow: *self,
            ports: setup.ports(),
            next: Some(setup.start),
            sent: 0,
            unanswered: VecDeque::new(),
            replies: Carried::default(),
            reception: Reception::default(),
            round_trips: Delays::default(),
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.interval.is_zero() { Err("its interval is zero".to_owned()) } else { Ok(()) }
    }

    fn payload_bytes(&self) -> u32 {
        self.payload_bytes
    }
}

impl Transport for Ping {
    fn start(&mut self, _host: &mut Host<'_>) {}

    fn stop(&mut self, _host: &mut Host<'_>) {
        self.next = None;
    }

    fn source_deadline(&self) -> Option<Instant> {
        self.next
    }

    fn next_datagram(&mut self, host: &mut Host<'_>) -> Option<Packet> {
        let due = self.next.filter(|due| *due <= host.now)?;
        // Replies are not awaited: a source that waits for a late one would sample the worst times
        // least often.
        self.next = Some(due + self.flow.interval);
        self.sent += 1;
        Some(host.udp(End::Source, self.ports, self.flow.payload_bytes))
    }

    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet> {
        let request = match end {
            End::Source => return None,
            End::Sink => self.unanswered.pop_front()?,
        };
        let packet = host.udp(end, self.ports, self.flow.payload_bytes);
        self.replies.push(packet.number, packet.source, request);
        Some(packet)
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        match end {
            End::Sink => {
                host.deliver(packet.datagram.payload_len);
                host.delivery.delays.add(host.now.since(packet.sent));
                self.unanswered.push_back(Request { number: packet.number, sent: packet.sent });
            }
            End::Source => {
                let Some(Request { number, sent }) = self.replies.take(packet.number) else {
                    return;
                };
                self.reception.take(number, sent, host.now, &mut self.round_trips);
            }
        }
    }

    fn wake(&mut self, _end: End, _host: &mut Host<'_>) {}

    fn deadline(&self, _end: End) -> Option<Instant> {
        None
    }

    fn under_way(&mut self, end: End) -> Option<&mut dyn UnderWay> {
        match end {
            End::Source => None,
            End::Sink => Some(&mut self.replies),
        }
    }

    fn sample(&self) -> FlowSample {
        FlowSample { sent_packets: self.sent, ..FlowSample::default() }
    }

    fn restart_statistics(&mut self) {
        self.reception.restart();
        self.round_trips.restart();
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.datagrams = Some(self.reception.outcome());
        outcome.round_trips = self.round_trips.times();
    }
}
