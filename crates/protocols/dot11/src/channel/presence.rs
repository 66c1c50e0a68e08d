//! Radios that come and go, for handovers.

use super::mac::Phase;
use super::{Channel, RadioId};
use fairwave_units::{Dbm, Instant, Metres};

impl<P: Copy> Channel<P> {
    /// Takes a radio that roams off the channel and gives back the payloads of the frames that
    /// their receivers lack, by category and the first to be sent first. `None` while it is in the
    /// middle of a frame exchange; that takes some milliseconds at most, and it begins no other, so
    /// ask again.
    ///
    /// Receivers deliver the frames that they held back behind one of these: poll the channel.
    ///
    /// An absent radio neither sends nor receives. Frames on the air when it left pass it by.
    pub fn leave(&mut self, radio: RadioId) -> Option<Vec<P>> {
        let mac = &mut self.macs[radio.0 as usize];
        mac.is_leaving = mac.phase != Phase::Waiting;
        if mac.is_leaving {
            return None;
        }
        let categories = self.contention.categories();
        let mut payloads = Vec::new();
        for contender in radio.0 * categories..(radio.0 + 1) * categories {
            self.hand_up_all(contender);
            let cw_min = self.edca(contender).cw_min;
            self.contenders[contender as usize].leave(cw_min, &mut payloads, &mut self.released);
            self.contention.withdraw(contender);
        }
        self.air.set_present(radio.0, false);
        Some(payloads)
    }

    /// Takes a radio that roams off the air: it neither receives nor is received from now on, and
    /// continues to try to send its frames: they are dropped at their retry limit.
    /// [`Channel::leave`] ends that.
    pub fn part(&mut self, radio: RadioId) {
        self.air.set_present(radio.0, false);
    }

    /// Puts a radio that roams on the channel. It receives frames that begin from now on.
    pub fn join(&mut self, radio: RadioId) {
        self.air.set_present(radio.0, true);
    }

    /// Puts a radio elsewhere, whatever its path was. Frames on the air are received as they were
    /// sent. Returns false, and does nothing, where no radio of the channel has a path on which it
    /// moves or is [steered](crate::Path::steered): then all levels are constant.
    pub fn place(&mut self, radio: RadioId, position: (Metres, Metres)) -> bool {
        self.air.levels.place(radio.0, position)
    }

    /// Returns the mean level at which `to` would receive `from` at `now`, on the channel or not: a
    /// station's measurement of the beacons of an access point.
    pub fn measure(&self, from: RadioId, to: RadioId, now: Instant) -> Dbm {
        self.air.levels().measure(from.0, to.0, now)
    }
}

#[cfg(test)]
mod tests;
