//! A queue for each host, with limits of its own beside that of all together.
//!
//! A full host's queue drops arriving items. Where the hosts together hold too much, the longest of
//! their queues (in packets) loses its newest: a host that fills the buffer pays for it, and a host
//! that keeps its queue short loses nothing to others.

use crate::slab::{Ends, NONE, Slab};
use crate::weight::Weight;
use crate::{Goes, Item, Limit};
use fairwave_trace::DropCause;
use fairwave_units::Bytes;
use std::collections::VecDeque;

/// Common part of schedulers of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Bound of all hosts together.
    pub limit: Limit,
    /// Bound of each host.
    pub host_limit: Limit,
    /// Whether hosts of weight zero are served, by turns, while no other has anything. Otherwise
    /// the link then stays idle.
    pub idle_serve: bool,
}

#[derive(Clone, Debug)]
struct Packet<T> {
    item: T,
    bytes: u32,
    /// The scheduler's own number.
    tag: u64,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct Host {
    ends: Ends,
    packets: u32,
    weight: Weight,
    bytes: u64,
    /// The neighbours among the hosts with as many packets.
    before: u32,
    after: u32,
    /// The next of the hosts without weight.
    after_parked: u32,
    is_parked: bool,
}

impl Host {
    const NEW: Self = Self {
        ends: Ends::EMPTY,
        packets: 0,
        weight: Weight::ONE,
        bytes: 0,
        before: NONE,
        after: NONE,
        after_parked: NONE,
        is_parked: false,
    };
}

/// Queue of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classes {
    /// Nothing: a host has one queue, and the host's number.
    One,
    /// Datagrams, in the queue of twice the host's number, and TCP, in the one after.
    DatagramsAndTcp,
}

impl Classes {
    const fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::DatagramsAndTcp => 2,
        }
    }
}

/// The packets of all hosts, each host's, or each of its classes', in the order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Hosts<T> {
    config: HostConfig,
    classes: Classes,
    packets: Slab<Packet<T>>,
    hosts: Vec<Host>,
    /// The hosts that hold this number of packets, for the longest queue.
    by_length: Vec<u32>,
    longest: u32,
    /// Hosts that weigh nothing and may hold packets, for `idle_serve`.
    parked: Ends,
    len: u32,
    bytes: u64,
    dropped: VecDeque<T>,
}

