//! Frames that begin together, the usual collision, as the radios receive them that they are not
//! for.
//!
//! All radios are judged at once by levels in single precision. Each outcome is that of
//! [`Air::judge`], radio by radio in double precision: that is asked where a ratio lies within the
//! rounding errors of a threshold.

use super::super::contention::Receptions;
use super::super::levels::Levels;
use super::{Air, BROADCAST, ErrorModel, FrameKind, Odds, Transmission};
use crate::{Mode, error_model};
use fairwave_units::Instant;

/// A reception that the comparison of levels leaves open.
const OPEN: u8 = 3;

/// Curves that are kept, one for each mode and length.
const CURVES: usize = 8;

/// Ratio above which a receiver detects but one of several preambles, by a clear lead.
const LEAST_DETECTION: f64 = 1.01;

/// Bits of a ratio's mantissa that tell points of a curve apart: 64 points for 3 dB.
const CURVE_SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - 6;
/// Points of a curve, over 48 dB.
const CURVE_POINTS: usize = 16 << 6;

/// Beyond the error of a computed probability.
const SLACK: f64 = 1e-9;
/// Probabilities between this and its complement are neither 0 nor 1 in floating point.
const SURELY_OPEN: f64 = 1e-15;

#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The levels of [`Levels::row`], rounded; empty before the first collision.
    levels: Vec<f32>,
    /// Per radio: the highest level, the sum of all, and the ratio of that to noise and the rest.
    loudest: Vec<f32>,
    sums: Vec<f32>,
    ratios: Vec<f32>,
    pub(super) receptions: Receptions,
    /// Number of the last frame of the collision whose levels were summed up.
    summed: u64,
    /// Number of the frame that was judged; of the last of a collision that was as a whole.
    judged: u64,
    is_whole: bool,
    curves: Vec<Curve>,
    /// The curve of the present collision.
    curve: usize,
}

/// Thresholds of ratios and levels, moved by more than the rounding errors so that they are certain
/// to be passed.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    odds: Odds,
    /// Length of a frame.
    bits: f64,
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
    error: f64,
}

impl Bounds {
    fn new(air: &Air, odds: Odds, bits: f64) -> Self {
        // Each level is rounded by half a unit in the last place, and so is each addition. Four
        // times their sum leaves room for the operations that follow.
        let error = (air.list.len() as f64 + 8.0) * 4.0 * f64::from(f32::EPSILON) / 2.0;
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
            noise: air.noise_mw as f32,
            wide_noise: (air.noise_mw * mode.width_ratio()) as f32,
            sensed: (air.sense_mw * (1.0 + error)) as f32,
            unsensed: (air.sense_mw * (1.0 - error)) as f32,
            detected: above(air.detection),
            undetected: below(air.detection),
            hopeless: below(hopeless),
            not_hopeless: above(hopeless),
            sure: above(sure),
            not_sure: below(sure),
            error,
        }
    }

    /// Whether a frame at this level and ratio is detected, and to be decoded or not by chance.
    fn is_open(&self, level: f32, ratio: f32) -> bool {
        // Noise over the width is no less than that of detection.
        let is_held = level >= self.sensed && ratio >= self.detected;
        is_held && ratio >= self.not_hopeless && ratio < self.not_sure
    }
}

