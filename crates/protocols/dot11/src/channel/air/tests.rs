//! Receptions against a model that never forgets a transmission.

use super::*;
use crate::channel::tests::{at, config, radio};
use crate::error_model;
use crate::{DeliverySlope, Format, GuardInterval, Phy, Standard, Width};
use fairwave_units::{Duration, Seed, math};
use proptest::prelude::*;

/// What `radio` held after every start up to `tx`'s end, walking the whole history.
fn held_at_the_end(air: &Air, history: &[Transmission], tx: &Transmission, radio: u32) -> bool {
    let level = |tx: &Transmission| air.level(tx.from, radio);
    let mut starts: Vec<Instant> = history.iter().map(|other| other.start).collect();
    starts.dedup();
    let mut held: Option<Transmission> = None;
    for start in starts.into_iter().filter(|start| *start < tx.end) {
        let on: Vec<_> = history.iter().filter(|other| is_on(other, start)).collect();
        held = held.filter(|held| on.iter().any(|other| other.id == held.id));
        if on.iter().any(|own| own.from == radio) {
            held = None;
            continue;
        }
        let new = on.iter().filter(|other| other.start == start);
        let Some(new) = new.max_by(|a, b| level(a).total_cmp(&level(b))) else { continue };
        let others: f64 = on.iter().filter(|o| o.id != new.id).map(|o| level(o)).sum();
        let sensed =
            level(new) >= air.sense_mw && level(new) >= air.detection * (air.noise_mw + others);
        let takes_over = held.is_none_or(|held| {
            air.capture.is_some_and(|capture| level(new) >= capture * level(&held))
        });
        if sensed && takes_over {
            held = Some(**new);
        }
    }
    held.is_some_and(|held| held.id == tx.id)
}

/// A hundred and fifty transmissions of radios strewn over 400 m, a few always under way; each
/// reception is compared. Returns the most records kept.
fn compare(seed: u64, capture: bool) -> usize {
    let mut random = Seed(seed).stream("air");
    let mut config = config(Standard::A);
    config.capture = capture.then_some(Db(10.0));
    config.preamble_detection = (random.below(2) == 0).then_some(Db(4.0));
    let radios: Vec<_> = (0..24).map(|_| radio("any", 400.0 * random.unit())).collect();
    let mut air = Air::new(config, &radios, Seed(seed), "0");
    let mut history: Vec<Transmission> = Vec::new();
    let mut under_way: Vec<Transmission> = Vec::new();
    let (mut now, mut maximum) = (at(0), 0);
    while history.len() < 150 {
        now += Duration::from_micros(random.below(40));
        while let Some(i) = (0..under_way.len()).min_by_key(|i| under_way[*i].end)
            && under_way[i].end <= now
        {
            let tx = air.end(under_way.remove(i).id);
            for radio in (0..24).filter(|radio| *radio != tx.from && tx.overlapped) {
                let got = air.holds(&tx, radio);
                let expected = held_at_the_end(&air, &history, &tx, radio);
                assert_eq!(got, expected, "seed {seed}: {tx:?} at radio {radio}");
            }
            air.prune();
        }
        let from = random.below(24) as u32;
        if under_way.len() < 8 && under_way.iter().all(|tx| tx.from != from) {
            let end = now + Duration::from_micros(50 + random.below(400));
            let tx = transmission(history.len() as u64 + 1, from, now, end);
            history.push(tx);
            under_way.push(tx);
            air.begin(tx);
        }
        maximum = maximum.max(air.list.len());
    }
    maximum
}

