//! SNR curves of decoding with soft decisions over white Gaussian noise, as simulated bit by bit
//! and tabled by others.
//!
//! The figures are those of the link simulations (MATLAB WLAN Toolbox, ideal synchronization and
//! channel estimation, 40,000 packets a point) that ns-3 3.37 has in its `error-rate-tables.h`
//! (Patidar, Deronne and Jin, University of Washington, 2020), which were checked there against the
//! curves of TGax (IEEE 802.11-14/0571). From the points of ns-3, every 0.25 dB (LDPC) or 0.5 dB
//! (BCC), the SNR was interpolated at seven shares of lost frames.

use super::success;
use crate::Mode;
use crate::phy::Modulation;
use fairwave_units::math::{exp, linear_to_db};

/// Shares of frames of the reference length that are lost at the points of a curve.
#[cfg(test)]
const LOSSES: [f64; POINTS] = [0.9, 0.7, 0.4, 0.1, 0.01, 0.001, 0.0003];
const POINTS: usize = 7;

/// Logarithms of the mean number of errors a frame at these losses, ln(-ln(1 - loss)): nearly
/// straight over decibels.
const LN_ERRORS: [f64; POINTS] = [
    0.834_032_445_248,
    0.185_626_758_862,
    -0.671_726_992_092,
    -2.250_367_327_312,
    -4.600_149_226_777,
    -6.907_255_070_524,
    -8.111_578_064_555,
];

/// SNR in dB at the losses of the points.
type Curve = [f64; POINTS];

/// Bytes of the frames of [`BCC_SHORT`].
const SHORT_BYTES: f64 = 32.0;
/// Bytes of the frames of the other curves.
const LONG_BYTES: f64 = 1458.0;
/// From this length in bits on, a convolutional code has its errors from the curves of long frames.
/// The boundary is TGax's and ns-3's.
pub(crate) const LONG_BITS: f64 = 8.0 * 400.0;

/// Convolutional code, frames of 32 bytes, MCS 0 to 9.
#[rustfmt::skip]
const BCC_SHORT: [Curve; 10] = [
    [-2.29, -1.72, -1.18, -0.41, 0.44, 1.11, 1.44],
    [0.81, 1.28, 1.83, 2.57, 3.44, 4.13, 4.46],
    [3.32, 3.81, 4.33, 5.07, 5.92, 6.63, 6.98],
    [5.93, 6.57, 7.14, 8.04, 9.07, 9.9, 10.31],
    [9.2, 9.75, 10.36, 11.22, 12.17, 13.03, 13.46],
    [12.98, 13.57, 14.26, 15.26, 16.39, 17.35, 17.81],
    [14.3, 14.96, 15.63, 16.58, 17.7, 18.67, 19.1],
    [15.76, 16.36, 17.07, 18.06, 19.23, 20.25, 20.73],
    [19.16, 19.92, 20.6, 21.68, 22.95, 23.99, 24.56],
    [20.88, 21.57, 22.25, 23.24, 24.42, 25.5, 25.84],
];

/// Convolutional code, frames of 1458 bytes, MCS 0 to 9.
#[rustfmt::skip]
const BCC_LONG: [Curve; 10] = [
    [-0.14, 0.11, 0.38, 0.87, 1.53, 2.09, 2.35],
    [2.86, 3.09, 3.38, 3.89, 4.54, 5.11, 5.43],
    [5.34, 5.56, 5.87, 6.37, 7.06, 7.72, 8.04],
    [8.39, 8.68, 9.04, 9.63, 10.45, 11.19, 11.55],
    [11.55, 11.8, 12.14, 12.72, 13.53, 14.26, 14.61],
    [15.62, 15.95, 16.34, 17.02, 17.96, 18.83, 19.29],
    [16.95, 17.26, 17.65, 18.32, 19.22, 20.08, 20.42],
    [18.24, 18.55, 18.91, 19.59, 20.5, 21.29, 21.65],
    [22.11, 22.46, 22.91, 23.65, 24.7, 25.64, 26.06],
    [23.64, 23.98, 24.38, 25.1, 26.1, 26.93, 27.24],
];