impl<T: Item> Hosts<T> {
    pub(crate) const fn new(config: HostConfig, classes: Classes) -> Self {
        Self {
            config,
            classes,
            packets: Slab::new(),
            hosts: Vec::new(),
            by_length: Vec::new(),
            longest: 0,
            parked: Ends::EMPTY,
            len: 0,
            bytes: 0,
            dropped: VecDeque::new(),
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    pub(crate) fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front().map(|item| (item, DropCause::QueueFull))
    }

    pub(crate) fn know(&mut self, host: u32) {
        if host as usize >= self.hosts.len() {
            self.hosts.resize(host as usize + 1, Host::NEW);
        }
    }

    fn number(&self, item: &T) -> u32 {
        match self.classes {
            Classes::One => item.receiver(),
            Classes::DatagramsAndTcp => 2 * item.receiver() + u32::from(item.tcp().is_some()),
        }
    }

    /// The queues of a receiver.
    const fn numbers(&self, receiver: u32) -> core::ops::Range<u32> {
        let count = self.classes.count();
        receiver * count..(receiver + 1) * count
    }

    /// Sets the weight of a receiver.
    pub(crate) fn receiver_weight(&self, receiver: u32) -> Weight {
        self.weight(self.numbers(receiver).start)
    }

    pub(crate) fn weight(&self, host: u32) -> Weight {
        self.hosts.get(host as usize).map_or(Weight::ONE, |host| host.weight)
    }

    pub(crate) fn set_weight(&mut self, receiver: u32, weight: Weight) {
        for number in self.numbers(receiver) {
            self.know(number);
            self.hosts[number as usize].weight = weight;
            if weight.is_zero() && self.packets_of(number) > 0 {
                self.park(number);
            }
        }
    }

    pub(crate) fn packets_of(&self, host: u32) -> u32 {
        self.hosts.get(host as usize).map_or(0, |host| host.packets)
    }

    /// Returns whether an arriving item finds room in its host's queue. Others are dropped.
    pub(crate) fn admit(&mut self, item: T) -> Option<T> {
        let host = self.hosts.get(self.number(&item) as usize).unwrap_or(&Host::NEW);
        if self.config.host_limit.admits(host.packets, Bytes(host.bytes), item.bytes()) {
            return Some(item);
        }
        self.dropped.push_back(item);
        None
    }

    /// Appends an item to its host's queue, whatever the limits; its host.
    pub(crate) fn push(&mut self, item: T) -> u32 {
        let (number, bytes) = (self.number(&item), item.bytes());
        self.know(number);
        let before = self.hosts[number as usize].ends.last;
        let place = self.packets.insert(Packet { item, bytes, tag: 0, before, after: NONE });
        match before {
            NONE => self.hosts[number as usize].ends.first = place,
            before => self.packets.get_mut(before).after = place,
        }
        let host = &mut self.hosts[number as usize];
        host.ends.last = place;
        host.bytes += u64::from(bytes);
        let weight = host.weight;
        let packets = self.packets_of(number) + 1;
        self.count(number, packets);
        self.len += 1;
        self.bytes += u64::from(bytes);
        if weight.is_zero() {
            self.park(number);
        }
        self.check(number);
        number
    }

    /// Asserts that the sums are of the packets, and those of a host of its own.
    fn check(&self, number: u32) {
        let (len, bytes, host) = (self.len, self.bytes, &self.hosts[number as usize]);
        debug_assert!(host.packets <= len && host.bytes <= bytes, "{host:?} of {len}, {bytes} B");
        debug_assert!(host.packets > 0 || host.bytes == 0, "an empty queue of {} B", host.bytes);
        debug_assert_eq!(host.packets == 0, host.ends.first == NONE, "{host:?}");
        debug_assert!(len > 0 || bytes == 0, "no packets of {bytes} B");
        debug_assert_eq!(len == 0, self.longest == 0, "the longest of {len} is {}", self.longest);
        debug_assert!(host.packets <= self.longest, "{host:?} is longer than the longest");
    }

    /// Drops the newest packet of the longest queue if all together are too many; returns its host,
    /// length and tag.
    pub(crate) fn shed(&mut self) -> Option<Shed> {
        if !self.config.limit.is_exceeded(self.len, Bytes(self.bytes)) {
            return None;
        }
        let host = self.by_length[self.longest as usize];
        let place = self.hosts[host as usize].ends.last;
        let Packet { item, bytes, tag, .. } = self.unlink(host, place);
        self.dropped.push_back(item);
        Some(Shed { host, bytes, tag })
    }

    /// Takes the oldest packet of a host.
    pub(crate) fn take(&mut self, host: u32) -> Option<T> {
        match self.hosts.get(host as usize)?.ends.first {
            NONE => None,
            first => Some(self.unlink(host, first).item),
        }
    }

    /// Removes the oldest packet for a receiver, served or not, that `goes` selects: of datagrams
    /// and TCP in queues of their own, a datagram where one is selected.
    pub(crate) fn withdraw(&mut self, receiver: u32, goes: Goes<'_, T>) -> Option<(T, Shed)> {
        let find = |host: u32| Some((host, self.find(host, goes)?));
        let (host, place) = self.numbers(receiver).find_map(find)?;
        let Packet { item, bytes, tag, .. } = self.unlink(host, place);
        Some((item, Shed { host, bytes, tag }))
    }

    /// The oldest packet of a host that `goes` selects.
    fn find(&self, host: u32, goes: Goes<'_, T>) -> Option<u32> {
        let mut place = self.hosts.get(host as usize)?.ends.first;
        while place != NONE {
            let packet = self.packets.get(place);
            if goes(&packet.item) {
                return Some(place);
            }
            place = packet.after;
        }
        None
    }

    /// Bytes and tag of a host's oldest packet.
    pub(crate) fn head(&self, host: u32) -> Option<(u32, u64)> {
        match self.hosts.get(host as usize)?.ends.first {
            NONE => None,
            first => {
                let packet = self.packets.get(first);
                Some((packet.bytes, packet.tag))
            }
        }
    }

    /// The queue from which a receiver may be sent a packet out of turn, and the packet's bytes.
    pub(crate) fn first_to(&self, receiver: u32) -> Option<(u32, u32)> {
        if self.receiver_weight(receiver).is_zero() && !self.config.idle_serve {
            return None;
        }
        self.numbers(receiver).find_map(|number| Some((number, self.head(number)?.0)))
    }

    /// Tags a host's newest packet.
    pub(crate) fn tag_last(&mut self, host: u32, tag: u64) {
        let last = self.hosts[host as usize].ends.last;
        self.packets.get_mut(last).tag = tag;
    }

    /// Changes the tags of a host's packets, from the oldest on, knowing their lengths.
    pub(crate) fn retag(&mut self, host: u32, mut change: impl FnMut(u64, u32) -> u64) {
        let mut place = self.hosts[host as usize].ends.first;
        while place != NONE {
            let packet = self.packets.get_mut(place);
            packet.tag = change(packet.tag, packet.bytes);
            place = packet.after;
        }
    }

    fn unlink(&mut self, number: u32, place: u32) -> Packet<T> {
        let packet = self.packets.remove(place);
        let host = &mut self.hosts[number as usize];
        host.bytes -= u64::from(packet.bytes);
        match packet.before {
            NONE => host.ends.first = packet.after,
            before => self.packets.get_mut(before).after = packet.after,
        }
        match packet.after {
            NONE => self.hosts[number as usize].ends.last = packet.before,
            after => self.packets.get_mut(after).before = packet.before,
        }
        let packets = self.packets_of(number) - 1;
        self.count(number, packets);
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes);
        self.check(number);
        packet
    }

