//! Radios' knowledge of their channel beside the frames that they exchange.

use super::{Channel, RadioId};
use fairwave_units::{Db, Instant};

impl<P: Copy> Channel<P> {
    /// Mean level over noise at which `to` would receive `from` at `now`: without fading, whether
    /// it could detect it or not.
    pub fn mean_snr(&self, from: RadioId, to: RadioId, now: Instant) -> Db {
        self.measure(from, to, now) - self.air.noise()
    }

    /// Returns the level over noise at which `to` would receive `from` at `now`, fading included,
    /// as in the registers of a network card. `None` if it is below carrier sense or too weak for
    /// the preamble.
    pub fn reading(&mut self, from: RadioId, to: RadioId, now: Instant) -> Option<Db> {
        let level = self.measure(from, to, now) + self.air.fading(from.0, to.0, now);
        let snr = level - self.air.noise();
        let detected = self.config.preamble_detection.is_none_or(|min| snr.0 >= min.0);
        (detected && level.0 >= self.config.carrier_sense.0).then_some(snr)
    }
}

#[cfg(test)]
mod tests;
