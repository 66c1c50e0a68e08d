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
    /// Time at which `turn` was last measured.
    measured_at: Instant,
    /// Whether a segment was to leave at `ready_at`. A host that wakes later than it was asked to
    /// has delayed it: segments due since then are made up for, beyond the burst after a pause.
    is_awaited: bool,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { ready_at: Instant::ZERO, turn: None, measured_at: Instant::ZERO, is_awaited: false }
    }

    /// A stall is over: its times do not count, and a segment may leave now.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self { ready_at: self.ready_at.min(now), ..Self::new() };
    }

    /// Time at which the next segment may leave.
    pub(super) fn ready_at(&self) -> Instant {
        self.ready_at
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        self.ready_at <= now
    }

    /// Notes whether anything waits for the time at which the path may send. One that may send now
    /// has been waited for, or has not.
    pub(super) fn await_turn(&mut self, now: Instant, is_awaited: bool) {
        if !self.is_ready(now) {
            self.is_awaited = is_awaited;
        }
    }

    /// Nothing was sent though it could be: the time until something is does not count.
    pub(super) fn pause(&mut self, now: Instant) {
        if self.is_ready(now) {
            self.is_awaited = false;
        }
    }

    /// A message is known to have arrived so long after it left. Of several at once the first
    /// counts: an acknowledgement on a faster path may show a whole flight early, once, and the
    /// path would then send the next one faster than its bottleneck.
    pub(super) fn note_turn(&mut self, now: Instant, turn: Duration) {
        if self.turn.is_none() || self.measured_at < now {
            self.measured_at = now;
            self.turn = Some(self.turn.map_or(turn, |old| (old * 7 + turn) / 8));
        }
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
        if !self.is_awaited {
            self.ready_at = self.ready_at.max(Instant::ZERO + earliest);
        }
        self.ready_at += gap;
        self.is_awaited &= self.is_ready(now);
        debug_assert!(self.ready_at <= now + gap, "more than a segment's share is owed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Segments of 1000 bytes that leave at once, with a window of 80 of them: one each ms.
    fn sent_at(pacer: &mut Pacer, now: Instant) -> u32 {
        let mut count = 0;
        while pacer.is_ready(now) {
            pacer.pace(now, 1_000, 80_000, false, Some(TURN));
            count += 1;
        }
        count
    }

    #[test]
    fn what_a_late_host_has_delayed_is_made_up_for_and_a_pause_is_not() {
        let mut pacer = Pacer::new();
        assert_eq!(sent_at(&mut pacer, at(1_000)), 11);
        pacer.await_turn(at(1_000), true);
        assert_eq!(sent_at(&mut pacer, at(1_041)), 41, "one each ms since");
        pacer.await_turn(at(1_041), false);
        assert_eq!(sent_at(&mut pacer, at(1_082)), 11, "nothing waited");
        pacer.await_turn(at(1_082), true);
        pacer.pause(at(1_090));
        assert_eq!(sent_at(&mut pacer, at(1_123)), 11, "nothing was sent when it could be");
    }
    #[test]
    fn arrivals_that_become_known_at_once_are_measured_once() {
        let mut pacer = Pacer::new();
        pacer.note_turn(at(1), TURN);
        for _ in 0..50 {
            pacer.note_turn(at(2), TURN / 2);
        }
        assert_eq!(pacer.turn, Some(TURN * 15 / 16));
    }
}
