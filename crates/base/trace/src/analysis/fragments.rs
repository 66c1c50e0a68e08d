//! Datagrams that came in several IP fragments.
//!
//! The first fragment has the ports, and of UDP the length of the whole datagram: it counts at once
//! and for all of it. A TCP segment's length is that of all fragments together. So the first one of
//! a segment is held until the last one has come, and then counts as the whole segment. Bytes of
//! later fragments are not kept.

use super::packets::Packets;
use core::net::IpAddr;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ip::{self, Transport};
use fairwave_wire::link::Captured;

/// Maximum number of unfinished datagrams; where there are more, the oldest is dropped.
const MAX_DATAGRAMS: usize = 256;
/// Number of bytes that are kept of a held fragment: headers, and what numbers and digests need.
const KEPT: usize = 2_048;
/// Time after which a datagram is not completed any more (that of Linux), and an identification may
/// be another datagram's.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for which a segment is held: fragments are sent together.
const HELD: Duration = Duration::from_secs(1);

/// Unfinished datagrams, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    datagrams: Vec<Datagram>,
    /// Number of datagrams of which a first fragment is held.
    held: usize,
    /// Whether a later fragment was ever seen. A capture of a port has none, and first fragments
    /// are then held only until the next packet of the same host.
    has_later: bool,
}

/// Fields by which a fragment is matched with its datagram (RFC 791 section 3.2, RFC 8200 section
/// 4.5). The protocol is left out: IPv6 names another one behind further extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    id: u32,
}

#[derive(Debug)]
struct Datagram {
    key: Key,
    since: Instant,
    /// Bytes of its fragments together.
    received: u64,
    /// End of the fragment that reaches furthest, in bytes.
    reach: u32,
    /// Whether that is the end of the datagram.
    is_ended: bool,
    /// Whether the first fragment came.
    is_begun: bool,
    /// Later fragments that came before the first.
    early: u64,
    held: Option<(Instant, Vec<u8>, u32)>,
}

/// A first fragment that was held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) at: Instant,
    bytes: Vec<u8>,
    wire_len: u32,
    /// Length of the datagram, as far as its fragments show it.
    len: u32,
}

impl Held {
    /// The packet with the length of the whole datagram.
    pub(super) fn packet(&self) -> Option<ip::Packet<'_>> {
        let packet = ip::parse(&self.bytes, self.wire_len).ok()?;
        Some(packet.lengthened(self.len))
    }
}

impl Fragments {
    /// Takes in a packet, fragment or not. Returns the held fragments that stand for whole
    /// datagrams now, in the order in which they count, and whether the packet itself counts after
    /// them.
    pub(super) fn push(
        &mut self,
        at: Instant,
        bytes: Captured<'_>,
        packet: &ip::Packet<'_>,
        counts: &mut Packets,
    ) -> (Vec<Held>, bool) {
        if packet.fragment.is_none() && self.held == 0 {
            return (Vec::new(), true);
        }
        let mut due: Vec<Held> = core::iter::from_fn(|| self.overdue(at, packet)).collect();
        let (completed, counts) = self.take(at, bytes, packet, counts);
        due.extend(completed);
        (due, counts)
    }

    /// Returns a held fragment that is not to be held beyond this packet, if there is one.
    fn overdue(&mut self, at: Instant, packet: &ip::Packet<'_>) -> Option<Held> {
        if self.held == 0 {
            return None;
        }
        let key = key(packet);
        let is_full = self.datagrams.len() >= MAX_DATAGRAMS;
        let has_later = self.has_later;
        let is_due = |(place, datagram): (usize, &Datagram)| {
            let other = Key { id: datagram.key.id, ..key };
            let is_next = other == datagram.key && key.id != datagram.key.id;
            let is_alone = is_next && !has_later;
            at.since(datagram.since) > HELD || is_alone || is_full && place == 0
        };
        let held = |datagram: &Datagram| datagram.held.is_some();
        let mut all = self.datagrams.iter().enumerate();
        let place = all.position(|(place, one)| held(one) && is_due((place, one)))?;
        self.release(place)
    }

