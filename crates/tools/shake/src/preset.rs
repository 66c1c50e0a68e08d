//! Presets of the use of paths.

use clap::ValueEnum;
use fairwave_shake_host::Mode;
use fairwave_shake_host::endpoint::Priority;

/// A use of the paths by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// The rates of all add up, metered ones among them
    Fastest,
    /// A metered link carries data only if the others need more than 2 s for the bytes that wait,
    /// or none of them works
    Cheapest,
    /// Everything goes over each link
    Redundant,
}

impl Preset {
    /// The mode of its sessions.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Fastest | Self::Cheapest => Mode::Shake,
            Self::Redundant => Mode::Redundant,
        }
    }

    /// The priority of a path.
    pub(crate) fn priority(self, is_metered: bool) -> Priority {
        match self {
            Self::Cheapest if is_metered => Priority::Backup,
            _ => Priority::Regular,
        }
    }
}
