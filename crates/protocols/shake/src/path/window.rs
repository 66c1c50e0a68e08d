//! The congestion window of a path (RFC 5681), its growth and reductions.

use crate::Config;
use crate::growth::{PARTS, Window};
use fairwave_units::Duration;

/// A path's congestion window. Lengths are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestionWindow {
    cwnd: u32,
    ssthresh: u32,
    /// Losses up to this number have lowered the window already.
    recover: u64,
    /// Parts of a byte that the window has grown by.
    credit: i64,
    /// Bytes acknowledged since the window last grew.
    acked: u32,
    /// Bytes acknowledged since the last loss, and between that and the one before.
    since_loss: u64,
    between_losses: u64,
    initial: u32,
    mss: u32,
}

impl CongestionWindow {
    pub(super) fn new(config: &Config) -> Self {
        let initial = config.initial_window.max(1);
        Self {
            cwnd: initial,
            ssthresh: config.initial_ssthresh,
            recover: 0,
            credit: 0,
            acked: 0,
            since_loss: 0,
            between_losses: 0,
            initial,
            mss: config.mss,
        }
    }

    /// Returns a window at its start; data sent up to `last_number` does not lower it.
    pub(super) fn restarted(config: &Config, last_number: u64) -> Self {
        Self { recover: last_number, ..Self::new(config) }
    }

    pub(super) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    pub(super) fn mss(&self) -> u32 {
        self.mss
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// View of it for algorithms of growth.
    pub(super) fn view(&self, srtt: Duration) -> Window {
        let Self { cwnd, mss, since_loss, between_losses, .. } = *self;
        Window { cwnd, mss, srtt, since_loss, between_losses }
    }

    /// Whether a loss has just lowered the window: no message sent since has been echoed.
    pub(super) fn is_recovering(&self, highest_echo: u64) -> bool {
        highest_echo.max(1) <= self.recover
    }

    /// `len` bytes have been acknowledged.
    pub(super) fn note_acked(&mut self, len: u32) {
        self.acked += len;
        self.since_loss += u64::from(len);
    }

    /// Bytes acknowledged since the window last grew.
    pub(super) fn acked(&self) -> u32 {
        self.acked
    }

    pub(super) fn take_acked(&mut self) -> u32 {
        core::mem::take(&mut self.acked)
    }

    /// Whether a sender that had `used` bytes in flight was limited by the window (RFC 7661): by
    /// half of it in slow start, as it doubles, and but for two segments after that.
    pub(super) fn limits(&self, used: u64) -> bool {
        let used = if self.in_slow_start() { 2 * used } else { used + 2 * u64::from(self.mss) };
        used >= u64::from(self.cwnd)
    }

    /// Slow start: the window grows by the acknowledged data.
    pub(super) fn double(&mut self, acked: u32) {
        self.cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh.max(self.cwnd));
        self.check();
    }

    /// Congestion avoidance: the window grows by this number of [`PARTS`] of a byte.
    pub(super) fn grow(&mut self, parts: i64) {
        self.credit += parts;
        let whole = self.credit / PARTS as i64;
        self.credit -= whole * PARTS as i64;
        let cwnd = i64::from(self.cwnd) + whole;
        self.cwnd = u32::try_from(cwnd.max(i64::from(self.mss))).unwrap_or(u32::MAX);
        debug_assert!(self.credit.unsigned_abs() < PARTS, "{} parts of a byte", self.credit);
        self.check();
    }

    /// A queue holds more than the path may keep there, and has not overflowed: the window becomes
    /// `usable` bytes, with which that is not so.
    pub(super) fn fit(&mut self, usable: u32) {
        let usable = usable.max(2 * self.mss);
        if usable < self.cwnd {
            (self.cwnd, self.ssthresh) = (usable, usable);
        }
        self.check();
    }

    /// Lowers the window to `target` for the loss of a message, once for all that were sent before
    /// the window was lowered.
    pub(super) fn cut(&mut self, number: u64, last_number: u64, target: u32) {
        debug_assert!(number <= last_number, "{number} was lost and never sent");
        if number <= self.recover {
            return;
        }
        self.recover = last_number;
        self.ssthresh = target.max(2 * self.mss);
        self.cwnd = self.ssthresh;
        self.note_loss();
    }

    /// The timer has expired with `used` bytes of the window in use: one segment (RFC 5681 section
    /// 3.1). Only the `first` of several timeouts lowers the threshold.
    pub(super) fn time_out(&mut self, used: u32, last_number: u64, first: bool) {
        if first {
            self.ssthresh = (used / 2).max(2 * self.mss);
            self.note_loss();
        }
        self.cwnd = self.mss;
        self.recover = last_number;
        self.check();
    }

    /// The path works again, from its initial window.
    pub(super) fn revive(&mut self) {
        self.cwnd = self.initial;
        self.credit = 0;
    }

    fn note_loss(&mut self) {
        self.credit = 0;
        (self.between_losses, self.since_loss) = (self.since_loss, 0);
        self.check();
    }

    fn check(&self) {
        let minimum = self.mss.min(self.initial);
        debug_assert!(self.cwnd >= minimum, "a window of {} bytes", self.cwnd);
    }
}

#[cfg(test)]
impl CongestionWindow {
    pub(super) fn credit(&self) -> i64 {
        self.credit
    }
}
