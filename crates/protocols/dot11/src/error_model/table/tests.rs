//! Figures of ns-3, and curves that fall steadily.

use super::*;
use crate::{Format, GuardInterval, Mode, Width};
use fairwave_units::math::{db_to_linear, ln};
use proptest::prelude::*;

/// Two points of a curve of ns-3, around a loss of 10 %: SNR in dB and PER.
type Pair = [(f64, f64); 2];

/// ns-3 3.37, `AwgnErrorTableBcc32`.
#[rustfmt::skip]
const NS3_BCC_SHORT: [Pair; 10] = [
        [(-0.5, 0.1254), (0.0, 0.0344)],
        [(2.5, 0.1182), (3.0, 0.0364)],
        [(5.0, 0.1171), (5.5, 0.0339)],
        [(8.0, 0.108), (8.5, 0.0381)],
        [(11.0, 0.1572), (11.5, 0.0542)],
        [(15.0, 0.1575), (15.5, 0.0646)],
        [(16.5, 0.1145), (17.0, 0.0461)],
        [(18.0, 0.1111), (18.5, 0.044)],
        [(21.5, 0.1338), (22.0, 0.0595)],
        [(23.0, 0.1524), (23.5, 0.0634)],
];

/// ns-3 3.37, `AwgnErrorTableBcc1458`.
#[rustfmt::skip]
const NS3_BCC_LONG: [Pair; 10] = [
        [(0.5, 0.2908), (1.0, 0.0663)],
        [(3.5, 0.3008), (4.0, 0.0728)],
        [(6.0, 0.301), (6.5, 0.0676)],
        [(9.5, 0.1419), (10.0, 0.0374)],
        [(12.5, 0.1826), (13.0, 0.0465)],
        [(17.0, 0.1058), (17.5, 0.0334)],
        [(18.0, 0.2091), (18.5, 0.0639)],
        [(19.5, 0.1234), (20.0, 0.0355)],
        [(23.5, 0.1376), (24.0, 0.0475)],
        [(25.0, 0.1248), (25.5, 0.0409)],
];

/// ns-3 3.37, `AwgnErrorTableLdpc1458`.
#[rustfmt::skip]
const NS3_LDPC: [Pair; 12] = [
        [(-0.75, 0.1705), (-0.5, 0.0332)],
        [(2.25, 0.1859), (2.5, 0.034)],
        [(4.75, 0.158), (5.0, 0.0209)],
        [(7.75, 0.2064), (8.0, 0.0484)],
        [(10.75, 0.2472), (11.0, 0.047)],
        [(15.0, 0.1661), (15.25, 0.0369)],
        [(16.25, 0.3311), (16.5, 0.0815)],
        [(17.75, 0.3319), (18.0, 0.0964)],
        [(21.5, 0.2092), (21.75, 0.056)],
        [(23.25, 0.2719), (23.5, 0.087)],
        [(26.75, 0.1162), (27.0, 0.0344)],
        [(28.75, 0.1621), (29.0, 0.0515)],
];

fn mode(format: Format, mcs: u8, width: Width) -> Mode {
    Mode::new(format, mcs, 1, width, GuardInterval::Ns800).expect("the standard has the mode")
}

/// A mode that uses the convolutional code with the modulation of this MCS.
fn convolutional(mcs: u8) -> Mode {
    mode(Format::He, mcs, Width::Mhz20)
}

fn ldpc(mcs: u8) -> Mode {
    mode(Format::He, mcs, Width::Mhz80)
}

