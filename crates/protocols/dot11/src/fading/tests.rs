//! The statistics of fading against theory.

use super::*;
use fairwave_units::Seed;
use proptest::prelude::*;

const DOPPLER: f64 = 10.0;

fn link(seed: u64, rice_k: f64) -> FadingLink {
    let fading = Fading { rice_k, doppler_hz: DOPPLER };
    FadingLink::new(fading, Seed(seed).stream("fading/test"))
}

fn seconds(s: f64) -> Instant {
    Instant::from_nanos((s * 1e9) as u64)
}

/// Gains of many links, each at times far enough apart to be nearly independent.
fn independent_gains(rice_k: f64) -> Vec<f64> {
    let of_link = |seed| {
        let mut link = link(seed, rice_k);
        (0..200).map(move |i| link.gain(seconds(f64::from(i) * 0.37)))
    };
    (0..200).flat_map(of_link).collect()
}

fn share(gains: &[f64], holds: impl Fn(f64) -> bool) -> f64 {
    gains.iter().filter(|g| holds(**g)).count() as f64 / gains.len() as f64
}

/// The power of a Rayleigh channel is exponentially distributed: P(gain < x) = 1 - e^-x.
#[test]
fn rayleigh_power_is_exponential() {
    let gains = independent_gains(0.0);
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    for x in [0.01, 0.1, 0.5, 1.0, 2.0, 3.0] {
        let (measured, theory) = (share(&gains, |g| g < x), 1.0 - math::exp(-x));
        assert!((measured - theory).abs() < 0.012 + 0.02 * theory, "{x}: {measured} {theory}");
    }
}

/// With K = 10 (a 10 dB direct path) the variance of the power is (1 + 2 K) / (1 + K)^2 = 0.1736
/// (Simon and Alouini, "Digital Communication over Fading Channels", table 2.2).
#[test]
fn a_direct_path_steadies_the_power() {
    let gains = independent_gains(10.0);
    let count = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / count;
    let variance = gains.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / count;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!((variance - 0.1736).abs() < 0.012, "{variance}");
}

/// J0 by its integral, (1/pi) of cos(x sin t) from 0 to pi.
fn bessel_j0(x: f64) -> f64 {
    let points = 2000;
    let value = |i: u32| math::cos(x * math::sin(PI * (f64::from(i) + 0.5) / f64::from(points)));
    (0..points).map(value).sum::<f64>() / f64::from(points)
}

/// Clarke's spectrum: the complex gain correlates as J0(2 pi f tau), so power as its square.
#[test]
fn power_correlates_over_time_as_the_square_of_a_bessel_function() {
    for lag in [0.01, 0.02, 0.0383, 0.06, 0.1] {
        let (mut product, mut count) = (0.0, 0.0);
        for seed in 0..400 {
            let mut link = link(seed, 0.0);
            for i in 0..50 {
                let at = f64::from(i) * 0.41;
                product += (link.gain(seconds(at)) - 1.0) * (link.gain(seconds(at + lag)) - 1.0);
                count += 1.0;
            }
        }
        let j0 = bessel_j0(TAU * DOPPLER * lag);
        let measured = product / count;
        assert!((measured - j0 * j0).abs() < 0.06, "{lag}: {measured} {}", j0 * j0);
    }
}

/// Crossings of rho times the rms amplitude, upwards: sqrt(2 pi) f rho e^(-rho^2) a second, and
/// the mean fade below it lasts (e^(rho^2) - 1) / (rho f sqrt(2 pi)) (Jakes 1974, section 1.3).
#[test]
fn fades_come_as_often_and_last_as_long_as_they_should() {
    for rho in [0.3, 0.5, 1.0] {
        let (mut crossings, mut below, mut samples) = (0.0, 0.0, 0.0);
        for seed in 0..40 {
            let mut link = link(seed, 0.0);
            let mut was_below = false;
            for i in 0..20_000 {
                let is_below = link.gain(seconds(f64::from(i) * 1e-3)) < rho * rho;
                crossings += f64::from(was_below && !is_below);
                below += f64::from(is_below);
                samples += 1.0;
                was_below = is_below;
            }
        }
        let root = TAU.sqrt();
        let (rate, fade) = (crossings / (samples * 1e-3), below * 1e-3 / crossings);
        let rate_theory = root * DOPPLER * rho * math::exp(-rho * rho);
        let fade_theory = (math::exp(rho * rho) - 1.0) / (rho * DOPPLER * root);
        assert!((rate / rate_theory - 1.0).abs() < 0.07, "{rho}: {rate} {rate_theory}");
        assert!((fade / fade_theory - 1.0).abs() < 0.07, "{rho}: {fade} {fade_theory}");
    }
}

#[test]
fn without_doppler_a_link_keeps_the_gain_it_drew() {
    let fading = Fading { rice_k: 0.0, doppler_hz: 0.0 };
    let mut link = FadingLink::new(fading, Seed(3).stream("fading/still"));
    let first = link.gain(Instant::ZERO);
    assert_eq!(link.gain(seconds(1000.0)), first);
    let mut other = FadingLink::new(fading, Seed(3).stream("fading/other"));
    assert_ne!(other.gain(Instant::ZERO), first);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// The cached grid point is no memory: any order of questions has the same answers.
    #[test]
    fn a_gain_depends_on_the_time_alone(
        seed in 0u64..1000,
        times in prop::collection::vec(0u64..100_000_000_000, 1..20)
    ) {
        let mut requested = link(seed, 1.0);
        for nanos in times {
            let at = Instant::from_nanos(nanos);
            prop_assert_eq!(requested.gain(at), link(seed, 1.0).gain(at), "seed {}", seed);
        }
    }
}
