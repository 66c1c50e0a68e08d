//! Means and burstiness, against the formulas.

use super::*;
use fairwave_units::{BitRate, Seed, math};
use proptest::prelude::*;

const RUN: Duration = Duration::from_secs(20_000);

fn emissions(source: &Source, run: Duration) -> Vec<Emission> {
    let stream = Seed(3).stream("traffic");
    source.emissions(stream).take_while(|e| e.at < run).collect()
}

fn bits_per_second(emissions: &[Emission], run: Duration) -> f64 {
    emissions.iter().map(|e| 8.0 * f64::from(e.bytes)).sum::<f64>() / run.as_secs_f64()
}

/// Variance over mean of the number of datagrams in windows of `width`.
fn dispersion(emissions: &[Emission], width: Duration, run: Duration) -> f64 {
    let mut counts = vec![0.0; (run / width) as usize];
    for emission in emissions {
        if let Some(count) = counts.get_mut((emission.at / width) as usize) {
            *count += 1.0;
        }
    }
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / n / mean
}

fn near(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got} instead of {expected}");
}

const MILLI: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn constant_rate_sends_at_once_and_then_each_interval() {
    let source = Source::Cbr { payload_bytes: 629, interval: MILLI(10) };
    let sent = emissions(&source, MILLI(50));
    let times: Vec<_> = sent.iter().map(|e| e.at.as_millis()).collect();
    assert_eq!(times, [0, 10, 20, 30, 40]);
    // 629 bytes every 10 ms are 503.2 kbps.
    near(bits_per_second(&sent, MILLI(50)), 503_200.0, 1e-9);
}

/// A Poisson process has as much variance as mean at every time scale.
#[test]
fn poisson_counts_have_the_dispersion_one() {
    let source = Source::Poisson { payload_bytes: 100, interval: MILLI(10) };
    let sent = emissions(&source, RUN);
    near(bits_per_second(&sent, RUN), 80_000.0, 0.01);
    for width in [MILLI(20), MILLI(200), MILLI(2_000)] {
        near(dispersion(&sent, width, RUN), 1.0, 0.06);
    }
}

/// A period of length L has ceil(L / T) datagrams: in the mean 1 / (1 - e^(-T/on)).
fn voice_bits_per_second(payload_bytes: u32, interval: Duration) -> f64 {
    let (on, t) = (OnOff::TALK.as_secs_f64(), interval.as_secs_f64());
    let datagrams = 1.0 / (1.0 - math::exp(-t / on));
    8.0 * f64::from(payload_bytes) * datagrams / (on + OnOff::PAUSE.as_secs_f64())
}

#[test]
fn voice_has_the_rate_of_its_talk_spurts() {
    for (payload, interval) in [(160, MILLI(20)), (350, MILLI(30))] {
        let source = Source::OnOff(OnOff::voice(payload, interval));
        let got = bits_per_second(&emissions(&source, RUN), RUN);
        near(got, voice_bits_per_second(payload, interval), 0.02);
    }
}

/// The rate of an exponential on-off source has the autocovariance p (1 - p) e^(-t/T) with
/// 1/T = 1/on + 1/off (Anick, Mitra, Sondhi 1982), so the number of datagrams in a window w has
/// the variance 2 p (1 - p) (T w - T^2 (1 - e^(-w/T))) / interval^2.
#[test]
fn exponential_periods_have_the_dispersion_of_their_autocovariance() {
    let (on, off, interval) = (0.5, 1.0, 0.002);
    let period = |mean| Period::Exponential { mean: Duration::from_secs_f64(mean) };
    let source = OnOff { payload_bytes: 1, interval: MILLI(2), on: period(on), off: period(off) };
    let sent = emissions(&Source::OnOff(source), RUN);
    let (p, t) = (on / (on + off), on * off / (on + off));
    for w in [0.2, 1.0, 5.0] {
        let fluid = 2.0 * p * (1.0 - p) * (t * w - t * t * (1.0 - math::exp(-w / t)));
        let expected = fluid / (interval * interval) / (p * w / interval);
        near(dispersion(&sent, Duration::from_secs_f64(w), RUN), expected, 0.06);
    }
}

/// With shapes between 1 and 2 the counts stay dispersed at scales where exponential periods of
/// the same means have long levelled off.
#[test]
fn pareto_periods_are_bursty_at_every_scale() {
    let with = |period: fn(Duration) -> Period| {
        let (on, off) = (period(MILLI(100)), period(MILLI(200)));
        Source::OnOff(OnOff { payload_bytes: 1, interval: MILLI(2), on, off })
    };
    let growth = |source| {
        let sent = emissions(&source, RUN);
        let at = |width| dispersion(&sent, width, RUN);
        at(Duration::from_secs(20)) / at(Duration::from_secs(2))
    };
    let exponential = growth(with(|mean| Period::Exponential { mean }));
    let pareto = growth(with(|mean| Period::Pareto { mean, shape: 1.4 }));
    assert!(exponential < 1.2 && pareto > 1.5, "{exponential} and {pareto}");
}

fn video(spread: f64) -> Video {
    Video {
        rate: BitRate::mbps(2),
        interval: MILLI(40),
        group: 12,
        intra_ratio: 4.0,
        spread,
        payload_bytes: 1_000,
    }
}

