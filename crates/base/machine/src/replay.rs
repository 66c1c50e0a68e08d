//! The anti-replay window: message numbers already received (RFC 4303 section 3.4.3).

use std::num::NonZeroU64;

/// Size of the window, in numbers up to the highest. The RFC requires 64; wireless paths reorder
/// more.
const MEMORY: u64 = 1024;
const WORDS: usize = (MEMORY / 64) as usize;

/// Numbers received from one sender, such as an end of a connection on one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replay {
    highest: u64,
    /// A bit for each number in `highest - MEMORY + 1 ..= highest`, at the number modulo `MEMORY`.
    seen: [u64; WORDS],
}

impl Replay {
    /// Records `number`. Returns whether it is new; a number below the window counts as received.
    pub fn admit(&mut self, number: NonZeroU64) -> bool {
        let number = number.get();
        if number > self.highest {
            self.advance(number);
        } else if self.highest - number >= MEMORY || self.bit(number) {
            return false;
        }
        self.seen[word(number)] |= 1 << (number % 64);
        true
    }

    fn bit(&self, number: u64) -> bool {
        self.seen[word(number)] >> (number % 64) & 1 == 1
    }

    fn advance(&mut self, number: u64) {
        if number - self.highest >= MEMORY {
            self.seen = [0; WORDS];
        } else {
            for skipped in self.highest + 1..number {
                self.seen[word(skipped)] &= !(1 << (skipped % 64));
            }
            self.seen[word(number)] &= !(1 << (number % 64));
        }
        self.highest = number;
    }
}

fn word(number: u64) -> usize {
    (number / 64 % WORDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn number(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    #[test]
    fn the_oldest_number_remembered() {
        let mut replay = Replay::default();
        assert!(replay.admit(number(MEMORY + 5)));
        assert!(!replay.admit(number(5)), "older than the memory");
        assert!(replay.admit(number(6)));
        assert!(!replay.admit(number(6)));
        assert!(replay.admit(number(u64::MAX)));
        assert!(!replay.admit(number(u64::MAX)));
        assert!(!replay.admit(number(MEMORY + 6)));
    }

    proptest! {
        /// The window agrees with a set of all received numbers, except below the window.
        #[test]
        fn as_a_set(steps in prop::collection::vec(0..2_000i64, 1..200)) {
            let (mut replay, mut set) = (Replay::default(), BTreeSet::new());
            let (mut highest, mut now) = (0, 1_500);
            for step in steps {
                now = (now + step - 900).max(1);
                let is_remembered = highest - now < MEMORY as i64;
                let is_new = now > highest || (is_remembered && !set.contains(&now));
                prop_assert_eq!(replay.admit(number(now as u64)), is_new);
                set.insert(now);
                highest = highest.max(now);
            }
        }
    }
}
