//! Settings of a host.

use super::carrier::{MORE_HEAD, SetConfig};
use super::path::MAX_MSS;
use super::settings::Mode;
use crate::noise::Psk;
use fairwave_shake::{Blest, BuildGrowth, BuildScheduler, Profile, Redundant, Rules, Uncoupled};
use fairwave_units::{BitRate, Duration};

/// Payload of a segment in a packet of IPv4 with 1500 bytes.
pub fn max_mss(mode: Mode) -> u32 {
    match mode {
        Mode::Shake | Mode::Redundant => MAX_MSS.into(),
        Mode::Multi => (MAX_MSS - MORE_HEAD).into(),
    }
}

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
    /// Maximum payload of a segment in bytes. The paths' MTUs may allow less.
    pub max_mss: u16,
    /// Scheduler of connections in [`Mode::Shake`].
    pub scheduler: BuildScheduler,
    /// Growth of their windows.
    pub growth: BuildGrowth,
    /// Settings of sets of TCP connections.
    pub set: SetConfig,
    /// Whether streams note when their data first leaves ([`crate::Monitor::take_departures`]).
    pub notes_departures: bool,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Maximum number of streams of a session.
    pub max_streams: usize,
    /// Maximum bytes that the streams of a session buffer in each direction.
    pub max_buffered: u64,
    /// Maximum bytes that the streams of all sessions buffer in each direction, beyond the 64 KiB
    /// that each stream may count on.
    pub max_buffered_in_all: u64,
}

/// Least retransmission timeout. TCP's leaves room for delayed ACKs, which SHAKE does not have;
/// what a link that fails without a sign had in flight is late by this.
const MIN_RTO: Duration = Duration::from_millis(100);
/// Bytes of buffer that each stream may count on.
pub(super) const LEAST_SHARE: u64 = 64 << 10;
/// Part of what is left that a new stream may take beyond that.
pub(super) const PART: u64 = 16;

impl Config {
    /// Bytes that a new stream of a session may buffer, beside `streams` that may buffer `taken`
    /// bytes in all. As many streams as there may be stay within the session's maximum.
    pub(super) fn share(&self, streams: usize, taken: u64) -> u32 {
        let after = self.max_streams.saturating_sub(streams + 1) as u64;
        let left = self.max_buffered.saturating_sub(taken + after * LEAST_SHARE);
        (left / PART).clamp(LEAST_SHARE, u32::MAX.into()) as u32
    }

    /// Settings with this secret, and no more memory than a small host has.
    pub fn new(psk: Psk) -> Self {
        Self {
            psk,
            mode: Mode::Shake,
            rates: Vec::new(),
            shake: fairwave_shake::Config { min_rto: MIN_RTO, ..Profile::Modern.config() },
            max_mss: u16::MAX,
            scheduler: || Box::new(Blest),
            growth: || Box::new(Uncoupled),
            set: SetConfig::default(),
            notes_departures: false,
            max_sessions: 1_024,
            max_streams: 1_024,
            max_buffered: 256 << 20,
            max_buffered_in_all: 256 << 20,
        }
    }

    /// The rules of a SHAKE connection.
    pub(super) fn rules(&self, mode: Mode) -> Rules {
        let growth = (self.growth)();
        match mode {
            Mode::Shake | Mode::Multi => Rules { scheduler: (self.scheduler)(), growth },
            Mode::Redundant => Rules { scheduler: Box::new(Redundant), growth },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_wire::seal::Key;

    #[test]
    fn as_many_streams_as_there_may_be_stay_within_the_maximum() {
        let config = Config::new(Psk::of(&Key::new(b"a secret of the two ends").unwrap()));
        let most = u64::from(config.shake.send_buffer);
        let mut taken = 0;
        for streams in 0..config.max_streams {
            let share = u64::from(config.share(streams, taken)).min(most);
            assert!(share >= LEAST_SHARE);
            assert!(streams >= 8 || share == most, "few streams have all they ask for");
            taken += share;
        }
        assert!(taken <= config.max_buffered, "{taken}");
    }
}
