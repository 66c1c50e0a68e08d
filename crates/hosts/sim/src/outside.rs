//! Packets that a host gives a world from outside, and gets back.
//!
//! The world carries a header and a length; the bytes stay with the host, which finds them again
//! by a handle. Each handle comes back once: with a packet that arrived, or with why it did not.
//!
//! A radio that is done with a frame does not always know its fate: the receiver may hold it back
//! behind a missing one, or may have it though every ACK was lost. Such a packet is in doubt until
//! all events of that time have happened. It is lost then, unless it was seen further on its way or
//! its receiver holds it back.

use crate::packet::{Packet, address};
use fairwave_dot11::AccessCategory;
use fairwave_trace::{DropCause, NodeId};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Datagram, IPV4_HEADER_LEN, Transport, UDP_HEADER_LEN};
use std::collections::VecDeque;

/// A packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsidePacket {
    /// By which the host finds its bytes again.
    pub handle: u64,
    /// The node at which it enters.
    pub source: NodeId,
    /// The node at which it leaves.
    pub destination: NodeId,
    /// The node that it goes to first and from there on, as packets of a flow's path do; `None`
    /// takes the way to its destination.
    pub via: Option<NodeId>,
    /// Its access category where a cell has EDCA; a host takes that from its DSCP (RFC 8325).
    pub category: AccessCategory,
    /// Its view for queues and captures. It takes as long on a medium as this is long.
    pub datagram: Datagram,
}

impl OutsidePacket {
    /// Makes a packet of which nothing is known but that its bytes from the IP header on are `len`,
    /// 28 at least. Packets with the same `ports` are one flow to queues that distinguish flows.
    pub fn opaque(
        handle: u64,
        source: NodeId,
        destination: NodeId,
        category: AccessCategory,
        ports: (u16, u16),
        len: u32,
    ) -> Self {
        let (source_port, destination_port) = ports;
        let datagram = Datagram {
            source: address(source),
            destination: address(destination),
            id: 0,
            ttl: 64,
            tos: 0,
            transport: Transport::Udp { source_port, destination_port },
            payload_len: len.saturating_sub(IPV4_HEADER_LEN + UDP_HEADER_LEN),
        };
        Self { handle, source, destination, via: None, category, datagram }
    }
}

/// Fate of a packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideEvent {
    /// The packet's handle.
    pub handle: u64,
    /// Time at which it became so.
    pub at: Instant,
    /// Its fate.
    pub fate: OutsideFate,
}

/// The end of a packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideFate {
    /// It is at its destination, as queues left it: one may have marked it with CE, or clamped the
    /// window of its segment.
    Arrived(Datagram),
    /// It ended on its way.
    Lost(DropCause),
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    handle: u64,
    /// Time at which it entered. Place and time together are unique: a place is used again only
    /// after its packet has ended, and a packet with a copy left then has been on the air.
    entered: Instant,
    /// The node where it was seen last.
    at: NodeId,
    /// Since when it is in doubt, if it is.
    doubt: Option<Instant>,
}

/// The number of a packet: its place, and how urgent it is. A radio asks for that when it is done
/// with a frame, and by then the packet may have ended.
fn number(place: u32, category: AccessCategory) -> u32 {
    debug_assert!(place < 1 << 30, "a thousand million packets are under way");
    place << 2 | category as u32
}

/// The place of the packet with this number.
fn place(number: u32) -> usize {
    (number >> 2) as usize
}

/// Returns the access category of a packet; best effort for one that is not from outside.
pub(crate) fn category(packet: &Packet) -> AccessCategory {
    let category = AccessCategory::ALL[(packet.number & 3) as usize];
    if packet.is_from_outside() { category } else { AccessCategory::BestEffort }
}

