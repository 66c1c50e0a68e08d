//! Receptions of frames that begin together, the usual collision, by the radios that they are not
//! for.
//!
//! Blocks of neighbours are judged at once by the extremes of their levels in single precision.
//! Where those do not decide, each radio of the block is judged by its levels. Where a ratio lies
//! within the rounding errors of a threshold, the radio is judged alone in double precision, so
//! that outcomes are those of `Air::receive`.

use super::super::contention::{BLOCK, Receptions};
use super::super::levels::Levels;
use super::blocks::{Blocks, Lanes, Sums, WIDTH};
use super::odds::Odds;
use super::together::Detection;
use super::transmission::Transmission;
use crate::Mode;
use crate::error_model::Decoder;
use wide::{i16x8, i32x8, u8x16};

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
    /// Radios by place, in an order of neighbours, and the place of each.
    pub(super) order: Vec<u32>,
    pub(super) places: Vec<u32>,
    /// Empty before the first collision.
    blocks: Blocks,
    /// Transmitters of the present collision.
    froms: Vec<u32>,
    /// By place, in blocks whose radios were judged: the highest level, and its ratio to noise and
    /// the rest.
    loudest: Vec<Lanes>,
    ratios: Vec<Lanes>,
    /// Blocks whose radios were judged.
    pub(super) judged_alone: Vec<u32>,
    /// By place.
    pub(super) receptions: Receptions,
    /// Number of the frame that was judged; of the last of a collision that was as a whole.
    pub(super) judged: u64,
    pub(super) is_whole: bool,
    decoder: Decoder,
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
    /// One less than that error.
    exact: f32,
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
            exact: (1.0 - error) as f32,
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
    decoder: Decoder,
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
            *success = self.decoder.success(self.mode, sinr, self.bits);
        }
        Some(*success)
    }
}

impl Collision {
    /// No collision yet of radios in this order.
    pub(super) fn new(order: Vec<u32>, decoder: Decoder) -> Self {
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(radio, place)| places[*radio as usize] = place);
        Self { order, places, decoder, ..Self::default() }
    }

    /// Judges all radios as far as their ratios are clear of the thresholds: as receivers of the
    /// frame from `from`, or of whichever they hold.
    pub(super) fn judge(
        &mut self,
        list: &[Transmission],
        levels: &Levels,
        by: &Bounds,
        from: Option<u32>,
    ) {
        if self.blocks.is_empty() {
            self.blocks = Blocks::new(levels, &self.order);
            self.loudest.resize(self.blocks.groups() * WIDTH, Lanes::default());
            self.ratios.clone_from(&self.loudest);
        }
        self.froms.clear();
        self.froms.extend(list.iter().map(|tx| tx.from));
        self.receptions.clear(self.order.len());
        self.judged_alone.clear();
        for group in 0..self.blocks.groups() {
            let sums = self.blocks.sum(&self.froms, group);
            let (received, found) = judge_group(&sums, by);
            let mut lanes = received.to_bitmask();
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let kind = found.as_array()[lane].to_bits() as u8;
                self.judge_block(group * WIDTH + lane, kind, &sums, by, from);
            }
        }
    }

    /// Judges the radios of a block, of which the extremes of levels say so much.
    fn judge_block(
        &mut self,
        block: usize,
        found: u8,
        sums: &Sums,
        by: &Bounds,
        from: Option<u32>,
    ) {
        let lane = block % WIDTH;
        let own = from.map(|from| self.blocks.extremes(from, block));
        if own.is_some_and(|(_, high)| high < sums.low_max.as_array()[lane]) {
            return;
        }
        let is_loudest = own.is_none_or(|(low, _)| low > sums.second.as_array()[lane]);
        self.receptions.touched.insert(block * WIDTH / BLOCK);
        let Receptions { kinds, late, .. } = &mut self.receptions;
        let kinds = &mut kinds.as_chunks_mut::<WIDTH>().0[block];
        let late = &mut late.as_chunks_mut::<WIDTH>().0[block];
        if found != OPEN && is_loudest {
            (*kinds, *late) = ([found; WIDTH], [Receptions::LATE; WIDTH]);
            return;
        }
        let (mut loudest, mut sum) = (Lanes::ZERO, Lanes::ZERO);
        for from in &self.froms {
            let levels = self.blocks.levels(*from, block);
            loudest = loudest.fast_max(*levels);
            sum += *levels;
        }
        let own = from.map_or(loudest, |from| *self.blocks.levels(from, block));
        let others = sum - loudest;
        let ratios = loudest / (others + by.wide_noise);
        let detections = loudest / (others + by.noise);
        let is_held = is_over(detections, by.detected) & is_over(loudest, by.sensed);
        let is_detected = is_over(detections, by.undetected) & is_over(loudest, by.unsensed);
        let is_received = is_detected & own.simd_ge(loudest);
        let (is_errored, is_decoded) = (is_under(ratios, by.hopeless), is_over(ratios, by.sure));
        let found = kinds_of(is_held & is_errored, is_held & is_decoded) & is_received;
        *kinds = narrow(found);
        *late = is_received.to_array().map(|is| is.to_bits() as i32 & Receptions::LATE);
        (self.loudest[block], self.ratios[block]) = (loudest, ratios);
        self.judged_alone.push(block as u32);
    }

    /// The highest level at a place of a block whose radios were judged, and its ratio to noise and
    /// the rest.
    pub(super) fn of_place(&self, place: usize) -> (f32, f32) {
        let (block, lane) = (place / WIDTH, place % WIDTH);
        (self.loudest[block].as_array()[lane], self.ratios[block].as_array()[lane])
    }

    /// Sets the reception of a radio that is on the air, or that a frame is for.
    pub(super) fn leave_out(&mut self, radio: u32) {
        self.receptions.set(self.places[radio as usize] as usize, Receptions::ENERGY);
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
            self.curves.push(Curve { decoder: self.decoder, mode, bits, first, successes });
            self.curves.len() - 1
        });
    }
}

