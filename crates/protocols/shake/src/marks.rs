//! Marked places of a long row, and the next mark, however far it may be.

use std::collections::VecDeque;

/// Number of places or words with a bit in a word, as a power of two.
const FOLD: u32 = u64::BITS.trailing_zeros();
/// A word of the highest level stands for 262 144 places.
const LEVELS: usize = 3;

/// Marks on places that are numbered for ever; the first ones are forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// A bit for each place; on the next level a bit for each word that has one.
    levels: [VecDeque<u64>; LEVELS],
    /// The first place that is not forgotten.
    first: u64,
}

/// The word of `place` on a level where it is one of its bits, and that bit.
fn split(place: u64) -> (u64, u64) {
    (place >> FOLD, place % u64::from(u64::BITS))
}

impl Marks {
    /// Returns the index of word number `word` of a level.
    fn index(&self, level: usize, word: u64) -> usize {
        (word - (self.first >> (FOLD * (level as u32 + 1)))) as usize
    }

    pub(crate) fn set(&mut self, mut place: u64) {
        for level in 0..LEVELS {
            let (word, bit) = split(place);
            let index = self.index(level, word);
            let words = &mut self.levels[level];
            if index >= words.len() {
                words.resize(index + 1, 0);
            }
            let was = words[index];
            words[index] |= 1 << bit;
            if was != 0 {
                return;
            }
            place = word;
        }
    }

    pub(crate) fn clear(&mut self, mut place: u64) {
        for level in 0..LEVELS {
            let (word, bit) = split(place);
            let index = self.index(level, word);
            let Some(bits) = self.levels[level].get_mut(index) else { return };
            *bits &= !(1 << bit);
            if *bits != 0 {
                return;
            }
            place = word;
        }
    }

    /// Forgets the places before `first`, which have no marks any more.
    pub(crate) fn forget(&mut self, first: u64) {
        let mark = || self.next(self.first).filter(|mark| *mark < first);
        debug_assert_eq!(mark(), None, "a mark before {first} is forgotten");
        for (level, words) in self.levels.iter_mut().enumerate() {
            let shift = FOLD * (level as u32 + 1);
            let gone = (first >> shift) - (self.first >> shift);
            if gone == 0 {
                break;
            }
            words.drain(..words.len().min(gone as usize));
        }
        self.first = first;
    }

    /// The first mark at `from`, which is not forgotten, or behind it.
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let mut place = from;
        for level in 0..LEVELS {
            let (word, bit) = split(place);
            let bits = *self.levels[level].get(self.index(level, word))? & (!0 << bit);
            if bits != 0 {
                return Some(self.descend(level, word, bits));
            }
            place = word + 1;
        }
        let top = LEVELS - 1;
        let index = self.index(top, place);
        let mut words = self.levels[top].range(index.min(self.levels[top].len())..);
        let after = words.position(|bits| *bits != 0)?;
        let bits = self.levels[top][index + after];
        Some(self.descend(top, place + after as u64, bits))
    }

    /// The first place below the first of `bits`, which are of word number `word`.
    fn descend(&self, level: usize, word: u64, bits: u64) -> u64 {
        let mut place = (word << FOLD) + u64::from(bits.trailing_zeros());
        for level in (0..level).rev() {
            let bits = self.levels[level][self.index(level, place)];
            place = (place << FOLD) + u64::from(bits.trailing_zeros());
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_next_mark_is_found_however_far() {
        let mut marks = Marks::default();
        assert_eq!(marks.next(0), None);
        let places = [3, 63, 64, 4_095, 4_096, 262_143, 262_144, 900_000, 5_000_000];
        places.into_iter().for_each(|place| marks.set(place));
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(place) = marks.next(from) {
            found.push(place);
            from = place + 1;
        }
        assert_eq!(found, places);
        places[..8].iter().for_each(|place| marks.clear(*place));
        assert_eq!((marks.next(0), marks.next(5_000_001)), (Some(5_000_000), None));
        marks.forget(4_999_999);
        assert_eq!(marks.next(4_999_999), Some(5_000_000));
    }

    proptest! {
        #[test]
        fn as_a_set(
            steps in prop::collection::vec((0..4u8, 0..600_000u64, any::<bool>()), 1..200),
        ) {
            let (mut marks, mut set, mut first) = (Marks::default(), BTreeSet::new(), 0);
            for (kind, ahead, is_near) in steps {
                let place = first + if is_near { ahead % 300 } else { ahead };
                match kind {
                    0 | 1 => {
                        marks.set(place);
                        set.insert(place);
                    }
                    2 => {
                        marks.clear(place);
                        set.remove(&place);
                    }
                    _ => {
                        first = set.first().map_or(place, |mark| place.min(*mark));
                        marks.forget(first);
                    }
                }
                for from in [first, place.max(first)] {
                    prop_assert_eq!(marks.next(from), set.range(from..).next().copied());
                }
            }
        }
    }
}
