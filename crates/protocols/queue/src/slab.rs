//! Nodes with numbers, taken and given back without allocating once there is room.

/// The number that no node has: the end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// The ends of a list; its nodes hold the links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Ends {
    pub(crate) const EMPTY: Self = Self { first: NONE, last: NONE };
}

#[derive(Clone, Debug)]
enum Slot<N> {
    Used(N),
    /// The next free slot.
    Free(u32),
}

/// Nodes of linked lists. A node's number is valid from `insert` to `remove`; the owner of the
/// lists keeps to this invariant.
#[derive(Clone, Debug)]
pub(crate) struct Slab<N> {
    slots: Vec<Slot<N>>,
    free: u32,
}

impl<N> Slab<N> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    #[inline]
    pub(crate) fn insert(&mut self, node: N) -> u32 {
        let number = self.free;
        if number == NONE {
            self.slots.push(Slot::Used(node));
            return self.slots.len() as u32 - 1;
        }
        let slot = core::mem::replace(&mut self.slots[number as usize], Slot::Used(node));
        let Slot::Free(next) = slot else { unreachable!("the free list holds free slots") };
        self.free = next;
        number
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: u32) -> N {
        let free = Slot::Free(self.free);
        let slot = core::mem::replace(&mut self.slots[number as usize], free);
        let Slot::Used(node) = slot else { unreachable!("lists link used slots") };
        self.free = number;
        node
    }

    /// The node of this number, if it is in use.
    #[inline]
    pub(crate) fn used(&self, number: u32) -> Option<&N> {
        match self.slots.get(number as usize)? {
            Slot::Used(node) => Some(node),
            Slot::Free(_) => None,
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &N {
        match &self.slots[number as usize] {
            Slot::Used(node) => node,
            Slot::Free(_) => unreachable!("lists link used slots"),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut N {
        match &mut self.slots[number as usize] {
            Slot::Used(node) => node,
            Slot::Free(_) => unreachable!("lists link used slots"),
        }
    }
}
