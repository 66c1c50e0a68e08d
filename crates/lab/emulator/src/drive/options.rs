//! How a world is driven.

use crate::meter::Limits;
use crate::slab::Bound;
use fairwave_units::{Duration, Instant};

/// How a world is driven.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Time at which the run ends, if that is before the end of the world's duration.
    pub end: Option<Instant>,
    /// The last part of each wait that is spent awake, and so long after a packet was read. Zero
    /// sleeps to the end, and wakes late by what the host's timers are late.
    pub busy_wait: Duration,
    /// Frames that are read from an end in one turn at most, so that one sender cannot hold up
    /// the clock or the others.
    pub reads_per_turn: u32,
    /// Packets under way at most, and bytes of their buffers.
    pub most_packets: usize,
    /// As above.
    pub most_bytes: usize,
    /// Whether packets of a flow that are due together are written as one where the end takes that.
    pub joins_segments: bool,
    /// Whether a thread measures the host's own pauses meanwhile.
    pub measures_host: bool,
    /// The longest wait, in which nothing happens.
    pub turn_at_least: Duration,
    /// The run is given up when the world is so far behind the clock.
    pub give_up: Duration,
    /// What the run must keep to be valid.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            end: None,
            busy_wait: Duration::ZERO,
            reads_per_turn: 32,
            most_packets: 1 << 18,
            most_bytes: 256 << 20,
            joins_segments: true,
            measures_host: true,
            turn_at_least: Duration::from_millis(50),
            give_up: Duration::from_secs(5),
            limits: Limits::default(),
        }
    }
}

impl Options {
    pub(super) fn bound(&self) -> Bound {
        Bound { packets: self.most_packets, bytes: self.most_bytes }
    }
}
