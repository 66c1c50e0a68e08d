//! Classes, queues and filters: the wanted state, and the state that the kernel has confirmed.
//!
//! A request that fails changes nothing here: the difference between both states stays, and
//! [`Classes::settle`] asks for it again. As an answer may be lost, an error leaves open whether
//! the kernel has made the change; each request may be repeated. One station's failure leaves the
//! others alone.

use crate::classify::{self, Destination, Row, Traffic};
use crate::leaf::{self, Leaf};
use crate::tc::{self, Discipline, Share, TrafficControl};
use netlink_packet_route::tc::TcMessage;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The class of which all others borrow, and that of unknown stations.
const ALL: u16 = 1;
pub(super) const UNKNOWN: u16 = 2;
/// Classes of stations.
const FIRST: u16 = 0x10;
/// Longest frames in the turn of a full weight.
const TURN: f64 = 40.0;
/// Minimum of a class's rate in bytes a second: neither HTB nor HFSC has one of 0. A class whose
/// weight is 0 has it, too, and a queue that drops everything.
const MIN_RATE: u32 = 125;
/// By how much the sum of weights for which rates are computed may exceed the true one.
const SLACK: f64 = 1.25;

/// Settings that all classes share.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) index: u32,
    pub(super) discipline: Discipline,
    /// Bytes a second.
    pub(super) rate: u32,
    /// Bytes of the link below that each packet counts with.
    pub(super) overhead: u16,
    /// Bytes of the longest frame.
    pub(super) longest: u32,
    pub(super) leaf: Leaf,
    pub(super) queue_packets: u32,
    pub(super) traffic: Vec<Traffic>,
}

/// All classes of an interface.
#[derive(Debug)]
pub(super) struct Classes {
    layout: Layout,
    /// The sum of weights for which rates were computed.
    whole: f64,
    unknown: Class,
    /// By number; one whose station has left stays until the kernel has deleted its classes.
    slots: BTreeMap<u16, Slot>,
    numbers: BTreeMap<[u8; 6], u16>,
    /// Numbers of slots whose state may differ from the kernel's.
    pending: BTreeSet<u16>,
}

#[derive(Debug)]
struct Slot {
    number: u16,
    wanted: Option<Wanted>,
    /// Of the rest, and then of each kind of traffic.
    classes: Vec<Class>,
    /// Filters that were requested, and whether the kernel has confirmed them.
    filters: BTreeMap<(Destination, usize), bool>,
}

#[derive(Debug, Clone)]
struct Wanted {
    destination: Destination,
    /// Of the rest, and then of each kind of traffic.
    weights: Vec<f64>,
}

/// The kernel's state of one class.
#[derive(Debug, Clone, Default)]
struct Class {
    is_requested: bool,
    /// The share that the kernel has confirmed.
    share: Option<Share>,
    /// Confirmed qdiscs in it: the cutter, and then the queue.
    queues: usize,
    /// Whether that queue is the one of a weight of 0, which drops everything.
    is_closed: bool,
}

