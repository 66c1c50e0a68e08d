//! Priorities of hosts, found by the host.

/// No place in the heap.
const NOWHERE: u32 = u32::MAX;
/// Children of a node. Four need half the levels of two, and lie in one cache line.
const ARITY: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: u64,
    id: u32,
}

impl Node {
    /// Both as one number, which is compared without a branch.
    const fn rank(self) -> u128 {
        ((self.key as u128) << 32) | self.id as u128
    }

    const fn is_before(self, other: Self) -> bool {
        self.rank() < other.rank()
    }
}

/// A heap of numbered things, each at most once, least key first, of equal keys the least number.
/// Every call costs O(log n); nothing is allocated for a number that was in it before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
    places: Vec<u32>,
}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), places: Vec::new() }
    }

    /// The least key and whose it is.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.nodes.first().map(|node| (node.key, node.id))
    }

    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whose place in the heap it is; places are below its length, and in no order.
    pub(crate) fn id(&self, place: usize) -> u32 {
        self.nodes[place].id
    }

    /// All that is in, in the order of places.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|node| node.id)
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
        let node = Node { key, id };
        if let Some(place) = self.place(id) {
            return self.settle(place, node);
        }
        if id as usize >= self.places.len() {
            self.places.resize(id as usize + 1, NOWHERE);
        }
        self.nodes.push(node);
        self.rise(self.nodes.len() - 1, node);
    }

    /// Takes `id` out, if it is in.
    pub(crate) fn remove(&mut self, id: u32) {
        let Some(place) = self.place(id) else { return };
        self.places[id as usize] = NOWHERE;
        let Some(last) = self.nodes.pop() else { return };
        if place < self.nodes.len() {
            self.settle(place, last);
        }
    }

    /// Lowers every key by `by`, which none is below.
    pub(crate) fn lower_all(&mut self, by: u64) {
        self.nodes.iter_mut().for_each(|node| node.key = node.key.saturating_sub(by));
    }

    fn put(&mut self, place: usize, node: Node) {
        self.nodes[place] = node;
        self.places[node.id as usize] = place as u32;
    }

    fn settle(&mut self, place: usize, node: Node) {
        if place > 0 && node.is_before(self.nodes[(place - 1) / ARITY]) {
            self.rise(place, node);
        } else {
            self.sink(place, node);
        }
    }

    fn rise(&mut self, mut place: usize, node: Node) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.nodes[parent].is_before(node) {
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
            let (left, right) =
                (from + usize::from(b.is_before(a)), 2 + usize::from(d.is_before(c)));
            let (first, second) =
                (if left == from { a } else { b }, if right == 2 { c } else { d });
            let is_right = second.is_before(first);
            return Some(if is_right { (from + right, second) } else { (left, first) });
        }
        let rest = self.nodes.get(from..)?.iter().zip(from..);
        rest.min_by_key(|(node, _)| node.rank()).map(|(&node, place)| (place, node))
    }

    fn sink(&mut self, mut place: usize, node: Node) {
        loop {
            let from = ARITY * place + 1;
            let Some((least, child)) = self.first_child(from) else { break };
            if node.is_before(child) {
                break;
            }
            self.put(place, child);
            place = least;
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
