//! Numbers of a source that are believed: lost, late and doubled ones.

use crate::analysis::{Numbering, Numbers};
use fairwave_units::{Duration, Instant};

/// Range below the highest number in which a late datagram is distinguished from a duplicate.
const WINDOW: u64 = 1_024;
/// Number of words of a bitmap of that range.
const WORDS: usize = (WINDOW / 64) as usize;
/// Largest step of a numbering whose datagrams are not lost in large numbers.
pub(super) const MAX_STEP: u64 = 64;

/// Unwrapped number of the first number 0: a multiple of every modulus, so that numbers before the
/// first wrap, too.
const ZERO: u64 = 1 << 48;

/// Numbers that are believed, unwrapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    first: u64,
    /// The first one since the last restart. Lower ones that come were overtaken, but their absence
    /// is no loss: they may have come before the capture.
    start: u64,
    /// Behind the highest since the last restart.
    next: u64,
    highest: u64,
    /// Bitmap of the [`WINDOW`] numbers below `next` that came, by their remainder.
    came: [u64; WORDS],
    lost: u64,
    reordered: u64,
    duplicates: u64,
    /// Datagrams whose number is next, ahead by a plausible step, late or doubled.
    explained: u64,
    /// Arrival of the first datagram and of the last that advanced the numbers.
    begun: Instant,
    advanced_at: Instant,
    /// Sum of all plausible advances.
    advanced: u64,
    /// Number of the last datagram, if it was neither close ahead nor close behind.
    stray: Option<u64>,
}

impl Sequence {
    /// Numbers from `first` on, the first of which comes at `at`.
    pub(super) const fn begin(first: u64, at: Instant) -> Self {
        let first = ZERO + first;
        Self {
            first,
            start: first,
            next: first,
            highest: first,
            came: [0; WORDS],
            lost: 0,
            reordered: 0,
            duplicates: 0,
            explained: 0,
            begun: at,
            advanced_at: at,
            advanced: 0,
            stray: None,
        }
    }

    /// Starts at a number again. Earlier numbers are not expected any more.
    pub(super) fn restart(&mut self, next: u64) {
        let next = ZERO + next;
        (self.next, self.start) = (next, next);
        self.first = self.first.min(next);
        self.came.fill(!0);
        self.stray = None;
    }

    /// Number of datagrams that fit into the numbers.
    pub(super) const fn explained(&self) -> u64 {
        self.explained
    }

    pub(super) const fn numbers(&self, numbering: Numbering) -> Numbers {
        let Self { lost, reordered, duplicates, first, highest, .. } = *self;
        let range = (first.saturating_sub(ZERO), highest.saturating_sub(ZERO));
        Numbers { numbering, lost, reordered, duplicates, range, jitter: None }
    }

    /// Takes a datagram with a number from before the last restart. Whether it had been counted as
    /// lost is unknown.
    pub(super) const fn overtaken(&mut self) {
        self.reordered += 1;
        self.explained += 1;
    }