impl Classes {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            whole: SLACK,
            unknown: Class::default(),
            slots: BTreeMap::new(),
            numbers: BTreeMap::new(),
            pending: BTreeSet::new(),
        }
    }

    pub(super) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes the classes of all and of unknown stations, and the tables of filters. Without a leaf
    /// that the kernel has, [`Leaf::Fifo`] takes its place if `may_replace_leaf`.
    pub(super) fn set_up(
        &mut self,
        kernel: &mut impl TrafficControl,
        urgent: u16,
        may_replace_leaf: bool,
    ) -> io::Result<()> {
        let Layout { rate, longest, overhead, index, .. } = self.layout;
        let all = Share { rate, ceil: rate, quantum: longest, overhead };
        kernel.set_class(self.layout.class(ALL, 0, all))?;
        let settled = self.settle_unknown(kernel);
        let lacks = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match (settled.as_ref().is_err_and(lacks), self.unknown.queues) {
            (true, 1) if may_replace_leaf => {
                self.layout.leaf = Leaf::Fifo;
                self.settle_unknown(kernel)?;
            }
            (true, made @ (0 | 1)) => {
                let lacking = if made == 0 { "tbf" } else { self.layout.leaf.name() };
                let why = format!("the kernel has no {lacking}");
                return Err(io::Error::new(io::ErrorKind::NotFound, why));
            }
            _ => settled?,
        }
        let mut filters = classify::set_up(index, urgent, UNKNOWN).into_iter();
        filters.try_for_each(|filter| kernel.add_filter(filter))
    }

    /// Gives a station weights: of the rest, and then of each kind of traffic. The error is that of
    /// its own classes and filters.
    pub(super) fn serve(
        &mut self,
        kernel: &mut impl TrafficControl,
        station: [u8; 6],
        destination: Destination,
        weights: Vec<f64>,
    ) -> io::Result<()> {
        let number = match self.numbers.get(&station) {
            Some(number) => *number,
            None => self.free().ok_or_else(|| io::Error::other("no class is left"))?,
        };
        self.numbers.insert(station, number);
        let classes = self.layout.traffic.len() + 1;
        let slot = self.slots.entry(number).or_insert_with(|| Slot::new(number, classes));
        slot.wanted = Some(Wanted { destination, weights });
        self.settle_after_change(kernel, number)
    }

    /// Takes a station's classes away.
    pub(super) fn stop(
        &mut self,
        kernel: &mut impl TrafficControl,
        station: [u8; 6],
    ) -> io::Result<()> {
        let Some(number) = self.numbers.remove(&station) else { return Ok(()) };
        self.slots.entry(number).and_modify(|slot| slot.wanted = None);
        self.settle_after_change(kernel, number)
    }

    fn settle_after_change(
        &mut self,
        kernel: &mut impl TrafficControl,
        number: u16,
    ) -> io::Result<()> {
        self.pending.insert(number);
        let has_moved = self.fit();
        if has_moved {
            self.pending.extend(self.slots.keys());
        }
        let own = self.settle_one(kernel, number);
        if has_moved {
            // Other stations' errors are not this one's: their state stays pending.
            let _ = self.settle(kernel);
        }
        own
    }

    /// Whether the kernel has confirmed all that is wanted.
    pub(super) fn is_settled(&self) -> bool {
        let of_unknown = Some(self.layout.share(1.0, self.whole));
        self.pending.is_empty() && self.unknown.share == of_unknown && self.unknown.queues == 2
    }

    /// Has cutters and queues pass frames of this length, if those that they pass are shorter;
    /// [`Classes::settle`] requests that.
    pub(super) fn lengthen(&mut self, longest: u32) {
        if longest <= self.layout.longest {
            return;
        }
        self.layout.longest = longest;
        let stations = self.slots.values_mut().flat_map(|slot| &mut slot.classes);
        // The kernel changes qdiscs in place: packets that wait in them stay.
        stations.chain([&mut self.unknown]).for_each(|class| class.queues = 0);
        self.pending.extend(self.slots.keys());
    }

    /// Requests all that the kernel has not confirmed. One error does not stop the rest; the first
    /// is returned.
    pub(super) fn settle(&mut self, kernel: &mut impl TrafficControl) -> io::Result<()> {
        let mut first = self.settle_unknown(kernel);
        let pending: Vec<u16> = self.pending.iter().copied().collect();
        for number in pending {
            first = first.and(self.settle_one(kernel, number));
        }
        first
    }

    fn settle_unknown(&mut self, kernel: &mut impl TrafficControl) -> io::Result<()> {
        let share = self.layout.share(1.0, self.whole);
        self.layout.settle_class(kernel, &mut self.unknown, UNKNOWN, share, false)
    }

    fn settle_one(&mut self, kernel: &mut impl TrafficControl, number: u16) -> io::Result<()> {
        if let Some(slot) = self.slots.get_mut(&number) {
            match slot.wanted.clone() {
                Some(wanted) => self.layout.settle_slot(kernel, slot, &wanted, self.whole)?,
                None => {
                    self.layout.clear_slot(kernel, slot)?;
                    self.slots.remove(&number);
                }
            }
        }
        self.pending.remove(&number);
        Ok(())
    }

    /// The classes of a station: of the rest, and then of each kind of traffic.
    pub(super) fn minors(&self, station: [u8; 6]) -> Option<impl Iterator<Item = u16> + use<>> {
        let first = self.layout.first_minor(*self.numbers.get(&station)?);
        Some(first..=first + self.layout.traffic.len() as u16)
    }

    /// All classes: lower half of the handle, station, kind of traffic and weight. That of unknown
    /// stations is the first.
    pub(super) fn all(&self) -> impl Iterator<Item = (u16, Option<[u8; 6]>, usize, f64)> + '_ {
        let stations = self.numbers.iter().flat_map(|(station, number)| {
            let wanted = self.slots.get(number).and_then(|slot| slot.wanted.as_ref());
            let weights = wanted.map(|wanted| wanted.weights.as_slice()).unwrap_or_default();
            let first = self.layout.first_minor(*number);
            let one = move |(kind, weight): (usize, &f64)| (first + kind as u16, kind, *weight);
            let all = weights.iter().enumerate().map(one);
            all.map(|(minor, kind, weight)| (minor, Some(*station), kind, weight))
        });
        [(UNKNOWN, None, 0, 1.0)].into_iter().chain(stations)
    }

    /// The lowest number that no station has.
    fn free(&self) -> Option<u16> {
        let most = classify::most(&self.layout.traffic) as u16;
        (0..most).find(|number| !self.slots.contains_key(number))
    }

    /// Fits the sum for which rates are computed to the weights: the rates that classes own must
    /// not come to more than the whole, nor to much less. Whether it moved.
    fn fit(&mut self) -> bool {
        let wanted = self.slots.values().filter_map(|slot| slot.wanted.as_ref());
        let sum = 1.0 + wanted.flat_map(|wanted| &wanted.weights).sum::<f64>();
        if sum <= self.whole && sum * SLACK * SLACK >= self.whole {
            return false;
        }
        self.whole = sum * SLACK;
        true
    }
}

