//! A queue with two orders: that of arrival over all items, and that of arrival for each receiver.

use crate::slab::{Ends, NONE, Slab};
use crate::{Goes, Item};
use fairwave_units::Bytes;

#[derive(Clone, Debug)]
struct Node<T> {
    item: T,
    bytes: u32,
    serial: u64,
    /// Neighbours in the order of arrival over all items.
    before: u32,
    after: u32,
    /// The next item for the same receiver.
    after_to: u32,
}

/// Place of a waiting item. The serial number distinguishes it from a later item in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    number: u32,
    serial: u64,
}

/// An unbounded first-in first-out queue, from which the oldest item of all or of one receiver can
/// be removed in constant time.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    nodes: Slab<Node<T>>,
    all: Ends,
    receivers: Vec<Ends>,
    len: u32,
    bytes: u64,
    pushed: u64,
}

impl<T: Item> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Self {
            nodes: Slab::new(),
            all: Ends::EMPTY,
            receivers: Vec::new(),
            len: 0,
            bytes: 0,
            pushed: 0,
        }
    }

    /// Adds an item at the end.
    pub(crate) fn push(&mut self, item: T) -> Place {
        let (bytes, receiver) = (item.bytes(), item.receiver() as usize);
        let (serial, before) = (self.pushed, self.all.last);
        let node = Node { item, bytes, serial, before, after: NONE, after_to: NONE };
        let place = self.nodes.insert(node);
        match self.all.last {
            NONE => self.all.first = place,
            last => self.nodes.get_mut(last).after = place,
        }
        self.all.last = place;
        if receiver >= self.receivers.len() {
            self.receivers.resize(receiver + 1, Ends::EMPTY);
        }
        let ends = &mut self.receivers[receiver];
        match ends.last {
            NONE => ends.first = place,
            last => self.nodes.get_mut(last).after_to = place,
        }
        ends.last = place;
        self.len += 1;
        self.bytes += u64::from(bytes);
        self.pushed += 1;
        Place { number: place, serial }
    }

    /// Returns the item that was pushed to `place`, if it still waits.
    pub(crate) fn at(&self, place: Place) -> Option<&T> {
        let node = self.nodes.used(place.number)?;
        (node.serial == place.serial).then_some(&node.item)
    }

    /// Replaces a waiting item by another for the same receiver, and returns the old one.
    pub(crate) fn replace(&mut self, place: Place, item: T) -> T {
        let node = self.nodes.get_mut(place.number);
        debug_assert_eq!(node.item.receiver(), item.receiver(), "places belong to receivers");
        self.bytes -= u64::from(node.bytes);
        node.bytes = item.bytes();
        self.bytes += u64::from(node.bytes);
        core::mem::replace(&mut node.item, item)
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        match self.all.first {
            NONE => None,
            first => Some(self.take(first)),
        }
    }

    pub(crate) fn pop_to(&mut self, receiver: u32) -> Option<T> {
        match self.first_to(receiver) {
            NONE => None,
            first => Some(self.take(first)),
        }
    }

    /// Removes the oldest item for a receiver that `goes` selects.
    pub(crate) fn withdraw(&mut self, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let (mut before, mut place) = (NONE, self.first_to(receiver));
        while place != NONE && !goes(&self.nodes.get(place).item) {
            (before, place) = (place, self.nodes.get(place).after_to);
        }
        (place != NONE).then(|| self.take_behind(before, place))
    }

    pub(crate) fn peek_to(&self, receiver: u32) -> Option<u32> {
        match self.first_to(receiver) {
            NONE => None,
            first => Some(self.nodes.get(first).bytes),
        }
    }

    fn first_to(&self, receiver: u32) -> u32 {
        self.receivers.get(receiver as usize).map_or(NONE, |ends| ends.first)
    }

    /// Removes the item in slot `place`, which must be the first one for its receiver. The first of
    /// all items always is.
    fn take(&mut self, place: u32) -> T {
        self.take_behind(NONE, place)
    }

    /// Removes the item in slot `place`, which is behind the one in slot `before_to` for its
    /// receiver.
    // For each packet `before_to` is a constant: the branches on it vanish.
    #[inline(always)]
    fn take_behind(&mut self, before_to: u32, place: u32) -> T {
        let &Node { bytes, before, after, after_to, .. } = self.nodes.get(place);
        match before {
            NONE => self.all.first = after,
            before => self.nodes.get_mut(before).after = after,
        }
        match after {
            NONE => self.all.last = before,
            after => self.nodes.get_mut(after).before = before,
        }
        let receiver = self.nodes.get(place).item.receiver();
        let ends = &mut self.receivers[receiver as usize];
        match before_to {
            NONE => ends.first = after_to,
            before => self.nodes.get_mut(before).after_to = after_to,
        }
        if after_to == NONE {
            ends.last = before_to;
        }
        self.len -= 1;
        self.bytes -= u64::from(bytes);
        debug_assert!(self.len > 0 || self.bytes == 0, "no items of {} bytes", self.bytes);
        debug_assert_eq!(self.len == 0, self.all.first == NONE, "{} items", self.len);
        self.nodes.remove(place).item
    }

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }
}