fn transmission(id: u64, from: u32, start: Instant, end: Instant) -> Transmission {
    Transmission {
        id,
        from,
        to: BROADCAST,
        kind: FrameKind::Data,
        mode: Phy::new(Standard::A).lowest_mode(),
        bytes: 100,
        mpdus: 1,
        start,
        end,
        reserved_until: end,
        overlapped: false,
        over: false,
        sure_mw: f64::INFINITY,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn forgetting_old_transmissions_changes_no_reception(seed: u64, capture: bool) {
        let maximum = compare(seed, capture);
        prop_assert!(maximum <= 100, "seed {seed}: {maximum} records kept");
    }
}

/// With a set error rate a frame dies of what its receiver senses, and of nothing else.
#[test]
fn a_distant_transmission_harms_no_frame_under_a_set_error_rate() {
    let received = |distance: f64| {
        let mut config = config(Standard::A);
        config.errors = ErrorModel::Rate { data: 0.0, control: 0.0 };
        let radios = [radio("a", 0.0), radio("b", 4.0), radio("c", distance)];
        let mut air = Air::new(config, &radios, Seed(1), "0");
        air.begin(transmission(1, 0, at(0), at(100)));
        air.begin(transmission(2, 2, at(50), at(150)));
        let tx = air.end(1);
        let mut receptions = Vec::new();
        air.receive(&tx, &[1], |_, p| p >= 1.0, &mut receptions);
        receptions == [(1, Reception::Decoded)]
    };
    assert!(!received(40.0));
    assert!(received(4000.0));
}

/// Data frames follow the slope at the level that their receiver gets; an ACK is intact.
#[test]
fn a_slope_judges_data_by_its_level() {
    let mut config = config(Standard::A);
    let radios = [radio("a", 0.0), radio("b", 10.0)];
    let plain = Air::new(config.clone(), &radios, Seed(1), "0");
    let snr = Db(math::linear_to_db(plain.level(0, 1) / plain.noise_mw));
    config.errors = ErrorModel::Slope(DeliverySlope { middle: snr, width: Db(1.0) });
    let mut air = Air::new(config, &radios, Seed(1), "0");
    let mut loss = |id, kind| {
        air.begin(Transmission {
            to: 1,
            kind,
            ..transmission(id, 0, at(200 * id), at(200 * id + 100))
        });
        let tx = air.end(id);
        let (mut loss, mut receptions) = (0.0, Vec::new());
        air.receive(
            &tx,
            &[1],
            |_, p| {
                loss = p;
                false
            },
            &mut receptions,
        );
        air.prune();
        loss
    };
    assert!((loss(1, FrameKind::Data) - 0.5).abs() < 1e-9);
    assert_eq!(loss(2, FrameKind::Ack), 0.0);
}

/// Any frame of DSSS is lost by the bit errors of PSK at the level that its receiver gets.
#[test]
fn the_psk_of_the_paper_judges_any_frame_by_level_and_length() {
    let mut config = config(Standard::B);
    config.errors = ErrorModel::Psk;
    config.preamble_detection = None;
    let (near, noise_mw) = {
        let air = Air::new(config.clone(), &[radio("a", 0.0), radio("b", 10.0)], Seed(1), "0");
        (air.level(0, 1), air.noise_mw)
    };
    // The level falls with the third power of the distance: to 8 dB over the noise.
    let ratio = near / noise_mw / math::db_to_linear(8.0);
    let far = 10.0 * math::pow(ratio, 1.0 / config.path_loss_exponent);
    let mut air = Air::new(config, &[radio("a", 0.0), radio("b", far)], Seed(1), "0");
    let snr = air.level(0, 1) / air.noise_mw;
    assert!((math::linear_to_db(snr) - 8.0).abs() < 1e-6);
    for (id, kind) in [(1, FrameKind::Data), (2, FrameKind::Ack)] {
        let tx = transmission(id, 0, at(200 * id), at(200 * id + 100));
        air.begin(Transmission { to: 1, kind, mode: Phy::new(Standard::B).lowest_mode(), ..tx });
        let tx = air.end(id);
        let (mut loss, mut receptions) = (0.0, Vec::new());
        let met = |_, p| {
            loss = p;
            false
        };
        air.receive(&tx, &[1], met, &mut receptions);
        air.prune();
        let success = error_model::psk_success(tx.mode.modulation(), snr, tx.mpdu_bits());
        assert!((1.0 - loss - success).abs() < 1e-9 && success < 1.0, "{kind:?}: {loss}");
    }
}

/// By the table a frame is lost with the odds of its mode, level and length.
#[test]
fn the_table_judges_a_frame_by_mode_level_and_length() {
    let config = Config { errors: ErrorModel::Table, ..config(Standard::A) };
    let mode = Mode::ofdm().last().unwrap();
    let plain = Air::new(config.clone(), &[radio("a", 0.0), radio("b", 10.0)], Seed(1), "0");
    // To 16 dB over the noise, where frames of 100 bytes at 54 Mbps are in doubt.
    let ratio = plain.level(0, 1) / plain.noise_mw / math::db_to_linear(16.0);
    let far = 10.0 * math::pow(ratio, 1.0 / config.path_loss_exponent);
    let mut air = Air::new(config, &[radio("a", 0.0), radio("b", far)], Seed(1), "0");
    air.begin(Transmission { to: 1, mode, ..transmission(1, 0, at(0), at(100)) });
    let tx = air.end(1);
    let mut loss = f64::NAN;
    let met = |_, p| {
        loss = p;
        false
    };
    air.receive(&tx, &[1], met, &mut Vec::new());
    let expected = 1.0 - crate::table_success(mode, math::db_to_linear(16.0), tx.mpdu_bits());
    assert!((loss - expected).abs() < 1e-9 && (0.1..0.9).contains(&loss), "{loss} {expected}");
}

/// The level from which a frame is certain must leave nothing to chance at any level above.
#[test]
fn above_the_sure_level_success_is_certain() {
    for standard in [Standard::A, Standard::B, Standard::G] {
        let phy = Phy::new(standard);
        let config = config(standard);
        let noise = propagation::noise(phy.bandwidth(), config.noise_figure);
        let mut air = Air::new(config, &[], Seed(1), "0");
        for mode in phy.legacy_modes() {
            let sure_mw = air.odds_of(mode).sure_mw;
            assert!(sure_mw.is_finite(), "{mode:?}");
            for tenths in 0..500 {
                let snr =
                    sure_mw / noise.milliwatts() * math::db_to_linear(f64::from(tenths) / 10.0);
                let success = error_model::success(mode.modulation(), snr, 8.0 * 2340.0);
                assert!(success > 1.0 - 1e-9, "{mode:?} + {tenths} tenths of a dB: {success}");
            }
        }
    }
}

/// What is called certain is what the error model says, to the last bit that chance sees.
#[test]
fn certain_odds_are_those_of_the_error_model() {
    let by_table = Mode::new(Format::He, 7, 1, Width::Mhz20, GuardInterval::Ns800);
    let by_table = [by_table, Mode::new(Format::He, 11, 1, Width::Mhz80, GuardInterval::Ns800)];
    let by_table = by_table.map(|mode| (Standard::A, ErrorModel::Table, mode.unwrap()));
    let legacy = |standard, errors: ErrorModel| {
        Phy::new(standard).legacy_modes().map(move |mode| (standard, errors, mode))
    };
    let hard = legacy(Standard::A, ErrorModel::Snr).chain(legacy(Standard::B, ErrorModel::Snr));
    let table = legacy(Standard::A, ErrorModel::Table).chain(by_table);
    for (standard, errors, mode) in hard.chain(table) {
        let mut air = Air::new(Config { errors, ..config(standard) }, &[], Seed(1), "0");
        let (odds, decoder) = (air.odds_of(mode), errors.decoder().unwrap());
        let mut certain = 0;
        let lengths = |t| [40.0, 150.0, 3_000.0, 3_300.0, 12_288.0].map(|bits| (t, bits));
        for (tenths, bits) in (-200..500).flat_map(lengths) {
            let sinr = math::db_to_linear(f64::from(tenths) / 10.0);
            let success = decoder.success(mode, sinr, bits);
            match odds.certain(sinr, bits) {
                Some(0.0) => assert_eq!(1.0 - success, 1.0, "{odds:?} {tenths} {bits}"),
                Some(_) => assert_eq!(success, 1.0, "{odds:?} {tenths} {bits}"),
                None => continue,
            }
            certain += 1;
        }
        assert!(certain > 1000, "{odds:?}: {certain}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// The short way for frames that begin together finds what the replay finds.
    #[test]
    fn of_frames_that_begin_together_the_strongest_is_held(seed: u64) {
        let mut random = Seed(seed).stream("air");
        let mut config = config(Standard::A);
        config.preamble_detection = (random.below(2) == 0).then_some(Db(4.0));
        // Whole metres, so that some levels are equal.
        let place = |_| radio("any", random.below(60) as f64);
        let radios: Vec<_> = (0..24).map(place).collect();
        let mut air = Air::new(config, &radios, Seed(seed), "0");
        for from in 0..2 + random.below(3) as u32 {
            let end = at(100 + random.below(300));
            air.begin(transmission(u64::from(from) + 1, from, at(10), end));
        }
        for tx in air.list.clone() {
            let expected: Vec<u32> =
                (0..24).filter(|radio| *radio != tx.from && air.holds(&tx, *radio)).collect();
            let (index, holders) = air.take_holders(&tx);
            prop_assert_eq!(&holders, &expected, "seed {}: {:?}", seed, tx);
            for &radio in &holders {
                let met = air.interference(&tx, radio, tx.start);
                prop_assert_eq!(air.together.interference(radio), met, "seed {}", seed);
            }
            air.together.return_holders(index, holders);
        }
    }
}

/// A PSDU of one MPDU and one of two as long together are different frames.
#[test]
fn a_memo_is_of_frames_with_as_many_mpdus() {
    let mut memos = Memos::new(2, true);
    let of = |mpdus| Transmission { mpdus, ..transmission(1, 0, at(0), at(100)) };
    assert_eq!(memos.success(&of(1), 1, || 0.25), 0.25);
    assert_eq!(memos.success(&of(1), 1, || 0.5), 0.25);
    assert_eq!(memos.success(&of(2), 1, || 0.5), 0.5);
}
