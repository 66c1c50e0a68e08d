//! Settings of a host.

use super::settings::Mode;
use crate::noise::Psk;
use fairwave_shake::Profile;
use fairwave_units::BitRate;

/// Settings of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// The secret of both ends.
    pub psk: Psk,
    /// Use of the paths, for sessions that this end opens.
    pub mode: Mode,
    /// Bandwidths of these paths, by id, where they are known.
    pub rates: Vec<Option<BitRate>>,
    /// Settings of connections, but for the MSS.
    pub shake: fairwave_shake::Config,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Maximum number of streams of a session.
    pub max_streams: usize,
}

impl Config {
    /// Settings with this secret, and no more memory than a small host has.
    pub fn new(psk: Psk) -> Self {
        Self {
            psk,
            mode: Mode::Shake,
            rates: Vec::new(),
            shake: Profile::Modern.config(),
            max_sessions: 1_024,
            max_streams: 1_024,
        }
    }
}
