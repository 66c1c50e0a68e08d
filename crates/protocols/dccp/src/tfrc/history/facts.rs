//! Inputs of the history, its rule, and the resulting intervals.

use fairwave_units::Instant;

/// Number of packets with higher numbers that make a missing packet a lost one (RFC 5348, section
/// 5.1).
pub const NDUPACK: u8 = 3;

/// Separation of loss events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Nominal times of arrival, interpolated: more than a round trip after the event's first
    /// (RFC 5348, section 5.2).
    #[default]
    Time,
    /// The window counter: a packet arrived in between whose counter is more than four quarters
    /// of a round trip ahead (RFC 4342, section 10.2).
    Counter,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its sequence number, extended.
    pub seq: u64,
    /// Time at which it came.
    pub at: Instant,
    /// Its window counter, 0 to 15; [`Rule::Time`] does not look at it.
    pub counter: u8,
    /// Whether it carries an ECN mark.
    pub marked: bool,
    /// Whether it carries data; others are no part of a loss interval's data length.
    pub data: bool,
}

/// One loss interval, as CCID 3 reports it (RFC 4342, section 8.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Packets after the last lost one.
    pub lossless: u64,
    /// Packets from the first to the last lost one of its event; 0 for the first interval.
    pub lossy: u64,
    /// Its length in data packets, from which p is computed.
    pub data: u64,
    /// Number of lost or marked packets (RFC 5622, the Dropped Packets option).
    pub dropped: u64,
}