    /// Takes the number of a datagram, of which `bits` are known.
    pub(super) fn number(&mut self, at: Instant, number: u64, bits: u32) {
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.next) % modulus;
        let behind = modulus - ahead;
        if ahead < modulus / 2 && self.is_plausible(ahead, at) {
            self.advance(at, ahead);
        } else if ahead >= modulus / 2 && behind <= WINDOW {
            self.late(behind);
        } else if self.follows_stray(number, modulus) {
            // Two datagrams agree on the other place: a new start, and nothing was lost.
            self.restart(number);
            self.explained += 1;
            (self.begun, self.advanced_at, self.advanced) = (at, at, 0);
            self.advance(at, 0);
        } else {
            self.stray = Some(number);
            return;
        }
        self.stray = None;
    }

    /// Whether so many numbers may be lost at once: within the window, or as many as have passed in
    /// half the time since the last datagram. Numbers do not leap while nothing was sent.
    fn is_plausible(&self, ahead: u64, at: Instant) -> bool {
        let product = |numbers: u64, time: Duration| {
            u128::from(numbers).saturating_mul(u128::from(time.as_nanos()))
        };
        let watched = self.advanced_at.since(self.begun);
        let silent = at.since(self.advanced_at);
        ahead <= WINDOW
            || product(ahead, watched) <= product(self.advanced, silent).saturating_mul(2)
                && !watched.is_zero()
    }

    /// Whether a number follows a stray one.
    fn follows_stray(&self, number: u64, modulus: u64) -> bool {
        let step = |stray: u64| number.wrapping_sub(stray) % modulus;
        self.stray.is_some_and(|stray| (1..=MAX_STEP).contains(&step(stray)))
    }

    fn advance(&mut self, at: Instant, ahead: u64) {
        self.lost += ahead;
        for skipped in 0..ahead.min(WINDOW) {
            self.clear(self.next + ahead - 1 - skipped);
        }
        self.next += ahead + 1;
        self.set(self.next - 1);
        self.highest = self.highest.max(self.next - 1);
        self.explained += 1;
        self.advanced += ahead + 1;
        self.advanced_at = at;
    }

    /// Takes a number below the next one, by at most the window.
    fn late(&mut self, behind: u64) {
        self.explained += 1;
        let late = self.next - behind;
        if self.has(late) {
            self.duplicates += 1;
            return;
        }
        self.set(late);
        self.reordered += 1;
        self.first = self.first.min(late);
        self.lost -= u64::from(late >= self.start).min(self.lost);
    }

    const fn has(&self, number: u64) -> bool {
        self.came[(number % WINDOW / 64) as usize] >> (number % 64) & 1 == 1
    }

    const fn set(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] |= 1 << (number % 64);
    }

    const fn clear(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] &= !(1 << (number % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One datagram a millisecond.
    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_leap_while_nothing_was_sent_is_a_new_start() {
        let mut sequence = Sequence::begin(1, ms(0));
        (1..=20).for_each(|n| sequence.number(ms(n), n, 48));
        (0..20).for_each(|n| sequence.number(ms(21 + n), (5 << 32) + n, 48));
        let numbers = sequence.numbers(Numbering::Iperf3Long);
        assert_eq!((numbers.lost, numbers.duplicates, numbers.reordered), (0, 0, 0));
        assert_eq!(sequence.explained(), 40);
    }

    /// The second datagram is captured first; then the first one, twice.
    #[test]
    fn a_number_before_the_first_is_late_and_no_duplicate() {
        let mut sequence = Sequence::begin(2, ms(0));
        [2, 1, 3, 1, 4].into_iter().for_each(|n| sequence.number(ms(n), n, 32));
        let numbers = sequence.numbers(Numbering::Iperf3);
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (0, 1, 1));
        assert_eq!(numbers.range, (1, 4));
    }

    /// As when the first datagrams of a stream of RTP are overtaken just as its numbers wrap.
    #[test]
    fn a_late_number_from_before_a_wrap_is_no_duplicate() {
        let mut sequence = Sequence::begin(1, ms(0));
        let numbers = [1, 65_534, 65_535, 0, 2, 65_535].into_iter().zip(0..);
        numbers.for_each(|(n, at)| sequence.number(ms(at), n, 16));
        let numbers = sequence.numbers(Numbering::Rtp);
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (0, 3, 1));
        assert_eq!(numbers.range, (0, 2));
    }

    #[test]
    fn an_outage_is_a_loss_of_as_many_as_were_sent_in_it() {
        let mut sequence = Sequence::begin(0, ms(0));
        (0..1_000).for_each(|n| sequence.number(ms(n), n, 32));
        (4_000..4_010).for_each(|n| sequence.number(ms(n), n, 32));
        assert_eq!(sequence.numbers(Numbering::Iperf3).lost, 3_000);
    }

    #[test]
    fn a_sender_that_begins_again_doubles_nothing() {
        let mut sequence = Sequence::begin(0, ms(0));
        (0..5_000).for_each(|n| sequence.number(ms(n), n, 32));
        (0..5_000).for_each(|n| sequence.number(ms(5_000 + n), n, 32));
        let numbers = sequence.numbers(Numbering::Leading);
        assert_eq!((numbers.lost, numbers.duplicates), (0, 0));
    }

    proptest! {
        /// A sender at a constant pace, from any number on: all that is missing was lost, however
        /// long an outage was, and nothing else is.
        #[test]
        fn all_numbers_of_a_constant_pace_that_did_not_come_are_lost(
            first in any::<u64>(),
            rows in prop::collection::vec((1u64..3_000, 0u64..5_000), 1..12),
            bits in prop::sample::select(vec![24u32, 32, 48]),
        ) {
            let first = first % (1 << bits);
            let mut sequence = Sequence::begin(first, ms(0));
            let (mut sent, mut lost, mut gap) = (0, 0, 0);
            for (came, missing) in rows {
                lost += gap;
                for n in sent..sent + came {
                    sequence.number(ms(n), (first + n) % (1 << bits), bits);
                }
                // A gap is at most as long as what came before: there is a pace then.
                gap = missing.min(sent + came);
                sent += came + gap;
            }
            let numbers = sequence.numbers(Numbering::Iperf3);
            prop_assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (lost, 0, 0));
            prop_assert_eq!(sequence.explained(), sent - lost - gap);
        }
    }
}
