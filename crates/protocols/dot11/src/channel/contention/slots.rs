//! Backoffs of one category in whole slots, and the first of them to end.
//!
//! A few numbers side by side are compared by vector instructions: to change one backoff costs as
//! much as a walk through a tree would, and to change all costs an instruction or two for each.

/// Number of places whose smallest number is kept.
pub(crate) const BLOCK: usize = 16;

/// The number of a place that does not take part.
pub(super) const OUT: i32 = i32::MAX;

/// A set of blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockSet(Vec<u64>);

impl BlockSet {
    /// Adds a block.
    pub(crate) fn insert(&mut self, block: usize) {
        let word = block / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (block % 64);
    }

    /// Removes all blocks.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds all blocks of another set.
    pub(super) fn extend(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Calls `act` with each block, in order.
    pub(super) fn for_each(&self, mut act: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                act(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
}

/// Readings of a clock at which backoffs end, by place.
#[derive(Debug)]
pub(super) struct Slots {
    ends: Vec<i32>,
    /// [`OUT`] for a place without a frame to send, else zero.
    bars: Vec<i32>,
    /// The smallest end of each block among the places that take part.
    minima: Vec<i32>,
    /// Number of places that take part.
    participants: usize,
    /// No backoff ends after this.
    last: i32,
}

impl Slots {
    /// `count` places without frames, whose backoffs ended at zero.
    pub(super) fn new(count: usize) -> Self {
        let count = padded(count);
        let (ends, bars) = (vec![0; count], vec![OUT; count]);
        Self { ends, bars, minima: vec![OUT; count.div_ceil(BLOCK)], participants: 0, last: 0 }
    }

    /// The reading at which a backoff ends.
    pub(super) fn end(&self, place: usize) -> i32 {
        self.ends[place]
    }

    /// Whether a place has a frame to send.
    pub(super) fn takes_part(&self, place: usize) -> bool {
        self.bars[place] == 0
    }

    /// Moves the end of a backoff, either way; [`Slots::renew`] must follow.
    pub(super) fn postpone(&mut self, place: usize, slots: i32) {
        // No clock shows less than zero.
        self.ends[place] = (self.ends[place] + slots).max(0);
        self.last = self.last.max(self.ends[place]);
    }

    /// Moves the ends of all `late` backoffs, which are in these blocks, unless all ended by
    /// `reading`; [`Slots::renew`] of the blocks must follow.
    pub(super) fn postpone_late(
        &mut self,
        blocks: &BlockSet,
        late: &[i32],
        slots: i32,
        reading: i32,
    ) {
        debug_assert!(slots >= 0, "{slots} slots");
        if slots == 0 || self.last <= reading {
            return;
        }
        self.last += slots;
        let (ends, single) = self.ends.as_chunks_mut::<BLOCK>();
        if let [end] = single {
            *end += late[0] & slots;
        }
        let (late, _) = late.as_chunks::<BLOCK>();
        // By blocks of one length, which are vectors: there is none where there is one place.
        blocks.for_each(|block| {
            let Some(ends) = ends.get_mut(block) else { return };
            ends.iter_mut().zip(&late[block]).for_each(|(end, late)| *end += *late & slots);
        });
    }

    /// Sets one backoff. Places that are `late`, [`OUT`] there and else zero, are left out of the
    /// smallest numbers.
    pub(super) fn set(&mut self, place: usize, end: i32, takes_part: bool, late: &[i32]) {
        let (took_part, old_end) = (self.takes_part(place), self.ends[place]);
        self.participants -= usize::from(took_part);
        self.participants += usize::from(takes_part);
        self.ends[place] = end;
        self.last = self.last.max(end);
        self.bars[place] = if takes_part { 0 } else { OUT };
        // A transmitter sets its backoff several times before it contends again.
        let is_same = took_part == takes_part && (!takes_part || old_end == end);
        if !is_same {
            self.renew(place / BLOCK, late);
        }
    }

    /// Computes the smallest number of a block anew.
    pub(super) fn renew(&mut self, block: usize, late: &[i32]) {
        self.minima[block] = match (self.ends.as_chunks(), self.bars.as_chunks(), late.as_chunks())
        {
            ((ends, []), (bars, []), (late, [])) => first(&ends[block], &bars[block], &late[block]),
            _ => self.ends[0] | self.bars[0] | late[0],
        };
    }

    /// Computes all smallest numbers anew.
    pub(super) fn renew_all(&mut self, late: &[i32]) {
        if self.participants == 0 {
            return;
        }
        let ((ends, []), (bars, []), (late, [])) =
            (self.ends.as_chunks(), self.bars.as_chunks(), late.as_chunks())
        else {
            return self.renew(0, late);
        };
        for (((min, ends), bars), late) in self.minima.iter_mut().zip(ends).zip(bars).zip(late) {
            *min = first(ends, bars, late);
        }
    }

    /// The smallest number, [`OUT`] if no place takes part.
    pub(super) fn min(&self) -> i32 {
        self.minima.iter().copied().fold(OUT, i32::min)
    }

    /// Calls `found` with every place whose number is at most `limit`, in order.
    pub(super) fn up_to(&self, limit: i32, late: &[i32], mut found: impl FnMut(usize)) {
        for (block, _) in self.minima.iter().enumerate().filter(|(_, min)| **min <= limit) {
            let first = block * BLOCK;
            let last = self.ends.len().min(first + BLOCK);
            let bars = self.bars[first..last].iter().zip(&late[first..last]);
            for (place, (end, (bar, late))) in self.ends[first..last].iter().zip(bars).enumerate() {
                if end | bar | late <= limit {
                    found(first + place);
                }
            }
        }
    }

    /// Sets the clock, which shows `reading`, to zero. Backoffs that have ended stay so.
    pub(super) fn restart_clock(&mut self, reading: i32) {
        for end in &mut self.ends {
            *end = (*end).max(reading) - reading;
        }
        self.last = self.last.max(reading) - reading;
    }
}

/// Length of arrays for this number of places: whole blocks, unless there is but one.
pub(super) const fn padded(count: usize) -> usize {
    if count == 1 { 1 } else { count.next_multiple_of(BLOCK) }
}

/// Sets the numbers of a block to zero, in an array that is [`padded`].
pub(super) fn zero<T: Copy + Default>(numbers: &mut [T], block: usize) {
    match numbers.as_chunks_mut() {
        (blocks, []) => blocks[block] = [T::default(); BLOCK],
        (_, single) => single.fill(T::default()),
    }
}

fn first(ends: &[i32; BLOCK], bars: &[i32; BLOCK], late: &[i32; BLOCK]) -> i32 {
    (0..BLOCK).map(|i| ends[i] | bars[i] | late[i]).fold(OUT, i32::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_minimum_and_those_up_to_a_limit_are_found(
            count in 1_usize..40,
            changes in prop::collection::vec((0_usize..40, 0_i32..30, 0_u8..4), 0..60),
            limit in 0_i32..30,
        ) {
            let mut slots = Slots::new(count);
            let mut late = vec![0; padded(count)];
            let mut plain = vec![(0, false); count];
            for (place, end, change) in changes {
                let place = place % count;
                match change {
                    0 => {
                        late[place] ^= OUT;
                        slots.renew(place / BLOCK, &late);
                    }
                    1 => {
                        let mut blocks = BlockSet::default();
                        let late_places = (0..late.len()).filter(|place| late[*place] == OUT);
                        late_places.for_each(|place| blocks.insert(place / BLOCK));
                        slots.postpone_late(&blocks, &late, end, -1);
                        blocks.for_each(|block| slots.renew(block, &late));
                        let ends = plain.iter_mut().zip(&late).filter(|(_, late)| **late == OUT);
                        ends.for_each(|((plain, _), _)| *plain += end);
                    }
                    _ => {
                        plain[place] = (end, change == 2);
                        slots.set(place, end, change == 2, &late);
                    }
                }
            }
            let number = |place: usize| {
                let (end, takes_part) = plain[place];
                if takes_part && late[place] == 0 { end } else { OUT }
            };
            prop_assert_eq!(slots.min(), (0..count).map(number).min().unwrap_or(OUT));
            let mut found = Vec::new();
            slots.up_to(limit, &late, |place| found.push(place));
            let expected: Vec<usize> = (0..count).filter(|place| number(*place) <= limit).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
