//! Averages by hand, and what an open interval and discounting may not do.

use super::*;
use proptest::prelude::*;

fn plain(packets: &[f64]) -> Vec<Weighed> {
    packets.iter().map(|&packets| Weighed { packets, discount: 1.0 }).collect()
}

fn mean(packets: &[f64], threshold: Option<f64>) -> f64 {
    average(&plain(packets), Method { n: N, threshold }).unwrap().interval
}

/// RFC 5348, section 5.4: 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2.
#[test]
fn weights_are_those_of_the_rfc() {
    let tenths: Vec<u32> = (0..N).map(|i| (10.0 * weight(i, N) + 0.5) as u32).collect();
    assert_eq!(tenths, [10, 10, 10, 10, 8, 6, 4, 2]);
}

/// Eight closed intervals of 100 packets and an open one: without discounting, with the threshold
/// of RFC 5348, and with that of RFC 3448 (sections 5.4 and 5.5, by hand).
#[test]
fn the_open_interval_counts_when_it_is_long() {
    for (open, wanted, discounted, older) in [
        (1.0, 100.0, 100.0, 100.0),
        (100.0, 100.0, 100.0, 100.0),
        (200.0, 116.667, 116.667, 116.667),
        (250.0, 125.0, 130.0, 130.0),
        (500.0, 166.667, 233.333, 214.286),
        (800.0, 216.667, 411.111, 300.0),
        (1000.0, 250.0, 500.0, 357.143),
        (4000.0, 750.0, 1833.333, 1214.286),
    ] {
        let mut all = vec![open];
        all.extend([100.0; N]);
        assert!((mean(&all, None) - wanted).abs() < 1e-3, "{open}");
        assert!((mean(&all, Some(0.25)) - discounted).abs() < 1e-3, "{open} discounted");
        assert!((mean(&all, Some(0.5)) - older).abs() < 1e-3, "{open} as RFC 3448");
    }
}

/// A gap of 4000 packets that has closed weighs a sixth of them all.
#[test]
fn one_long_interval_stays_for_eight() {
    let mut all = vec![1.0, 4000.0];
    all.extend([100.0; 7]);
    assert!((mean(&all, None) - 750.0).abs() < 1e-9);
}

#[test]
fn the_discount_factor_follows_the_open_interval() {
    let factor = |open: f64| {
        let mut all = vec![open];
        all.extend([100.0; N]);
        average(&plain(&all), Method { n: N, threshold: Some(0.25) }).unwrap().discount
    };
    for (open, wanted) in [(200.0, 1.0), (250.0, 0.8), (500.0, 0.4), (800.0, 0.25), (4e3, 0.25)] {
        assert!((factor(open) - wanted).abs() < 1e-12, "{open}: {}", factor(open));
    }
}

#[test]
fn without_a_closed_interval_there_is_no_average() {
    assert_eq!(average(&plain(&[10.0]), Method::default()), None);
    assert_eq!(average(&[], Method::default()), None);
}

/// Discounting takes weight from an interval that is longer than the open one, too, where an old
/// short one keeps the mean of the closed ones low. By the formulas of section 5.5, by hand: DF is
/// 2 * 700 / 1500, and the averages (2000 * .3 + 1500) / 1.3 and (2000 * .28 + 1500) / 1.28.
#[test]
fn discounting_may_raise_p_where_a_closed_interval_is_longer() {
    let all = [(1500.0, 1.0), (2000.0, 0.3), (50.0, 0.6)];
    let all = all.map(|(packets, discount)| Weighed { packets, discount });
    let mean = |threshold| average(&all, Method { n: N, threshold }).unwrap();
    assert!((mean(None).interval - 1_615.384_615).abs() < 1e-6);
    assert!((mean(Some(0.25)).discount - 0.933_333).abs() < 1e-6);
    assert!((mean(Some(0.25)).interval - 1_609.375).abs() < 1e-6);
}

proptest! {
    #[test]
    fn an_open_interval_never_raises_p_and_discounting_moves_the_average_towards_it(
        open in 1.0..1e5f64,
        closed in proptest::collection::vec((1.0..1e4f64, 0.25..=1.0f64), 1..=N),
    ) {
        let mut all = vec![Weighed { packets: open, discount: 1.0 }];
        all.extend(closed.iter().map(|&(packets, discount)| Weighed { packets, discount }));
        let minimum = [Weighed { packets: 1.0, discount: 1.0 }];
        let shut: Vec<Weighed> = minimum.iter().chain(&all[1..]).copied().collect();
        let off = average(&all, Method::default()).unwrap().interval;
        let on = average(&all, Method { n: N, threshold: Some(0.25) }).unwrap().interval;
        let short = average(&shut, Method::default()).unwrap().interval;
        prop_assert!(off >= short * (1.0 - 1e-12), "an open {open} made {short} into {off}");
        let (low, high) = if open >= off { (off, f64::INFINITY) } else { (open, off) };
        let is_between = on >= low * (1.0 - 1e-12) && on <= high * (1.0 + 1e-12);
        prop_assert!(is_between, "discounting for {open} made {off} into {on}");
    }

    #[test]
    fn the_average_lies_among_the_intervals(
        packets in proptest::collection::vec(1.0..1e5f64, 2..=N + 1), n in 1..=N,
    ) {
        let found = average(&plain(&packets), Method { n, threshold: Some(0.25) }).unwrap();
        let maximum = packets.iter().copied().fold(0.0, f64::max);
        let minimum = packets[1..].iter().copied().fold(f64::MAX, f64::min);
        prop_assert!(found.interval <= maximum * (1.0 + 1e-12));
        prop_assert!(found.interval >= minimum * (1.0 - 1e-12));
    }
}