    /// Returns a held fragment at the end of the capture.
    pub(super) fn rest(&mut self) -> Option<Held> {
        let place = self.datagrams.iter().position(|datagram| datagram.held.is_some())?;
        self.release(place)
    }

    /// Counts the datagrams that will not be completed.
    pub(super) fn finish(&mut self, counts: &mut Packets) {
        self.datagrams.drain(..).for_each(|datagram| datagram.count_incomplete(counts));
    }

    /// Takes in a fragment; returns the held one that it completes, or whether it counts itself.
    /// Nothing is held of the datagram that it may displace, after [`Self::overdue`] had nothing
    /// left.
    fn take(
        &mut self,
        at: Instant,
        bytes: Captured<'_>,
        packet: &ip::Packet<'_>,
        counts: &mut Packets,
    ) -> (Option<Held>, bool) {
        let Some(fragment) = packet.fragment else { return (None, true) };
        let is_first = fragment.offset == 0;
        let place = self.place(at, key(packet), is_first, counts);
        let datagram = &mut self.datagrams[place];
        if is_first && datagram.is_begun {
            counts.copies += 1;
            return (None, false);
        }
        datagram.received += u64::from(fragment.len);
        datagram.reach = datagram.reach.max(fragment.offset.saturating_add(fragment.len));
        datagram.is_ended |= fragment.is_last;
        if is_first {
            datagram.is_begun = true;
            counts.fragments = counts.fragments.saturating_sub(datagram.early);
            counts.joined += datagram.early;
            if matches!(packet.transport, Transport::Tcp(_)) {
                let kept = &bytes.bytes[..bytes.bytes.len().min(KEPT)];
                datagram.held = Some((at, kept.to_vec(), bytes.wire_len));
                self.held += 1;
            }
        } else {
            self.has_later |= datagram.is_begun;
            datagram.early += u64::from(!datagram.is_begun);
            let count = if datagram.is_begun { &mut counts.joined } else { &mut counts.fragments };
            *count += 1;
        }
        let is_held = datagram.held.is_some();
        let is_whole = datagram.is_begun
            && datagram.is_ended
            && datagram.received >= u64::from(datagram.reach);
        let held = if is_whole { self.release(place) } else { None };
        if is_whole {
            self.datagrams.remove(place);
        }
        (held.map(|held| Held { at, ..held }), is_first && !is_held)
    }

    /// The place of a datagram, which may be a new one.
    fn place(&mut self, at: Instant, key: Key, is_first: bool, counts: &mut Packets) -> usize {
        if let Some(place) = self.datagrams.iter().position(|datagram| datagram.key == key) {
            let known = &self.datagrams[place];
            let age = at.since(known.since);
            let is_same = age <= PATIENCE && !(is_first && known.is_begun && age > HELD);
            if is_same || known.held.is_some() {
                return place;
            }
            self.datagrams.remove(place).count_incomplete(counts);
        } else if self.datagrams.len() >= MAX_DATAGRAMS {
            self.held -= usize::from(self.datagrams[0].held.is_some());
            self.datagrams.remove(0).count_incomplete(counts);
        }
        self.datagrams.push(Datagram {
            key,
            since: at,
            received: 0,
            reach: 0,
            is_ended: false,
            is_begun: false,
            early: 0,
            held: None,
        });
        self.datagrams.len() - 1
    }

    fn release(&mut self, place: usize) -> Option<Held> {
        let datagram = &mut self.datagrams[place];
        let (at, bytes, wire_len) = datagram.held.take()?;
        self.held -= 1;
        Some(Held { at, bytes, wire_len, len: datagram.reach })
    }
}

impl Datagram {
    /// Counts it, if it was begun and not completed.
    fn count_incomplete(self, counts: &mut Packets) {
        counts.incomplete += u64::from(self.is_begun);
    }
}

fn key(packet: &ip::Packet<'_>) -> Key {
    let ip::Packet { source, destination, id, .. } = *packet;
    Key { source, destination, id }
}