/// 2 Mbps at 25 frames/s are 10 000 bytes a frame; 12 of them are one I frame and 11 P frames of
/// 120 000 / 15 = 8 000 bytes: so the I frame has 32 000.
#[test]
fn video_frames_have_their_group_and_are_cut_into_datagrams() {
    let sent = emissions(&Source::Video(video(0.0)), MILLI(480));
    let frame = |n: u64| sent.iter().filter(move |e| e.at == MILLI(40 * n)).map(|e| e.bytes);
    assert_eq!((frame(0).sum::<u32>(), frame(0).count()), (32_000, 32));
    assert!((1..12).all(|n| frame(n).sum::<u32>() == 8_000));
    near(bits_per_second(&sent, MILLI(480)), 2e6, 1e-9);
}

#[test]
fn video_frames_spread_around_their_mean() {
    let run = Duration::from_secs(4_000);
    let sent = emissions(&Source::Video(video(0.3)), run);
    near(bits_per_second(&sent, run), 2e6, 0.01);
    let mut frames = vec![0.0; 100_000];
    sent.iter().for_each(|e| frames[(e.at / MILLI(40)) as usize] += f64::from(e.bytes));
    let predicted: Vec<f64> = (0..frames.len()).filter(|n| n % 12 > 0).map(|n| frames[n]).collect();
    let n = predicted.len() as f64;
    let mean = predicted.iter().sum::<f64>() / n;
    let variance = predicted.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / n;
    near(variance.sqrt() / mean, 0.3, 0.03);
}

#[test]
fn a_trace_is_played_once_or_again_and_again() {
    let emissions =
        [(1, 10), (1, 20), (5, 30)].map(|(ms, bytes)| Emission { at: MILLI(ms), bytes });
    let play = |repeat_every, n| {
        let trace = Trace { emissions: emissions.into(), repeat_every };
        let all = Source::Trace(trace).emissions(Seed(1).stream("t"));
        all.take(n).map(|e| (e.at.as_millis(), e.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(play(None, 9), [(1, 10), (1, 20), (5, 30)]);
    let again = [(1, 10), (1, 20), (5, 30), (11, 10), (11, 20), (15, 30), (21, 10)];
    assert_eq!(play(Some(MILLI(10)), 7), again);
}

#[test]
fn an_empty_trace_is_silent_and_ends() {
    for repeat_every in [None, Some(MILLI(1))] {
        let source = Source::Trace(Trace { emissions: [].into(), repeat_every });
        assert_eq!(source.emissions(Seed(1).stream("t")).next(), None);
    }
}

#[test]
fn sources_that_cannot_run_say_so() {
    let unsound = |source: Source| source.unsound().is_some();
    assert!(unsound(Source::Cbr { payload_bytes: 1, interval: Duration::ZERO }));
    assert!(unsound(Source::Video(Video { group: 0, ..video(0.0) })));
    let on_off = OnOff::voice(1, MILLI(1));
    let on = Period::Pareto { mean: MILLI(1), shape: 1.0 };
    assert!(unsound(Source::OnOff(OnOff { on, ..on_off })) && !unsound(Source::OnOff(on_off)));
    let trace = |times: [u64; 2], repeat_every| {
        let emissions = times.map(|ms| Emission { at: MILLI(ms), bytes: 1 }).into();
        Source::Trace(Trace { emissions, repeat_every })
    };
    assert!(unsound(trace([2, 1], None)) && unsound(trace([1, 3], Some(MILLI(2)))));
    assert!(!unsound(trace([1, 3], Some(MILLI(3)))));
}

/// The last instant that there is ends every source: nobody asks for ever.
#[test]
fn a_source_ends_with_time() {
    let source = Source::Cbr { payload_bytes: 1, interval: Duration::from_nanos(u64::MAX / 2) };
    assert_eq!(source.emissions(Seed(1).stream("t")).count(), 3);
}

fn any_source() -> impl Strategy<Value = Source> {
    let period = (1u64..1_000, any::<bool>()).prop_map(|(ms, pareto)| match pareto {
        true => Period::Pareto { mean: MILLI(ms), shape: 1.5 },
        false => Period::Exponential { mean: MILLI(ms) },
    });
    let interval = || (1u64..50).prop_map(MILLI);
    prop_oneof![
        (1u32..2_000, interval())
            .prop_map(|(payload_bytes, interval)| Source::Cbr { payload_bytes, interval }),
        (1u32..2_000, interval())
            .prop_map(|(payload_bytes, interval)| Source::Poisson { payload_bytes, interval }),
        (interval(), period.clone(), period).prop_map(|(interval, on, off)| {
            Source::OnOff(OnOff { payload_bytes: 200, interval, on, off })
        }),
        (interval(), 1u32..30, 0.0..2.0).prop_map(|(interval, group, spread)| {
            Source::Video(Video { interval, group, ..video(spread) })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn time_never_goes_back_and_sizes_fit(source in any_source(), seed: u64) {
        prop_assert_eq!(source.unsound(), None);
        let max = source.largest_payload_bytes();
        let sent: Vec<_> = source.emissions(Seed(seed).stream("traffic")).take(2_000).collect();
        prop_assert_eq!(sent.len(), 2_000);
        prop_assert!(sent.is_sorted_by_key(|e| e.at), "seed {}", seed);
        prop_assert!(sent.iter().all(|e| (1..=max).contains(&e.bytes)), "seed {}", seed);
    }
}
