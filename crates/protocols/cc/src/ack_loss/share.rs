//! The share of a connection's ACKs that are lost, smoothed over rounds.
//!
//! The estimator is that of DCTCP (RFC 8257 section 3.3): `alpha = (1 - g) alpha + g M` once a
//! round, with g = 1/16 (section 4.2). M is lost ACKs over ACKs expected, where DCTCP has marked
//! bytes over acknowledged ones. alpha begins at one, so that the first answer, out of slow
//! start, is a whole one.

use crate::Fraction;

/// One, in the units of alpha.
const ONE: u32 = 1 << 20;
/// g is one over two to this power.
const G_SHIFT: u32 = 4;

/// alpha, in units of 1 / [`ONE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(u32);

impl Share {
    pub(super) const fn new() -> Self {
        Self(ONE)
    }

    /// Adds a round in which `heard` ACKs came and `lost` did not. A round without any is ignored.
    pub(super) fn observe(&mut self, lost: u64, received: u64) {
        let expected = u128::from(lost) + u128::from(received);
        let scaled = u128::from(lost) * u128::from(ONE);
        let Some(share) = scaled.checked_div(expected) else { return };
        // At most ONE: no more were lost than were expected.
        let share = u32::try_from(share).unwrap_or(ONE);
        self.0 = self.0 - (self.0 >> G_SHIFT) + (share >> G_SHIFT);
    }

    /// The part of a whole reaction that alpha stands for.
    pub(super) const fn part(self) -> Fraction {
        Fraction::new(self.0, ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_moves_a_sixteenth_of_the_way_each_round() {
        let mut share = Share::new();
        share.observe(0, 100);
        assert_eq!(share.part(), Fraction::new(ONE / 16 * 15, ONE));
        // 15/16 of that, and a sixteenth of a half.
        share.observe(50, 50);
        assert_eq!(share.part(), Fraction::new(ONE / 256 * (225 + 8), ONE));
        share.observe(0, 0);
        assert_eq!(share.part(), Fraction::new(ONE / 256 * (225 + 8), ONE));
    }

    #[test]
    fn a_lasting_share_is_found_and_a_whole_one_is_no_more_than_one() {
        for (lost, received, min, max) in [(1, 3, 249, 256), (1, 0, 1_023, 1_024), (0, 9, 0, 1)] {
            let mut share = Share::new();
            (0..200).for_each(|_| share.observe(lost, received));
            let found = share.part().of(1_024);
            assert!((min..=max).contains(&found), "{lost} of {}: {found}", lost + received);
        }
        let mut share = Share::new();
        share.observe(u64::MAX, u64::MAX);
        assert_eq!(share.part(), Fraction::new(ONE / 32 * 31, ONE));
    }
}
