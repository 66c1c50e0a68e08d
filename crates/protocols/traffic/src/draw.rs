//! Random durations and sizes.

use fairwave_units::{Duration, Stream, math};

/// Draws outside a truncated distribution before its nearer bound is taken.
const MAX_REJECTIONS: u32 = 100;

/// Time for which a period lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Period {
    /// Exponentially distributed.
    Exponential {
        /// Its mean.
        mean: Duration,
    },
    /// Pareto distributed: `P(X > x) = (scale / x)^shape`. A shape from 1 to 2 has a mean but
    /// no variance; many such sources together are self-similar (Willinger, Taqqu, Sherman,
    /// Wilson: Self-similarity through high-variability, IEEE/ACM ToN 5(1), 1997).
    Pareto {
        /// Its mean, `scale * shape / (shape - 1)`.
        mean: Duration,
        /// The exponent; above 1.
        shape: f64,
    },
}

impl Period {
    /// Its mean.
    pub fn mean(self) -> Duration {
        match self {
            Self::Exponential { mean } | Self::Pareto { mean, .. } => mean,
        }
    }

    pub(crate) fn draw(self, random: &mut Stream) -> Duration {
        match self {
            Self::Exponential { mean } => exponential(mean, random),
            Self::Pareto { mean, shape } => {
                let scale = mean.as_nanos() as f64 * (shape - 1.0) / shape;
                nanos(pareto(scale, shape, random))
            }
        }
    }
}

/// Size of an object in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Always the same.
    Constant(u64),
    /// Log-normal, drawn again while outside `least..=most`.
    LogNormal {
        /// Mean before truncation.
        mean: f64,
        /// Standard deviation before truncation.
        deviation: f64,
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// Pareto, cut off at `most`: `P(X > x) = (least / x)^shape` up to there.
    Pareto {
        /// Minimum, at which the distribution begins.
        least: u64,
        /// The exponent, above 0.
        shape: f64,
        /// Greatest value.
        most: u64,
    },
}

impl Size {
    /// Whether its numbers make sense: positive, and bounds in order.
    pub fn is_sound(self) -> bool {
        match self {
            Self::Constant(bytes) => bytes > 0,
            Self::LogNormal { mean, deviation, least, most } => {
                let finite = mean.is_finite() && deviation.is_finite();
                finite && mean > 0.0 && deviation >= 0.0 && least > 0 && least <= most
            }
            Self::Pareto { least, shape, most } => {
                shape.is_finite() && shape > 0.0 && least > 0 && least <= most
            }
        }
    }

    pub(crate) fn draw(self, random: &mut Stream) -> u64 {
        match self {
            Self::Constant(bytes) => bytes,
            Self::LogNormal { mean, deviation, least, most } => {
                let within = |x: &f64| (least as f64..=most as f64).contains(x);
                let mut draws = (0..MAX_REJECTIONS).map(|_| log_normal(mean, deviation, random));
                let drawn = draws.find(within).unwrap_or(mean);
                ((drawn + 0.5) as u64).clamp(least, most)
            }
            Self::Pareto { least, shape, most } => {
                (pareto(least as f64, shape, random) as u64).clamp(least, most)
            }
        }
    }
}

/// Returns a span of `ns` nanoseconds; the excess is cut off.
fn nanos(ns: f64) -> Duration {
    Duration::from_nanos((ns + 0.5) as u64)
}

/// Uniform over `(0, 1]`, whose logarithm is finite.
fn positive_unit(random: &mut Stream) -> f64 {
    1.0 - random.unit()
}

pub(crate) fn exponential(mean: Duration, random: &mut Stream) -> Duration {
    nanos(-math::ln(positive_unit(random)) * mean.as_nanos() as f64)
}

/// By inversion.
fn pareto(scale: f64, shape: f64, random: &mut Stream) -> f64 {
    scale / math::pow(positive_unit(random), 1.0 / shape)
}

/// With this mean and standard deviation; a normal draw by Box and Muller (1958).
pub(crate) fn log_normal(mean: f64, deviation: f64, random: &mut Stream) -> f64 {
    let variance = math::ln(1.0 + (deviation / mean) * (deviation / mean));
    let radius = (-2.0 * math::ln(positive_unit(random))).sqrt();
    let normal = radius * math::cos(core::f64::consts::TAU * random.unit());
    mean * math::exp(variance.sqrt() * normal - variance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seed;

    const DRAWS: u32 = 200_000;

    fn mean(mut draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut random = Seed(11).stream("draw");
        (0..DRAWS).map(|_| draw(&mut random)).sum::<f64>() / f64::from(DRAWS)
    }

    fn near(got: f64, expected: f64, tolerance: f64) {
        assert!((got / expected - 1.0).abs() < tolerance, "{got} instead of {expected}");
    }

    #[test]
    fn an_exponential_period_has_its_mean_and_no_memory() {
        let period = Period::Exponential { mean: Duration::from_millis(100) };
        near(mean(|r| period.draw(r).as_secs_f64()), 0.1, 0.01);
        // P(X > 2 mean) = e^-2.
        let long = |r: &mut Stream| f64::from(period.draw(r) > Duration::from_millis(200));
        near(mean(long), 0.135_335, 0.02);
    }

    #[test]
    fn a_pareto_period_has_its_mean_and_its_tail() {
        let period = Period::Pareto { mean: Duration::from_secs(1), shape: 2.5 };
        near(mean(|r| period.draw(r).as_secs_f64()), 1.0, 0.02);
        // The scale is 0.6 s, so P(X > 6 s) = 10^-2.5.
        near(mean(|r| f64::from(period.draw(r) > Duration::from_secs(6))), 0.003_162, 0.1);
    }

    /// IEEE 802.16m-08/004r5 (after 3GPP2): main objects have a mean of 10 710 bytes.
    #[test]
    fn log_normal_sizes_have_their_mean() {
        let size =
            Size::LogNormal { mean: 10_710.0, deviation: 25_032.0, least: 100, most: 2_000_000 };
        near(mean(|r| size.draw(r) as f64), 10_710.0, 0.03);
    }

    /// The same source: Pareto of shape 1.1 from 2, cut off at 55, has a mean of 7.64:
    /// 2 + 2^1.1 / 0.1 * (2^-0.1 - 55^-0.1). Whole numbers lie half a unit below.
    #[test]
    fn a_cut_off_pareto_count_has_its_mean() {
        let size = Size::Pareto { least: 2_000, shape: 1.1, most: 55_000 };
        near(mean(|r| size.draw(r) as f64 / 1_000.0), 7.642, 0.02);
    }

    #[test]
    fn impossible_bounds_end_at_the_mean() {
        let size = Size::LogNormal { mean: 10.0, deviation: 0.0, least: 20, most: 30 };
        assert_eq!(size.draw(&mut Seed(1).stream("s")), 20);
    }

    #[test]
    fn unsound_sizes_are_told() {
        assert!(Size::Constant(1).is_sound() && !Size::Constant(0).is_sound());
        assert!(!Size::Pareto { least: 2, shape: 1.0, most: 1 }.is_sound());
        let size = |deviation| Size::LogNormal { mean: 1.0, deviation, least: 1, most: 2 };
        assert!(size(0.0).is_sound() && !size(f64::NAN).is_sound());
    }
}
