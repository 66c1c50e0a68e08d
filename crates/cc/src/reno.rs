//! Reno: slow start, congestion avoidance and the responses of RFC 5681.

use crate::growth::Growth;
use crate::{AckEvent, Controller, Initial, LossEvent, Recovery, RtoEvent};
use core::mem;
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The law of RFC 5681, whose recovery without SACK ends at the first ACK that advances.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: u32,
    initial_window: u32,
    cwnd: u32,
    ssthresh: u32,
    growth: Growth,
    /// cwnd and ssthresh before the last reduction, for Eifel-style undo.
    undo: Option<(u32, u32)>,
    reduced: Option<Reduction>,
}

/// A reduction that covers the window of data ending at `until`.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    until: u64,
    by_mark: bool,
}

impl Reno {
    /// A connection's law at its start, with L = 1 in slow start.
    pub fn new(initial: Initial) -> Self {
        Self::with_limit(initial, 1)
    }

    /// As [`Reno::new`], adding up to `limit_segments` SMSS per ACK in slow start (L of RFC 3465;
    /// 2 makes up for delayed ACKs).
    pub fn with_limit(initial: Initial, limit_segments: u32) -> Self {
        let mss = initial.mss.max(1);
        let cwnd = initial.cwnd.max(mss);
        Self {
            mss,
            initial_window: cwnd,
            cwnd,
            ssthresh: initial.ssthresh,
            growth: Growth::new(mss, limit_segments, initial.byte_counting),
            undo: None,
            reduced: None,
        }
    }

    /// max(`window`/2, 2 SMSS): equation 4 of RFC 5681.
    fn half(&self, window: u32) -> u32 {
        (window / 2).max(self.mss.saturating_mul(2))
    }

    /// Remembers the state to undo to, and lowers ssthresh to half of `window`.
    fn lower(&mut self, window: u32) {
        self.undo = Some((self.cwnd, self.ssthresh));
        self.ssthresh = self.half(window);
        self.growth.restart();
    }
}

impl Controller for Reno {
    fn name(&self) -> String {
        "reno".into()
    }

    fn recovery(&self) -> Recovery {
        Recovery::Reno
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if self.reduced.is_some_and(|reduction| ack.una >= reduction.until) {
            self.reduced = None;
        }
        if ack.in_recovery || !ack.cwnd_limited || ack.acked == 0 {
            return;
        }
        self.cwnd = if self.cwnd < self.ssthresh {
            self.growth.slow_start(self.cwnd, ack.acked)
        } else {
            self.growth.avoidance(self.cwnd, self.cwnd, ack.acked)
        };
    }

    /// Equation 4 of RFC 5681. A loss in a window already reduced for a mark lowers nothing
    /// further: one reaction per window (RFC 3168 section 6.1.2).
    fn on_loss(&mut self, loss: &LossEvent) {
        let already = self.reduced.is_some_and(|reduction| reduction.by_mark);
        if !already {
            self.lower(loss.flight);
        }
        self.reduced = Some(Reduction { until: loss.next, by_mark: false });
        self.cwnd = self.ssthresh;
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        if rto.backoff <= 1 {
            self.lower(rto.flight);
        }
        self.growth.restart();
        self.reduced = None;
        self.cwnd = self.mss;
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        if self.reduced.is_some() {
            return;
        }
        self.on_loss(loss);
        self.reduced = Some(Reduction { until: loss.next, by_mark: true });
    }

    fn on_spurious(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = mem::take(&mut self.undo) {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
            self.reduced = None;
        }
    }

    /// Halves the *current window*, as Hashimoto et al. 2008 section 3.1 say, not FlightSize, and
    /// never raises it. Growth goes on in congestion avoidance: nothing has to be recovered.
    fn on_ack_loss(&mut self, _loss: &LossEvent) {
        self.lower(self.cwnd);
        self.undo = None;
        self.cwnd = self.cwnd.min(self.ssthresh);
    }

    fn on_idle_restart(&mut self, _idle: Duration) {
        self.cwnd = self.cwnd.min(self.initial_window);
        self.growth.restart();
    }

    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.ssthresh
    }
}
