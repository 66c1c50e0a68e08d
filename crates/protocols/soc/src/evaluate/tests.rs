//! Lag and error where they are known, and under the fading of `dot11`.

use super::*;
use crate::filter::ALL;
use fairwave_dot11::{Fading, FadingLink};
use fairwave_units::{Seed, math};

/// A channel sampled each 10 ms for a minute.
fn channel(mean: impl Fn(f64) -> f64, mut fade: impl FnMut(Instant) -> f64) -> Vec<Point> {
    let points = (0..6000).map(|step| {
        let at = Instant::ZERO + Duration::from_millis(10 * step);
        let mean = mean(at.as_secs_f64());
        Point { at, mean: Db(mean), sample: Db(mean + fade(at)) }
    });
    points.collect()
}

fn interval(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn the_mean_lags_by_an_interval_and_says_the_truth_where_nothing_moves() {
    let still = channel(|_| 12.0, |_| 0.0);
    let found = evaluate(FilterSpec::Mean, interval(200), &still).unwrap();
    assert_eq!((found.reports, found.lag), (299, None));
    assert!(found.error.0.abs() < 1e-9 && found.bias.0.abs() < 1e-9, "{found:?}");
    // Half an interval by averaging, half by holding: a ramp of 1 dB/s is 0.2 dB behind.
    let ramp = channel(|t| t, |_| 0.0);
    let found = evaluate(FilterSpec::Mean, interval(200), &ramp).unwrap();
    assert!((found.bias.0 + 0.2).abs() < 0.01, "{found:?}");
    let swing = channel(|t| 12.5 + 12.5 * math::sin(t / 2.0), |_| 0.0);
    for millis in [100, 200, 500, 1000] {
        let found = evaluate(FilterSpec::Mean, interval(millis), &swing).unwrap();
        let lag = found.lag.unwrap().as_millis();
        assert!(lag.abs_diff(millis) <= 20, "{millis} ms: {lag} ms");
    }
}

/// Rayleigh fading in decibels has the mean -2.51 dB and the standard deviation 5.57 dB.
#[test]
fn fading_makes_a_bias_and_longer_intervals_less_noise() {
    let found = |millis: u64| {
        let fading = Fading { rice_k: 0.0, doppler_hz: 12.0 };
        let mut link = FadingLink::new(fading, Seed(1).stream("fading"));
        let points = channel(|_| 15.0, |at| math::linear_to_db(link.gain(at)));
        evaluate(FilterSpec::Mean, interval(millis), &points).unwrap()
    };
    let (short, long) = (found(20), found(1000));
    for found in [short, long] {
        assert!((found.bias.0 + 2.51).abs() < 0.5, "{found:?}");
    }
    assert!(
        (short.noise.0 - 5.57).abs() < 1.0 && long.noise.0 < 0.4 * short.noise.0,
        "{short:?} {long:?}"
    );
}

#[test]
fn a_median_is_not_moved_by_a_deep_fade() {
    let pulses =
        channel(|_| 15.0, |at| if at.as_nanos() / 10_000_000 % 10 == 3 { -20.0 } else { 0.0 });
    let error = |filter| evaluate(filter, interval(200), &pulses).unwrap().error.0;
    assert!(error(FilterSpec::Median) < 1e-9);
    assert!((error(FilterSpec::Mean) - 2.0).abs() < 1e-9);
}

#[test]
fn every_filter_follows_a_walk() {
    let swing = channel(|t| 12.5 + 12.5 * math::sin(t * core::f64::consts::TAU / 20.0), |_| 0.0);
    for kind in ALL {
        let found = evaluate(kind.spec, interval(200), &swing).unwrap();
        let lag = found.lag.unwrap();
        assert!(lag >= interval(100) && lag <= interval(500), "{}: {lag}", kind.name);
        assert!(found.noise.0 < 0.6, "{}: {found:?}", kind.name);
    }
}

#[test]
fn too_little_is_no_evaluation() {
    assert_eq!(evaluate(FilterSpec::Mean, interval(200), &[]), None);
    let short = &channel(|_| 1.0, |_| 0.0)[..10];
    assert_eq!(evaluate(FilterSpec::Mean, interval(200), short), None);
}
