//! Finding a stream by its addresses and ports, and the one that was quiet for longest.

/// Addresses and ports of both ends, the lesser end first, so that both ways have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) addresses: [u128; 2],
    pub(super) ports: [u16; 2],
    /// Protocol and IP version.
    pub(super) kind: u16,
}

impl Key {
    /// Hash of the whole; the same on every machine.
    pub(super) fn hash(&self) -> u64 {
        let [a, b] = self.addresses;
        let ports = u64::from(self.ports[0]) << 32 | u64::from(self.ports[1]) << 16;
        let words = [a as u64, (a >> 64) as u64, b as u64, (b >> 64) as u64];
        // Each word is spread upwards and turned; the finaliser at the end makes bits of all of it.
        let take = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(GOLDEN);
        mix(words.into_iter().fold(ports | u64::from(self.kind), take))
    }
}

/// 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
pub(super) const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(GOLDEN);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Adds bytes to a hash.
pub(super) fn mix_bytes(start: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(start, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word))
    })
}

const NONE: u32 = u32::MAX;

/// Open addressing with linear probing from a hash to a number, whose owner resolves collisions. It
/// doubles at half load; removal shifts back, so nothing is left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Upper half of the hash, and the number.
    cells: Vec<(u32, u32)>,
    len: usize,
}

impl Index {
    /// The number under this hash that `is` accepts.
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.cell_of(hash, is).map(|cell| self.cells[cell].1)
    }

    fn cell_of(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<usize> {
        let mask = self.cells.len().checked_sub(1)?;
        let mut cell = home(hash) & mask;
        loop {
            let (tag, number) = self.cells[cell];
            if number == NONE {
                return None;
            }
            if tag == tag_of(hash) && is(number) {
                return Some(cell);
            }
            cell = (cell + 1) & mask;
        }
    }

    /// Adds a number, which is not in it under this hash.
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        if (self.len + 1) * 2 > self.cells.len() {
            self.grow();
        }
        self.place((tag_of(hash), number));
        self.len += 1;
    }

    fn grow(&mut self) {
        let cells = (self.cells.len() * 2).max(16);
        let old = core::mem::replace(&mut self.cells, vec![(0, NONE); cells]);
        old.into_iter().filter(|&(_, number)| number != NONE).for_each(|entry| self.place(entry));
    }

    fn place(&mut self, entry: (u32, u32)) {
        let mask = self.cells.len() - 1;
        let mut cell = entry.0 as usize & mask;
        while self.cells[cell].1 != NONE {
            cell = (cell + 1) & mask;
        }
        self.cells[cell] = entry;
    }

    /// Takes a number out.
    pub(super) fn remove(&mut self, hash: u64, number: u32) {
        let Some(mut hole) = self.cell_of(hash, |found| found == number) else { return };
        let mask = self.cells.len() - 1;
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            let (tag, found) = self.cells[cell];
            if found == NONE {
                break;
            }
            // Whether its way from home leads over the hole.
            let distance = cell.wrapping_sub(tag as usize) & mask;
            if distance >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = (tag, found);
                hole = cell;
            }
        }
        self.cells[hole] = (0, NONE);
        self.len -= 1;
    }
}

/// The home cell and the first key to compare; tables have at most 2^32 cells.
const fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

const fn home(hash: u64) -> usize {
    tag_of(hash) as usize
}

/// Numbers in the order of their last use: doubly linked, heads outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Neighbours towards the older and the newer end.
    links: Vec<(u32, u32)>,
}

/// A list within [`Links`].
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    oldest: u32,
    newest: u32,
}

impl Default for List {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl List {
    pub(super) const EMPTY: Self = Self { oldest: NONE, newest: NONE };

    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }
}

impl Links {
    /// Puts a number that is in no list at the newest end.
    pub(super) fn push(&mut self, list: &mut List, number: u32) {
        if self.links.len() <= number as usize {
            self.links.resize(number as usize + 1, (NONE, NONE));
        }
        self.links[number as usize] = (list.newest, NONE);
        match list.newest {
            NONE => list.oldest = number,
            newest => self.links[newest as usize].1 = number,
        }
        list.newest = number;
    }

    /// Takes a number out of the list that it is in.
    pub(super) fn unlink(&mut self, list: &mut List, number: u32) {
        let (older, newer) = self.links[number as usize];
        match older {
            NONE => list.oldest = newer,
            older => self.links[older as usize].1 = newer,
        }
        match newer {
            NONE => list.newest = older,
            newer => self.links[newer as usize].0 = older,
        }
    }

    /// Moves a number of the list to its newest end.
    pub(super) fn touch(&mut self, list: &mut List, number: u32) {
        if list.newest != number {
            self.unlink(list, number);
            self.push(list, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_index_is_a_set(steps in prop::collection::vec((any::<bool>(), 0u32..40), 0..300)) {
            let mut index = Index::default();
            let mut model = Vec::new();
            // Few hashes, so that cells collide and wrap.
            let hash = |number: u32| u64::from(number % 5 + 13) << 32;
            for (add, number) in steps {
                match (add, model.iter().position(|&found| found == number)) {
                    (true, None) => {
                        index.insert(hash(number), number);
                        model.push(number);
                    }
                    (false, Some(place)) => {
                        index.remove(hash(number), number);
                        model.remove(place);
                    }
                    _ => {}
                }
                for number in 0..40 {
                    let found = index.find(hash(number), |found| found == number);
                    prop_assert_eq!(found.is_some(), model.contains(&number));
                }
            }
        }

        #[test]
        fn the_oldest_was_unused_for_longest(uses in prop::collection::vec(0u32..8, 0..100)) {
            let (mut links, mut list, mut model) = (Links::default(), List::EMPTY, Vec::new());
            for number in uses {
                match model.iter().position(|&found| found == number) {
                    Some(place) => {
                        links.touch(&mut list, number);
                        model.remove(place);
                    }
                    None => links.push(&mut list, number),
                }
                model.push(number);
                prop_assert_eq!(list.oldest(), model.first().copied());
            }
            for number in model {
                prop_assert_eq!(list.oldest(), Some(number));
                links.unlink(&mut list, number);
            }
            prop_assert_eq!(list.oldest(), None);
        }
    }
}
