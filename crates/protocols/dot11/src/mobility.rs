//! Position of a radio: on straight lines between way-points, at constant speed on each.

use fairwave_units::{Instant, Metres, math};

/// A place that is passed at a set time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayPoint {
    /// Time.
    pub at: Instant,
    /// Position.
    pub position: (Metres, Metres),
}

/// A way through the plane. Before its first point and after its last a radio stands still; two
/// points with the same place are a pause.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    points: Vec<WayPoint>,
    /// Whether the host may put the radio elsewhere at any time.
    is_steered: bool,
}

impl Path {
    /// The way through `points`; `None` if there is none, or one is not later than the one
    /// before.
    pub fn new(points: Vec<WayPoint>) -> Option<Self> {
        let in_order = points.windows(2).all(|pair| pair[0].at < pair[1].at);
        (in_order && !points.is_empty()).then_some(Self { points, is_steered: false })
    }

    /// A radio that never moves.
    pub fn still(position: (Metres, Metres)) -> Self {
        Self { points: vec![WayPoint { at: Instant::ZERO, position }], is_steered: false }
    }

    /// Returns a radio that stands still until the host [places](crate::channel::Channel::place) it
    /// elsewhere.
    pub fn steered(position: (Metres, Metres)) -> Self {
        Self { is_steered: true, ..Self::still(position) }
    }

    /// Whether it is at the same place at all times.
    pub fn is_still(&self) -> bool {
        !self.is_steered
            && self.points.iter().all(|point| point.position == self.points[0].position)
    }

    /// The smallest distance from `place` that it ever has.
    pub fn closest(&self, place: (Metres, Metres)) -> Metres {
        let from =
            |point: &WayPoint| (point.position.0.0 - place.0.0, point.position.1.0 - place.1.0);
        let ends = self.points.iter().map(from).map(|(x, y)| math::hypot(x, y));
        let legs = self.points.windows(2).map(|leg| {
            let ((x, y), (u, v)) = (from(&leg[0]), from(&leg[1]));
            let (dx, dy) = (u - x, v - y);
            let whole = dx * dx + dy * dy;
            let part = if whole > 0.0 { (-(x * dx + y * dy) / whole).clamp(0.0, 1.0) } else { 0.0 };
            math::hypot(x + part * dx, y + part * dy)
        });
        Metres(ends.chain(legs).fold(f64::INFINITY, f64::min))
    }

    /// The place at `at`.
    pub fn position(&self, at: Instant) -> (Metres, Metres) {
        let next = self.points.partition_point(|point| point.at <= at);
        let (Some(from), Some(to)) = (self.points.get(next.wrapping_sub(1)), self.points.get(next))
        else {
            return self.points[next.saturating_sub(1)].position;
        };
        let part = at.since(from.at).as_nanos() as f64 / to.at.since(from.at).as_nanos() as f64;
        let between = |a: Metres, b: Metres| Metres(a.0 + part * (b.0 - a.0));
        let (a, b) = (from.position, to.position);
        (between(a.0, b.0), between(a.1, b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_nanos(secs * 1_000_000_000)
    }

    fn point(secs: u64, x: f64, y: f64) -> WayPoint {
        WayPoint { at: at(secs), position: (Metres(x), Metres(y)) }
    }

    /// 5 m in 5 s, a pause of 5 s, and back in 10 s.
    #[test]
    fn a_walk_with_a_pause() {
        let way = [point(10, 0.0, 0.0), point(15, 3.0, 4.0), point(20, 3.0, 4.0)];
        let path = Path::new([&way[..], &[point(30, 0.0, 0.0)]].concat()).unwrap();
        let expected = [
            (0, 0.0, 0.0),
            (10, 0.0, 0.0),
            (11, 0.6, 0.8),
            (15, 3.0, 4.0),
            (18, 3.0, 4.0),
            (25, 1.5, 2.0),
            (30, 0.0, 0.0),
            (99, 0.0, 0.0),
        ];
        for (secs, x, y) in expected {
            let (got_x, got_y) = path.position(at(secs));
            let near = (got_x.0 - x).abs() < 1e-12 && (got_y.0 - y).abs() < 1e-12;
            assert!(near, "{secs} s: {got_x} {got_y}");
        }
        assert!(!path.is_still());
    }

    #[test]
    fn points_out_of_order_are_no_path() {
        assert_eq!(Path::new(vec![]), None);
        assert_eq!(Path::new(vec![point(2, 0.0, 0.0), point(2, 1.0, 0.0)]), None);
        let still = Path::still((Metres(1.0), Metres(2.0)));
        assert!(still.is_still());
        assert_eq!(still.position(at(7)), (Metres(1.0), Metres(2.0)));
    }
}
