//! From SNR to the probability that bits arrive intact.
//!
//! DSSS: 802.15.2-2003 annex (Barker-spread DBPSK and DQPSK, CCK as bi-orthogonal keying).
//! OFDM: the union bound over the convolutional code's distance spectrum with hard decisions,
//! as in Pei and Henderson, "Validation of OFDM error rate model in ns-3" (NIST, 2010). HT, VHT
//! and HE are computed with the same code, also where stations would use LDPC, which gains 1 to
//! 2 dB. [`table_success`] has curves of soft decisions and of LDPC.

use crate::Mode;
use crate::phy::Modulation;
use fairwave_units::Db;
use fairwave_units::math::{erfc, exp, linear_to_db, pow};
pub(crate) use table::LONG_BITS;
pub use table::table_success;

mod table;

/// Curves by which the SINR of bits decides whether they arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decoder {
    /// Of [`success`]: hard decisions.
    #[default]
    Hard,
    /// Of [`table_success`]: soft decisions.
    Table,
}

impl Decoder {
    /// The probability that `bits` bits at `mode` all arrive intact at a linear SINR of each stream
    /// in the channel's bandwidth.
    pub(crate) fn success(self, mode: Mode, sinr: f64, bits: f64) -> f64 {
        match self {
            Self::Hard => success(mode.modulation(), sinr, bits),
            Self::Table => table_success(mode, sinr, bits),
        }
    }
}

/// The probability that `bits` bits at `modulation` all arrive intact at a linear SINR in the
/// channel's bandwidth.
pub fn success(modulation: Modulation, sinr: f64, bits: f64) -> f64 {
    match modulation {
        Modulation::Dbpsk => pow(1.0 - dbpsk_ber(sinr * 22.0), bits),
        Modulation::Dqpsk => pow(1.0 - dqpsk_ber(sinr * 11.0), bits),
        Modulation::Cck4 => pow(1.0 - cck_symbol_error(sinr * 22.0 / 1.375 / 2.0), bits / 4.0),
        Modulation::Cck8 => {
            let half = 1.0 - cck_symbol_error(sinr * 22.0 / 1.375 / 4.0);
            pow(half * half, bits / 8.0)
        }
        Modulation::Ofdm { points, code } => pow(1.0 - coded_ber(points, code, sinr), bits),
    }
}

/// The probability that `bits` bits at `modulation` all arrive intact at a linear level over noise,
/// with the bit error rate that Aida, Tobe and Tokuda (2003, section 3.1) write for the PSK of
/// WaveLAN: `P_e = (1/2) es (S/N)^(1/2)`. CCK, which those cards lack, is as in [`success`].
///
/// The paper calls `es` "the error function". It is read as the complementary one, since with the
/// other the errors would grow with the signal. The level is in the channel's bandwidth: the
/// paper has no gain of despreading in its formula, where [`success`] has 11 or 22.
pub fn psk_success(modulation: Modulation, snr: f64, bits: f64) -> f64 {
    match modulation {
        Modulation::Dbpsk | Modulation::Dqpsk => pow(1.0 - raw_ber(2, snr), bits),
        other => success(other, snr, bits),
    }
}

/// Delivery of a frame of any length as a logistic function of the level over noise in dB: for
/// links whose measured delivery falls over many decibels, where a modulation's would over two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeliverySlope {
    /// SNR at which half of the frames arrive.
    pub middle: Db,
    /// Over this to either side the odds of arriving change by e; above 0.
    pub width: Db,
}

impl DeliverySlope {
    /// The probability that a frame at a linear level over noise is lost.
    pub fn loss(&self, snr: f64) -> f64 {
        1.0 / (1.0 + exp((linear_to_db(snr) - self.middle.0) / self.width.0))
    }
}

fn dbpsk_ber(eb_n0: f64) -> f64 {
    0.5 * exp(-eb_n0)
}

