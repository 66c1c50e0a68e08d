//! A measured signal-to-noise ratio over time, in place of distance and path loss.

use fairwave_units::{Db, Instant};

/// Interpolation between two points of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier point, until the next.
    Step,
    /// The straight line between both, in dB.
    Linear,
}

/// SNR over time. Before its first point and after its last it keeps their values.
#[derive(Clone, Debug, PartialEq)]
pub struct SnrTrace {
    points: Vec<(Instant, Db)>,
    interpolation: Interpolation,
}

/// Reason for which points are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTrace {
    /// There is no point.
    Empty,
    /// The point with this index, from 0, is not later than the one before.
    NotLater(usize),
    /// The point with this index is not a finite number.
    NotFinite(usize),
}

impl SnrTrace {
    /// A trace through `points`, each later than the one before.
    ///
    /// # Errors
    /// The first point that is out of order or not finite.
    pub fn new(points: Vec<(Instant, Db)>, interpolation: Interpolation) -> Result<Self, BadTrace> {
        if points.is_empty() {
            return Err(BadTrace::Empty);
        }
        if let Some(i) = points.iter().position(|(_, snr)| !snr.0.is_finite()) {
            return Err(BadTrace::NotFinite(i));
        }
        match points.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            Some(i) => Err(BadTrace::NotLater(i + 1)),
            None => Ok(Self { points, interpolation }),
        }
    }

    /// Whether the SNR is the same at all times.
    pub fn is_constant(&self) -> bool {
        self.points.iter().all(|(_, snr)| *snr == self.points[0].1)
    }

    /// The highest SNR that it ever has.
    pub fn highest(&self) -> Db {
        self.points
            .iter()
            .fold(self.points[0].1, |best, (_, snr)| if snr.0 > best.0 { *snr } else { best })
    }

    /// The SNR at `at`.
    pub fn at(&self, at: Instant) -> Db {
        let next = self.points.partition_point(|(time, _)| *time <= at);
        let (Some(&(from, low)), Some(&(to, high))) =
            (self.points.get(next.wrapping_sub(1)), self.points.get(next))
        else {
            return self.points[next.saturating_sub(1)].1;
        };
        match self.interpolation {
            Interpolation::Step => low,
            Interpolation::Linear => {
                let part = at.since(from).as_nanos() as f64 / to.since(from).as_nanos() as f64;
                Db(low.0 + part * (high.0 - low.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn trace(interpolation: Interpolation) -> SnrTrace {
        let points = vec![(at(100), Db(10.0)), (at(200), Db(20.0)), (at(400), Db(0.0))];
        SnrTrace::new(points, interpolation).unwrap()
    }

    #[test]
    fn steps_hold_and_lines_join() {
        let expected = [
            (0, 10.0, 10.0),
            (100, 10.0, 10.0),
            (150, 10.0, 15.0),
            (200, 20.0, 20.0),
            (350, 20.0, 5.0),
            (400, 0.0, 0.0),
            (9000, 0.0, 0.0),
        ];
        for (millis, step, line) in expected {
            assert_eq!(trace(Interpolation::Step).at(at(millis)), Db(step), "{millis} ms");
            assert_eq!(trace(Interpolation::Linear).at(at(millis)), Db(line), "{millis} ms");
        }
    }

    #[test]
    fn points_of_one_value_are_constant() {
        let (early, late) = ((at(100), Db(20.0)), (at(200), Db(20.0)));
        for points in [vec![early], vec![early, late]] {
            assert!(SnrTrace::new(points, Interpolation::Linear).unwrap().is_constant());
        }
        assert!(!trace(Interpolation::Step).is_constant());
    }

    #[test]
    fn points_must_be_finite_and_in_order() {
        let new = |points: &[(u64, f64)]| {
            let points = points.iter().map(|(ms, db)| (at(*ms), Db(*db))).collect();
            SnrTrace::new(points, Interpolation::Step)
        };
        assert_eq!(new(&[]), Err(BadTrace::Empty));
        assert_eq!(new(&[(1, 0.0), (3, 0.0), (3, 1.0)]), Err(BadTrace::NotLater(2)));
        assert_eq!(new(&[(1, 0.0), (2, f64::NAN)]), Err(BadTrace::NotFinite(1)));
        assert!(new(&[(1, 0.0)]).is_ok());
    }
}
