//! Ticks of a capture's clock as times.

use super::record::Fault;
use fairwave_units::Instant;

const NANOS_PER_S: u64 = 1_000_000_000;

/// Time units of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    ticks_per_s: u64,
    /// Seconds that are to be added.
    offset_s: i64,
}

impl Clock {
    /// Time units of an interface that states none.
    pub(super) const MICROSECONDS: Self = Self { ticks_per_s: 1_000_000, offset_s: 0 };

    /// With the resolution of an option `if_tsresol`: a power of ten, or of two with the highest
    /// bit set.
    pub(super) fn with_resolution(self, resolution: u8) -> Result<Self, Fault> {
        let base = if resolution & 0x80 == 0 { 10u64 } else { 2 };
        let ticks_per_s = base.checked_pow(u32::from(resolution & 0x7f));
        let ticks_per_s = ticks_per_s.ok_or(Fault::Resolution(resolution))?;
        Ok(Self { ticks_per_s, ..self })
    }

    /// With the seconds of an option `if_tsoffset`.
    pub(super) const fn with_offset(self, offset_s: i64) -> Self {
        Self { offset_s, ..self }
    }

    /// Returns the time after this number of ticks, rounded down; `None` if it exceeds 64 bits of
    /// nanoseconds.
    pub(super) fn at(self, ticks: u64) -> Option<Instant> {
        let (seconds, rest) = (ticks / self.ticks_per_s, ticks % self.ticks_per_s);
        let seconds = seconds.checked_add_signed(self.offset_s)?;
        seconds.checked_mul(NANOS_PER_S)?.checked_add(self.nanos(rest)).map(Instant::from_nanos)
    }

    /// Less than a second of ticks, in nanoseconds.
    fn nanos(self, ticks: u64) -> u64 {
        if NANOS_PER_S.is_multiple_of(self.ticks_per_s) {
            return ticks * (NANOS_PER_S / self.ticks_per_s);
        }
        let nanos = u128::from(ticks) * u128::from(NANOS_PER_S) / u128::from(self.ticks_per_s);
        u64::try_from(nanos).expect("less than a second of ticks is less than 10^9 nanoseconds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(clock: Clock, ticks: u64) -> Option<u64> {
        clock.at(ticks).map(Instant::as_nanos)
    }

    #[test]
    fn ticks_become_nanoseconds() {
        let by = |resolution| Clock::MICROSECONDS.with_resolution(resolution).unwrap();
        assert_eq!(nanos(Clock::MICROSECONDS, 1_500_001), Some(1_500_001_000));
        assert_eq!(nanos(by(9), 1_500_001), Some(1_500_001));
        assert_eq!(nanos(by(0), 3), Some(3_000_000_000));
        assert_eq!(nanos(by(12), 2_000_000_001_999), Some(2_000_000_001));
        // 2^-10 s each: half a second, and one tick of 976562.5 ns.
        assert_eq!(nanos(by(0x8a), 512), Some(500_000_000));
        assert_eq!(nanos(by(0x8a), 1025), Some(1_000_976_562));
        assert_eq!(nanos(by(0xbf), u64::MAX), Some(1_999_999_999));
    }

    #[test]
    fn an_offset_moves_whole_seconds() {
        let clock = Clock::MICROSECONDS.with_offset(-2);
        assert_eq!(nanos(clock, 2_000_007), Some(7_000));
        assert_eq!(nanos(clock, 1_999_999), None);
        assert_eq!(nanos(clock.with_offset(10), 1), Some(10_000_001_000));
    }

    #[test]
    fn what_64_bits_cannot_hold_is_refused() {
        assert_eq!(Clock::MICROSECONDS.with_resolution(20), Err(Fault::Resolution(20)));
        assert_eq!(Clock::MICROSECONDS.with_resolution(0xc0), Err(Fault::Resolution(0xc0)));
        assert_eq!(nanos(Clock::MICROSECONDS, u64::MAX), None);
        assert_eq!(nanos(Clock::MICROSECONDS.with_offset(i64::MAX), 1), None);
    }
}
