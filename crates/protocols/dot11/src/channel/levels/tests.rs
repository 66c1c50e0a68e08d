//! Levels of radios that stand, walk, fade, follow a trace or are away.

use super::*;
use crate::channel::tests::{config, radio};
use crate::{Fading, Interpolation, Shadowing, Standard, WayPoint};

const AP: u32 = 0;
const STATION: u32 = 1;

fn secs(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

fn levels(config: &Config, radios: &[RadioConfig]) -> Levels {
    Levels::new(config, radios, Seed(1), "0")
}

fn dbm(mw: f64) -> f64 {
    Dbm::from_milliwatts(mw).0
}

/// From 1 m to 100 m in 9.9 s at 10 m/s: 30 dB a decade for a path loss exponent of 3.
fn walker() -> RadioConfig {
    let point = |s, x| WayPoint { at: secs(s), position: (Metres(x), Metres(0.0)) };
    RadioConfig { path: Path::new(vec![point(0, 1.0), point(99, 100.0)]), ..radio("sta", 1.0) }
}

#[test]
fn what_stands_still_costs_and_changes_nothing() {
    let mut levels = levels(&config(Standard::A), &[radio("ap", 0.0), radio("sta", 10.0)]);
    assert!(levels.is_constant() && levels.is_steady() && levels.is_present(STATION));
    assert!(!levels.refresh(AP, secs(5)));
    // 16 dBm less 46.7 dB at one metre at 5.18 GHz, less 30 dB for the decade.
    assert!((dbm(levels.mean(AP, STATION)) - (16.0 - 46.73 - 30.0)).abs() < 0.02);
    assert_eq!(levels.received(AP, STATION, secs(5)), levels.mean(AP, STATION));
}

#[test]
fn a_walk_changes_levels_when_somebody_sends() {
    let mut levels = levels(&config(Standard::A), &[radio("ap", 0.0), walker()]);
    let first = dbm(levels.mean(AP, STATION));
    assert!(levels.refresh(AP, secs(9)));
    assert!((first - dbm(levels.mean(AP, STATION)) - 30.0).abs() < 1e-9, "10 m");
    assert!(!levels.refresh(AP, secs(9) + fairwave_units::Duration::from_millis(9)));
    assert_eq!(dbm(levels.mean(STATION, AP)), first, "it has not sent since");
    assert!(levels.refresh(STATION, secs(99)));
    assert!((first - dbm(levels.mean(STATION, AP)) - 60.0).abs() < 1e-9, "100 m");
    assert!((first - levels.measure(AP, STATION, secs(99)).0 - 60.0).abs() < 1e-9);
}

#[test]
fn fading_is_the_same_both_ways_and_leaves_means_alone() {
    let fading = Some(Fading { rice_k: 0.0, doppler_hz: 10.0 });
    let config = Config { fading, ..config(Standard::A) };
    let mut levels = levels(&config, &[radio("ap", 0.0), radio("sta", 10.0), radio("b", 10.0)]);
    assert!(!levels.is_steady());
    let mean = levels.mean(AP, STATION);
    let mut sum = 0.0;
    for s in 0..2000 {
        let gain = levels.received(AP, STATION, secs(s)) / mean;
        assert_eq!(levels.received(STATION, AP, secs(s)) / mean, gain);
        assert_ne!(levels.received(AP, 2, secs(s)) / mean, gain, "a pair has its own");
        sum += gain;
    }
    assert!((sum / 2000.0 - 1.0).abs() < 0.08, "{}", sum / 2000.0);
}

#[test]
fn shadowing_is_drawn_for_each_pair_and_holds_both_ways() {
    let shadowing = Some(Shadowing { sigma: Db(8.0), decorrelation: None });
    let config = Config { shadowing, ..config(Standard::A) };
    let levels = levels(&config, &[radio("ap", 0.0), radio("sta", 10.0), radio("b", 10.0)]);
    assert!(levels.is_constant());
    assert_eq!(levels.mean(AP, STATION), levels.mean(STATION, AP));
    assert_ne!(levels.mean(AP, STATION), levels.mean(AP, 2));
}

/// Noise in 20 MHz at a figure of 7 dB is -94 dBm.
#[test]
fn a_trace_sets_the_level_over_noise_towards_access_points() {
    let points = vec![(secs(0), Db(20.0)), (secs(10), Db(10.0))];
    let snr_trace = SnrTrace::new(points, Interpolation::Linear).ok();
    let traced = RadioConfig { snr_trace, ..radio("sta", 10.0) };
    let mut levels = levels(&config(Standard::A), &[radio("ap", 0.0), traced, radio("b", 10.0)]);
    let plain = levels.mean(AP, 2);
    assert!(levels.refresh(AP, secs(5)) && levels.refresh(STATION, secs(10)));
    assert!((dbm(levels.mean(AP, STATION)) - (-93.99 + 15.0)).abs() < 0.01);
    assert!((dbm(levels.mean(STATION, AP)) - (-93.99 + 10.0)).abs() < 0.01);
    assert_eq!(levels.mean(AP, 2), plain);
}

#[test]
fn who_is_away_is_missed_at_the_next_frame() {
    let roaming = RadioConfig { roams: true, ..radio("sta", 10.0) };
    let mut levels = levels(&config(Standard::A), &[radio("ap", 0.0), roaming]);
    assert!(!levels.refresh(AP, secs(1)));
    levels.set_present(STATION, false);
    assert!(levels.refresh(AP, secs(1)) && !levels.is_present(STATION));
    levels.set_present(STATION, true);
    assert!(levels.refresh(AP, secs(2)) && levels.is_present(STATION));
}

/// Pairs whose level never changes are left out when a row is brought up to date.
#[test]
fn rows_brought_up_to_date_are_as_computed_anew() {
    let trace = |points: &[(u64, f64)]| {
        let points = points.iter().map(|(s, db)| (secs(*s), Db(*db))).collect();
        SnrTrace::new(points, Interpolation::Linear).ok()
    };
    let level = RadioConfig { snr_trace: trace(&[(0, 20.0), (9, 20.0)]), ..radio("b", 10.0) };
    let slope = RadioConfig { snr_trace: trace(&[(0, 20.0), (9, 5.0)]), ..radio("c", 20.0) };
    let radios = [radio("ap", 0.0), walker(), level, slope, radio("d", 30.0)];
    let mut levels = levels(&config(Standard::A), &radios);
    for (second, from) in (0..12).flat_map(|second| (0..5).map(move |from| (second, from))) {
        levels.refresh(from, secs(second));
        let anew = (0..5).map(|to| match to == from {
            true => 0.0,
            false => levels.measure(from, to, secs(second)).milliwatts(),
        });
        assert!(anew.eq(levels.row(from).iter().copied()), "{from} at {second} s");
    }
}
