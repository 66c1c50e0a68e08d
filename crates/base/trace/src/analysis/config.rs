//! Settings of the analysis of captures.

use fairwave_units::Duration;

/// Settings of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of the intervals in which packets are counted; zero counts none.
    pub interval: Duration,
    /// Maximum number of streams watched at once. Where more are open, the closed one idle for
    /// longest is reported and dropped, and if none is closed, the open one.
    pub streams_max: usize,
    /// Maximum number of outstanding segments remembered of one end of a connection.
    pub segments_max: usize,
    /// Whether transport checksums are verified (and counted, no more).
    pub checksums: bool,
    /// A time without an ACK, while data is outstanding, from which on it is a gap.
    pub ack_gap: Duration,
    /// A time without progress, while data is outstanding, from which on it is starvation...
    pub starvation: Duration,
    /// ...if it is also this many mean round-trip times.
    pub starvation_rtts: u32,
    /// A time without packets, nothing being outstanding, from which on a stream was idle.
    pub idle: Duration,
    /// Minimum retransmission timeout to expect: Linux has 200 ms, RFC 6298 a second.
    pub rto_min: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            streams_max: 16_384,
            segments_max: 4_096,
            checksums: false,
            ack_gap: Duration::from_millis(500),
            starvation: Duration::from_secs(1),
            starvation_rtts: 4,
            idle: Duration::from_secs(1),
            rto_min: Duration::from_millis(200),
        }
    }
}
