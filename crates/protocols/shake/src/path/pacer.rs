//! Spreads the segments of a path over its round-trip time.

use fairwave_units::{Duration, Instant};

/// Segments that a paced path sends at once after a pause: an initial window (RFC 6928).
const BURST: u64 = 10;

/// Time at which a path may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Time at which the next segment may leave.
    ready_at: Instant,
    /// Smoothed time until a message is known to have arrived, which another path's acknowledgement
    /// may show before its own: the path sends a window in this time.
    turn: Option<Duration>,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { ready_at: Instant::ZERO, turn: None }
    }

    /// Time at which the next segment may leave.
    pub(super) fn ready_at(&self) -> Instant {
        self.ready_at
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        self.ready_at <= now
    }

    /// A message is known to have arrived so long after it left.
    pub(super) fn note_turn(&mut self, turn: Duration) {
        self.turn = Some(self.turn.map_or(turn, |old| (old * 7 + turn) / 8));
    }

    /// A segment of `len` bytes has left: the next one waits for its share of the time in which a
    /// window of `cwnd` bytes is sent, which is `srtt` where nothing better is known.
    pub(super) fn pace(
        &mut self,
        now: Instant,
        len: u32,
        cwnd: u32,
        in_slow_start: bool,
        srtt: Option<Duration>,
    ) {
        // A copy that tries the path did not wait for its share, and takes none.
        let Some(turn) = self.turn.or(srtt).filter(|_| self.is_ready(now)) else { return };
        // Faster than a window in that time, so that pacing does not limit a window that grows: by
        // 5/4, and by 2 in slow start (as Linux does).
        let rate = u64::from(cwnd) * if in_slow_start { 8 } else { 5 };
        let gap = turn * (4 * u64::from(len)) / rate.max(1);
        let earliest = now.since(Instant::ZERO).saturating_sub(gap * BURST);
        self.ready_at = self.ready_at.max(Instant::ZERO + earliest) + gap;
        debug_assert!(self.ready_at <= now + gap, "more than a segment's share is owed");
    }
}
