//! Log-normal shadowing: the effect of walls and furniture on the mean path loss.
//!
//! In decibels it is a normal variate for each pair of radios. With a decorrelation distance it
//! is a field over the places of both ends, whose correlation falls as e^(-d/D) with the way that
//! an end has moved (Gudmundson, "Correlation model for shadow fading in mobile radio systems",
//! Electronics Letters 27(23), 1991): a radio that comes back to a place finds the loss it left.
//! The field is a sum of plane waves with random wave vectors from the exponential correlation's
//! spectrum in the plane, density ~ (1 + D^2 k^2)^(-3/2).

use core::f64::consts::TAU;
use fairwave_units::{Db, Metres, Stream, math};

/// Plane waves of a field.
const WAVES: usize = 32;

/// Log-normal shadowing of every pair of radios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadowing {
    /// Standard deviation; indoors 4 to 8 dB.
    pub sigma: Db,
    /// Distance at which the correlation has fallen to 1/e. `None`: a pair keeps its draw, wherever
    /// its ends go.
    pub decorrelation: Option<Metres>,
}

/// Place of a radio.
type Place = (Metres, Metres);

#[derive(Clone, Copy, Debug)]
struct Wave {
    /// Wave vectors for the two ends, in radians per metre.
    first: (f64, f64),
    second: (f64, f64),
    phase: f64,
}

/// The shadowing of one pair of radios, the same in both directions.
#[derive(Clone, Debug)]
pub struct ShadowingLink {
    sigma_db: f64,
    /// Empty where the loss does not depend on places.
    waves: Box<[Wave]>,
    constant: f64,
}

impl ShadowingLink {
    /// A link drawn from `stream`.
    pub fn new(shadowing: Shadowing, mut stream: Stream) -> Self {
        let waves: Box<[Wave]> = match shadowing.decorrelation {
            None => Box::default(),
            Some(distance) => (0..WAVES).map(|_| wave(distance.0, &mut stream)).collect(),
        };
        Self { sigma_db: shadowing.sigma.0, waves, constant: normal(&mut stream) }
    }

    /// Returns the addition to the path loss with the ends at these places, always in the same
    /// order.
    pub fn loss(&self, first: Place, second: Place) -> Db {
        if self.waves.is_empty() {
            return Db(self.sigma_db * self.constant);
        }
        let along = |k: (f64, f64), at: Place| k.0 * at.0.0 + k.1 * at.1.0;
        let height =
            |w: &Wave| math::cos(along(w.first, first) + along(w.second, second) + w.phase);
        let sum: f64 = self.waves.iter().map(height).sum();
        Db(self.sigma_db * sum * (2.0 / WAVES as f64).sqrt())
    }
}

/// A wave with both vectors drawn from the spectrum of e^(-d / `distance`).
fn wave(distance: f64, stream: &mut Stream) -> Wave {
    let mut vector = || {
        // The radial distribution 1 - (1 + D^2 k^2)^(-1/2), inverted.
        let rest = 1.0 - stream.unit();
        let k = (1.0 / (rest * rest) - 1.0).sqrt() / distance.max(1e-3);
        let angle = TAU * stream.unit();
        (k * math::cos(angle), k * math::sin(angle))
    };
    let (first, second) = (vector(), vector());
    Wave { first, second, phase: TAU * stream.unit() }
}

/// A standard normal variate (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * math::ln(1.0 - stream.unit())).sqrt();
    radius * math::cos(TAU * stream.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seed;

    fn at(x: f64, y: f64) -> Place {
        (Metres(x), Metres(y))
    }

    /// Losses in dB of many pairs with the second end at each of `places`.
    fn losses(decorrelation: Option<Metres>, places: &[Place]) -> Vec<Vec<f64>> {
        let shadowing = Shadowing { sigma: Db(6.0), decorrelation };
        let of = |i: u64| {
            let link = ShadowingLink::new(shadowing, Seed(i).stream("shadowing"));
            places.iter().map(|p| link.loss(at(1.0, 2.0), *p).0).collect()
        };
        (0..20_000).map(of).collect()
    }

    fn covariance(rows: &[Vec<f64>], i: usize, j: usize) -> f64 {
        rows.iter().map(|row| row[i] * row[j]).sum::<f64>() / rows.len() as f64
    }

    fn share_below(rows: &[Vec<f64>], limit: f64) -> f64 {
        rows.iter().filter(|row| row[0] < limit).count() as f64 / rows.len() as f64
    }

    /// Mean 0, deviation 6 dB, and the normal distribution's 0.1587 below one deviation.
    #[test]
    fn losses_of_pairs_are_normal_in_decibels() {
        for decorrelation in [None, Some(Metres(5.0))] {
            let rows = losses(decorrelation, &[at(4.0, 0.0)]);
            let mean = rows.iter().map(|row| row[0]).sum::<f64>() / rows.len() as f64;
            assert!(mean.abs() < 0.15, "{mean}");
            assert!((covariance(&rows, 0, 0) - 36.0).abs() < 1.0);
            assert!((share_below(&rows, -6.0) - 0.1587).abs() < 0.01);
            assert!((share_below(&rows, 12.0) - 0.9772).abs() < 0.006);
        }
    }

    /// Gudmundson's exponential, at half, one and three decorrelation distances, any direction.
    #[test]
    fn correlation_falls_exponentially_with_the_way() {
        let places = [at(0.0, 0.0), at(2.5, 0.0), at(3.0, 4.0), at(0.0, 15.0)];
        let rows = losses(Some(Metres(5.0)), &places);
        for (i, expected) in [(1, math::exp(-0.5)), (2, math::exp(-1.0)), (3, math::exp(-3.0))] {
            let measured = covariance(&rows, 0, i) / 36.0;
            assert!((measured - expected).abs() < 0.03, "{i}: {measured} {expected}");
        }
    }

    #[test]
    fn a_pair_without_decorrelation_keeps_its_loss() {
        let rows = losses(None, &[at(0.0, 0.0), at(500.0, 0.0)]);
        assert!(rows.iter().all(|row| row[0] == row[1]));
    }
}
