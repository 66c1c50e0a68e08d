//! What is read of a channel by hand, and that reading changes nothing.

use super::super::tests::{Rig, at, config, mpdu, radio};
use super::super::{Config, RadioConfig};
use super::*;
use crate::snr_trace::Interpolation;
use crate::{Fading, SnrTrace, Standard};
use fairwave_units::Dbm;

const AP: RadioId = RadioId(0);
const STATION: RadioId = RadioId(1);

fn rig(config: Config, snr: f64) -> Rig {
    let trace = SnrTrace::new(vec![(at(0), Db(snr))], Interpolation::Step).unwrap();
    let station = RadioConfig { snr_trace: Some(trace), ..radio("sta", 4.0) };
    Rig::new(config, &[radio("ap", 0.0), station])
}

#[test]
fn without_fading_the_reading_is_the_mean() {
    let mut rig = rig(config(Standard::A), 15.0);
    let read = rig.channel.reading(AP, STATION, at(0)).expect("15 dB can be detected");
    assert!((read.0 - 15.0).abs() < 1e-9);
    assert!((rig.channel.mean_snr(AP, STATION, at(0)).0 - 15.0).abs() < 1e-9);
}

#[test]
fn a_level_that_no_preamble_is_found_at_is_not_read() {
    let few = Config { preamble_detection: Some(Db(4.0)), ..config(Standard::A) };
    let loud = Config { carrier_sense: Dbm(-99.0), ..few };
    assert_eq!(rig(loud.clone(), 3.9).channel.reading(AP, STATION, at(0)), None);
    assert!(rig(loud.clone(), 4.1).channel.reading(AP, STATION, at(0)).is_some());
    // 20 MHz at a noise figure of 7 dB: -93.97 dBm of noise, so 4.1 dB are -89.87 dBm.
    let deaf = Config { carrier_sense: Dbm(-89.0), ..loud };
    assert_eq!(rig(deaf, 4.1).channel.reading(AP, STATION, at(0)), None);
}

#[test]
fn readings_fade_and_the_mean_does_not() {
    let fading = Some(Fading { rice_k: 0.0, doppler_hz: 12.0 });
    let mut rig = rig(Config { fading, ..config(Standard::A) }, 30.0);
    let mut read = Vec::new();
    for millis in 0..2000 {
        let now = at(1000 * millis);
        assert!((rig.channel.mean_snr(AP, STATION, now).0 - 30.0).abs() < 1e-9);
        read.extend(rig.channel.reading(AP, STATION, now).map(|snr| snr.0));
    }
    let minimum = read.iter().copied().fold(f64::MAX, f64::min);
    let maximum = read.iter().copied().fold(f64::MIN, f64::max);
    assert!(minimum < 20.0 && maximum > 32.0, "{minimum} to {maximum}");
}

#[test]
fn who_reads_changes_nothing() {
    let run = |reads: bool| {
        let fading = Some(Fading { rice_k: 0.0, doppler_hz: 12.0 });
        let mut rig = rig(Config { fading, ..config(Standard::A) }, 12.0);
        for round in 0..50 {
            let now = at(20_000 * round);
            rig.run_until(now);
            if reads {
                rig.channel.reading(AP, STATION, now);
            }
            rig.send(now, 0, mpdu(1, round as u32));
        }
        rig.run_until(at(2_000_000));
        rig.outputs
    };
    assert_eq!(run(true), run(false));
}
