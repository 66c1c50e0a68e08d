//! Service curves of two pieces, in integers.
//!
//! Time is in nanoseconds, service in 256ths of a byte. Slopes are kept in both directions as
//! fixed-point numbers with 40 bits behind the point, so that nothing is divided per packet.

use fairwave_units::{BitRate, Bytes, Duration};

/// Parts of a byte that service is counted in, as a power of two.
pub(super) const SERVICE_SHIFT: u32 = 8;
const POINT: u32 = 40;
/// Bits in a second of one bit per second, times nanoseconds: bits * ns in a byte * s.
const BIT_NS_PER_BYTE_S: u128 = 8_000_000_000;

/// Service curve of a class in a backlog that begins at zero: a rate for a while, then another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceCurve {
    /// The rate at first, m1.
    pub first: BitRate,
    /// Duration d.
    pub lasts: Duration,
    /// The rate from then on, m2; above zero.
    pub then: BitRate,
}

impl ServiceCurve {
    /// One rate for good.
    pub const fn linear(rate: BitRate) -> Self {
        Self { first: rate, lasts: Duration::ZERO, then: rate }
    }

    /// `burst` within `delay`, and `rate` in the long run: the concave curve that gives packets a
    /// delay which their rate alone would not.
    pub const fn burst(burst: Bytes, delay: Duration, rate: BitRate) -> Self {
        let first = burst.0 as u128 * BIT_NS_PER_BYTE_S / delay.as_nanos() as u128;
        Self { first: BitRate(first as u64), lasts: delay, then: rate }
    }
}

/// A rate both ways.
#[derive(Clone, Copy, Debug)]
struct Slope {
    /// Service per nanosecond.
    service: u64,
    /// Nanoseconds per service.
    time: u64,
}

impl Slope {
    const fn of(rate: BitRate) -> Self {
        let scale = 1u128 << (POINT + SERVICE_SHIFT);
        let service = rate.0 as u128 * scale / BIT_NS_PER_BYTE_S;
        let per_service = (BIT_NS_PER_BYTE_S << POINT) >> SERVICE_SHIFT;
        let time = match per_service.checked_div(rate.0 as u128) {
            Some(time) if time < u64::MAX as u128 => time as u64,
            _ => u64::MAX,
        };
        Self { service: service as u64, time }
    }

    fn after(self, time: u64) -> u64 {
        scaled(time, self.service)
    }

    fn until(self, service: u64) -> u64 {
        scaled(service, self.time)
    }
}

fn scaled(value: u64, factor: u64) -> u64 {
    u64::try_from((u128::from(value) * u128::from(factor)) >> POINT).unwrap_or(u64::MAX)
}

/// A service curve ready to be computed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    first: Slope,
    then: Slope,
    /// Time and service of the first piece.
    dx: u64,
    dy: u64,
    is_concave: bool,
}

impl Curve {
    pub(super) const fn new(curve: ServiceCurve) -> Self {
        let ServiceCurve { first, lasts, then } = curve;
        let (first, then) = (Slope::of(first), Slope::of(then));
        let dx = lasts.as_nanos();
        let dy = (dx as u128 * first.service as u128) >> POINT;
        let is_concave = first.service > then.service;
        Self { first, then, dx, dy: dy as u64, is_concave }
    }
}

/// The lesser of several shifted copies of one curve: from its origin on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shifted {
    x: u64,
    y: u64,
    /// Time and service of the rest of the first piece.
    dx: u64,
    dy: u64,
}

impl Shifted {
    /// The curve from this origin on.
    pub(super) const fn new(curve: &Curve, x: u64, y: u64) -> Self {
        Self { x, y, dx: curve.dx, dy: curve.dy }
    }

    /// Service at a time, none before the origin.
    pub(super) fn service_at(&self, curve: &Curve, x: u64) -> u64 {
        let passed = x.saturating_sub(self.x);
        if passed <= self.dx {
            return self.y + curve.first.after(passed);
        }
        (self.y + self.dy).saturating_add(curve.then.after(passed - self.dx))
    }

    /// The time at which a service is reached.
    pub(super) fn time_of(&self, curve: &Curve, y: u64) -> u64 {
        let wanted = y.saturating_sub(self.y);
        if wanted <= self.dy && self.dx > 0 {
            // A first piece without service ends before anything is served.
            return match self.dy {
                0 => self.x + self.dx,
                _ => self.x.saturating_add(curve.first.until(wanted).min(self.dx)),
            };
        }
        (self.x + self.dx).saturating_add(curve.then.until(wanted - self.dy))
    }

