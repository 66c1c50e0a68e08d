//! Reno: slow start, congestion avoidance and the responses of RFC 5681.

use crate::growth::Growth;
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Recovery, RtoEvent};
use core::mem;
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The algorithm of RFC 5681, whose recovery without SACK ends at the first ACK that advances.
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
pub(crate) struct Reduction {
    pub(crate) until: u64,
    pub(crate) by_mark: bool,
}

impl Reno {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        let mss = initial.mss.max(1);
        let cwnd = initial.cwnd.max(mss);
        Self {
            mss,
            initial_window: cwnd,
            cwnd,
            ssthresh: initial.ssthresh,
            growth: Growth::new(&initial),
            undo: None,
            reduced: None,
        }
    }

    /// Remembers the state to undo to, and sets ssthresh to `target`, at least 2 SMSS.
    fn lower(&mut self, target: u32) {
        self.undo = Some((self.cwnd, self.ssthresh));
        self.ssthresh = target.max(self.mss.saturating_mul(2));
        self.growth.restart();
    }

    /// Ends the reduction whose window of data is acknowledged.
    fn acknowledge(&mut self, una: u64) {
        self.reduced = self.reduced.filter(|reduction| una < reduction.until);
    }

    /// Whether this ACK may widen the window.
    pub(crate) fn may_grow(&mut self, ack: &AckEvent) -> bool {
        self.acknowledge(ack.una);
        !ack.in_recovery && ack.cwnd_limited && ack.acked > 0
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn slow_start(&mut self, acked: u32) {
        self.cwnd = self.growth.slow_start(self.cwnd, self.ssthresh, acked);
    }

    /// Congestion avoidance.
    pub(crate) fn avoid(&mut self, acked: u32) {
        self.cwnd = self.growth.avoidance(self.cwnd, self.cwnd, acked);
    }

    /// Leaves cwnd in congestion avoidance: an algorithm has seen that the window is large enough.
    pub(crate) fn end_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// Sets ssthresh to no more than `most`, which counts as at least 2 SMSS.
    pub(crate) fn limit_ssthresh(&mut self, maximum: u32) {
        self.ssthresh = self.ssthresh.min(maximum.max(self.mss.saturating_mul(2)));
    }

    /// Sets cwnd, at least one SMSS: an algorithm that grows by its own rule has decided.
    pub(crate) fn set_cwnd(&mut self, cwnd: u32) {
        self.cwnd = cwnd.max(self.mss);
    }

    /// Handles a loss that asks for the window `target`, by equation 4 of RFC 5681 or an
    /// algorithm's own; returns whether the window was reduced. A window already reduced for a mark
    /// stays: one reaction per window (RFC 3168 section 6.1.2).
    pub(crate) fn loss_to(&mut self, loss: &LossEvent, target: u32) -> bool {
        self.acknowledge(loss.una);
        let lowers = !self.reduced.is_some_and(|reduction| reduction.by_mark);
        if lowers {
            self.lower(target);
        }
        self.reduced = Some(Reduction { until: loss.next, by_mark: false });
        self.cwnd = self.ssthresh;
        lowers
    }

    /// As [`Reno::loss_to`] for a mark, which is not granted in any window already reduced.
    pub(crate) fn mark_to(&mut self, loss: &LossEvent, target: u32) -> bool {
        self.acknowledge(loss.una);
        if self.reduced.is_some() {
            return false;
        }
        self.loss_to(loss, target);
        self.undo = None;
        self.reduced = Some(Reduction { until: loss.next, by_mark: true });
        true
    }

    /// A timeout that asks for ssthresh `target`, granted at the first expiry unless a recovery has
    /// lowered it for that window.
    pub(crate) fn timeout_to(&mut self, rto: &RtoEvent, target: u32) -> bool {
        let lowers = rto.lowers();
        if lowers {
            self.lower(target);
        }
        self.growth.restart();
        self.reduced = None;
        self.cwnd = self.mss;
        lowers
    }

    /// Handles lost ACKs that ask for the window `target`. It is never raised, and growth continues
    /// in congestion avoidance: nothing has to be recovered.
    pub(crate) fn ack_loss_to(&mut self, target: u32) {
        self.lower(target);
        self.undo = None;
        self.cwnd = self.cwnd.min(self.ssthresh);
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
        if !self.may_grow(ack) {
            return;
        }
        if self.in_slow_start() {
            self.slow_start(ack.acked);
        } else {
            self.avoid(ack.acked);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.loss_to(loss, loss.flight / 2);
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        self.timeout_to(rto, rto.flight / 2);
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.mark_to(loss, loss.flight / 2);
    }

    fn on_spurious(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = mem::take(&mut self.undo) {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
            self.reduced = None;
        }
    }

    /// Halves the *current window*, as Hashimoto et al. 2008 section 3.1 say, not FlightSize.
    fn on_ack_loss(&mut self, _loss: &LossEvent, part: Fraction) {
        self.ack_loss_to(part.of_way(self.cwnd, self.cwnd / 2));
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
