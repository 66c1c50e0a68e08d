//! Judges receptions of a [`Collision`] by the radios that its frames are not for.

use super::super::contention::Receptions;
use super::blocks::WIDTH;
use super::collision::{Bounds, Collision, OPEN};
use super::together::Detection;
use super::transmission::Transmission;
use super::{Air, BROADCAST};
use crate::channel::FrameKind;
use fairwave_units::Instant;

/// Ratio above which a receiver detects but one of several preambles, by a clear lead.
const MIN_DETECTION: f64 = 1.01;

/// Beyond the error of a computed probability.
const SLACK: f64 = 1e-9;

/// Probabilities between this and its complement are neither 0 nor 1 in floating point.
const SURELY_OPEN: f64 = 1e-15;

impl Air {
    /// Returns the radios by their places in [`Receptions`].
    pub(in super::super) fn order(&self) -> &[u32] {
        &self.collision.order
    }

    /// Receptions of `tx`, which ends, by all radios that it is not for, where all that is on the
    /// air began together; of all those frames at the first, where they end together. Else nothing.
    /// `unit` draws a number from 0 to 1 for a radio whose reception is open.
    pub(in super::super) fn receive_together(
        &mut self,
        tx: &Transmission,
        mut unit: impl FnMut(u32) -> f64,
    ) -> Option<&mut Receptions> {
        if !self.is_collision() || self.is_judged(tx) {
            return None;
        }
        let is_whole = self.list.iter().all(|other| is_alike(tx, other));
        if !is_whole && !has_receiver(tx) {
            return None;
        }
        self.cut(tx);
        let bits = self.stretches[0].bits;
        let odds = self.odds_of(tx.mode);
        let Self { noise_mw, sense_mw, detection: sinr, .. } = *self;
        let by = Detection { noise_mw, sense_mw, sinr };
        let bounds = Bounds::new(by, self.list.len(), odds, bits);
        let mut collision = core::mem::take(&mut self.collision);
        collision.is_whole = is_whole;
        collision.judged = if is_whole { self.list.last().map_or(0, |tx| tx.id) } else { tx.id };
        collision.judge(&self.list, &self.levels, &bounds, (!is_whole).then_some(tx.from));
        collision.choose_curve(&bounds);
        collision.receptions.decoded = tx.decoded();
        let mut last = None;
        for other in &self.list {
            collision.leave_out(other.from);
            // Mostly all frames are for one radio, the access point.
            if is_whole && last.replace(other.to) != Some(other.to) && self.is_for(other.to) {
                collision.leave_out(other.to);
            }
        }
        if !is_whole {
            collision.leave_out(tx.to);
        }
        self.decide_open(tx, &mut collision, &bounds, &mut unit);
        debug_assert!(self.agrees(tx, &collision, &bounds), "{:?}", collision.receptions);
        self.collision = collision;
        Some(&mut self.collision.receptions)
    }

    /// Whether all that is on the air began together, at levels that do not change.
    fn is_collision(&self) -> bool {
        let start = self.list.first().map(|tx| tx.start);
        self.levels.is_constant()
            && self.decoder.is_some()
            && self.detection > MIN_DETECTION
            && self.horizon == Instant::ZERO
            && self.list.iter().all(|tx| Some(tx.start) == start)
    }

    /// Whether the bystanders of `tx` were judged.
    pub(super) fn is_judged(&self, tx: &Transmission) -> bool {
        let last = self.list.last().map_or(0, |tx| tx.id);
        self.collision.judged == if self.collision.is_whole { last } else { tx.id }
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

    /// Decides the receptions that the comparison of levels left open.
    fn decide_open(
        &mut self,
        tx: &Transmission,
        collision: &mut Collision,
        by: &Bounds,
        unit: &mut impl FnMut(u32) -> f64,
    ) {
        for index in 0..collision.judged_alone.len() {
            let first = collision.judged_alone[index] as usize * WIDTH;
            let (kinds, _) = collision.receptions.kinds[first..].as_chunks::<WIDTH>();
            if !kinds[0].contains(&OPEN) {
                continue;
            }
            for place in first..first + WIDTH {
                if collision.receptions.kinds[place] == OPEN {
                    let kind = self.decide(tx, place, collision, by, unit);
                    collision.receptions.set(place, kind);
                }
            }
        }
    }

    /// Decides a reception that the comparison of levels left open.
    fn decide(
        &mut self,
        tx: &Transmission,
        place: usize,
        collision: &mut Collision,
        by: &Bounds,
        unit: &mut impl FnMut(u32) -> f64,
    ) -> u8 {
        let radio = collision.order[place];
        let (loudest, ratio) = collision.of_place(place);
        let kind = |lost| if lost { Receptions::ERRORED } else { Receptions::DECODED };
        if self.stretches.len() == 1 && by.is_open(loudest, ratio) {
            let curve = &mut collision.curves[collision.curve];
            let open = |&(low, high): &(f64, f64)| low > SURELY_OPEN && high < 1.0 - SURELY_OPEN;
            if let Some((low, high)) = curve.around(ratio, by.error).filter(open) {
                let drawn = unit(radio);
                if drawn < 1.0 - high - SLACK {
                    return kind(true);
                }
                if drawn >= 1.0 - low + SLACK {
                    return kind(false);
                }
                let success = self.success_of_held(tx, radio, collision.is_whole, by);
                return kind(drawn < 1.0 - success.unwrap_or(0.0));
            }
        }
        match self.success_of_held(tx, radio, collision.is_whole, by) {
            None => Receptions::ENERGY,
            Some(success) => {
                let loss = 1.0 - success;
                kind(loss > 0.0 && (loss >= 1.0 || unit(radio) < loss))
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
    fn agrees(&mut self, tx: &Transmission, collision: &Collision, by: &Bounds) -> bool {
        (0..self.radios as u32).all(|radio| {
            let place = collision.places[radio as usize] as usize;
            let kind = collision.receptions.kinds[place];
            if if collision.is_whole { self.is_for(radio) } else { radio == tx.to } {
                return kind == Receptions::ENERGY;
            }
            match self.success_of_held(tx, radio, collision.is_whole, by) {
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
