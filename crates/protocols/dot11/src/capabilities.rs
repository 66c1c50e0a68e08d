//! Capabilities of a radio; a pair of radios uses the common ones.

use crate::phy::Format;
use crate::{GuardInterval, Mode, Phy, Width};

/// The widths, narrowest first.
const WIDTHS: [Width; 4] = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];
/// The highest MCS of any format.
const HIGHEST_MCS: u8 = 11;

/// The limits of a radio beyond those of its PHY. They say nothing of modes without MCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Spatial streams.
    pub streams: u8,
    /// Widest channel.
    pub width: Width,
    /// Shortest guard interval.
    pub guard: GuardInterval,
    /// Highest MCS.
    pub mcs: u8,
}

impl Default for Capabilities {
    /// All that is modelled.
    fn default() -> Self {
        let (width, guard) = (Width::Mhz160, GuardInterval::Ns400);
        Self { streams: 4, width, guard, mcs: HIGHEST_MCS }
    }
}

impl Capabilities {
    /// Returns the common capabilities of both radios.
    pub fn common(self, other: Self) -> Self {
        Self {
            streams: self.streams.min(other.streams),
            width: self.width.min(other.width),
            guard: self.guard.max(other.guard),
            mcs: self.mcs.min(other.mcs),
        }
    }

    /// Reason for which a frame in `mode` is too much, if it is.
    pub fn refuses(self, mode: Mode) -> Option<TooMuch> {
        if mode.format() < Format::Ht {
            return None;
        }
        if mode.streams() > self.streams {
            Some(TooMuch::Streams { used: mode.streams(), most: self.streams })
        } else if mode.width() > self.width {
            Some(TooMuch::Width { used: mode.width(), most: self.width })
        } else if mode.guard() < self.guard {
            Some(TooMuch::Guard { used: mode.guard(), least: self.guard })
        } else if mode.mcs() > self.mcs {
            Some(TooMuch::Mcs { used: mode.mcs(), most: self.mcs })
        } else {
            None
        }
    }

    /// The modes of the newest format of `phy`, by streams, then width, then MCS; before HT all
    /// modes of `phy`.
    pub fn modes(self, phy: Phy) -> Vec<Mode> {
        if !phy.is_qos() {
            return phy.legacy_modes().collect();
        }
        let format = phy.format();
        // HE has no guard interval below 0.8 us.
        let guard =
            if format == Format::He { self.guard.max(GuardInterval::Ns800) } else { self.guard };
        let widest = self.width.min(phy.width);
        let widths = || WIDTHS.into_iter().filter(move |width| *width <= widest);
        let groups = (1..=self.streams).flat_map(|n| widths().map(move |width| (n, width)));
        let of = |(streams, width)| {
            (0..=self.mcs).filter_map(move |mcs| Mode::new(format, mcs, streams, width, guard).ok())
        };
        groups.flat_map(of).collect()
    }
}

/// Parts of a mode that a radio cannot receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// It has fewer spatial streams.
    #[error("{used} spatial streams, and it has {most}")]
    Streams {
        /// The mode's number.
        used: u8,
        /// The radio's number.
        most: u8,
    },
    /// Its widest channel is narrower.
    #[error("{} MHz, and it uses {} MHz", .used.mhz(), .most.mhz())]
    Width {
        /// That of the mode.
        used: Width,
        /// That of the radio.
        most: Width,
    },
    /// Its guard intervals are longer.
    #[error("a guard interval of {} ns, and its shortest is {} ns", .used.nanos(), .least.nanos())]
    Guard {
        /// That of the mode.
        used: GuardInterval,
        /// That of the radio.
        least: GuardInterval,
    },
    /// Its highest MCS is lower.
    #[error("MCS {used}, and its highest is {most}")]
    Mcs {
        /// That of the mode.
        used: u8,
        /// That of the radio.
        most: u8,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standard;

    const ONE: Capabilities =
        Capabilities { streams: 1, width: Width::Mhz40, guard: GuardInterval::Ns800, mcs: 9 };

    #[test]
    fn a_pair_uses_what_both_can() {
        let ap = Capabilities { streams: 4, width: Width::Mhz160, ..Capabilities::default() };
        assert_eq!(ap.common(ONE), ONE);
        assert_eq!(ONE.common(ap), ONE);
        let modes = ap.common(ONE).modes(Phy { width: Width::Mhz80, ..Phy::new(Standard::Ax) });
        let widths = [Width::Mhz20, Width::Mhz40].map(|w| (0..10).map(move |mcs| (mcs, 1, w)));
        let expected: Vec<_> = widths.into_iter().flatten().collect();
        let got: Vec<_> = modes.iter().map(|m| (m.mcs(), m.streams(), m.width())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_too_much_is_told() {
        let he = |mcs, streams, width| {
            Mode::new(Format::He, mcs, streams, width, GuardInterval::Ns800).unwrap()
        };
        let refused = |mode| ONE.refuses(mode).map(|why| why.to_string());
        let reported = |text: &str| Some(text.to_owned());
        assert_eq!(refused(he(9, 1, Width::Mhz40)), None);
        assert_eq!(refused(he(0, 4, Width::Mhz20)), reported("4 spatial streams, and it has 1"));
        assert_eq!(refused(he(0, 1, Width::Mhz80)), reported("80 MHz, and it uses 40 MHz"));
        assert_eq!(refused(he(11, 1, Width::Mhz20)), reported("MCS 11, and its highest is 9"));
        let short = Mode::new(Format::Vht, 0, 1, Width::Mhz20, GuardInterval::Ns400).unwrap();
        assert!(refused(short).unwrap().contains("400 ns"));
        assert!(Mode::ofdm().all(|mode| ONE.refuses(mode).is_none()));
    }
}