/// All packets from outside that are in flight, and the fates of others. Takes memory only once
/// there is one.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// `None` is free.
    places: Vec<Option<UnderWay>>,
    free: Vec<u32>,
    /// Packets in doubt: since when, their numbers, and when they entered, the oldest doubt first.
    /// Some may have been seen again.
    doubts: VecDeque<(Instant, u32, Instant)>,
    events: VecDeque<OutsideEvent>,
}

impl Outside {
    /// Takes a packet that enters at `now`; returns its stand-in in the world.
    pub(crate) fn enter(&mut self, packet: &OutsidePacket, now: Instant) -> Packet {
        let OutsidePacket { handle, source, destination, via, category, datagram } = *packet;
        let under_way = UnderWay { handle, entered: now, at: source, doubt: None };
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        debug_assert!(self.places[place as usize].is_none(), "{place} is in use");
        self.places[place as usize] = Some(under_way);
        let number = number(place, category);
        let (flow, via, sent) = (Packet::OUTSIDE, via.unwrap_or(destination), now);
        Packet { flow, source, destination, via, number, sent, datagram, report: 0, report_len: 0 }
    }

    fn find(&mut self, packet: &Packet) -> Option<&mut UnderWay> {
        if !packet.is_from_outside() {
            return None;
        }
        let under_way = self.places.get_mut(place(packet.number))?.as_mut();
        under_way.filter(|under_way| under_way.entered == packet.sent)
    }

    /// A packet is at `node`, on its way. False if it has ended before.
    pub(crate) fn passes(&mut self, packet: &Packet, node: NodeId) -> bool {
        let Some(under_way) = self.find(packet) else { return false };
        (under_way.at, under_way.doubt) = (node, None);
        true
    }

    /// The radio of `node` is done with a packet.
    pub(crate) fn sent(&mut self, packet: &Packet, node: NodeId, now: Instant) {
        let Some(under_way) = self.find(packet) else { return };
        if under_way.at == node && under_way.doubt.is_none() {
            under_way.doubt = Some(now);
            self.doubts.push_back((now, packet.number, packet.sent));
        }
    }

    /// A packet ended. A packet that a radio drops is in doubt instead.
    pub(crate) fn dropped(&mut self, packet: &Packet, cause: DropCause, now: Instant) {
        if cause != DropCause::RetryLimit {
            self.end(packet, OutsideFate::Lost(cause), now);
        }
    }

    /// A packet is at its destination.
    pub(crate) fn arrives(&mut self, packet: &Packet, now: Instant) {
        self.end(packet, OutsideFate::Arrived(packet.datagram), now);
    }

    fn end(&mut self, packet: &Packet, fate: OutsideFate, at: Instant) {
        let Some(&mut UnderWay { handle, .. }) = self.find(packet) else { return };
        self.free(packet.number);
        self.events.push_back(OutsideEvent { handle, at, fate });
    }

    fn free(&mut self, number: u32) {
        let place = place(number);
        self.places[place] = None;
        self.free.push(place as u32);
        debug_assert!(self.free.len() <= self.places.len());
    }

    /// All that happens at the time of now has happened: ends packets in doubt, but for those of
    /// which a receiver `holds` the frame, by their number and when they entered.
    pub(crate) fn end_unheld(&mut self, holds: impl Fn(u32, Instant) -> bool) {
        for _ in 0..self.doubts.len() {
            let Some(doubt) = self.doubts.pop_front() else { return };
            let (since, number, entered) = doubt;
            let under_way = self.places[place(number)];
            let in_doubt =
                under_way.filter(|found| found.doubt == Some(since) && found.entered == entered);
            let Some(UnderWay { handle, .. }) = in_doubt else { continue };
            if holds(number, entered) {
                self.doubts.push_back(doubt);
                continue;
            }
            self.free(number);
            let fate = OutsideFate::Lost(DropCause::RetryLimit);
            self.events.push_back(OutsideEvent { handle, at: since, fate });
        }
    }

    /// The next packet that ended.
    pub(crate) fn take(&mut self) -> Option<OutsideEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
