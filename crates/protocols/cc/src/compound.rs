//! Compound TCP: a loss-based window plus a delay-based one (Tan, Song, Zhang, Sridharan 2006).
//!
//! The window is `cwnd + dwnd`. The loss part grows as Reno's, by one SMSS per *whole window* of
//! acknowledged data. Once per round the delay part compares the backlog
//! `diff = win * (1 - baseRTT/RTT)` with gamma: below it, `dwnd += alpha * win^(3/4) - 1`
//! segments; above, `dwnd -= zeta * diff`. A loss takes the sum to `(1 - beta) * win`, of which
//! the loss part keeps half of its own. gamma is tuned by loss (TUBE): three quarters of the
//! backlog that the loss part alone would have had, averaged with weight lambda.
//!
//! The paper leaves the constant lambda, the round's RTT statistic and idle restart open; the
//! choices here are Linux's (minimum of the round, more than two samples, lambda 1/2).

use crate::delay::{Delay, backlog};
use crate::growth::Growth;
use crate::reno::Reduction;
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, RtoEvent};
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// A round with fewer samples says nothing about its delay.
const MIN_SAMPLES: u32 = 3;

/// Compound TCP's parameters. The exponent k is fixed at 3/4, the paper's choice because two
/// square roots compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompoundConfig {
    /// Scale of dwnd's increase.
    pub alpha: Fraction,
    /// Part of the window given up at a loss; above one counts as one.
    pub beta: Fraction,
    /// Strength with which dwnd yields to a backlog.
    pub zeta: Fraction,
    /// Weight of a new sample in gamma; above one counts as one.
    pub lambda: Fraction,
    /// Backlog in segments above which dwnd yields, before any tuning.
    pub gamma_segments: u32,
    /// Minimum gamma in segments.
    pub gamma_min_segments: u32,
    /// Greatest gamma in segments.
    pub gamma_max_segments: u32,
    /// Minimum window in segments for which dwnd grows: Low_Window of RFC 3649, as F. Zhou's ns-3
    /// port has it. Zero switches the gate off, as in Linux.
    pub low_window_segments: u32,
}

impl Default for CompoundConfig {
    fn default() -> Self {
        Self {
            alpha: Fraction::new(1, 8),
            beta: Fraction::new(1, 2),
            zeta: Fraction::new(1, 1),
            lambda: Fraction::new(1, 2),
            gamma_segments: 30,
            gamma_min_segments: 5,
            gamma_max_segments: 30,
            low_window_segments: 38,
        }
    }
}

/// The algorithm of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    config: CompoundConfig,
    mss: u32,
    initial_window: u32,
    windows: Windows,
    growth: Growth,
    delay: Delay,
    /// Backlog of the loss part in bytes, as of the last round; used once by the next loss.
    reno_diff: Option<u32>,
    undo: Option<Windows>,
    reduced: Option<Reduction>,
}

/// State that a spurious loss must restore. Bytes.
#[derive(Clone, Copy, Debug)]
struct Windows {
    cwnd: u32,
    dwnd: u32,
    /// As reported: the whole window's target after a loss.
    ssthresh: u32,
    /// The loss part's own: below it, slow start. A dwnd that yields must not restart it.
    loss_ssthresh: u32,
    gamma: u32,
}

impl Compound {
    /// A connection's algorithm at its start with the usual constants.
    pub fn new(initial: Initial) -> Self {
        Self::with_config(initial, CompoundConfig::default())
    }

    /// As [`Compound::new`] with chosen constants.
    pub fn with_config(initial: Initial, config: CompoundConfig) -> Self {
        let mss = initial.mss.max(1);
        let cwnd = initial.cwnd.max(mss);
        let windows = Windows {
            cwnd,
            dwnd: 0,
            ssthresh: initial.ssthresh,
            loss_ssthresh: initial.ssthresh,
            gamma: mss.saturating_mul(config.gamma_segments),
        };
        Self {
            config,
            mss,
            initial_window: cwnd,
            windows,
            growth: Growth::new(&initial),
            delay: Delay::default(),
            reno_diff: None,
            undo: None,
            reduced: None,
        }
    }

    /// The delay-based part of the window in bytes.
    pub fn dwnd(&self) -> u32 {
        self.windows.dwnd
    }

    /// The backlog in bytes above which dwnd yields.
    pub fn gamma(&self) -> u32 {
        self.windows.gamma
    }

    fn in_slow_start(&self) -> bool {
        self.windows.cwnd < self.windows.loss_ssthresh
    }

    /// Ends the reduction whose window of data is acknowledged.
    fn acknowledge(&mut self, una: u64) {
        self.reduced = self.reduced.filter(|reduction| una < reduction.until);
    }

    /// Ends the round if this ACK does.
    fn end_round(&mut self, ack: &AckEvent) {
        let Some(over) = self.delay.end_round(ack) else { return };
        let frozen = ack.in_recovery || !ack.cwnd_limited || self.in_slow_start();
        if frozen || over.samples < MIN_SAMPLES {
            return;
        }
        self.steer(over.base, over.least);
    }

    /// The once-per-round algorithm of dwnd.
    fn steer(&mut self, base: Duration, rtt: Duration) {
        let win = self.cwnd();
        self.reno_diff = Some(backlog(self.windows.cwnd, base, rtt));
        let diff = backlog(win, base, rtt);
        if diff >= self.windows.gamma {
            let yielded = self.config.zeta.of(diff);
            self.windows.dwnd = self.windows.dwnd.saturating_sub(yielded);
        } else if win >= self.mss.saturating_mul(self.config.low_window_segments) {
            let gain = dwnd_gain(win, self.mss, self.config.alpha);
            self.windows.dwnd = self.windows.dwnd.saturating_add(gain);
        }
    }

