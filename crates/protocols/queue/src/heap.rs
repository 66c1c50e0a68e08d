//! Priorities of hosts, found by the host.

use core::hint::select_unpredictable;

/// No place in the heap.
const NOWHERE: u32 = u32::MAX;
/// Children of a node. Four need half the levels of two.
const ARITY: usize = 4;

/// A key, and behind it whose it is, as one number that is compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node(u128);

impl Node {
    const fn new(key: u64, id: u32) -> Self {
        Self(((key as u128) << 32) | id as u128)
    }

    const fn key(self) -> u64 {
        (self.0 >> 32) as u64
    }

    const fn id(self) -> u32 {
        self.0 as u32
    }
}

/// A heap of numbered things, each at most once, smallest key first, of equal keys the smallest
/// number. Every call costs O(log n); nothing is allocated for a number that was in it before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
    places: Vec<u32>,
}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), places: Vec::new() }
    }

    /// The smallest key and whose it is.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.nodes.first().map(|node| (node.key(), node.id()))
    }

    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Owner of each place in the heap; places are below its length, and in no order.
    pub(crate) fn id(&self, place: usize) -> u32 {
        self.nodes[place].id()
    }

    /// All that is in, in the order of places.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|node| node.id())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.places.get(id as usize).filter(|&&place| place != NOWHERE).map(|&place| place as usize)
    }

    /// Puts `id` in, or moves it to another key.
    pub(crate) fn set(&mut self, id: u32, key: u64) {
        let node = Node::new(key, id);
        if let Some(place) = self.place(id) {
            return self.restore_order(place, node);
        }
        self.make_room(id);
        self.nodes.push(node);
        self.rise(self.nodes.len() - 1, node);
    }

    /// Puts `id`, which is not in, in the place of the first: one way down instead of two ways.
    pub(crate) fn replace_first(&mut self, id: u32, key: u64) {
        debug_assert!(!self.contains(id), "{id} would be in twice");
        let Some(first) = self.nodes.first() else { return self.set(id, key) };
        self.places[first.id() as usize] = NOWHERE;
        self.make_room(id);
        self.sink(0, Node::new(key, id));
    }

    /// Takes `id` out, if it is in.
    pub(crate) fn remove(&mut self, id: u32) {
        let Some(place) = self.place(id) else { return };
        self.places[id as usize] = NOWHERE;
        let Some(last) = self.nodes.pop() else { return };
        if place < self.nodes.len() {
            self.restore_order(place, last);
        }
    }

    /// Lowers every key by `by`, which none is below.
    pub(crate) fn lower_all(&mut self, by: u64) {
        debug_assert!(self.first().is_none_or(|(minimum, _)| minimum >= by), "{self:?} by {by}");
        let lowered = |node: &mut Node| *node = Node::new(node.key().saturating_sub(by), node.id());
        self.nodes.iter_mut().for_each(lowered);
    }

    fn make_room(&mut self, id: u32) {
        if id as usize >= self.places.len() {
            self.places.resize(id as usize + 1, NOWHERE);
        }
    }

    fn put(&mut self, place: usize, node: Node) {
        self.nodes[place] = node;
        self.places[node.id() as usize] = place as u32;
    }

    fn restore_order(&mut self, place: usize, node: Node) {
        if place > 0 && node < self.nodes[(place - 1) / ARITY] {
            self.rise(place, node);
        } else {
            self.sink(place, node);
        }
    }

    fn rise(&mut self, mut place: usize, node: Node) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.nodes[parent] < node {
                break;
            }
            self.put(place, self.nodes[parent]);
            place = parent;
        }
        self.put(place, node);
    }

    /// The first of the children that begin at a place.
    fn first_child(&self, from: usize) -> Option<(usize, Node)> {
        if let Some(&[a, b, c, d]) = self.nodes.get(from..from + ARITY) {
            let (is_b, is_d) = (b < a, d < c);
            let first = select_unpredictable(is_b, b, a);
            let second = select_unpredictable(is_d, d, c);
            let is_second = second < first;
            let (left, right) = (usize::from(is_b), 2 + usize::from(is_d));
            let place = from + select_unpredictable(is_second, right, left);
            return Some((place, select_unpredictable(is_second, second, first)));
        }
        let rest = self.nodes.get(from..)?.iter().zip(from..);
        rest.min().map(|(&node, place)| (place, node))
    }

    fn sink(&mut self, mut place: usize, node: Node) {
        loop {
            let from = ARITY * place + 1;
            let Some((minimum, child)) = self.first_child(from) else { break };
            if node < child {
                break;
            }
            self.put(place, child);
            place = minimum;
        }
        self.put(place, node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_gives_what_a_sorted_map_gives(
            calls in prop::collection::vec((0..40u32, 0..200u64), 1..300),
        ) {
            let (mut heap, mut model) = (Heap::new(), BTreeMap::new());
            for (id, key) in calls {
                // A key that divides by five takes out instead.
                if key % 5 == 0 {
                    heap.remove(id);
                    model.remove(&id);
                } else {
                    heap.set(id, key);
                    model.insert(id, key);
                }
                let first = model.iter().map(|(&id, &key)| (key, id)).min();
                prop_assert_eq!(heap.first(), first);
                prop_assert_eq!(heap.contains(id), model.contains_key(&id));
                prop_assert_eq!(heap.is_empty(), model.is_empty());
            }
        }
    }
}
