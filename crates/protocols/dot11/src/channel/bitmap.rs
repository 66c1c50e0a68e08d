//! Sets of the frames of a batch, as bits: an A-MPDU is handled 64 frames at a time.

use core::iter;
use core::ops::Range;

/// A set of places, counted from the front of a batch.
#[derive(Debug, Default)]
pub(super) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// The places from `64 * index` on, the first in the lowest bit.
    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Whether `place` is in the set.
    #[inline]
    pub(super) fn has(&self, place: usize) -> bool {
        self.word(place / 64) >> (place % 64) & 1 == 1
    }

    /// Adds the places of `range` of which `word` has the bits.
    pub(super) fn add(&mut self, range: Range<usize>, word: impl Fn(usize) -> u64) {
        let words = range.end.div_ceil(64);
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
        for index in range.start / 64..words {
            let from = range.start.saturating_sub(64 * index);
            let to = (range.end - 64 * index).min(64);
            let inside = (u64::MAX << from) & (u64::MAX >> (64 - to));
            self.words[index] |= word(index) & inside;
        }
    }

    /// Removes all places.
    pub(super) fn clear(&mut self) {
        self.words.clear();
    }

    /// Removes the first `count` places, and moves all others forward by as many.
    pub(super) fn drop_front(&mut self, count: usize) {
        let whole = (count / 64).min(self.words.len());
        self.words.drain(..whole);
        let bits = count % 64;
        if bits == 0 {
            return;
        }
        for index in 0..self.words.len() {
            let next = self.word(index + 1);
            self.words[index] = (self.words[index] >> bits) | (next << (64 - bits));
        }
    }
}

/// Returns the first place of `range` of which `word` has the bit; its end if there is none.
#[inline]
pub(super) fn first(range: Range<usize>, word: impl Fn(usize) -> u64) -> usize {
    let mut index = range.start / 64;
    let mut bits = word(index) & (u64::MAX << (range.start % 64));
    while bits == 0 {
        index += 1;
        if 64 * index >= range.end {
            return range.end;
        }
        bits = word(index);
    }
    range.end.min(64 * index + bits.trailing_zeros() as usize)
}

/// Returns the places of `range` of which `word` has the bits, as runs without gaps.
pub(super) fn runs(
    range: Range<usize>,
    word: impl Fn(usize) -> u64,
) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = range;
    iter::from_fn(move || {
        let from = first(start..end, &word);
        start = first(from..end, |index| !word(index));
        (from < end).then_some(from..start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(places: &[bool]) -> Bitmap {
        let mut bitmap = Bitmap::default();
        for place in (0..places.len()).filter(|place| places[*place]) {
            bitmap.add(place..place + 1, |_| u64::MAX);
        }
        bitmap
    }

    proptest! {
        /// Comparison with one value for each place.
        #[test]
        fn a_list_agrees(
            one in prop::collection::vec(any::<bool>(), 0..300),
            other in prop::collection::vec(prop::bool::weighted(0.9), 300),
            (from, to, count) in (0usize..300, 0usize..300, 0usize..300),
        ) {
            let (mut bitmap, except) = (filled(&one), filled(&other));
            let has = |place: usize| one.get(place) == Some(&true);
            prop_assert!((0..400).all(|place| bitmap.has(place) == has(place)));
            let range = from.min(to)..from.max(to);
            let expected = range.clone().find(|place| other[*place]).unwrap_or(range.end);
            prop_assert_eq!(first(range.clone(), |index| except.word(index)), expected);
            let inside = runs(range.clone(), |index| except.word(index)).flatten();
            let inside: Vec<usize> = inside.collect();
            let expected: Vec<usize> = range.clone().filter(|place| other[*place]).collect();
            prop_assert_eq!(inside, expected);
            bitmap.add(range.clone(), |index| !except.word(index));
            bitmap.drop_front(count);
            for place in 0..400 {
                let old = place + count;
                let is_added = range.contains(&old) && !other[old];
                prop_assert_eq!(bitmap.has(place), has(old) || is_added, "{} of {}", old, count);
            }
        }
    }

    #[test]
    fn runs_end_at_gaps_and_go_on_over_words() {
        let mut bitmap = Bitmap::default();
        bitmap.add(3..70, |_| u64::MAX);
        bitmap.add(128..130, |_| u64::MAX);
        let all = |range| runs(range, |index| bitmap.word(index)).collect::<Vec<_>>();
        assert_eq!(all(0..200), [3..70, 128..130]);
        assert_eq!(all(10..129), [10..70, 128..129]);
        assert_eq!(all(70..128), [0..0; 0]);
        assert_eq!(all(0..0), [0..0; 0]);
    }
}