    /// Time at which a class that has got `y` may be served ahead of time. Where the curve is
    /// convex, the later, greater rate has to be prepared for: by the line of that rate.
    pub(super) fn eligible_at(&self, curve: &Curve, y: u64) -> u64 {
        if curve.is_concave {
            return self.time_of(curve, y);
        }
        self.x.saturating_add(curve.then.until(y.saturating_sub(self.y)))
    }

    /// Lowers it to a copy that begins at `(x, y)`, for times from `x` on.
    pub(super) fn lower(&mut self, curve: &Curve, x: u64, y: u64) {
        let here = self.service_at(curve, x);
        // Where they meet, the copy is lower if it begins with its lesser slope.
        if here < y || (here == y && curve.is_concave) {
            return;
        }
        let copy = Self::new(curve, x, y);
        if !curve.is_concave || self.service_at(curve, x + curve.dx) >= y + curve.dy {
            *self = copy;
            return;
        }
        // The copy begins below and catches up in its first piece: they are parallel while this
        // one is in its own first piece, then the gap closes by the difference of the slopes.
        let parallel = (self.x + self.dx).saturating_sub(x);
        let closing = u128::from(curve.first.service - curve.then.service);
        let gap = (u128::from(here - y) << POINT) / closing;
        let dx = parallel.saturating_add(gap as u64).min(curve.dx);
        *self = Self { x, y, dx, dy: curve.first.after(dx) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTE: u64 = 1 << SERVICE_SHIFT;
    const MS: u64 = 1_000_000;
    /// A byte a microsecond for 10 ms, then a tenth of that.
    const CONCAVE: ServiceCurve = ServiceCurve {
        first: BitRate(8_000_000),
        lasts: Duration::from_millis(10),
        then: BitRate(800_000),
    };
    /// Nothing for 10 ms, then a byte a microsecond.
    const CONVEX: ServiceCurve = ServiceCurve {
        first: BitRate(0),
        lasts: Duration::from_millis(10),
        then: BitRate(8_000_000),
    };

    fn near(a: u64, b: u64, off: u64) {
        assert!(a.abs_diff(b) <= off, "{a} is not {b}");
    }

    #[test]
    fn two_pieces_both_ways() {
        let curve = Curve::new(CONCAVE);
        let from = Shifted::new(&curve, 5 * MS, 100 * BYTE);
        near(from.service_at(&curve, 6 * MS), 1100 * BYTE, 1);
        near(from.service_at(&curve, 25 * MS), (100 + 10_000 + 1000) * BYTE, 2);
        near(from.time_of(&curve, 1100 * BYTE), 6 * MS, 4);
        near(from.time_of(&curve, 11_100 * BYTE), 25 * MS, 40);
        near(from.eligible_at(&curve, 1100 * BYTE), 6 * MS, 4);

        let curve = Curve::new(CONVEX);
        let from = Shifted::new(&curve, 5 * MS, 0);
        assert_eq!(from.service_at(&curve, 14 * MS), 0);
        near(from.time_of(&curve, 0), 15 * MS, 0);
        near(from.time_of(&curve, 1000 * BYTE), 16 * MS, 4);
        near(from.eligible_at(&curve, 1000 * BYTE), 6 * MS, 4);
    }

    #[test]
    fn a_burst_makes_a_concave_curve() {
        // 1500 bytes in 5 ms are 2.4 Mbps.
        let curve = ServiceCurve::burst(Bytes(1500), Duration::from_millis(5), BitRate(100_000));
        assert_eq!(curve.first, BitRate(2_400_000));
    }

    /// The lower of both is exact at every time, by brute force.
    #[test]
    fn lowering_gives_the_minimum() {
        for spec in [CONCAVE, ServiceCurve::linear(BitRate(1_000_000))] {
            let curve = Curve::new(spec);
            for (x, y) in [(3, 500), (3, 2900), (12, 2000), (12, 9_800), (30, 11_000), (8, 8000)] {
                let old = Shifted::new(&curve, 0, 0);
                let mut low = old;
                low.lower(&curve, x * MS, y * BYTE);
                let copy = Shifted::new(&curve, x * MS, y * BYTE);
                for t in x..80 {
                    let at = t * MS;
                    let minimum = old.service_at(&curve, at).min(copy.service_at(&curve, at));
                    near(low.service_at(&curve, at), minimum, 8);
                }
            }
        }
    }
}
