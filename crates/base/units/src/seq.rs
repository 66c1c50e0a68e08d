//! Sequence numbers modulo 2^32.

use core::ops::{Add, Sub};

/// A TCP sequence number: compared modulo 2^32 (RFC 9293, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq32(pub u32);

impl Seq32 {
    /// Whether `self` comes before `other`, the two being less than 2^31 apart.
    pub const fn before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether `self` comes after `other`, the two being less than 2^31 apart.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Returns the distance of `self` after `earlier`, modulo 2^32.
    pub const fn distance(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl Add<u32> for Seq32 {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl Sub<u32> for Seq32 {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_survives_wrap_around(start: u32, step in 1u32..0x7fff_ffff) {
            let (a, b) = (Seq32(start), Seq32(start) + step);
            prop_assert!(a.before(b) && b.after(a) && !b.before(a));
            prop_assert_eq!(b.distance(a), step);
            prop_assert_eq!(b - step, a);
        }
    }
}
