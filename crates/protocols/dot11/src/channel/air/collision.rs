//! Receptions of frames that begin together, the usual collision, by the radios that they are not
//! for.
//!
//! All radios are judged at once by levels in single precision. Where a ratio lies within the
//! rounding errors of a threshold, the radio is judged alone in double precision, so that outcomes
//! are those of `Air::receive`.

use super::super::contention::Receptions;
use super::super::levels::Levels;
use super::odds::Odds;
use super::together::Detection;
use super::transmission::Transmission;
use crate::{Mode, error_model};

/// A reception that the comparison of levels leaves open.
pub(super) const OPEN: u8 = 3;

/// Curves that are kept, one for each mode and length.
const CURVES: usize = 8;

/// Bits of a ratio's mantissa that tell points of a curve apart: 64 points for 3 dB.
const CURVE_SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - 6;
/// Points of a curve, over 48 dB.
const CURVE_POINTS: usize = 16 << 6;

#[derive(Debug, Default)]
pub(super) struct Collision {
    /// The levels of [`Levels::row`], rounded; empty before the first collision.
    levels: Vec<f32>,
    /// Per radio: the highest level, the sum of all, and the ratio of that to noise and the rest.
    pub(super) loudest: Vec<f32>,
    sums: Vec<f32>,
    pub(super) ratios: Vec<f32>,
    pub(super) receptions: Receptions,
    /// Number of the last frame of the collision whose levels were summed up.
    pub(super) summed: u64,
    /// Number of the frame that was judged; of the last of a collision that was as a whole.
    pub(super) judged: u64,
    pub(super) is_whole: bool,
    pub(super) curves: Vec<Curve>,
    /// The curve of the present collision.
    pub(super) curve: usize,
}

/// Thresholds of ratios and levels, moved by more than the rounding errors so that they are certain
/// to be passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) odds: Odds,
    /// Length of a frame.
    pub(super) bits: f64,
    noise: f32,
    /// Noise over the width of the mode.
    wide_noise: f32,
    sensed: f32,
    unsensed: f32,
    detected: f32,
    undetected: f32,
    hopeless: f32,
    not_hopeless: f32,
    sure: f32,
    not_sure: f32,
    /// Relative error of a ratio to noise and interference, over one more than the ratio.
    pub(super) error: f64,
}

impl Bounds {
    pub(super) fn new(by: Detection, frames: usize, odds: Odds, bits: f64) -> Self {
        // Each level is rounded by half a unit in the last place, and so is each addition. Four
        // times their sum leaves room for the operations that follow.
        let error = (frames as f64 + 8.0) * 4.0 * f64::from(f32::EPSILON) / 2.0;
        let above = |ratio: f64| match 1.0 - error * ratio {
            room if room > 0.0 => (ratio * (1.0 + error) / room) as f32,
            _ => f32::INFINITY,
        };
        let below = |ratio: f64| {
            let inverse = if ratio > 0.0 { 1.0 / ratio + error } else { f64::INFINITY };
            ((1.0 - error) / inverse) as f32
        };
        let mode = odds.mode;
        let streams = f64::from(mode.streams());
        let (hopeless, sure) = (odds.hopeless_below(bits) * streams, odds.sure_from() * streams);
        Self {
            odds,
            bits,
            noise: by.noise_mw as f32,
            wide_noise: (by.noise_mw * mode.width_ratio()) as f32,
            sensed: (by.sense_mw * (1.0 + error)) as f32,
            unsensed: (by.sense_mw * (1.0 - error)) as f32,
            detected: above(by.sinr),
            undetected: below(by.sinr),
            hopeless: below(hopeless),
            not_hopeless: above(hopeless),
            sure: above(sure),
            not_sure: below(sure),
            error,
        }
    }

    /// Whether a frame at this level and ratio is detected, and to be decoded or not by chance.
    pub(super) fn is_open(&self, level: f32, ratio: f32) -> bool {
        // Noise over the width is no less than that of detection.
        let is_held = level >= self.sensed && ratio >= self.detected;
        is_held && ratio >= self.not_hopeless && ratio < self.not_sure
    }
}

/// Probabilities of decoding frames of one length in one mode.
#[derive(Debug)]
pub(super) struct Curve {
    mode: Mode,
    bits: f64,
    /// The first ratio, as [`place`] numbers them.
    first: u32,
    /// For each ratio; not a number before it was asked for.
    successes: Vec<f64>,
}

/// Number of the point of a curve at or before a ratio.
const fn place(ratio: f32) -> u32 {
    ratio.to_bits() >> CURVE_SHIFT
}

