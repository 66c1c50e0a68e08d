//! CCID 3: TFRC in DCCP (RFC 4342), and its common parts with CCID 4 (RFC 5622).
//!
//! Data packets carry no times: a window counter of four bits goes up every quarter of a round trip
//! ([`WindowCounter`]), and the receiver separates loss events by it. Feedback carries the loss
//! intervals themselves, so the sender computes p, and with its memory of its own packets it may
//! know better than the receiver ([`SenderConfig::split_gap_events`], [`crate::tfrc::Remedies`]).
//!
//! ECN nonces (RFC 3540) are historic since RFC 8311: their echo is always 0 and none is verified.

mod counter;
mod extend;
mod log;
mod notice;
mod receiver;
mod reported;
mod sender;
#[cfg(test)]
mod testing;
mod watch;

pub use counter::{CounterClock, WindowCounter};
pub(crate) use notice::HANDOVER;
pub(crate) use receiver::DROPPED_PACKETS;
pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Segment, Sender, SenderConfig};

/// Loss intervals that feedback reports, NINTERVAL + 1 (RFC 4342, section 8.6.1).
const REPORTED: usize = crate::tfrc::average::N + 1;

/// Differences of TFRC-SP (RFC 5622, RFC 4828).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Variant {
    /// CCID 3.
    #[default]
    Standard,
    /// CCID 4.
    SmallPackets,
}
