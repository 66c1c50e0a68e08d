//! Data that stands behind its own acknowledgement, as in a capture of which one direction was
//! taken later than the other.

use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Maximum number of acknowledgements that wait for their data.
const WAITING_MAX: usize = 256;

/// Acknowledgements of data that was not seen yet.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Numbers with the time of their acknowledgement, both ascending.
    waiting: VecDeque<(i64, Instant)>,
}

impl Late {
    /// Notes an acknowledgement beyond all data that was seen.
    pub(super) fn acknowledged(&mut self, ack: i64, at: Instant) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back((ack, at));
        }
    }

    /// Returns how long before `at` new data up to `end` was acknowledged.
    pub(super) fn lag(&mut self, end: i64, at: Instant) -> Option<Duration> {
        while self.waiting.front().is_some_and(|(ack, _)| *ack < end) {
            self.waiting.pop_front();
        }
        self.waiting.front().map(|(_, acked_at)| at.since(*acked_at))
    }
}
