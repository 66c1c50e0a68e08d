//! Options of the loop.

use crate::meter::Limits;
use crate::slab::Bound;
use fairwave_units::{Duration, Instant};

/// Options of the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// End of the run, if it is before the end of the world's duration.
    pub end: Option<Instant>,
    /// Last part of each wait that is spent busy-waiting, and time of busy-waiting after a packet
    /// was read. Zero sleeps for the whole wait; the loop then wakes as late as the host's timers
    /// are.
    pub busy_wait: Duration,
    /// Maximum number of frames that are read from an end in one turn, so that one sender cannot
    /// delay the clock or other senders.
    pub reads_per_turn: u32,
    /// Maximum number of packets under way.
    pub max_packets: usize,
    /// Maximum number of bytes in their buffers.
    pub max_bytes: usize,
    /// Whether packets of a flow that are due together are written as one, if the end has offloads.
    pub joins_segments: bool,
    /// Whether a thread measures the host's own pauses during the run.
    pub measures_host: bool,
    /// Maximum wait when no event is due.
    pub min_turn: Duration,
    /// Maximum lateness, after which the run is abandoned.
    pub give_up: Duration,
    /// Limits within which the run is valid.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            end: None,
            busy_wait: Duration::ZERO,
            reads_per_turn: 32,
            max_packets: 1 << 18,
            max_bytes: 256 << 20,
            joins_segments: true,
            measures_host: true,
            min_turn: Duration::from_millis(50),
            give_up: Duration::from_secs(5),
            limits: Limits::default(),
        }
    }
}

impl Options {
    pub(super) fn bound(&self) -> Bound {
        Bound { packets: self.max_packets, bytes: self.max_bytes }
    }
}
