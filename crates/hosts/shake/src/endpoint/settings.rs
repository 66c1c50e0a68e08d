//! Settings of a session, which its opener chooses and tells in the handshake.

use super::carrier::MAX_WEIGHT;
use super::route::MAX_PATHS;
use fairwave_units::BitRate;

/// Use that a session makes of its paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One SHAKE connection for each stream: the paths' rates add up.
    #[default]
    Shake,
    /// A TCP connection for each path, over which blocks are spread by the paths' bandwidths: the
    /// predecessor of TCP SHAKE (Iida, Ishihara and Mizuno, section 3.2.4).
    Multi,
    /// One SHAKE connection that sends everything on each path: the delay of the best copy.
    Redundant,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shake, Self::Multi, Self::Redundant];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shake => "shake",
            Self::Multi => "multi",
            Self::Redundant => "redundant",
        }
    }
}

/// Settings of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    /// Weights of a set's connections, one for each path.
    pub(super) weights: Vec<u32>,
    /// Bandwidths of the paths, where this end knows them.
    pub(super) rates: Vec<Option<BitRate>>,
}

impl Settings {
    /// The octets that the handshake carries: the mode, and the weights of a set.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mode = Mode::ALL.iter().position(|mode| *mode == self.mode);
        let weights = self.weights.iter().flat_map(|weight| weight.to_be_bytes());
        std::iter::once(mode.expect("a mode of all") as u8).chain(weights).collect()
    }

    /// Settings of a peer.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (mode, weights) = bytes.split_first()?;
        let mode = *Mode::ALL.get(usize::from(*mode))?;
        let (weights, []) = weights.as_chunks() else { return None };
        let weights: Vec<u32> = weights.iter().map(|weight| u32::from_be_bytes(*weight)).collect();
        let are_fine = (1..=MAX_PATHS).contains(&weights.len())
            && weights.iter().all(|weight| (1..=MAX_WEIGHT).contains(weight));
        are_fine.then_some(Self { mode, weights, rates: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written_and_wrong_ones_are_refused() {
        for mode in Mode::ALL {
            let settings = Settings { mode, weights: vec![15, 4], rates: Vec::new() };
            assert_eq!(Settings::parse(&settings.bytes()), Some(settings));
        }
        for wrong in [&[][..], &[0], &[3, 0, 0, 0, 1], &[0, 0, 0, 1], &[0, 0, 0, 0, 0]] {
            assert_eq!(Settings::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(Settings::parse(&[&[0][..], &[0, 0, 0, 1].repeat(17)].concat()), None);
    }
}