/// Blocks whose radios may receive more than energy, and the kind that is the same for all of them,
/// else [`OPEN`].
fn judge_group(sums: &Sums, by: &Bounds) -> (Lanes, Lanes) {
    let (low, high) = (sums.low_max, sums.high_max);
    // The interference with the loudest frame is the sum of all highest levels without that of
    // this frame, or less. Its highest level is at least `low`, and it is `high` where no other
    // frame reaches `low`.
    let loudest = low.simd_gt(sums.second).select(high, low);
    let (min, max) = (sums.low - low, sums.high - loudest * by.exact);
    let is_detected = is_over(high, by.unsensed) & high.simd_ge((min + by.noise) * by.undetected);
    let is_held = is_over(low, by.sensed) & low.simd_ge((max + by.noise) * by.detected);
    let is_errored = is_held & high.simd_lt((min + by.wide_noise) * by.hopeless);
    let is_decoded = is_held & low.simd_ge((max + by.wide_noise) * by.sure);
    (is_detected, kinds_of(is_errored, is_decoded))
}

/// Where lanes are no lower than a threshold.
fn is_over(lanes: Lanes, threshold: f32) -> Lanes {
    lanes.simd_ge(Lanes::splat(threshold))
}

/// Where lanes are lower than a threshold.
fn is_under(lanes: Lanes, threshold: f32) -> Lanes {
    lanes.simd_lt(Lanes::splat(threshold))
}

/// The kinds of reception that are certain, as bits, else [`OPEN`].
fn kinds_of(is_errored: Lanes, is_decoded: Lanes) -> Lanes {
    let bits = |kind: u8| Lanes::splat(f32::from_bits(u32::from(kind)));
    debug_assert!((is_errored & is_decoded).none(), "a frame is decoded, and is not");
    // OPEN has the bits of both kinds: each certainty takes the other's away.
    let certain = (is_errored & bits(OPEN ^ Receptions::ERRORED))
        | (is_decoded & bits(OPEN ^ Receptions::DECODED));
    bits(OPEN) ^ certain
}

/// Kinds of reception as numbers of a byte.
fn narrow(kinds: Lanes) -> [u8; WIDTH] {
    let kinds = i32x8::new(kinds.to_array().map(|kind| kind.to_bits() as i32));
    let kinds = i16x8::from_i32x8_saturate(kinds);
    let twice = u8x16::narrow_i16x8(kinds, kinds).to_array();
    twice.as_chunks().0[0]
}
