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
    /// All of it.
    pub const WHOLE: Self = Self::new(1, 1);

    /// `num / den`.
    pub const fn new(num: u32, den: u32) -> Self {
        Self { num, den }
    }

    /// The fraction of `x`, rounded down, at most `u32::MAX`.
    pub(crate) fn of(self, x: u32) -> u32 {
        u32::try_from(self.of_long(u64::from(x))).unwrap_or(u32::MAX)
    }

    /// Returns the point at this part of the way down from `from` to `to`; `from` if `to` is not
    /// below.
    pub(crate) fn of_way(self, from: u32, to: u32) -> u32 {
        let way = from.saturating_sub(to);
        from - self.of(way).min(way)
    }

    /// The fraction of `x`, rounded down, at most `u64::MAX`.
    pub(crate) fn of_long(self, x: u64) -> u64 {
        let product = u128::from(self.num) * u128::from(x) / u128::from(self.den.max(1));
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}
