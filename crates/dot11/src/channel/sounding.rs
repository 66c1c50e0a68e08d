//! What radios know of their channel beside the frames that they exchange.

use super::{Channel, RadioId};
use crate::propagation;
use fairwave_units::{Db, Dbm, Instant};

impl<P: Copy> Channel<P> {
    /// Mean level over noise at which `to` would receive `from` at `now`: without fading, whether
    /// it could detect it or not.
    pub fn mean_snr(&self, from: RadioId, to: RadioId, now: Instant) -> Db {
        self.measure(from, to, now) - self.noise()
    }

    /// The level over noise at which `to` would receive `from` at `now`, fading included: what the
    /// registers of a network card show. `None` if it is below carrier sense or too weak for the
    /// preamble.
    pub fn reading(&mut self, from: RadioId, to: RadioId, now: Instant) -> Option<Db> {
        // Means are brought up to date where `from` begins to send, which may be long ago.
        let last = Dbm::from_milliwatts(self.air.levels().mean(from.0, to.0));
        let fading = self.air.level_dbm(from.0, to.0, now) - last;
        let level = self.measure(from, to, now) + fading;
        let snr = level - self.noise();
        let detected = self.config.preamble_detection.is_none_or(|least| snr.0 >= least.0);
        (detected && level.0 >= self.config.carrier_sense.0).then_some(snr)
    }

    fn noise(&self) -> Dbm {
        propagation::noise(self.config.phy.bandwidth(), self.config.noise_figure)
    }
}

#[cfg(test)]
mod tests;
