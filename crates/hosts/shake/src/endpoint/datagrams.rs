//! Datagrams of applications in a session. They are not retransmitted, and dropped when their time
//! is over.

use super::queue::{Queue, Waiting};
use fairwave_machine::Replay;
use fairwave_units::{Duration, Instant};
use std::num::NonZeroU64;

/// Longest time for which a datagram may wait.
pub(super) const MAX_LIFETIME: Duration = Duration::from_secs(10);
/// The paths are asked for their round-trip times after this number of datagrams or this time, but
/// not sooner than the third: queues change as fast as they are filled.
const ASK_AFTER: u32 = 8;
const ASK_WITHIN: Duration = Duration::from_millis(100);
const MIN_ASK: Duration = Duration::from_millis(20);

/// Reason for which a datagram is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatagramError {
    /// It is longer than the paths take.
    #[error("a datagram may have {max} bytes at most")]
    TooLong {
        /// The longest.
        max: usize,
    },
    /// The session is over, or its peer has not shown that it has the keys.
    #[error("the session is over")]
    NoSession,
}

/// Counters of a session's datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramStats {
    /// Datagrams sent, each once for all its copies.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams dropped at this end: too late, too many or too long.
    pub dropped: u64,
}

impl DatagramStats {
    /// These counts with those of a session before.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        Self {
            sent: self.sent + before.sent,
            received: self.received + before.received,
            dropped: self.dropped + before.dropped,
        }
    }
}

/// A datagram of which copies are still to be sent.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) datagram: Waiting,
    pub(super) number: NonZeroU64,
    /// A bit for each path.
    pub(super) paths: u16,
}

/// The datagrams of a session.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    pub(super) outgoing: Queue,
    pub(super) incoming: Queue,
    pub(super) leaving: Option<Leaving>,
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Datagrams that were not taken, as they are longer than the paths take.
    pub(super) too_long: u64,
    /// Numbers of the peer's datagrams that have arrived.
    pub(super) seen: Replay,
    /// Datagrams offered since the paths were asked, and the time of that.
    offered: u32,
    asked_at: Instant,
}

impl Datagrams {
    pub(super) fn stats(&self) -> DatagramStats {
        DatagramStats {
            sent: self.sent,
            received: self.received,
            dropped: self.too_long + self.outgoing.dropped() + self.incoming.dropped(),
        }
    }

    /// Whether the paths are to be asked now.
    pub(super) fn asks(&mut self, now: Instant) -> bool {
        self.offered += 1;
        let since = now.since(self.asked_at);
        let is_due = self.offered >= ASK_AFTER || since >= ASK_WITHIN;
        if is_due && since >= MIN_ASK {
            (self.offered, self.asked_at) = (0, now);
            return true;
        }
        false
    }
}
