//! Inputs, outputs and counts of a table.

use crate::policy::{Class, Weight};
use fairwave_units::Db;
use fairwave_wire::ethernet::Mac;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{self, CentiDb};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A station that may report: one that is associated.
#[derive(Clone, Debug)]
pub struct Station {
    /// Its link address, by which it is known.
    pub link: Mac,
    /// The key that it shares with this access point. Without one it can only be believed in the
    /// format of the paper, if that is on.
    pub key: Option<Key>,
    /// Its IPv4 address, if the access point knows it: a report that claims another is refused.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address, likewise.
    pub ipv6: Option<Ipv6Addr>,
}

/// A frame of type [`soc::ETHER_TYPE`] as it was received: its first bytes, and its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    from: Mac,
    len: u8,
    bytes: [u8; soc::LEN],
}

impl ReceivedFrame {
    /// Makes a frame from this link address with this payload. It keeps no more than the length of
    /// a report: the rest is not for the table.
    pub fn new(from: Mac, payload: &[u8]) -> Self {
        let len = payload.len().min(soc::LEN);
        let mut bytes = [0; soc::LEN];
        bytes[..len].copy_from_slice(&payload[..len]);
        Self { from, len: len as u8, bytes }
    }

    /// Link address of the frame's sender.
    pub const fn from(&self) -> Mac {
        self.from
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A fact for a [`super::Table`].
#[derive(Clone, Debug)]
pub enum TableInput {
    /// A station associated, or its key or addresses changed. Its sequence continues if the key is
    /// the one it had.
    Register(Station),
    /// A station left for good: all about it is forgotten, and its old reports could be replayed
    /// if it came back with the same key.
    Forget(Mac),
    /// A report arrived.
    Report(ReceivedFrame),
}

/// A weight that changed; a scheduler's to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightChange {
    /// The host.
    pub station: Mac,
    /// Class of its traffic.
    pub class: Class,
    /// From now on.
    pub weight: Weight,
}

/// Observations of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// A report was believed.
    Reported {
        /// The station.
        station: Mac,
        /// Reported value.
        reported: CentiDb,
        /// Counted value: no less than the floor.
        soc: Db,
    },
    /// A report did not come.
    Missed {
        /// The station.
        station: Mac,
        /// Estimate of its SoC now.
        soc: Db,
        /// Number of missing reports since the last received one.
        misses: u32,
    },
    /// The SoC of a station has expired after its silence.
    AgedOut {
        /// The station.
        station: Mac,
    },
    /// A station has ended reporting, and its SoC has expired.
    Ended {
        /// The station.
        station: Mac,
    },
    /// A station without a key made room for another.
    Evicted {
        /// The station.
        station: Mac,
    },
    /// Something was not believed; no weight has changed by it.
    Refused {
        /// The link address it came from.
        from: Mac,
        /// Reason.
        why: Refusal,
    },
}

/// Reason for which a report, or a registration, is refused. In this order the reasons are looked
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Too short for any format.
    Truncated,
    /// A version that this table does not know.
    UnknownVersion,
    /// Another experiment's frame, or a field with a value that it cannot have.
    Malformed,
    /// The paper's unsealed format, where it is off or the station has a key.
    Unsealed,
    /// The station is not registered, or its report is sealed and it has no key.
    Unknown,
    /// It claims to be of another station than the frame's sender.
    WrongSender,
    /// The tag is not one of the station's key.
    Forged,
    /// It claims an IP address that the station does not have.
    WrongAddress,
    /// Its sequence number was there before, or is too old to decide.
    Replayed,
    /// A later one overtook it, or it was under way for too long.
    Stale,
    /// The station reports more often than it may.
    Flooding,
    /// There is no room for another station.
    Full,
}

impl Refusal {
    /// Every reason, in the order of counters and tables.
    pub const ALL: [Self; 12] = [
        Self::Truncated,
        Self::UnknownVersion,
        Self::Malformed,
        Self::Unsealed,
        Self::Unknown,
        Self::WrongSender,
        Self::Forged,
        Self::WrongAddress,
        Self::Replayed,
        Self::Stale,
        Self::Flooding,
        Self::Full,
    ];

    /// Its name in columns and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::UnknownVersion => "unknown_version",
            Self::Malformed => "malformed",
            Self::Unsealed => "unsealed",
            Self::Unknown => "unknown",
            Self::WrongSender => "wrong_sender",
            Self::Forged => "forged",
            Self::WrongAddress => "wrong_address",
            Self::Replayed => "replayed",
            Self::Stale => "stale",
            Self::Flooding => "flooding",
            Self::Full => "full",
        }
    }
}

/// Counts of events from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reports believed.
    pub accepted: u64,
    /// Reports among them in the paper's unsealed format.
    pub compat: u64,
    /// Reports that did not come.
    pub missed: u64,
    /// Stations whose SoC was forgotten after long silence.
    pub aged_out: u64,
    /// Stations without a key that made room.
    pub evicted: u64,
    /// Refusals, by [`Refusal::ALL`]'s order.
    pub refused: [u64; Refusal::ALL.len()],
}

impl Counters {
    /// Returns the number of refusals for this reason.
    pub const fn refused_for(&self, why: Refusal) -> u64 {
        self.refused[why as usize]
    }

    pub(super) const fn refuse(&mut self, why: Refusal) {
        self.refused[why as usize] += 1;
    }
}
