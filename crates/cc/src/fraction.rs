//! Ratios: gains and shares without floating point.

/// A ratio of two integers; a zero denominator counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// Numerator.
    pub num: u32,
    /// Denominator.
    pub den: u32,
}

impl Fraction {
    /// `num / den`.
    pub const fn new(num: u32, den: u32) -> Self {
        Self { num, den }
    }

    /// The fraction of `x`, rounded down, at most `u32::MAX`.
    pub(crate) fn of(self, x: u32) -> u32 {
        u32::try_from(self.of_long(u64::from(x))).unwrap_or(u32::MAX)
    }

    /// The fraction of `x`, rounded down, at most `u64::MAX`.
    pub(crate) fn of_long(self, x: u64) -> u64 {
        let product = u128::from(self.num) * u128::from(x) / u128::from(self.den.max(1));
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}