/// SNR in dB at which a share of the frames of so many bytes is lost, by halving.
fn snr_at(loss: f64, decodes: impl Fn(f64, f64) -> f64, bytes: f64) -> f64 {
    let (mut low, mut high) = (-30.0, 60.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if 1.0 - decodes(db_to_linear(middle), 8.0 * bytes) > loss {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[test]
fn points_are_at_their_losses() {
    for (loss, errors) in LOSSES.iter().zip(LN_ERRORS) {
        let expected = ln(-ln(1.0 - loss));
        assert!((errors - expected).abs() < 1e-11, "{loss}: {errors} {expected}");
    }
    for curve in BCC_SHORT.iter().chain(&BCC_LONG).chain(&LDPC) {
        assert!(curve.windows(2).all(|pair| pair[0] < pair[1]), "{curve:?}");
    }
}

/// Within 0.05 dB of the points of ns-3 around a loss of 10 %.
#[test]
fn losses_around_a_tenth_are_those_of_ns3() {
    let check = |mode: Mode, pair: Pair, bytes: f64| {
        for (snr, per) in pair {
            let got = snr_at(per, |sinr, bits| table_success(mode, sinr, bits), bytes);
            assert!((got - snr).abs() < 0.05, "{mode:?}: {per} at {got} dB, ns-3 at {snr} dB");
        }
    };
    for (mcs, (short, long)) in (0..).zip(NS3_BCC_SHORT.into_iter().zip(NS3_BCC_LONG)) {
        check(convolutional(mcs), short, 32.0);
        check(convolutional(mcs), long, 1458.0);
    }
    for (mcs, pair) in (0..).zip(NS3_LDPC) {
        check(ldpc(mcs), pair, 1458.0);
    }
}

/// SNR in dB and loss of the curves of TGax (IEEE 802.11-14/0571r12, convolutional code) around
/// 10 %, as wmediumd quotes them over a noise of -91 dBm in `tests/signal_table_ieee80211ax`: 6,
/// 12, 24 and 36 to 54 Mbps. It names no length; at 1458 bytes all but 24 Mbps lie within 0.4 dB.
#[test]
fn losses_around_a_tenth_are_near_those_of_tgax() {
    for (mcs, pair, bound) in [
        (0, [(0.0, 0.529), (1.0, 0.0427)], 0.4),
        (1, [(3.0, 0.5462), (4.0, 0.0439)], 0.4),
        (2, [(6.0, 0.2239), (7.0, 0.0117)], 0.4),
        // Not explained: 1.3 dB between this curve of TGax and ns-3's.
        (3, [(8.0, 0.2343), (9.0, 0.024)], 1.4),
        (4, [(12.0, 0.3536), (13.0, 0.0356)], 0.4),
        (5, [(16.0, 0.379), (17.0, 0.061)], 0.4),
        (6, [(18.0, 0.1343), (19.0, 0.0145)], 0.4),
    ] {
        for (snr, per) in pair {
            let mode = convolutional(mcs);
            let got = snr_at(per, |sinr, bits| table_success(mode, sinr, bits), LONG_BYTES);
            let over = got - snr;
            assert!((0.0..bound).contains(&over), "MCS {mcs}: {per} at {got} dB, TGax at {snr} dB");
        }
    }
}

/// Two streams at the SINR of each have the curve of one: only the level is shared.
#[test]
fn streams_have_the_curve_of_one() {
    let two = Mode::new(Format::Vht, 4, 2, Width::Mhz40, GuardInterval::Ns800);
    let one = mode(Format::Vht, 4, Width::Mhz40);
    let sinr = db_to_linear(12.5);
    let (two, one) = (table_success(two.unwrap(), sinr, 1e4), table_success(one, sinr, 1e4));
    assert!(one == two && (0.5..0.99).contains(&one), "{one} {two}");
}

#[test]
fn modes_without_a_curve_are_as_without_the_table() {
    let nine = Mode::ofdm().nth(1).expect("9 Mbps");
    for mode in Mode::dsss().chain([nine]) {
        for snr in [-6.0, 2.0, 5.0, 6.0, 9.0] {
            let sinr = db_to_linear(snr);
            let expected = success(mode.modulation(), sinr, 12_000.0);
            assert_eq!(table_success(mode, sinr, 12_000.0), expected, "{mode:?} {snr} dB");
        }
    }
}

proptest! {
    /// More signal never harms; a longer frame of the same curve is never safer; MPDUs of a frame
    /// one after the other are as safe as the whole.
    #[test]
    fn success_rises_with_signal_and_falls_with_length(
        mcs in 0_u8..12,
        is_wide: bool,
        snr in -10.0_f64..35.0,
        step in 0.0_f64..5.0,
        bits in 100.0_f64..40_000.0,
        more in 1.0_f64..3.0,
    ) {
        let mode = if is_wide { ldpc(mcs) } else { convolutional(mcs) };
        let at = |snr, bits| table_success(mode, db_to_linear(snr), bits);
        let here = at(snr, bits);
        prop_assert!((0.0..=1.0).contains(&here));
        prop_assert!(at(snr + step, bits) >= here);
        let (whole, rest) = (bits * more, bits * (more - 1.0));
        let is_one_curve = |lengths: [f64; 2]| {
            let [first, second] = lengths.map(|bits| bits < LONG_BITS);
            mode.is_ldpc() || first == second
        };
        if is_one_curve([bits, whole]) {
            prop_assert!(at(snr, whole) <= here);
            if is_one_curve([bits, rest]) {
                let parts = here * at(snr, rest);
                prop_assert!((parts - at(snr, whole)).abs() < 1e-9, "{parts}");
            }
        }
    }
}

#[test]
fn every_curve_is_nil_far_below_and_one_far_above() {
    for mode in (0..12).flat_map(|mcs| [convolutional(mcs), ldpc(mcs)]) {
        for bits in [8.0, 112.0, 12_000.0] {
            let at = |snr| table_success(mode, db_to_linear(snr), bits);
            assert!(
                at(-20.0) < 1e-6 && at(55.0) == 1.0,
                "{mode:?} {bits}: {} {}",
                at(-20.0),
                at(55.0)
            );
        }
    }
}