/// Close approximation for DQPSK with Gray coding, from 2 dB up; at most one half.
fn dqpsk_ber(eb_n0: f64) -> f64 {
    let root2 = core::f64::consts::SQRT_2;
    let factor = (root2 + 1.0) / (8.0 * core::f64::consts::PI * root2).sqrt();
    (factor / eb_n0.max(1e-9).sqrt() * exp(-(2.0 - root2) * eb_n0)).min(0.5)
}

/// From here on the symbol error is below [`SMALLEST_ERROR`].
const BETA_MAX: f64 = 11.0;

/// Less makes no difference to the longest frame.
const SMALLEST_ERROR: f64 = 1e-13;

/// Chebyshev coefficients, over `0..BETA_MAX`, of the logarithm of
/// `1 - integral from -beta of erf((x + beta) / sqrt 2)^7 exp(-x^2 / 2) / sqrt(2 pi) dx`: the
/// symbol error of bi-orthogonal keying with 16 signals. Interpolated in 30 digits; the relative
/// error is below 1e-9.
const CCK_LN_ERROR: [f64; 25] = [
    -11.383_032_047_385_931,
    -15.273_947_027_777_998,
    -4.000_149_007_459_487,
    0.039_548_508_268_982_97,
    0.045_070_726_048_839_63,
    -0.032_482_514_241_966_555,
    7.983_870_980_823_794e-3,
    3.961_599_942_137_836e-4,
    -6.257_429_062_910_762e-4,
    1.491_100_009_963_124_2e-4,
    -8.042_609_681_802_065e-5,
    4.682_634_242_536_935e-5,
    -4.869_071_379_176_084e-6,
    -6.314_741_487_407_582e-6,
    2.887_756_652_284_509e-6,
    -6.401_730_212_299_243e-7,
    2.367_130_554_520_439_3e-7,
    -5.668_639_224_323_205e-8,
    -4.818_880_271_673_501e-8,
    3.951_085_204_486_208e-8,
    -1.097_704_589_752_723_9e-8,
    1.198_690_520_282_198_3e-9,
    1.086_498_952_799_723_6e-10,
    -4.699_195_050_646_387e-10,
    4.127_213_659_806_022e-10,
];

/// Symbol error of CCK, taken as bi-orthogonal keying with 16 signals, at the given Es/N0
/// argument: Clenshaw's recurrence.
fn cck_symbol_error(argument: f64) -> f64 {
    let beta = (2.0 * argument).sqrt();
    if beta >= BETA_MAX {
        return 0.0;
    }
    let t = 2.0 * beta / BETA_MAX - 1.0;
    let step = |(next, after): (f64, f64), c: &f64| (2.0 * t * next - after + c, next);
    let (first, second) = CCK_LN_ERROR[1..].iter().rev().fold((0.0, 0.0), step);
    let error = exp(t * first - second + CCK_LN_ERROR[0]);
    if error < SMALLEST_ERROR { 0.0 } else { error.min(1.0) }
}

/// Bit error rate before decoding for a constellation of `points`.
fn raw_ber(points: u32, snr: f64) -> f64 {
    let m = f64::from(points);
    match points {
        2 => 0.5 * erfc(snr.sqrt()),
        4 => 0.5 * erfc((snr / 2.0).sqrt()),
        _ => {
            let bits = f64::from(points.ilog2() / 2);
            (m.sqrt() - 1.0) / (m.sqrt() * bits) * erfc((1.5 * snr / (m - 1.0)).sqrt())
        }
    }
}

/// Distance spectra of the rate-1/2, constraint length 7 code and its puncturings, as error
/// weights from the free distance on (Frenger, Orten and Ottosson, 1999).
const HALF: [f64; 9] =
    [36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0];
const TWO_THIRDS: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0];
const THREE_QUARTERS: [f64; 10] = [
    42.0,
    201.0,
    1492.0,
    10_469.0,
    62_935.0,
    379_644.0,
    2_253_373.0,
    13_073_811.0,
    75_152_755.0,
    428_005_675.0,
];
/// Rate 5/6 (Haccoun and Begin, 1989, table V).
const FIVE_SIXTHS: [f64; 10] = [
    92.0,
    528.0,
    8694.0,
    79_453.0,
    792_114.0,
    7_375_573.0,
    67_884_974.0,
    610_875_423.0,
    5_427_275_376.0,
    47_664_215_639.0,
];

