//! Congestion control on lost ACKs, around any algorithm (Hashimoto, Hasegawa, Murata 2008).
//!
//! A receiver that acknowledges every `b` segments advances the cumulative acknowledgement by `b`
//! with each ACK. A larger advance shows that ACKs before it were lost. Where their number in one
//! round reaches a threshold, [`Controller::on_ack_loss`] of the inner algorithm is called.
//! [`Response::Share`] is ours: the algorithm then makes the part of its reduction that equals the
//! share of the lost ACKs, as DCTCP does with marks.
//!
//! A round stands for the paper's "1 RTT": it ends once everything outstanding at its start is
//! acknowledged. One round has at most one reaction. The paper leaves four questions open, which
//! [`AckLossConfig`] answers: the size of the count, the time of the decision ([`Decision`]),
//! whether a round without reaction follows, and which ACKs and rounds do not count
//! ([`Exclusions`]).
//!
//! The paper halves "the current congestion window". Here that is the reaction of the inner
//! algorithm, which lowers ssthresh with it: in slow start the window would else be back after one
//! round. Reno and Compound go to half of their window, at least two segments (RFC 5681 equation
//! 4), CUBIC to 0.7 of it.

use crate::stride::{Mean, StrideEstimator};
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Recovery, RtoEvent};
use fairwave_units::{BitRate, Duration, Instant};

mod config;
mod share;
#[cfg(test)]
mod tests;

pub use config::{AckLossConfig, AckLossOptions, Decision, Exclusions, Response, Stride};
use share::Share;

/// Watches the advances of the cumulative acknowledgement on behalf of the algorithm `C`.
#[derive(Clone, Debug)]
pub struct AckLoss<C> {
    inner: C,
    config: AckLossConfig,
    mss: u32,
    learner: StrideEstimator,
    /// Of advances whose echo shows that no ACK before them was lost.
    whole: Mean,
    /// SACKed bytes that the cumulative acknowledgement has not passed yet.
    sacked: u32,
    /// The next advance belongs to a timeout's retransmission.
    after_rto: bool,
    round: Round,
    share: Share,
    total: u64,
}

#[derive(Clone, Debug, Default)]
struct Round {
    /// Stream offset whose acknowledgement ends the round.
    end: Option<u64>,
    lost: u64,
    /// ACKs that arrived and could show lost ones.
    received: u64,
    /// The algorithm already answered to a data loss or a mark.
    answered: bool,
    /// The previous round had a reaction, whose effect is only now under way.
    hold_off: bool,
    /// This round had its reaction.
    reacted: bool,
}

impl Round {
    fn until(end: u64) -> Self {
        Self { end: Some(end), ..Self::default() }
    }
}

impl<C: Controller> AckLoss<C> {
    /// Wraps `inner`, which was built from the same `initial`.
    pub fn new(inner: C, initial: Initial, config: AckLossConfig) -> Self {
        Self {
            inner,
            config,
            mss: initial.mss.max(1),
            learner: StrideEstimator::new(),
            whole: Mean::new(initial.mss.max(1)),
            sacked: 0,
            after_rto: false,
            round: Round::default(),
            share: Share::new(),
            total: 0,
        }
    }

    /// Whether the advance counts: by the exclusions it depends on ACKs only, not on holes that
    /// were filled.
    fn telling(&mut self, ack: &AckEvent) -> bool {
        let over_sacked = self.sacked > 0;
        self.sacked = self.sacked.saturating_sub(ack.acked).saturating_add(ack.sacked);
        if ack.acked == 0 {
            return false;
        }
        let first = core::mem::take(&mut self.after_rto);
        let in_recovery = ack.in_recovery || ack.covers_retransmission;
        let Exclusions { recovery, sacked, timeout, .. } = self.config.exclude;
        !(sacked && over_sacked || timeout && first || recovery && in_recovery)
    }

    /// Lost ACKs shown by this advance; teaches the learner.
    fn infer(&mut self, ack: &AckEvent) -> u64 {
        let k = self.segments(ack.acked);
        match (self.config.stride, ack.echo_gap) {
            (Stride::Literal, _) if k >= 2 => k.into(),
            (Stride::Literal, _) => 0,
            (Stride::Timestamps, Some(0)) => {
                self.whole.observe(ack.acked);
                0
            }
            (Stride::Timestamps, Some(gap)) => self.whole.times_in(gap).max(1),
            (Stride::Timestamps | Stride::Learnt, _) => {
                let stride = self.learner.stride();
                self.learner.observe(k);
                stride.map_or(0, |b| k.div_ceil(b).saturating_sub(1)).into()
            }
        }
    }

    /// `bytes` in whole segments, to the nearest.
    fn segments(&self, bytes: u32) -> u32 {
        bytes.saturating_add(self.mss / 2) / self.mss
    }

    /// Decides whether to react, ends the round if this ACK does, and calls the inner algorithm.
    fn decide(&mut self, ack: &AckEvent) {
        let ends = match self.round.end {
            Some(end) => ack.una >= end,
            None => {
                self.round.end = Some(ack.next);
                false
            }
        };
        let due = match self.config.decision {
            Decision::RoundEnd => ends,
            Decision::Count => true,
        };
        let lossy = self.round.answered || ack.in_recovery;
        let quiet =
            self.round.reacted || self.round.hold_off || self.config.exclude.data_loss && lossy;
        let react = due && !quiet && self.round.lost >= self.config.threshold.max(1);
        self.round.reacted |= react;
        if ends {
            self.share.observe(self.round.lost, self.round.received);
            let hold_off = self.config.pause && self.round.reacted;
            self.round = Round { answered: ack.in_recovery, hold_off, ..Round::until(ack.next) };
        }
        if react {
            let AckEvent { now, flight, una, next, .. } = *ack;
            let loss = LossEvent { now, flight, una, next };
            let part = match self.config.response {
                Response::Whole => Fraction::WHOLE,
                Response::Share => self.share.part(),
            };
            self.inner.on_ack_loss(&loss, part);
        }
    }
}

impl<C: Controller> Controller for AckLoss<C> {
    fn name(&self) -> String {
        format!("{}+{}", self.config.prefix(), self.inner.name())
    }

    fn recovery(&self) -> Recovery {
        self.inner.recovery()
    }

    fn governs_recovery(&self) -> bool {
        self.inner.governs_recovery()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.inner.on_ack(ack);
        if self.telling(ack) {
            let lost = self.infer(ack);
            self.round.lost = self.round.lost.saturating_add(lost);
            self.round.received += 1;
            self.total = self.total.saturating_add(lost);
        }
        self.decide(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.round.answered = true;
        self.inner.on_loss(loss);
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.inner.on_recovery_end(now);
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        self.after_rto = true;
        self.sacked = 0;
        self.round.answered = true;
        self.inner.on_rto(rto);
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.round.answered = true;
        self.inner.on_ecn(loss);
    }

    fn on_spurious(&mut self, now: Instant) {
        self.inner.on_spurious(now);
    }

    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        self.inner.on_ack_loss(loss, part);
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        self.inner.on_idle_restart(idle);
    }

    fn on_path_change(&mut self, now: Instant) {
        self.inner.on_path_change(now);
    }

    fn cwnd(&self) -> u32 {
        self.inner.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.inner.ssthresh()
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.inner.pacing_rate()
    }

    fn acks_lost(&self) -> u64 {
        self.total
    }
}
