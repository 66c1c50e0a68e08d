//! Radios that come and go: what a handover needs of a channel.

use super::mac::Phase;
use super::{Channel, RadioId};
use fairwave_units::{Dbm, Instant, Metres};

impl<P: Copy> Channel<P> {
    /// Takes a radio that roams off the channel and gives back the payloads of its frames, by
    /// category and the first to be sent first. `None` while it is in the middle of a frame
    /// exchange; that takes
    /// some milliseconds at most, so ask again.
    ///
    /// An absent radio neither sends nor hears. What was on the air when it left passes it by.
    pub fn leave(&mut self, radio: RadioId) -> Option<Vec<P>> {
        if self.macs[radio.0 as usize].phase != Phase::Waiting {
            return None;
        }
        let categories = self.contention.categories();
        let mut payloads = Vec::new();
        for contender in radio.0 * categories..(radio.0 + 1) * categories {
            let cw_min = self.edca(contender).cw_min;
            self.contenders[contender as usize].leave(cw_min, &mut payloads);
            self.contention.withdraw(contender);
        }
        self.air.set_present(radio.0, false);
        Some(payloads)
    }

    /// A radio that roams neither hears nor is heard from now on, and goes on trying to send what
    /// it has: frames are given up at their retry limit. [`Channel::leave`] ends that.
    pub fn part(&mut self, radio: RadioId) {
        self.air.set_present(radio.0, false);
    }

    /// Puts a radio that roams on the channel. It hears what begins from now on.
    pub fn join(&mut self, radio: RadioId) {
        self.air.set_present(radio.0, true);
    }

    /// Puts a radio elsewhere, whatever its path was. What is on the air is received as it was
    /// sent. False, and nothing is done, where no radio of the channel has a path on which it
    /// moves or is [steered](crate::Path::steered): then all levels are constant.
    pub fn place(&mut self, radio: RadioId, position: (Metres, Metres)) -> bool {
        self.air.levels.place(radio.0, position)
    }

    /// Mean level at which `to` would receive `from` at `now`, on the channel or not: what a
    /// station learns from the beacons of an access point.
    pub fn measure(&self, from: RadioId, to: RadioId, now: Instant) -> Dbm {
        self.air.levels().measure(from.0, to.0, now)
    }
}

#[cfg(test)]
mod tests;
