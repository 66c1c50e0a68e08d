//! Vegas (Brakmo, Peterson 1995): the window holds a few segments queued on the path.
//!
//! Once per round the backlog `diff = cwnd * (1 - baseRTT/RTT)` is compared with thresholds, RTT
//! being the round's minimum. In congestion avoidance cwnd grows by a segment below alpha and
//! shrinks by one above beta. Slow start ends where diff exceeds gamma, and the excess over the
//! path is taken back. A round with fewer than three samples grows as Reno's.
//!
//! Constants, the round's statistic and the answers to losses ([`Reno`]'s) are those of Linux and
//! ns-3. The paper doubles the window in every other round of slow start, retransmits on a
//! fine-grained timer and gives up a quarter at the first loss; this does not.

use crate::delay::{Delay, Round, backlog};
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Reno, RtoEvent};
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Backlog in segments below which the window grows.
const ALPHA: u32 = 2;
/// Backlog in segments above which the window shrinks.
const BETA: u32 = 4;
/// Backlog in segments above which slow start ends.
const GAMMA: u32 = 1;
/// A round with fewer samples may have seen delayed ACKs only.
const MIN_SAMPLES: u32 = 3;

/// The algorithm of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    mss: u32,
    delay: Delay,
    /// Bytes acknowledged in this round while the window was the limit.
    acked: u32,
}

impl Vegas {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        let mss = initial.mss.max(1);
        Self { reno: Reno::new(initial), mss, delay: Delay::default(), acked: 0 }
    }

    /// The once-per-round algorithm.
    fn steer(&mut self, round: Round, acked: u32, acked_in_round: u32) {
        let cwnd = self.reno.cwnd();
        let few = round.samples < MIN_SAMPLES;
        let diff = if few { 0 } else { backlog(cwnd, round.base, round.least) };
        let above = |segments: u32| diff > self.mss.saturating_mul(segments);
        let least = self.mss.saturating_mul(2);
        if self.reno.in_slow_start() {
            if above(GAMMA) {
                let target = (cwnd - diff).saturating_add(self.mss);
                self.reno.set_cwnd(target.clamp(least, cwnd.max(least)));
                self.reno.end_slow_start();
            } else {
                self.reno.slow_start(acked);
            }
        } else if few {
            self.reno.avoid(acked_in_round);
        } else if above(BETA) {
            self.reno.set_cwnd(cwnd.saturating_sub(self.mss).max(least));
            self.reno.end_slow_start();
        } else if diff < self.mss.saturating_mul(ALPHA) {
            self.reno.set_cwnd(cwnd.saturating_add(self.mss));
        }
    }

    fn restart_round(&mut self) {
        self.delay.restart();
        self.acked = 0;
    }
}

impl Controller for Vegas {
    fn name(&self) -> String {
        "vegas".into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.delay.sample(ack);
        let over = self.delay.end_round(ack);
        let grows = self.reno.may_grow(ack);
        if grows {
            self.acked = self.acked.saturating_add(ack.acked);
        }
        let acked_in_round =
            if over.is_some() { core::mem::take(&mut self.acked) } else { self.acked };
        match over {
            _ if !grows => {}
            Some(round) => self.steer(round, ack.acked, acked_in_round),
            None if self.reno.in_slow_start() => self.reno.slow_start(ack.acked),
            None => {}
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.restart_round();
        self.reno.on_loss(loss);
    }

    /// A measurement amid retransmissions is ambiguous.
    fn on_recovery_end(&mut self, _now: Instant) {
        self.restart_round();
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        self.restart_round();
        self.reno.on_rto(rto);
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.reno.on_ecn(loss);
    }

    fn on_spurious(&mut self, now: Instant) {
        self.reno.on_spurious(now);
    }

    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        self.reno.on_ack_loss(loss, part);
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        self.restart_round();
        self.reno.on_idle_restart(idle);
    }

    fn on_path_change(&mut self, _now: Instant) {
        self.delay = Delay::default();
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }
}
