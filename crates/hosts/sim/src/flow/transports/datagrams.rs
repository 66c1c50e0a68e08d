//! A flow of UDP datagrams.

use crate::flow::description::{Description, Setup};
use crate::flow::ends::{Both, End};
use crate::flow::feed::Feed;
use crate::flow::reception::Reception;
use crate::flow::transport::{Host, Transport};
use crate::outcome::FlowOutcome;
use crate::packet::Packet;
use fairwave_trace::FlowSample;
pub use fairwave_traffic::Source;
use fairwave_traffic::{Emission, Emissions};
use fairwave_units::Instant;

/// Sender and receiver of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    ports: Both<u16>,
    sent: u64,
    reception: Reception,
    schedule: Schedule,
}

/// Source of send times.
#[derive(Debug)]
enum Schedule {
    /// The interface, whenever there is room.
    Saturate { payload_bytes: u32 },
    /// The source, whose time began at `start`.
    Timed { start: Instant, next: Option<Emission>, emissions: Box<Emissions> },
    /// The source, whose frames are observed.
    Framed(Box<Feed>),
    /// None any more.
    Stopped,
}

impl Description for Source {
    fn build(&self, setup: &Setup<'_>) -> Box<dyn Transport> {
        let datagrams = match setup.is_watched {
            true => Datagrams::framed(self, setup),
            false => Datagrams::timed(self, setup),
        };
        Box::new(datagrams)
    }

    fn payload_bytes(&self) -> u32 {
        self.largest_payload_bytes()
    }

    fn source(&self) -> Option<&Source> {
        Some(self)
    }
}

impl Datagrams {
    /// Datagrams of this payload whenever the interface asks.
    pub(super) fn saturating(payload_bytes: u32, setup: &Setup<'_>) -> Self {
        Self::new(setup, Schedule::Saturate { payload_bytes })
    }

    /// Datagrams of a source whose frames are not observed.
    pub(super) fn timed(source: &Source, setup: &Setup<'_>) -> Self {
        let mut emissions = Box::new(source.emissions(setup.stream("traffic")));
        let next = emissions.next();
        Self::new(setup, Schedule::Timed { start: setup.start, next, emissions })
    }

    fn framed(source: &Source, setup: &Setup<'_>) -> Self {
        Self::new(setup, Schedule::Framed(Box::new(setup.feed(source))))
    }

    fn new(setup: &Setup<'_>, schedule: Schedule) -> Self {
        Self { ports: setup.ports(), sent: 0, reception: Reception::default(), schedule }
    }

    /// Payload of the next datagram, if one is due or the interface is asking.
    fn next_payload(&mut self, host: &mut Host<'_>) -> Option<u32> {
        match &mut self.schedule {
            Schedule::Saturate { payload_bytes } => Some(*payload_bytes),
            Schedule::Timed { start, next, emissions } => {
                let due = next.filter(|emission| *start + emission.at <= host.now)?;
                *next = emissions.next();
                Some(due.bytes)
            }
            Schedule::Framed(feed) => feed.next_payload(host.now, host.screen.as_deref_mut()),
            Schedule::Stopped => None,
        }
    }
}

impl Transport for Datagrams {
    fn start(&mut self, _host: &mut Host<'_>) {}

    fn stop(&mut self, _host: &mut Host<'_>) {
        self.schedule = Schedule::Stopped;
    }

    fn source_deadline(&self) -> Option<Instant> {
        match &self.schedule {
            Schedule::Timed { start, next, .. } => next.map(|emission| *start + emission.at),
            Schedule::Framed(feed) => feed.deadline(),
            Schedule::Saturate { .. } | Schedule::Stopped => None,
        }
    }

    fn next_datagram(&mut self, host: &mut Host<'_>) -> Option<Packet> {
        let bytes = self.next_payload(host)?;
        self.sent += 1;
        Some(host.udp(End::Source, self.ports, bytes))
    }

    fn poll(&mut self, _end: End, _host: &mut Host<'_>) -> Option<Packet> {
        None
    }

    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>) {
        debug_assert_eq!(end, End::Sink, "the sink sends nothing");
        host.deliver(packet.datagram.payload_len);
        let delays = &mut host.delivery.delays;
        self.reception.take(packet.number, packet.sent, host.now, delays);
        host.show_datagram(packet.number.into());
    }

    fn wake(&mut self, _end: End, _host: &mut Host<'_>) {}

    fn deadline(&self, _end: End) -> Option<Instant> {
        None
    }

    fn sample(&self) -> FlowSample {
        FlowSample { sent_packets: self.sent, ..FlowSample::default() }
    }

    fn restart_statistics(&mut self) {
        self.reception.restart();
    }

    fn fill(&self, outcome: &mut FlowOutcome) {
        outcome.datagrams = Some(self.reception.outcome());
    }
}