/// Probabilities of decoding frames of one length in one mode.
#[derive(Debug)]
struct Curve {
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
    fn around(&mut self, ratio: f32, error: f64) -> Option<(f64, f64)> {
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

impl Crowd {
    fn sum_levels(&mut self, list: &[Transmission], levels: &Levels, radios: usize) {
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
    fn judge(&mut self, by: &Bounds, from: Option<u32>) {
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
            let is_unheard = (detection < by.undetected) | (*level < by.unsensed) | is_other;
            let mut found =
                if is_held & (*ratio < by.hopeless) { Receptions::ERRORED } else { OPEN };
            found = if is_held & (*ratio >= by.sure) { Receptions::DECODED } else { found };
            *kind = if is_unheard { Receptions::ENERGY } else { found };
            *late = if is_unheard { 0 } else { Receptions::LATE };
        }
    }

    /// Whether `list` is of a collision that was judged as a whole.
    pub(super) fn is_under_way(&self, list: &[Transmission]) -> bool {
        self.is_whole && list.last().is_some_and(|tx| tx.id == self.judged)
    }

    /// Finds the curve for the present collision.
    fn choose_curve(&mut self, by: &Bounds) {
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

impl Air {
    /// Receptions of `tx`, which ends, by all radios that it is not for, where all that is on the
    /// air began together; of all those frames at the first, where they end together. Else nothing.
    /// `unit` draws a number from 0 to 1 for a radio whose reception is open.
    pub(in super::super) fn receive_together(
        &mut self,
        tx: &Transmission,
        mut unit: impl FnMut(u32) -> f64,
    ) -> Option<&mut Receptions> {
        if !self.is_crowd() || self.is_judged(tx) {
            return None;
        }
        let is_whole = self.list.iter().all(|other| is_alike(tx, other));
        if !is_whole && !has_receiver(tx) {
            return None;
        }
        self.cut(tx);
        let bits = self.stretches[0].bits;
        let odds = self.odds_of(tx.mode);
        let bounds = Bounds::new(self, odds, bits);
        let mut crowd = core::mem::take(&mut self.crowd);
        crowd.sum_levels(&self.list, &self.levels, self.radios);
        crowd.is_whole = is_whole;
        crowd.judged = if is_whole { crowd.summed } else { tx.id };
        crowd.judge(&bounds, (!is_whole).then_some(tx.from));
        crowd.choose_curve(&bounds);
        crowd.receptions.decoded = tx.decoded();
        for other in &self.list {
            crowd.receptions.set(other.from as usize, Receptions::ENERGY);
            if is_whole && self.is_for(other.to) {
                crowd.receptions.set(other.to as usize, Receptions::ENERGY);
            }
        }
        if !is_whole {
            crowd.receptions.set(tx.to as usize, Receptions::ENERGY);
        }
        for first in (0..self.radios).step_by(8) {
            let last = self.radios.min(first + 8);
            if !crowd.receptions.kinds[first..last].contains(&OPEN) {
                continue;
            }
            for radio in first..last {
                if crowd.receptions.kinds[radio] == OPEN {
                    let kind = self.look(tx, radio, &mut crowd, &bounds, &mut unit);
                    crowd.receptions.set(radio, kind);
                }
            }
        }
        debug_assert!(self.agrees(tx, &crowd, &bounds), "{:?}", crowd.receptions);
        self.crowd = crowd;
        Some(&mut self.crowd.receptions)
    }

    /// Whether all that is on the air began together, at levels that do not change.
    fn is_crowd(&self) -> bool {
        let start = self.list.first().map(|tx| tx.start);
        self.levels.is_constant()
            && self.config.errors == ErrorModel::Snr
            && self.detection > LEAST_DETECTION
            && self.horizon == Instant::ZERO
            && self.list.iter().all(|tx| Some(tx.start) == start)
    }

    /// Whether the bystanders of `tx` were judged.
    pub(super) fn is_judged(&self, tx: &Transmission) -> bool {
        let last = self.list.last().map_or(0, |tx| tx.id);
        self.crowd.judged == if self.crowd.is_whole { last } else { tx.id }
    }

    /// The frame that a radio holds of those that began together: its place, and its level and that
    /// of the others in milliwatts.
    pub(super) fn held_of_all(&self, radio: u32) -> Option<(usize, f64, f64)> {
        let (mut place, mut level) = (0, 0.0);
        for (index, tx) in self.list.iter().enumerate() {
            if tx.from == radio {
                return None;
            }
            let own = self.level(tx.from, radio);
            if own >= level {
                (place, level) = (index, own);
            }
        }
        let rest = self.list.iter().enumerate().filter(|(index, _)| *index != place);
        let others = rest.fold(0.0, |sum, (_, tx)| sum + self.level(tx.from, radio));
        let detected = level >= self.detection * (self.noise_mw + others);
        (level >= self.sense_mw && detected).then_some((place, level, others))
    }

    /// Whether the frame that a radio holds is for it.
    fn is_for(&self, radio: u32) -> bool {
        self.held_of_all(radio).is_some_and(|(place, ..)| self.list[place].to == radio)
    }

    /// Decides a reception that the comparison of levels left open.
    fn look(
        &mut self,
        tx: &Transmission,
        radio: usize,
        crowd: &mut Crowd,
        by: &Bounds,
        unit: &mut impl FnMut(u32) -> f64,
    ) -> u8 {
        let ratio = crowd.ratios[radio];
        let kind = |lost| if lost { Receptions::ERRORED } else { Receptions::DECODED };
        if self.stretches.len() == 1 && by.is_open(crowd.loudest[radio], ratio) {
            let curve = &mut crowd.curves[crowd.curve];
            let open = |&(low, high): &(f64, f64)| low > SURELY_OPEN && high < 1.0 - SURELY_OPEN;
            if let Some((low, high)) = curve.around(ratio, by.error).filter(open) {
                let drawn = unit(radio as u32);
                if drawn < 1.0 - high - SLACK {
                    return kind(true);
                }
                if drawn >= 1.0 - low + SLACK {
                    return kind(false);
                }
                let success = self.success_of_held(tx, radio as u32, crowd.is_whole, by);
                return kind(drawn < 1.0 - success.unwrap_or(0.0));
            }
        }
        match self.success_of_held(tx, radio as u32, crowd.is_whole, by) {
            None => Receptions::ENERGY,
            Some(success) => {
                let loss = 1.0 - success;
                kind(loss > 0.0 && (loss >= 1.0 || unit(radio as u32) < loss))
            }
        }
    }

    /// Probability that a radio decodes the frame that it holds, if that is `tx` or one of a
    /// collision that is judged as a whole.
    fn success_of_held(
        &mut self,
        tx: &Transmission,
        radio: u32,
        is_whole: bool,
        by: &Bounds,
    ) -> Option<f64> {
        let (place, level, others) = self.held_of_all(radio)?;
        let held = self.list[place];
        if !is_whole && held.id != tx.id {
            return None;
        }
        let sinr = self.sinr(&held, level, others);
        let is_hopeless = by.odds.certain(sinr, by.bits) == Some(0.0);
        Some(if is_hopeless { 0.0 } else { self.disturbed(&held, radio, &by.odds) })
    }

    /// Whether receptions are possible, by the levels of each radio alone.
    fn agrees(&mut self, tx: &Transmission, crowd: &Crowd, by: &Bounds) -> bool {
        (0..self.radios as u32).all(|radio| {
            let kind = crowd.receptions.kinds[radio as usize];
            if if crowd.is_whole { self.is_for(radio) } else { radio == tx.to } {
                return kind == Receptions::ENERGY;
            }
            match self.success_of_held(tx, radio, crowd.is_whole, by) {
                None => kind == Receptions::ENERGY,
                Some(success) if success <= 0.0 => kind == Receptions::ERRORED,
                Some(success) if success >= 1.0 => kind == Receptions::DECODED,
                Some(_) => kind != Receptions::ENERGY,
            }
        })
    }
}

/// Whether a frame has one receiver.
fn has_receiver(tx: &Transmission) -> bool {
    tx.to != BROADCAST && tx.to != tx.from
}

/// Whether `tx`, which ends, is the first to end of frames that all end now, of which `other` is
/// one, and is received as that is but for its level.
fn is_alike(tx: &Transmission, other: &Transmission) -> bool {
    (other.over == (other.id == tx.id))
        && other.end == tx.end
        && (other.kind, other.mode) == (tx.kind, tx.mode)
        && (other.bytes, other.mpdus) == (tx.bytes, tx.mpdus)
        && other.reserved_until == tx.reserved_until
        && other.kind != FrameKind::Rts
        && has_receiver(other)
}