/// Union bound on the bit error rate after hard-decision decoding.
fn coded_ber(points: u32, code: (u32, u32), snr: f64) -> f64 {
    let (free_distance, step, bits_in, weights): (usize, usize, f64, &[f64]) = match code {
        (1, 2) => (10, 2, 1.0, &HALF),
        (2, 3) => (6, 1, 2.0, &TWO_THIRDS),
        (5, 6) => (4, 1, 5.0, &FIVE_SIXTHS),
        _ => (5, 1, 3.0, &THREE_QUARTERS),
    };
    let p = raw_ber(points, snr);
    let d = (4.0 * p * (1.0 - p)).sqrt();
    // Horner's rule in d^step: multiplications only, for this is computed for every frame that
    // met another.
    let ratio = if step == 2 { d * d } else { d };
    let sum = weights.iter().rev().fold(0.0, |sum, weight| sum * ratio + weight);
    let leading: f64 = core::iter::repeat_n(d, free_distance).product();
    (leading * sum / (2.0 * bits_in)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::math::db_to_linear;

    fn ofdm(points: u32, code: (u32, u32)) -> Modulation {
        Modulation::Ofdm { points, code }
    }

    /// Points read off the published NIST curves for 2000-byte frames, as tabled by ns-3.
    #[test]
    fn ofdm_frame_success_follows_the_published_curves() {
        for (modulation, snr_db, expected) in [
            (ofdm(2, (1, 2)), 3.0, 0.020),
            (ofdm(2, (1, 2)), 4.0, 0.885),
            (ofdm(2, (1, 2)), 5.0, 0.997),
            (ofdm(2, (3, 4)), 7.0, 0.918),
            (ofdm(4, (1, 2)), 7.0, 0.881),
            (ofdm(4, (3, 4)), 9.5, 0.623),
            (ofdm(4, (3, 4)), 10.5, 0.985),
            (ofdm(16, (1, 2)), 13.0, 0.495),
            (ofdm(16, (1, 2)), 14.0, 0.974),
            (ofdm(16, (3, 4)), 16.5, 0.818),
            (ofdm(64, (2, 3)), 21.0, 0.649),
            (ofdm(64, (2, 3)), 22.0, 0.983),
            (ofdm(64, (3, 4)), 22.0, 0.410),
            (ofdm(64, (3, 4)), 23.0, 0.958),
            (ofdm(64, (3, 4)), 24.0, 0.999),
        ] {
            let got = success(modulation, db_to_linear(snr_db), 16000.0);
            assert!((got - expected).abs() < 0.012, "{modulation:?} {snr_db} dB: {got}");
        }
    }

    /// The published validation of the DSSS model: 1078-byte frames, noise at -93.5523 dBm.
    #[test]
    fn dsss_frame_success_follows_the_published_curves() {
        for (modulation, level_dbm, expected) in [
            (Modulation::Dbpsk, -98.0, 0.202),
            (Modulation::Dbpsk, -97.0, 0.813),
            (Modulation::Dbpsk, -96.0, 0.984),
            (Modulation::Dqpsk, -94.0, 0.036),
            (Modulation::Dqpsk, -93.0, 0.519),
            (Modulation::Dqpsk, -92.0, 0.915),
            (Modulation::Cck4, -91.0, 0.132),
            (Modulation::Cck4, -90.0, 0.744),
            (Modulation::Cck4, -89.0, 0.974),
            (Modulation::Cck8, -88.0, 0.128),
            (Modulation::Cck8, -87.0, 0.739),
            (Modulation::Cck8, -86.0, 0.973),
        ] {
            let got = success(modulation, db_to_linear(level_dbm + 93.5523), 1078.0 * 8.0);
            assert!((got - expected).abs() < 0.02, "{modulation:?} {level_dbm} dBm: {got}");
        }
    }

    /// 1 / (1 + e^5), 1/2 and 1 / (1 + e^-3): 5 and 3 widths below and above the middle.
    #[test]
    fn a_slope_is_logistic_in_decibels() {
        let slope = DeliverySlope { middle: Db(6.0), width: Db(2.0) };
        for (snr_db, arrive) in [(-4.0, 0.006_692_85), (6.0, 0.5), (12.0, 0.952_574_13)] {
            let loss = slope.loss(db_to_linear(snr_db));
            assert!((1.0 - loss - arrive).abs() < 1e-6, "{snr_db} dB: {loss}");
        }
        assert_eq!(slope.loss(0.0), 1.0);
    }

    /// Half the complementary error function at 1, 2 and 3 (Abramowitz and Stegun, table 7.1:
    /// 0.157_299_207, 0.004_677_735 and 0.000_022_090), for one bit; and a packet of 1500 bytes
    /// from 7 to 11 dB.
    #[test]
    fn the_psk_of_the_paper_is_half_the_complementary_error_function() {
        let psk = [Modulation::Dbpsk, Modulation::Dqpsk];
        for (snr, error) in [(1.0, 0.078_649_603_5), (4.0, 0.002_338_867_5), (9.0, 0.000_011_045)] {
            for modulation in psk {
                let got = 1.0 - psk_success(modulation, snr, 1.0);
                assert!((got - error).abs() < 1e-9, "{modulation:?} {snr}: {got}");
            }
        }
        // 1 - (1 - P_e)^12000.
        for (snr_db, error) in [(7.0, 0.9999), (8.0, 0.899), (9.0, 0.332), (10.0, 0.045)] {
            let got = 1.0 - psk_success(Modulation::Dqpsk, db_to_linear(snr_db), 12_000.0);
            assert!((got - error).abs() < 0.001, "{snr_db} dB: {got}");
        }
        let (snr, bits) = (db_to_linear(8.0), 12_000.0);
        let cck = psk_success(Modulation::Cck8, snr, bits);
        assert_eq!(cck, success(Modulation::Cck8, snr, bits));
    }

    /// Simpson's rule over the Gaussian of the winning correlator; its own error is about 1e-14.
    fn cck_symbol_error_by_integration(argument: f64) -> f64 {
        const STEPS: u32 = 400;
        let beta = (2.0 * argument).sqrt();
        let low = -beta.min(8.0);
        let width = (8.0 - low) / f64::from(STEPS);
        let density = |x: f64| {
            let inner = 1.0 - erfc((x + beta) / core::f64::consts::SQRT_2);
            pow(inner, 7.0) * exp(-x * x / 2.0)
        };
        let weight = |i: u32| match i {
            0 | STEPS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 = (0..=STEPS).map(|i| weight(i) * density(low + f64::from(i) * width)).sum();
        1.0 - sum * width / 3.0 / (2.0 * core::f64::consts::PI).sqrt()
    }

    #[test]
    fn the_cck_series_is_the_integral_and_falls_steadily() {
        let mut last = 1.0;
        for i in 0..=2400 {
            let beta = f64::from(i) / 200.0;
            let (series, integral) = (
                cck_symbol_error(beta * beta / 2.0),
                cck_symbol_error_by_integration(beta * beta / 2.0),
            );
            let bound = 1e-9 * integral.abs() + SMALLEST_ERROR;
            assert!((series - integral).abs() <= bound, "beta {beta}: {series} {integral}");
            assert!(series <= last, "beta {beta}: {series} after {last}");
            last = series;
        }
        assert_eq!(last, 0.0);
    }

    #[test]
    fn more_signal_never_hurts() {
        for modulation in [Modulation::Dbpsk, Modulation::Dqpsk, Modulation::Cck4, Modulation::Cck8]
            .into_iter()
            .chain(Mode::ofdm().map(Mode::modulation))
        {
            let curve: Vec<f64> = (-10..=40)
                .map(|db| success(modulation, db_to_linear(f64::from(db)), 12000.0))
                .collect();
            assert!(curve.windows(2).all(|w| w[0] <= w[1] + 1e-12), "{modulation:?}: {curve:?}");
            assert!(curve[0] < 1e-6 && curve[50] > 0.999_999, "{modulation:?}");
        }
    }
}
