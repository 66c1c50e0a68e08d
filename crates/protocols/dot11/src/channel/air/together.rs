//! Frames that begin together, the usual collision, and the radios that hold on to each.
//!
//! Of preambles that begin together a receiver can detect only the strongest, the last of
//! equals, and nothing but they interferes with it. This is worked out once for all receivers,
//! transmitter by transmitter along its row of levels.

use super::super::levels::Levels;
use super::transmission::Transmission;

/// Conditions for the detection of a preamble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    pub(super) noise_mw: f64,
    pub(super) sense_mw: f64,
    /// Minimum SINR, as a factor.
    pub(super) sinr: f64,
}

#[derive(Debug, Default)]
pub(super) struct Together {
    /// For how many transmissions this holds, and the number of the last.
    of: (usize, u64),
    /// Per radio: the strongest level, whose it is as an index of transmissions, and the sum of
    /// the other levels in the order of transmissions.
    loudest: Vec<f64>,
    whose: Vec<u32>,
    others: Vec<f64>,
    /// Radios by the transmission that they hold.
    holders: Vec<Vec<u32>>,
}

impl Together {
    /// Computes the radios that hold each of `list`, all of which began together, unless that is
    /// known.
    pub(super) fn find_holders(&mut self, list: &[Transmission], levels: &Levels, by: Detection) {
        let of = (list.len(), list.last().map_or(0, |tx| tx.id));
        if self.of != of {
            self.of = of;
            self.find_loudest(list, levels);
            self.sum_others(list, levels);
            self.list_holders(list, by);
        }
    }

    fn find_loudest(&mut self, list: &[Transmission], levels: &Levels) {
        self.loudest.clear();
        self.whose.clear();
        for (index, tx) in list.iter().enumerate() {
            let row = levels.row(tx.from);
            self.loudest.resize(row.len(), 0.0);
            self.whose.resize(row.len(), 0);
            let best = self.loudest.iter_mut().zip(&mut self.whose);
            for ((loudest, whose), level) in best.zip(row) {
                let is_louder = *level >= *loudest;
                *loudest = if is_louder { *level } else { *loudest };
                *whose = if is_louder { index as u32 } else { *whose };
            }
        }
        // Whoever transmits, receives nothing.
        for tx in list {
            self.loudest[tx.from as usize] = 0.0;
        }
    }

    fn sum_others(&mut self, list: &[Transmission], levels: &Levels) {
        self.others.clear();
        self.others.resize(self.loudest.len(), 0.0);
        for (index, tx) in list.iter().enumerate() {
            let sums = self.others.iter_mut().zip(&self.whose);
            for ((sum, whose), level) in sums.zip(levels.row(tx.from)) {
                *sum += if *whose == index as u32 { 0.0 } else { *level };
            }
        }
    }

    fn list_holders(&mut self, list: &[Transmission], by: Detection) {
        if self.holders.len() < list.len() {
            self.holders.resize_with(list.len(), Vec::new);
        }
        self.holders.iter_mut().for_each(Vec::clear);
        let sensed = self.loudest.iter().zip(&self.others).zip(&self.whose);
        for (radio, ((level, others), whose)) in sensed.enumerate() {
            if *level >= by.sense_mw && *level >= by.sinr * (by.noise_mw + others) {
                self.holders[*whose as usize].push(radio as u32);
            }
        }
    }

    /// Takes the list of radios that hold the transmission `index`; give it back with
    /// [`Together::return_holders`].
    pub(super) fn take_holders(&mut self, index: usize) -> Vec<u32> {
        core::mem::take(&mut self.holders[index])
    }

    pub(super) fn return_holders(&mut self, index: usize, holders: Vec<u32>) {
        self.holders[index] = holders;
    }

    /// Returns the interference with the frame that `radio` holds, in milliwatts.
    pub(super) fn interference(&self, radio: u32) -> f64 {
        self.others[radio as usize]
    }
}
