//! Known buffers.

use super::*;
use crate::Trial;
use crate::testing::{Path, ten, through};
use fairwave_units::Duration;

fn waiting(path: &Path) -> Estimate {
    by_size(&ten(path, 1_472, 3_000))[0].waiting.unwrap()
}

#[test]
fn a_known_buffer_is_counted_whatever_the_clocks() {
    for packets in [5, 31, 49, 135, 149, 172, 255] {
        for (offset, ppm) in [(0, 0), (-900_000_000, 0), (7_000_000_000_000, 0), (0, 50), (0, -80)]
        {
            let path = Path { packets, offset, ppm, ..Path::default() };
            let found = waiting(&path);
            let error = found.mean - packets as f64;
            assert!(error.abs() < 0.5, "{packets}: {found:?}, {offset} ns, {ppm} ppm");
        }
    }
}

/// mu is 1 / 357.5 us, lambda 1 / 123 us: the count is 100 / (1 - 0.344) = 152, and one more that
/// the radio takes at once.
#[test]
fn the_naive_count_has_the_bias_of_the_drain() {
    let found = by_size(&ten(&Path::default(), 1_472, 3_000))[0];
    assert!((found.naive.unwrap().mean - 153.5).abs() < 2.0, "{found:?}");
    assert!((found.by_rates.unwrap() - 101.0).abs() < 2.0, "{found:?}");
    assert!((found.drain_rate.unwrap().mean - 1e9 / 357_500.0).abs() < 20.0, "{found:?}");
}

#[test]
fn later_drops_say_the_same_when_nobody_else_waits() {
    let found = by_size(&ten(&Path { packets: 31, ..Path::default() }, 1_472, 3_000))[0];
    assert!((found.later.unwrap().mean - 31.0).abs() < 0.5, "{found:?}");
}

#[test]
fn frames_that_the_radio_loses_are_no_drops() {
    for loss in [0.01, 0.05] {
        let found = waiting(&Path { packets: 149, loss, ..Path::default() });
        assert!((found.mean - 149.0).abs() < 3.0, "{loss}: {found:?}");
    }
}

#[test]
fn a_buffer_that_was_not_filled_has_no_size() {
    let path = Path { packets: 5_000, loss: 0.02, ..Path::default() };
    let found = by_size(&ten(&path, 1_472, 3_000))[0];
    assert!(found.waiting.is_none() && found.naive.is_some(), "{found:?}");
    let nothing = Account { arrived: Vec::new(), ..ten(&path, 100, 10)[0].clone() };
    assert_eq!((naive(&nothing), fill(&nothing, 0.0)), (None, None));
}

/// A queue that grows to the end of the train, at whose height the radio loses as many as before:
/// nothing overflows, neither where the last packet is lost nor where the train is not much
/// faster than the radio.
#[test]
fn losses_of_the_radio_fill_nothing() {
    for spacing in [123_000, 300_000, 340_000] {
        for loss in [0.02, 0.1] {
            let path = Path { packets: 5_000, loss, ..Path::default() };
            let trial = ten(&path, 1_472, 1_000)[0].trial;
            for seed in 0..40 {
                let account = through(&path, trial, 1_000_000_000, spacing, seed);
                let found = fill(&account, 0.0);
                assert_eq!(found, None, "{spacing} ns, {loss}, seed {seed}");
            }
        }
    }
}

/// A frame of 1472 bytes takes 10 ms longer than one of 72: the least delay of the sizes differs,
/// and no clock is to blame for it.
#[test]
fn sizes_are_no_drift() {
    let slow = Path { air: 11_000_000, ..Path::default() };
    let quick = Path { air: 1_000_000, ..Path::default() };
    let trial = |payload_bytes| Trial {
        payload_bytes,
        spaced: 5,
        interval: Duration::from_millis(30),
        train: 100,
    };
    let start = |n: u64| 1_000_000_000 + n * 20_000_000_000;
    let mut accounts: Vec<Account> =
        (0..3).map(|n| through(&slow, trial(1_472), start(n), 123_000, n)).collect();
    accounts.extend((3..6).map(|n| through(&quick, trial(72), start(n), 123_000, n)));
    assert!(timeline::drift(&accounts).abs() < 1e-5, "{}", timeline::drift(&accounts));
}

#[test]
fn intervals_are_those_of_printed_tables() {
    assert_eq!(Estimate::of(&[]), None);
    let one = Estimate::of(&[3.0]).unwrap();
    assert_eq!((one.mean, one.half_width, one.low()), (3.0, None, 3.0));
    let values: Vec<f64> = (1..=10).map(f64::from).collect();
    // 2.262 * 3.02765 / sqrt(10)
    assert!((Estimate::of(&values).unwrap().half_width.unwrap() - 2.1657).abs() < 1e-3);
}

/// A token bucket passes the first packets of a train at once: three here, and then one each
/// 2.3 ms. The buffer holds nine, so that few of the train arrive.
#[test]
fn a_token_bucket_does_not_raise_the_rate_of_a_short_train() {
    use fairwave_units::Instant;
    use fairwave_wire::probe::Record;
    const SLOT_NS: u64 = 2_307_200;
    let trial =
        Trial { payload_bytes: 1_400, spaced: 1, interval: Duration::from_millis(5), train: 128 };
    let sent = |number: u64| if number == 0 { 0 } else { 5_000_000 + number * 114_240 };
    let arrived = |number: u64| match number {
        0..=3 => Some(sent(number) + 100_000),
        4..=12 => Some(sent(3) + 100_000 + (number - 3) * SLOT_NS),
        _ => None,
    };
    let at = |nanos| Instant::ZERO + Duration::from_nanos(nanos);
    let record =
        |number: u64| Some(Record { number: number as u32, arrived: at(arrived(number)?) });
    let account = Account {
        trial,
        sent: (0..129).map(|number| at(sent(number))).collect(),
        arrived: (0..129).filter_map(record).collect(),
    };
    let rate = by_size(&[account])[0].drain_rate.unwrap().mean;
    assert!((rate * SLOT_NS as f64 / 1e9 - 1.0).abs() < 0.001, "{rate} packets/s");
}
