//! Each filter by hand, and what must hold for all.

use super::*;
use fairwave_units::Duration;
use proptest::prelude::*;

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Closes after samples that are 10 ms apart.
fn over(spec: FilterSpec, samples: &[f64]) -> Option<f64> {
    let mut filter = spec.build();
    for (index, &snr) in samples.iter().enumerate() {
        filter.sample(ms(10 * index as u64), Db(snr));
    }
    filter.close(ms(10 * samples.len() as u64)).map(|soc| soc.0)
}

#[test]
fn each_by_hand() {
    let samples = [10.0, 14.0, 3.0, 11.0];
    assert_eq!(over(FilterSpec::Mean, &samples), Some(9.5));
    assert_eq!(over(FilterSpec::Median, &samples), Some(10.5));
    assert_eq!(over(FilterSpec::Median, &samples[..3]), Some(10.0));
    // 10, 12, 7.5, 9.25.
    assert_eq!(over(FilterSpec::Ewma { gain: 0.5 }, &samples), Some(9.25));
    // Without drift: the running mean, gains 1/2, 1/3, 1/4.
    let still = over(FilterSpec::Kalman { drift: 0.0, noise: 31.0 }, &samples).unwrap();
    assert!((still - 9.5).abs() < 1e-12, "{still}");
    // Variance 4, and 100 dB^2/s over 10 ms: 5 against 4, a gain of 5/9 on the second sample.
    let walking = over(FilterSpec::Kalman { drift: 100.0, noise: 4.0 }, &[10.0, 19.0]).unwrap();
    assert!((walking - 15.0).abs() < 1e-12, "{walking}");
}

#[test]
fn an_interval_without_samples_has_no_soc_and_some_filters_remember() {
    for kind in ALL {
        let mut filter = kind.spec.build();
        assert_eq!(filter.close(ms(200)), None, "{}", kind.name);
        filter.sample(ms(210), Db(12.0));
        assert_eq!(filter.close(ms(400)), Some(Db(12.0)), "{}", kind.name);
        assert_eq!(filter.close(ms(600)), None, "{}", kind.name);
        filter.sample(ms(610), Db(4.0));
        let soc = filter.close(ms(800)).unwrap().0;
        let remembers = matches!(kind.name, "ewma" | "kalman");
        assert_eq!(soc > 4.0, remembers, "{}: {soc}", kind.name);
    }
}

#[test]
fn the_gain_of_the_random_walk_settles_where_its_variances_say() {
    // In the long run K^2 / (1 - K) = q dt / r, here 0.04 / 31.
    let mut filter = Kalman { drift: 4.0, noise: 31.0, estimate: None, fresh: false };
    for at in 0..1000 {
        filter.sample(ms(10 * at), Db(20.0));
    }
    filter.sample(ms(10_000), Db(30.0));
    let gain = (filter.close(ms(10_000)).unwrap().0 - 20.0) / 10.0;
    assert!((gain * gain / (1.0 - gain) * 31.0 - 0.04).abs() < 1e-6, "{gain}");
}

#[test]
fn a_median_of_many_forgets_the_oldest() {
    let mut samples = vec![0.0; 300];
    samples[..300 - MEDIAN_WINDOW].fill(1000.0);
    assert_eq!(over(FilterSpec::Median, &samples), Some(0.0));
}

proptest! {
    #[test]
    fn the_soc_lies_between_the_samples(
        samples in prop::collection::vec(-20.0f64..60.0, 1..400), which in 0..ALL.len(),
    ) {
        let soc = over(ALL[which].spec, &samples).unwrap();
        let minimum = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let maximum = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(minimum - 1e-9 <= soc && soc <= maximum + 1e-9, "{}: {soc}", ALL[which].name);
    }
}
