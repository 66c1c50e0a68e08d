//! Sequence numbers modulo 2^48 (RFC 4340 sections 3.1 and 7.6).

use core::fmt;
use core::ops::{Add, Sub};

const BITS: u32 = 48;
const MASK: u64 = (1 << BITS) - 1;
const LOW: u64 = (1 << 24) - 1;

/// A sequence number of 48 bits, compared on a circle.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Seq48(u64);

impl Seq48 {
    /// The number zero.
    pub const ZERO: Self = Self(0);

    /// The number that is `value` modulo 2^48.
    pub const fn new(value: u64) -> Self {
        Self(value & MASK)
    }

    /// Its value, below 2^48.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Whether it comes before `other`, the two being less than 2^47 apart.
    pub const fn before(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0) & MASK != 0 && other.distance(self) < 1 << (BITS - 1)
    }

    /// Whether it comes after `other`, the two being less than 2^47 apart.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Returns the distance after `earlier`, modulo 2^48.
    pub const fn distance(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) & MASK
    }

    /// Whether it lies in the window from `low` to `high`, both included, on the circle.
    pub const fn is_within(self, low: Self, high: Self) -> bool {
        self.distance(low) <= high.distance(low)
    }

    /// The later of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// Its low 24 bits, as a short header has them.
    #[must_use]
    pub const fn low(self) -> Self {
        Self(self.0 & LOW)
    }

    /// Whether a short header can hold it.
    pub const fn is_short(self) -> bool {
        self.0 <= LOW
    }

    /// The number nearest to `reference` that has the low 24 bits of this one
    /// (RFC 4340 section 7.6, `Extend_Sequence_Number`).
    #[must_use]
    pub const fn extended(self, reference: Self) -> Self {
        let ahead = self.0.wrapping_sub(reference.0) & LOW;
        // Half of the circle ahead still counts as ahead.
        if ahead <= 1 << 23 {
            Self::new(reference.0 + ahead)
        } else {
            Self::new(reference.0.wrapping_sub((1 << 24) - ahead))
        }
    }
}

impl Add<u64> for Seq48 {
    type Output = Self;
    fn add(self, n: u64) -> Self {
        Self::new(self.0.wrapping_add(n))
    }
}

impl Sub<u64> for Seq48 {
    type Output = Self;
    fn sub(self, n: u64) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }
}

impl fmt::Debug for Seq48 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Seq48 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 4340 section 7.6, its pseudocode taken word by word.
    fn as_in_the_rfc(s: u64, reference: u64) -> u64 {
        let (low, high) = (reference & LOW, reference >> 24);
        let circular = |a: u64, b: u64| b.wrapping_sub(a) & LOW <= 1 << 23;
        let high = if circular(low, s) && s < low {
            (high + 1) & LOW
        } else if circular(s, low) && low < s {
            high.wrapping_sub(1) & LOW
        } else {
            high
        };
        high << 24 | s
    }

    #[test]
    fn short_numbers_extend_across_both_ends_of_their_circle() {
        let reference = Seq48::new(0x0000_01ff_fff0);
        assert_eq!(Seq48::new(5).extended(reference), Seq48::new(0x0000_0200_0005));
        assert_eq!(Seq48::new(0xff_ff00).extended(reference), Seq48::new(0x0000_01ff_ff00));
        let reference = Seq48::new(0x0000_0200_0005);
        assert_eq!(Seq48::new(0xff_fff0).extended(reference), Seq48::new(0x0000_01ff_fff0));
        assert_eq!(Seq48::new(3).extended(Seq48::new(MASK - 1)), Seq48::new(3));
    }

    proptest! {
        #[test]
        fn order_survives_wrap_around(start: u64, step in 1u64..1 << 47) {
            let (a, b) = (Seq48::new(start), Seq48::new(start) + step);
            prop_assert!(a.before(b) && b.after(a) && !b.before(a) && !a.before(a));
            prop_assert_eq!(b.distance(a), step);
            prop_assert_eq!(b - step, a);
            prop_assert_eq!(a.max(b), b);
            prop_assert!(b.is_within(a, b) && a.is_within(a, b) && !(b + 1).is_within(a, b));
        }

        #[test]
        fn extension_is_that_of_the_rfc(short in 0..=LOW, reference in 0..=MASK) {
            // At exactly half of the circle the pseudocode may go either way.
            prop_assume!(short.wrapping_sub(reference) & LOW != 1 << 23);
            let extended = Seq48::new(short).extended(Seq48::new(reference));
            prop_assert_eq!(extended.value(), as_in_the_rfc(short, reference));
            prop_assert_eq!(extended.low(), Seq48::new(short));
        }
    }
}
