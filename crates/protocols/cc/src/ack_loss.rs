//! Congestion control on lost ACKs, around any algorithm (Hashimoto, Hasegawa, Murata 2008).
//!
//! A receiver that acknowledges every `b` segments advances the cumulative acknowledgement by `b`
//! with each ACK. A larger advance shows that ACKs before it were lost. Where their number in one
//! round reaches a threshold, [`Controller::on_ack_loss`] of the inner algorithm is called.
//! [`Response::Share`] is ours: the algorithm then makes the part of its reduction that equals the
//! share of the lost ACKs, as DCTCP does with marks.
//!
//! The paper leaves delayed ACKs, recovery and the round open. Here a round ends once everything
//! outstanding at its start is acknowledged, the decision falls at its end, and a round that
//! also saw a data loss or a mark, and the round after a reaction, decide nothing. An ACK is
//! not counted if it arrives in or ends recovery, covers a retransmission or data already
//! SACKed (the advance then tells when a hole was filled), or is the first after a timeout.

use crate::stride::{Mean, StrideEstimator};
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Recovery, RtoEvent};
use fairwave_units::{BitRate, Duration, Instant};

mod share;
#[cfg(test)]
mod tests;

use share::Share;

/// Inference of the number of lost ACKs from an advance of k segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// As Hashimoto et al. 2008 write: the receiver acknowledges every segment, and an advance
    /// of k >= 2 counts k lost ACKs. A delayed-ACK receiver then seems to lose ACKs always.
    Literal,
    /// ceil(k/b) - 1, with `b` the most frequent recent advance. Counts nothing while the
    /// advances are not multiples of one stride (GRO, stretch ACKs).
    Learnt,
    /// By [`AckEvent::echo_gap`] whatever the stride; as [`Stride::Learnt`] where that is `None`.
    /// A gap counts as many ACKs as it holds advances of the size that is usual without a gap.
    Timestamps,
}

/// Part of the inner algorithm's own reduction that a round with lost ACKs asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// All of it, as for a lost segment: the paper's.
    Whole,
    /// The smoothed share of lost ACKs, so that an algorithm that halves goes to `1 - share / 2` of
    /// its window (RFC 8257 section 3.3, with lost ACKs in place of marked bytes).
    Share,
}

/// The remedy's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossConfig {
    /// Inference of lost ACKs.
    pub stride: Stride,
    /// `thresh_ack_losses` of the paper: lost ACKs in a round that mean congestion. Zero is one.
    pub threshold: u64,
    /// Size of the reaction to them.
    pub response: Response,
}

impl AckLossConfig {
    /// Every configuration that has a name, in the order in which names are listed.
    pub const ALL: [Self; 4] = [
        Self::named(Stride::Learnt, Response::Whole),
        Self::named(Stride::Literal, Response::Whole),
        Self::named(Stride::Timestamps, Response::Whole),
        Self::named(Stride::Learnt, Response::Share),
    ];

    const fn named(stride: Stride, response: Response) -> Self {
        Self { stride, threshold: 1, response }
    }

    /// Prefix of the inner algorithm's name (with `+`).
    pub const fn prefix(self) -> &'static str {
        match (self.response, self.stride) {
            (Response::Share, _) => "ack-loss-gentle",
            (_, Stride::Literal) => "ack-loss-literal",
            (_, Stride::Learnt) => "ack-loss",
            (_, Stride::Timestamps) => "ack-loss-timestamps",
        }
    }
}

impl Default for AckLossConfig {
    fn default() -> Self {
        Self::named(Stride::Learnt, Response::Whole)
    }
}

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
    /// The previous round ended in a reaction, whose effect is only now under way.
    hold_off: bool,
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

    /// Whether the advance depends on ACKs only, not on holes that were filled.
    fn telling(&mut self, ack: &AckEvent) -> bool {
        let over_sacked = self.sacked > 0;
        self.sacked = self.sacked.saturating_sub(ack.acked).saturating_add(ack.sacked);
        if ack.acked == 0 {
            return false;
        }
        let first = core::mem::take(&mut self.after_rto);
        !(over_sacked || first || ack.in_recovery || ack.covers_retransmission)
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

    /// Ends the round if this ACK does, and calls the inner algorithm if enough ACKs were lost in
    /// it.
    fn end_round(&mut self, ack: &AckEvent) {
        let Some(end) = self.round.end else {
            self.round.end = Some(ack.next);
            return;
        };
        if ack.una < end {
            return;
        }
        self.share.observe(self.round.lost, self.round.received);
        let quiet = self.round.answered || self.round.hold_off || ack.in_recovery;
        let react = !quiet && self.round.lost >= self.config.threshold.max(1);
        self.round = Round { answered: ack.in_recovery, hold_off: react, ..Round::until(ack.next) };
        if react {
            let loss = LossEvent { now: ack.now, flight: ack.flight, next: ack.next };
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
        self.end_round(ack);
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