/// LDPC, frames of 1458 bytes, MCS 0 to 11.
#[rustfmt::skip]
const LDPC: [Curve; 12] = [
    [-1.16, -1.05, -0.91, -0.67, -0.34, -0.02, 0.19],
    [1.84, 1.96, 2.1, 2.34, 2.67, 2.98, 3.15],
    [4.36, 4.47, 4.59, 4.81, 5.09, 5.36, 5.51],
    [7.3, 7.43, 7.6, 7.88, 8.24, 8.6, 8.81],
    [10.39, 10.5, 10.65, 10.89, 11.19, 11.49, 11.66],
    [14.52, 14.66, 14.82, 15.09, 15.44, 15.75, 16.0],
    [15.88, 16.02, 16.2, 16.47, 16.82, 17.15, 17.31],
    [17.37, 17.52, 17.7, 17.99, 18.38, 18.73, 18.92],
    [21.0, 21.16, 21.35, 21.64, 22.03, 22.37, 22.56],
    [22.8, 22.96, 23.15, 23.47, 23.88, 24.27, 24.51],
    [26.07, 26.24, 26.44, 26.78, 27.23, 27.64, 27.83],
    [28.08, 28.29, 28.5, 28.86, 29.3, 29.75, 29.95],
];

/// The probability that `bits` bits of a frame at `mode` all arrive intact at a linear SINR of each
/// stream in the channel's bandwidth, by curves of decoding with soft decisions.
///
/// The expected number of errors grows with the length: a frame of L bytes is lost with the
/// probability 1 - (1 - PER)^(L / L0), where L0 is the reference length (IEEE 802.11-14/0803).
/// Beyond the ends of a curve its last slope continues. Streams are separated ideally: each has the
/// curve of one stream at its own SINR. DSSS and 9 Mbps, of which there are no curves, are as in
/// [`success`].
pub fn table_success(mode: Mode, sinr: f64, bits: f64) -> f64 {
    let modulation = mode.modulation();
    match curve(mode, modulation, bits) {
        Some((curve, bytes)) => {
            let errors = exp(ln_errors(curve, linear_to_db(sinr)));
            exp(-errors * bits / 8.0 / bytes)
        }
        None => success(modulation, sinr, bits),
    }
}

/// The curve for `bits` bits at `mode`, and the length in bytes of its frames.
fn curve(mode: Mode, modulation: Modulation, bits: f64) -> Option<(&'static Curve, f64)> {
    let index = index(modulation)?;
    if mode.is_ldpc() {
        Some((&LDPC[index], LONG_BYTES))
    } else if bits < LONG_BITS {
        Some((BCC_SHORT.get(index)?, SHORT_BYTES))
    } else {
        Some((BCC_LONG.get(index)?, LONG_BYTES))
    }
}

/// The MCS of VHT and HE with this modulation.
fn index(modulation: Modulation) -> Option<usize> {
    let Modulation::Ofdm { points, code } = modulation else { return None };
    Some(match (points, code) {
        (2, (1, 2)) => 0,
        (4, (1, 2)) => 1,
        (4, (3, 4)) => 2,
        (16, (1, 2)) => 3,
        (16, (3, 4)) => 4,
        (64, (2, 3)) => 5,
        (64, (3, 4)) => 6,
        (64, (5, 6)) => 7,
        (256, (3, 4)) => 8,
        (256, (5, 6)) => 9,
        (1024, (3, 4)) => 10,
        (1024, (5, 6)) => 11,
        _ => return None,
    })
}

/// Logarithm of the mean number of errors at an SNR in dB: linear between the points.
fn ln_errors(curve: &Curve, snr_db: f64) -> f64 {
    let after = curve[1..POINTS - 1].partition_point(|point| *point < snr_db) + 1;
    let (left, right) = (curve[after - 1], curve[after]);
    let (high, low) = (LN_ERRORS[after - 1], LN_ERRORS[after]);
    high + (snr_db - left) * (low - high) / (right - left)
}

#[cfg(test)]
mod tests;
