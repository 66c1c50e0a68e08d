//! Interface of a transport to the flow that it carries: the trait, and the arguments of its
//! methods.
//!
//! A transport holds the machines of both ends and the application behind each. Data that its
//! machines need of a packet beside its length is kept in [`super::carried`] until the packet
//! arrives.

use super::carried::UnderWay;
use super::delivery::Delivery;
use super::departures::Departures;
use super::ends::{Both, End, Ends};
use super::screen::Screen;
use crate::outcome::FlowOutcome;
use crate::packet::Packet;
use core::fmt::Debug;
use fairwave_probe::Account;
use fairwave_tcp::{Segment, Virtual};
use fairwave_trace::{FlowSample, PathSample};
use fairwave_units::{BitRate, Instant};
use fairwave_wire::datagram::{self, Contents};

/// An event of a station; `share` is the rate of its flow's payload that it may hope for at the new
/// access point, `None` where that has not announced its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// It has chosen a new access point, whose load it knows, and is about to leave the old one.
    Expects { share: Option<BitRate> },
    /// It leaves its access point, and has none for now.
    Leaves,
    /// It is associated with the new one.
    Arrives { share: Option<BitRate> },
}

/// Parts that a flow lends its transport for one call.
#[derive(Debug)]
pub(crate) struct Host<'a> {
    /// The present.
    pub(super) now: Instant,
    /// Makes the datagrams of both ends.
    pub(super) ends: &'a mut Ends,
    /// Data of the receiving application.
    pub(super) delivery: &'a mut Delivery,
    /// The viewer at the sink, if the flow has one.
    pub(super) screen: Option<&'a mut Screen>,
}

impl Host<'_> {
    /// The next datagram of `end`: `bytes` behind the header `transport`.
    pub(super) fn packet(
        &mut self,
        end: End,
        transport: datagram::Transport,
        bytes: u32,
    ) -> Packet {
        self.ends.packet(end, transport, bytes, self.now)
    }

    /// The next UDP datagram of `end`.
    pub(super) fn udp(&mut self, end: End, ports: Both<u16>, bytes: u32) -> Packet {
        self.ends.udp(end, ports, bytes, self.now)
    }

    /// A TCP segment of `end` as its next datagram.
    pub(super) fn tcp(&mut self, end: End, segment: &Segment<Virtual>) -> Packet {
        self.ends.tcp(end, segment, self.now)
    }

    /// The receiving application gets `bytes`.
    pub(super) fn deliver(&mut self, bytes: u32) {
        self.delivery.take(bytes, self.now);
    }

    /// The receiving application gets `bytes` of a stream whose departures are known.
    pub(super) fn deliver_from(&mut self, departures: &mut Departures, bytes: u32) {
        departures.deliver(bytes, self.now, &mut self.delivery.delays);
        self.deliver(bytes);
    }

    /// The viewer, if there is one, sees the stream up to the delivered data.
    pub(super) fn show_stream(&mut self) {
        if let Some(screen) = self.screen.as_deref_mut() {
            screen.stream(self.delivery.bytes, self.now);
        }
    }

    /// The viewer, if there is one, gets the datagram with this number of the source's.
    pub(super) fn show_datagram(&mut self, number: u64) {
        if let Some(screen) = self.screen.as_deref_mut() {
            screen.datagram(number, self.now);
        }
    }
}

/// The machines of both ends of a flow and the application behind each.
///
/// The engine calls [`Self::poll`] of an end until it gives `None` after each call that may have
/// given that end something to send, then [`Self::deadline`].
pub(crate) trait Transport: Debug {
    /// The application starts.
    fn start(&mut self, host: &mut Host<'_>);

    /// The application stops, perhaps before it has started. It sends nothing new.
    fn stop(&mut self, host: &mut Host<'_>);

    /// Lets the application do the work that is due by [`Self::source_deadline`].
    fn step(&mut self, _host: &mut Host<'_>) {}

    /// Time at which the application, which has started, is to do something next.
    fn source_deadline(&self) -> Option<Instant> {
        None
    }

    /// The next datagram of an application that sends without a connection: one that is due, or,
    /// where it saturates its interface, one more.
    fn next_datagram(&mut self, _host: &mut Host<'_>) -> Option<Packet> {
        None
    }

    /// The next packet that `end` has to send, made by [`Host::packet`] or its kind.
    fn poll(&mut self, end: End, host: &mut Host<'_>) -> Option<Packet>;

    /// A packet of the other end arrives at `end`.
    fn receive(&mut self, end: End, packet: &Packet, host: &mut Host<'_>);

    /// A timer of `end` may have expired. An early call does nothing.
    fn wake(&mut self, end: End, host: &mut Host<'_>);

    /// Returns the time to [`Self::wake`] `end`; never in the past once [`Self::poll`] has given
    /// `None`.
    fn deadline(&self, end: End) -> Option<Instant>;

    /// Handles a change of access point of the station at `end`. Only a transport whose description
    /// asks for handovers gets it.
    fn notice(&mut self, _end: End, _notice: Notice, _host: &mut Host<'_>) {}

    /// Returns the bytes of a usual IP packet of the source and of its payload. A transport that
    /// returns them gets the rate that it may hope for at an access point.
    fn usual_bytes(&self) -> Option<(u32, u32)> {
        None
    }

    /// Whether an arrival at one end may let the other end send at the same instant.
    fn is_entangled(&self) -> bool {
        false
    }

    /// Returns the contents of the packets of `end` in flight, if the transport keeps them in a
    /// store that forgets dropped packets.
    fn under_way(&mut self, _end: End) -> Option<&mut dyn UnderWay> {
        None
    }

    /// Captures will ask for [`Self::last_contents`]. Called at most once, before the start.
    fn show_contents(&mut self) {}

    /// Returns the contents of the packet that `end` has made last beside its headers, for
    /// captures; `None` where the datagram has all.
    fn last_contents(&mut self, _end: End, _packet: &Packet) -> Option<Contents> {
        None
    }

    /// State and counters. The flow adds delivered data and dropped ACKs.
    fn sample(&self) -> FlowSample;

    /// The state of a path by its number, counting from zero; `None` beyond the last, and where
    /// there is but one way.
    fn path(&self, _number: usize) -> Option<PathSample> {
        None
    }

    /// The accounts of a buffer probe.
    fn accounts(&self) -> &[Account] {
        &[]
    }

    /// The warm-up is over: statistics of the outcome count from here on.
    fn restart_statistics(&mut self) {}

    /// Adds this transport's own part to the flow's result.
    fn fill(&self, _outcome: &mut FlowOutcome) {}
}
