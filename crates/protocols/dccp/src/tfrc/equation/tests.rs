//! Vectors of the equation by hand, and that it is monotone.

use super::*;
use proptest::prelude::*;

/// p, f(p) and X for s = 1460 bytes, R = 100 ms, computed from RFC 5348, section 3.1, by hand.
const TABLE: [(f64, f64, f64); 10] = [
    (1e-4, 0.008_172_31, 1_786_519.6),
    (1e-3, 0.026_052_28, 560_411.7),
    (0.002, 0.037_172_19, 392_766.8),
    (0.005, 0.060_335_18, 241_981.5),
    (0.01, 0.089_021_64, 164_005.06),
    (0.02, 0.136_520_71, 106_943.5),
    (0.05, 0.271_305_24, 53_813.9),
    (0.1, 0.564_939_17, 25_843.5),
    (0.5, 23.960_036_17, 609.348),
    (1.0, 243.315_981, 60.004),
];

#[test]
fn rates_are_those_of_the_equation() {
    for (p, wanted_f, wanted_x) in TABLE {
        assert!((f(p) / wanted_f - 1.0).abs() < 1e-6, "f({p}) = {}", f(p));
        let x = throughput(1460.0, 0.1, p);
        assert!((x / wanted_x - 1.0).abs() < 1e-5, "X({p}) = {x}");
    }
}

/// Two columns of the table that Linux's DCCP computed with: a million times f(p), rounded down.
#[test]
fn the_rows_linux_kept_are_those_of_the_equation() {
    let micro = |p: f64| (1e6 * f(p)) as u64;
    assert_eq!([0.002, 0.004, 0.006].map(micro), [37172, 53499, 66664]);
    assert_eq!([0.0001, 0.0002, 0.0003].map(micro), [8172, 11567, 14180]);
    assert_eq!([1.0, 0.05].map(micro), [243_315_981, 271_305]);
}

/// RFC 5348, section 6.3.1: the interval that a rate of 62 900 bytes a second stands for at
/// packets of 629 bytes, and the one of half a packet a round trip.
#[test]
fn the_inverse_finds_the_synthetic_intervals() {
    for (r, interval) in [(0.02, 11.02), (0.05, 29.09), (0.1, 82.15), (0.2, 283.85), (0.5, 1684.5)]
    {
        let found = 1.0 / loss_rate_for(629.0, r, 62_900.0);
        assert!((found / interval - 1.0).abs() < 1e-3, "R = {r}: {found}");
    }
    let half = loss_rate_for(1460.0, 0.1, 0.5 * 1460.0 / 0.1);
    assert!((half - 0.206_429).abs() < 1e-6, "{half}");
    assert!((1.0 / half - 4.844_28).abs() < 1e-4);
}

#[test]
fn rates_beyond_the_equation_are_clamped() {
    assert_eq!(loss_rate_for(1460.0, 0.1, 1.0), 1.0);
    assert_eq!(loss_rate_for(1460.0, 0.1, 0.0), 1.0);
    assert!(loss_rate_for(1460.0, 0.1, 1e30) < 1e-15);
    assert_eq!(throughput(1460.0, 0.1, 0.0), f64::INFINITY);
}

proptest! {
    #[test]
    fn more_loss_or_a_longer_way_is_a_lower_rate(
        p in 1e-6..0.99f64, more in 1.0001..2.0f64, r in 1e-4..5.0f64,
    ) {
        let x = throughput(1000.0, r, p);
        prop_assert!(throughput(1000.0, r, (p * more).min(1.0)) < x);
        prop_assert!(throughput(1000.0, r * more, p) < x);
    }

    #[test]
    fn the_inverse_gives_the_rate_back(p in 1e-6..1.0f64, r in 1e-3..3.0f64) {
        let x = throughput(1460.0, r, p);
        let again = throughput(1460.0, r, loss_rate_for(1460.0, r, x));
        prop_assert!((again / x - 1.0).abs() < 1e-6, "{again} for {x}");
    }
}