impl Slot {
    fn new(number: u16, classes: usize) -> Self {
        let classes = vec![Class::default(); classes];
        Self { number, wanted: None, classes, filters: BTreeMap::new() }
    }
}

impl Layout {
    fn settle_slot(
        &self,
        kernel: &mut impl TrafficControl,
        slot: &mut Slot,
        wanted: &Wanted,
        whole: f64,
    ) -> io::Result<()> {
        let minors = self.first_minor(slot.number)..;
        for ((class, minor), weight) in slot.classes.iter_mut().zip(minors).zip(&wanted.weights) {
            // A station behind a router keeps the kernel's minimum rate without weight: the answers
            // to its reports take its class, and without them it would not learn that reports
            // arrive.
            let is_closed = *weight == 0.0 && matches!(wanted.destination, Destination::Link(_));
            self.settle_class(kernel, class, minor, self.share(*weight, whole), is_closed)?;
        }
        let destination = wanted.destination;
        let row = self.row(slot.number, destination).add(self.index);
        for (at, filter) in row.into_iter().enumerate() {
            if slot.filters.get(&(destination, at)) == Some(&true) {
                continue;
            }
            slot.filters.insert((destination, at), false);
            let added = kernel.add_filter(filter);
            unless(io::ErrorKind::AlreadyExists, added)
                .map_err(|error| self.of_class("the filter of", slot.number, &error))?;
            slot.filters.insert((destination, at), true);
        }
        // An earlier address; deleted last, so that no frame goes without a class.
        self.delete_filters(kernel, slot, |other| other != destination)
    }