impl Curve {
    /// Probabilities at the points before and after a ratio that has this relative error.
    pub(super) fn around(&mut self, ratio: f32, error: f64) -> Option<(f64, f64)> {
        let error = error * (f64::from(ratio) + 1.0);
        let edge = |factor: f64| place((f64::from(ratio) * factor) as f32);
        let (below, above) = (edge(1.0 - error), edge(1.0 + error) + 1);
        Some((self.success(below)?, self.success(above)?))
    }

    fn success(&mut self, place: u32) -> Option<f64> {
        let index = place.checked_sub(self.first)?;
        let success = self.successes.get_mut(index as usize)?;
        if success.is_nan() {
            let ratio = f64::from(f32::from_bits(place << CURVE_SHIFT));
            let sinr = ratio / f64::from(self.mode.streams());
            *success = error_model::success(self.mode.modulation(), sinr, self.bits);
        }
        Some(*success)
    }
}

impl Collision {
    pub(super) fn sum_levels(&mut self, list: &[Transmission], levels: &Levels, radios: usize) {
        let last = list.last().map_or(0, |tx| tx.id);
        if core::mem::replace(&mut self.summed, last) == last {
            return;
        }
        if self.levels.is_empty() {
            let rows = (0..radios as u32).flat_map(|from| levels.row(from));
            self.levels.extend(rows.map(|level| *level as f32));
        }
        let row = |tx: &Transmission| &self.levels[tx.from as usize * radios..][..radios];
        let higher = |a: f32, b: f32| if a > b { a } else { b };
        let [first, rest @ ..] = list else { return };
        self.loudest.clear();
        self.loudest.extend_from_slice(row(first));
        self.sums.clone_from(&self.loudest);
        // Two rows at a time, as the sums take as long to read and write as a row.
        let (pairs, single) = rest.as_chunks();
        for [a, b] in pairs {
            let sums = self.loudest.iter_mut().zip(&mut self.sums);
            for (((loudest, sum), a), b) in sums.zip(row(a)).zip(row(b)) {
                *loudest = higher(*loudest, higher(*a, *b));
                *sum += *a + *b;
            }
        }
        for tx in single {
            let sums = self.loudest.iter_mut().zip(&mut self.sums);
            for ((loudest, sum), level) in sums.zip(row(tx)) {
                *loudest = higher(*loudest, *level);
                *sum += *level;
            }
        }
    }

    /// Judges all radios as far as their ratios are clear of the thresholds: as receivers of the
    /// frame from `from`, or of whichever they hold.
    pub(super) fn judge(&mut self, by: &Bounds, from: Option<u32>) {
        let radios = self.loudest.len();
        let row = match from {
            Some(from) => &self.levels[from as usize * radios..][..radios],
            None => &self.loudest,
        };
        self.ratios.resize(radios, 0.0);
        self.receptions.resize(radios);
        let Receptions { kinds, late, .. } = &mut self.receptions;
        let of = self.loudest.iter().zip(&self.sums).zip(row);
        let to = self.ratios.iter_mut().zip(kinds).zip(late);
        for (((level, sum), own), ((ratio, kind), late)) in of.zip(to) {
            let others = sum - level;
            let detection = level / (by.noise + others);
            *ratio = level / (by.wide_noise + others);
            let is_held = (detection >= by.detected) & (*level >= by.sensed);
            let is_other = *own < *level;
            let is_undetected = (detection < by.undetected) | (*level < by.unsensed) | is_other;
            let mut found =
                if is_held & (*ratio < by.hopeless) { Receptions::ERRORED } else { OPEN };
            found = if is_held & (*ratio >= by.sure) { Receptions::DECODED } else { found };
            *kind = if is_undetected { Receptions::ENERGY } else { found };
            *late = if is_undetected { 0 } else { Receptions::LATE };
        }
    }

    /// Whether `list` is of a collision that was judged as a whole.
    pub(super) fn is_under_way(&self, list: &[Transmission]) -> bool {
        self.is_whole && list.last().is_some_and(|tx| tx.id == self.judged)
    }

    /// Finds the curve for the present collision.
    pub(super) fn choose_curve(&mut self, by: &Bounds) {
        let (mode, bits) = (by.odds.mode, by.bits);
        let known = self.curves.iter().position(|curve| curve.mode == mode && curve.bits == bits);
        self.curve = known.unwrap_or_else(|| {
            if self.curves.len() == CURVES {
                self.curves.remove(0);
            }
            let (first, successes) = (place(by.hopeless), vec![f64::NAN; CURVE_POINTS]);
            self.curves.push(Curve { mode, bits, first, successes });
            self.curves.len() - 1
        });
    }
}
