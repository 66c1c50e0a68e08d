//! Values that the sender and its connection exchange.

use fairwave_units::{Duration, Instant};

/// A segment to send: where it begins, how much payload, and whether it ends in a FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// Stream offset of its first byte.
    pub(crate) start: u64,
    /// Bytes of payload.
    pub(crate) payload: u32,
    /// It carries a FIN after the payload.
    pub(crate) fin: bool,
    /// It is sent as ECN-capable.
    pub(crate) ect: bool,
    /// It carries the flag CWR.
    pub(crate) cwr: bool,
    /// It is the last of several segments that leave together.
    pub(crate) ends_burst: bool,
}

/// An acceptable ACK in the sender's terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// Cumulative acknowledgement, SND.UNA..=SND.NXT.
    pub(crate) una: u64,
    /// SACK blocks as `[left, right)` within the outstanding data.
    pub(crate) blocks: &'a [(u64, u64)],
    /// Duplicate that arrived (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
    /// It moves SND.UNA.
    pub(crate) advances: bool,
    /// It could be a duplicate by RFC 5681 section 2: no data, no SYN or FIN, same window.
    pub(crate) may_be_duplicate: bool,
    /// Echoed timestamp and the age of that value by the timestamp clock.
    pub(crate) echo: Option<(u32, Duration)>,
    /// It echoes a congestion mark (RFC 3168, flag ECE).
    pub(crate) ece: bool,
}

/// Time at which a segment was last sent, and its number among all transmissions of the connection.
///
/// RFC 8985 orders segments by the time of transmission, then by end sequence, because a clock that
/// ticks slower than segments leave cannot resolve more. The simulated host sends any number of
/// segments in the same nanosecond, new data before a retransmission included, whose end sequence
/// is the lower one. The number orders these as a clock that ticked for each would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) number: u64,
}

/// Findings of the sender, for the connection's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Fast recovery began.
    pub(crate) recovery_began: bool,
    /// Fast recovery ended.
    pub(crate) recovery_ended: bool,
    /// There is space to write again.
    pub(crate) space: bool,
}

/// The sender's part of the connection's statistics: see [`crate::Stats`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderStats {
    pub(crate) cwnd: u32,
    pub(crate) effective_window: u32,
    pub(crate) ssthresh: u32,
    pub(crate) flight: u32,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rto: Duration,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) acks_lost: u64,
    pub(crate) ecn_responses: u64,
    pub(crate) tail_probes: u64,
    pub(crate) spurious: u64,
}
