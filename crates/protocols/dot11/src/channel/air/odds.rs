//! Certain outcomes without asking chance: for each mode, the levels and ratios beyond which the
//! probability of decoding a frame is 0 or 1 in floating point.

use crate::Mode;
use crate::error_model::{Decoder, LONG_BITS};
use fairwave_units::math;

/// Lengths that a sure level is computed for, in bits: the longest frame, and the longest with a
/// curve of short frames, which is not below that of long ones everywhere.
const SURE_BITS: [f64; 2] = [8.0 * 4096.0, LONG_BITS - 1.0];

/// Lengths in bits that hopeless ratios are computed for.
const LENGTHS: [f64; 3] = [64.0, 512.0, 4096.0];

/// A probability this small, taken from one, leaves one.
const NIL: f64 = 1e-18;

/// Bounds of chance for one mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Odds {
    pub(super) mode: Mode,
    /// Level from which even the longest frame is decoded with a probability that is 1 in
    /// floating point, in milliwatts.
    pub(super) sure_mw: f64,
    /// The same as a ratio to noise and interference.
    sure: f64,
    /// For each of [`LENGTHS`]: ratio below which a frame of as many bits or more is lost.
    hopeless: [f64; LENGTHS.len()],
}

impl Odds {
    /// The odds of `mode` over the noise of 20 MHz, where no preamble is detected below
    /// `detection_db`.
    pub(super) fn new(mode: Mode, decoder: Decoder, noise_mw: f64, detection_db: i32) -> Self {
        let certain = |snr_db: &i32| {
            let snr = math::db_to_linear(f64::from(*snr_db));
            SURE_BITS.iter().all(|bits| decoder.success(mode, snr, *bits) >= 1.0)
        };
        let sure = (detection_db..80).find(certain).map(f64::from);
        let sure = sure.map_or(f64::INFINITY, math::db_to_linear);
        Self {
            mode,
            sure_mw: sure * noise_mw * mode.snr_divisor(),
            sure,
            hopeless: LENGTHS.map(|bits| hopeless(mode, decoder, bits)),
        }
    }

    /// A mode of which nothing is certain.
    pub(super) const fn open(mode: Mode) -> Self {
        let (sure, hopeless) = (f64::INFINITY, [0.0; LENGTHS.len()]);
        Self { mode, sure_mw: sure, sure, hopeless }
    }

    /// Ratio to noise and interference from which any frame is decoded.
    pub(super) const fn sure_from(&self) -> f64 {
        self.sure
    }

    /// Ratio below which a frame of `bits` bits is lost.
    pub(super) fn hopeless_below(&self, bits: f64) -> f64 {
        let class = LENGTHS.iter().rposition(|length| bits >= *length);
        class.map_or(0.0, |class| self.hopeless[class])
    }

    /// The probability of decoding `bits` bits at a linear SINR, if that is certain.
    pub(super) fn certain(&self, sinr: f64, bits: f64) -> Option<f64> {
        if sinr >= self.sure {
            Some(1.0)
        } else if sinr < self.hopeless_below(bits) {
            Some(0.0)
        } else {
            None
        }
    }
}

/// The highest ratio, in steps of a quarter dB, at which `bits` bits are as good as lost.
fn hopeless(mode: Mode, decoder: Decoder, bits: f64) -> f64 {
    let ratio = |quarters: i32| math::db_to_linear(f64::from(quarters) / 4.0);
    let (mut lost, mut open) = (-80, 160);
    if decoder.success(mode, ratio(lost), bits) >= NIL {
        return 0.0;
    }
    while open - lost > 1 {
        let middle = lost.midpoint(open);
        if decoder.success(mode, ratio(middle), bits) < NIL {
            lost = middle;
        } else {
            open = middle;
        }
    }
    ratio(lost)
}