    /// Moves a host to the list of those with `packets`, one more or less than it had.
    fn count(&mut self, number: u32, packets: u32) {
        let Host { before, after, packets: had, .. } = self.hosts[number as usize];
        if had > 0 {
            match before {
                NONE => self.by_length[had as usize] = after,
                before => self.hosts[before as usize].after = after,
            }
            if after != NONE {
                self.hosts[after as usize].before = before;
            }
        }
        let host = &mut self.hosts[number as usize];
        host.packets = packets;
        if packets > 0 {
            self.list_by_length(number, packets);
        }
        self.longest = self.longest.max(packets);
        if self.longest > 0 && self.by_length[self.longest as usize] == NONE {
            self.longest -= 1;
        }
    }

    fn list_by_length(&mut self, number: u32, packets: u32) {
        if packets as usize >= self.by_length.len() {
            self.by_length.resize(packets as usize + 1, NONE);
        }
        let after = core::mem::replace(&mut self.by_length[packets as usize], number);
        if after != NONE {
            self.hosts[after as usize].before = number;
        }
        let host = &mut self.hosts[number as usize];
        (host.before, host.after) = (NONE, after);
    }

    /// Lists a host that weighs nothing for `idle_serve`.
    fn park(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if !self.config.idle_serve || core::mem::replace(&mut host.is_parked, true) {
            return;
        }
        host.after_parked = NONE;
        match self.parked.last {
            NONE => self.parked.first = number,
            last => self.hosts[last as usize].after_parked = number,
        }
        self.parked.last = number;
    }

    /// The next packet of the hosts that weigh nothing, by turns, if they are served at all.
    pub(crate) fn take_parked(&mut self) -> Option<T> {
        while self.parked.first != NONE {
            let number = self.parked.first;
            let host = &mut self.hosts[number as usize];
            host.is_parked = false;
            self.parked.first = host.after_parked;
            if self.parked.first == NONE {
                self.parked.last = NONE;
            }
            if !host.weight.is_zero() {
                continue;
            }
            let Some(item) = self.take(number) else { continue };
            if self.packets_of(number) > 0 {
                self.park(number);
            }
            return Some(item);
        }
        None
    }
}

/// A packet that left its host's queue without service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shed {
    pub(crate) host: u32,
    pub(crate) bytes: u32,
    pub(crate) tag: u64,
}