    /// Takes the window to (1 - beta) of itself, the loss part to half of its own; `part` of
    /// both ways.
    fn reduce(&mut self, part: Fraction) {
        self.tune_gamma();
        let win = self.cwnd();
        let least = self.mss.saturating_mul(2);
        let target = win.saturating_sub(self.config.beta.of(win));
        let target = part.of_way(win, target).max(least);
        let w = &mut self.windows;
        w.cwnd = part.of_way(w.cwnd, w.cwnd / 2).max(least);
        w.loss_ssthresh = w.cwnd;
        w.dwnd = target.saturating_sub(w.cwnd);
        w.ssthresh = w.cwnd.saturating_add(w.dwnd);
        self.growth.restart();
    }

    /// TUBE: gamma moves towards three quarters of the loss part's own backlog.
    fn tune_gamma(&mut self) {
        let Some(diff) = self.reno_diff.take() else { return };
        let sample = Fraction::new(3, 4).of(diff);
        let old = self.windows.gamma;
        let kept = old.saturating_sub(self.config.lambda.of(old));
        let least = self.mss.saturating_mul(self.config.gamma_min_segments);
        let maximum = self.mss.saturating_mul(self.config.gamma_max_segments).max(least);
        let mixed = kept.saturating_add(self.config.lambda.of(sample));
        self.windows.gamma = mixed.clamp(least, maximum);
    }

    /// Forgets everything that was measured except baseRTT.
    fn forget(&mut self) {
        self.windows.dwnd = 0;
        self.windows.gamma = self.mss.saturating_mul(self.config.gamma_segments);
        self.delay.restart();
        self.reno_diff = None;
        self.growth.restart();
    }
}

/// `max(alpha * win^(3/4) - 1, 0)` segments, in bytes.
///
/// With w = win in bytes and s = mss: s * (w/s)^(3/4) = (w^3 * s)^(1/4), which fits 128 bits for
/// any 32-bit w and s and is exact to one byte before alpha.
fn dwnd_gain(win: u32, mss: u32, alpha: Fraction) -> u32 {
    let fourth_power = u128::from(win).pow(3) * u128::from(mss);
    let scaled = fourth_power.isqrt().isqrt() as u32;
    alpha.of(scaled).saturating_sub(mss)
}

impl Controller for Compound {
    fn name(&self) -> String {
        "compound".into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.acknowledge(ack.una);
        self.delay.sample(ack);
        self.end_round(ack);
        if ack.in_recovery || !ack.cwnd_limited || ack.acked == 0 {
            return;
        }
        self.windows.cwnd = if self.in_slow_start() {
            self.growth.slow_start(self.windows.cwnd, self.windows.loss_ssthresh, ack.acked)
        } else {
            let win = self.cwnd();
            self.growth.avoidance(self.windows.cwnd, win, ack.acked)
        };
    }

    /// `(1 - beta) * win`. The algorithm controls the window, so it and not FlightSize is reduced;
    /// it only grows while it is the limit, which keeps the two close.
    /// After a mark in the same window there is no second reduction (RFC 3168 section 6.1.2).
    fn on_loss(&mut self, loss: &LossEvent) {
        self.acknowledge(loss.una);
        if self.reduced.is_some_and(|reduction| reduction.by_mark) {
            // Recovery begins with ssthresh as the window: growth since the mark is void.
            let w = &mut self.windows;
            w.cwnd = w.loss_ssthresh;
            w.dwnd = w.ssthresh.saturating_sub(w.loss_ssthresh);
        } else {
            self.undo = Some(self.windows);
            self.reduce(Fraction::WHOLE);
        }
        self.reduced = Some(Reduction { until: loss.next, by_mark: false });
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        if rto.lowers() {
            self.undo = Some(self.windows);
            let half = (rto.flight / 2).max(self.mss.saturating_mul(2));
            self.windows.ssthresh = half;
            self.windows.loss_ssthresh = half;
        }
        self.forget();
        self.windows.cwnd = self.mss;
        self.reduced = None;
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.acknowledge(loss.una);
        if self.reduced.is_none() {
            self.on_loss(loss);
            self.undo = None;
            self.reduced = Some(Reduction { until: loss.next, by_mark: true });
        }
    }

    fn on_spurious(&mut self, _now: Instant) {
        let Some(before) = self.undo.take() else { return };
        self.reduced = None;
        if before.cwnd.saturating_add(before.dwnd) > self.cwnd() {
            self.windows = before;
        }
    }

    /// As for a lost segment: Hashimoto et al. 2008 halve "the current congestion window", and
    /// with beta = 1/2 this rule halves the sum while each part keeps its share.
    fn on_ack_loss(&mut self, _loss: &LossEvent, part: Fraction) {
        let before = self.windows;
        self.reduce(part);
        self.undo = None;
        if self.cwnd() > before.cwnd.saturating_add(before.dwnd) {
            self.windows.cwnd = before.cwnd;
            self.windows.dwnd = 0;
        }
    }

    /// Starts anew but for baseRTT, which belongs to the path.
    fn on_idle_restart(&mut self, _idle: Duration) {
        self.forget();
        self.windows.cwnd = self.windows.cwnd.min(self.initial_window);
    }

    fn on_path_change(&mut self, _now: Instant) {
        self.delay = Delay::default();
        self.reno_diff = None;
    }

    fn cwnd(&self) -> u32 {
        self.windows.cwnd.saturating_add(self.windows.dwnd)
    }

    fn ssthresh(&self) -> u32 {
        self.windows.ssthresh
    }
}