    /// Gives a class its share and its queues, or no queue if it is closed.
    fn settle_class(
        &self,
        kernel: &mut impl TrafficControl,
        class: &mut Class,
        minor: u16,
        share: Share,
        is_closed: bool,
    ) -> io::Result<()> {
        let named = |what: &str| {
            let name = format!("{what} class {:x}:{minor:x}", tc::MAJOR);
            move |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"))
        };
        if class.share != Some(share) {
            (class.is_requested, class.share) = (true, None);
            kernel.set_class(self.class(minor, ALL, share)).map_err(named("the share of"))?;
            class.share = Some(share);
        }
        let Self { index, longest, leaf, queue_packets, .. } = *self;
        if class.queues == 0 {
            let cutter = leaf::cutter(index, minor, longest);
            kernel.set_qdisc(cutter).map_err(named("tbf in"))?;
            class.queues = 1;
        }
        if class.is_closed != is_closed {
            class.queues = 1;
        }
        if class.queues == 1 {
            let queue = match is_closed {
                true => leaf::closed(index, minor),
                false => leaf::queue(index, minor, leaf, queue_packets, longest),
            };
            let name = if is_closed { "bfifo" } else { leaf.name() };
            kernel.set_qdisc(queue).map_err(named(&format!("{name} in")))?;
            (class.queues, class.is_closed) = (2, is_closed);
        }
        Ok(())
    }

    /// Deletes filters first: the kernel keeps a class to which a filter leads.
    fn clear_slot(&self, kernel: &mut impl TrafficControl, slot: &mut Slot) -> io::Result<()> {
        self.delete_filters(kernel, slot, |_| true)?;
        let any = Share { rate: MIN_RATE, ceil: MIN_RATE, quantum: self.longest, overhead: 0 };
        let minors = self.first_minor(slot.number)..;
        for (class, minor) in slot.classes.iter_mut().zip(minors) {
            if class.is_requested {
                let deleted = kernel.delete_class(self.class(minor, ALL, any));
                unless(io::ErrorKind::NotFound, deleted)
                    .map_err(|error| self.of_class("deletion of", slot.number, &error))?;
                *class = Class::default();
            }
        }
        Ok(())
    }

    fn delete_filters(
        &self,
        kernel: &mut impl TrafficControl,
        slot: &mut Slot,
        is_meant: impl Fn(Destination) -> bool,
    ) -> io::Result<()> {
        let requested: Vec<(Destination, usize)> = slot.filters.keys().copied().collect();
        for (destination, at) in requested.into_iter().filter(|(other, _)| is_meant(*other)) {
            let row = self.row(slot.number, destination).delete(self.index);
            slot.filters.insert((destination, at), false);
            let deleted = row.into_iter().nth(at).map(|filter| kernel.delete_filter(filter));
            unless(io::ErrorKind::NotFound, deleted.unwrap_or(Ok(())))
                .map_err(|error| self.of_class("deletion of a filter of", slot.number, &error))?;
            slot.filters.remove(&(destination, at));
        }
        Ok(())
    }

    /// The kernel's error with the name of the station's first class.
    fn of_class(&self, what: &str, number: u16, error: &io::Error) -> io::Error {
        let name = format!("{what} class {:x}:{:x}", tc::MAJOR, self.first_minor(number));
        io::Error::new(error.kind(), format!("{name}: {error}"))
    }

    fn row(&self, number: u16, destination: Destination) -> Row<'_> {
        Row { destination, number, traffic: &self.traffic, minor: self.first_minor(number) }
    }

    fn first_minor(&self, number: u16) -> u16 {
        FIRST + number * (self.traffic.len() as u16 + 1)
    }

    fn class(&self, minor: u16, parent: u16, share: Share) -> TcMessage {
        tc::share_class(self.discipline, self.index, minor, parent, share)
    }

    fn share(&self, weight: f64, whole: f64) -> Share {
        let Self { rate, longest, overhead, .. } = *self;
        if weight == 0.0 {
            return Share { rate: MIN_RATE, ceil: MIN_RATE, quantum: longest, overhead };
        }
        let own = f64::from(rate) * weight / whole;
        // A turn shorter than a frame would be a turn of a frame.
        let quantum = ((f64::from(longest) * TURN * weight) as u32).max(longest);
        Share { rate: (own as u32).max(MIN_RATE), ceil: rate, quantum, overhead }
    }
}

/// Takes an answer that the kernel is in the requested state already as success.
fn unless(kind: io::ErrorKind, answer: io::Result<()>) -> io::Result<()> {
    answer.or_else(|error| if error.kind() == kind { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests;
