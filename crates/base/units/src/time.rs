//! Time as integer nanoseconds, so that no rounding depends on how a sum was formed.

use crate::parse::{self, ParseQuantityError, Unit};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the start of the run (or of the host's monotonic clock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Duration(u64);

impl Instant {
    /// The start of time.
    pub const ZERO: Self = Self(0);
    /// Later than anything a run reaches (584 years).
    pub const MAX: Self = Self(u64::MAX);

    /// A point `nanos` nanoseconds after [`Instant::ZERO`].
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since [`Instant::ZERO`].
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since [`Instant::ZERO`], for plots and rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The first tick of a clock that counts `tick` at or after this instant; the instant itself
    /// where the clock is exact, which a tick of zero stands for.
    pub const fn at_tick(self, tick: Duration) -> Self {
        Self(Duration(self.0).in_ticks(tick).0)
    }

    /// The first of two deadlines, each of which there may be or not.
    pub fn first_of(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Time from `earlier` to `self`; `None` if `earlier` is later.
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        if self.0 < earlier.0 { None } else { Some(self.since(earlier)) }
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The nearest whole nanosecond to `secs`; negative and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The span in seconds, for plots and rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span rounded up to whole ticks; the span itself where `tick` is zero.
    pub const fn in_ticks(self, tick: Self) -> Self {
        if tick.0 == 0 { self } else { Self(self.0.next_multiple_of(tick.0)) }
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The distance between two spans.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, d: Self) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Self) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, d: Self) -> Self {
        Self(self.0 - d.0)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, d: Self) {
        *self = *self - d;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, k: u64) -> Self {
        Self(self.0.saturating_mul(k))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, k: u64) -> Self {
        Self(self.0 / k)
    }
}

impl Div for Duration {
    type Output = u64;
    /// Returns the number of whole times that `d` fits.
    fn div(self, d: Self) -> u64 {
        self.0 / d.0
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "ns", factor: 1 },
    Unit { name: "us", factor: 1_000 },
    Unit { name: "µs", factor: 1_000 },
    Unit { name: "ms", factor: 1_000_000 },
    Unit { name: "s", factor: 1_000_000_000 },
    Unit { name: "min", factor: 60_000_000_000 },
    Unit { name: "h", factor: 3_600_000_000_000 },
];

impl FromStr for Duration {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        parse::integer(text, "a duration", UNITS, "100 ms").map(Self)
    }
}

impl TryFrom<String> for Duration {
    type Error = ParseQuantityError;
    fn try_from(text: String) -> Result<Self, ParseQuantityError> {
        text.parse()
    }
}

impl From<Duration> for String {
    fn from(d: Duration) -> Self {
        d.to_string()
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display_integer(
            f,
            self.0,
            &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)],
        )
    }
}

impl fmt::Display for Instant {
    /// Seconds with microseconds, as in `12.345678s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_with_the_largest_exact_unit() {
        for (text, nanos) in
            [("100 ms", 100_000_000), ("2.5 ms", 2_500_000), ("120 s", 120_000_000_000)]
        {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.as_nanos(), nanos);
            assert_eq!(d.to_string().parse::<Duration>().unwrap(), d);
        }
        assert_eq!(Duration::from_micros(2500).to_string(), "2500 us");
        assert_eq!(Duration::from_secs(120).to_string(), "120 s");
    }

    #[test]
    fn a_duration_without_a_unit_is_refused() {
        let error = "100".parse::<Duration>().unwrap_err().to_string();
        assert!(error.contains("unit") && error.contains("ms"), "{error}");
    }

    #[test]
    fn a_fraction_of_a_nanosecond_is_refused() {
        assert!("0.5 ns".parse::<Duration>().is_err());
    }

    #[test]
    fn instants_print_as_seconds() {
        assert_eq!(Instant::from_nanos(12_345_678_901).to_string(), "12.345678s");
    }
}
