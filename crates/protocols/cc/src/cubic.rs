//! CUBIC (RFC 9438): the window follows a cubic curve of the time since the last reduction.
//!
//! Slow start, marks, timeouts, idle restart and the undo of windows are [`Reno`]'s; the target
//! of a reduction and growth in congestion avoidance are this module's. The first slow start, while
//! no ssthresh is set, is by default that of HyStart++ (RFC 9406), as section 4.10 recommends.

use crate::growth::Growth;
use crate::hystart::HyStart;
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Reno, RtoEvent};
use fairwave_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Longest distance from the curve's inflection that is computed: 18 minutes, where the curve is
/// 5 * 10^8 segments up. It keeps the cube within 128 bits for any SMSS.
const FARTHEST_US: u64 = 1 << 30;

/// The algorithm of RFC 9438 with C = 0.4 and beta = 0.7.
#[derive(Clone, Debug)]
pub struct Cubic {
    reno: Reno,
    mss: u32,
    hystart: bool,
    /// On while the first slow start lasts.
    first: Option<HyStart>,
    memory: Memory,
    /// The memory before the last reduction (RFC 9438 section 4.9).
    undo: Option<Memory>,
    srtt: Option<Duration>,
    /// Time at which the last ACK arrived.
    received: Option<Instant>,
}

/// State that a spurious loss must restore besides cwnd and ssthresh. Windows in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// W_max; zero while no loss has set it.
    w_max: u32,
    /// cwnd when ssthresh was last lowered.
    cwnd_prior: u32,
    epoch: Option<Epoch>,
    /// Grows `Epoch::w_est`.
    growth: Growth,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// t: time in congestion avoidance, without slow start, idle and application-limited times.
    elapsed: Duration,
    curve: Curve,
    /// W_est: the window that Reno would have.
    w_est: u32,
    /// Remainder of the last increase, in parts of cwnd.
    carry: u64,
}

/// W_cubic of figure 1 in RFC 9438.
#[derive(Clone, Copy, Debug)]
struct Curve {
    w_max: u32,
    /// K in microseconds.
    k_us: u64,
    mss: u32,
}

impl Curve {
    /// The curve that is at `cwnd` now and level at `w_max`, or, where `cwnd` is already there or
    /// no `w_max` is known, level now (section 4.10).
    fn through(cwnd: u32, w_max: u32, mss: u32) -> Self {
        let below = u128::from(w_max.saturating_sub(cwnd));
        // (below / mss) / 0.4 s^3, in cubic microseconds.
        let cubed = below * 5 * 10_u128.pow(18) / (2 * u128::from(mss));
        Self { w_max: w_max.max(cwnd), k_us: cube_root(cubed), mss }
    }

    /// W_cubic(`at`) in bytes, rounded down.
    fn window(self, at: Duration) -> u32 {
        let t = at.as_micros();
        let distance = u128::from(t.abs_diff(self.k_us).min(FARTHEST_US));
        let (offset, unit) = (2 * u128::from(self.mss) * distance.pow(3), 5 * 10_u128.pow(18));
        let bytes = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        if t < self.k_us {
            self.w_max.saturating_sub(bytes(offset.div_ceil(unit)))
        } else {
            self.w_max.saturating_add(bytes(offset / unit))
        }
    }
}

/// The greatest y below 2^42 with y^3 <= `x`, bit by bit.
fn cube_root(x: u128) -> u64 {
    let root = (0..42).rev().fold(0_u128, |root, bit| {
        let larger = root | 1 << bit;
        if larger.pow(3) <= x { larger } else { root }
    });
    root as u64
}

/// `numerator / denominator` of `window`, at most `u32::MAX`.
fn part(window: u32, numerator: u64, denominator: u64) -> u32 {
    u32::try_from(u64::from(window) * numerator / denominator).unwrap_or(u32::MAX)
}

/// beta times `window`.
fn beta(window: u32) -> u32 {
    part(window, 7, 10)
}

impl Cubic {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        let mss = initial.mss.max(1);
        let first =
            (initial.ssthresh == u32::MAX).then(|| HyStart::new(mss, initial.slow_start_segments));
        Self { hystart: true, first, ..Self::without_hystart(initial) }
    }

    /// As [`Cubic::new`] with the slow start of RFC 5681, which ends at a loss, a mark or
    /// ssthresh only.
    pub fn without_hystart(initial: Initial) -> Self {
        let mss = initial.mss.max(1);
        let growth = Growth::new(&initial);
        let memory = Memory { w_max: 0, cwnd_prior: 0, epoch: None, growth };
        let (reno, hystart, first) = (Reno::new(initial), false, None);
        Self { reno, mss, hystart, first, memory, undo: None, srtt: None, received: None }
    }

    /// Slow start, the first one with an eye on the delay.
    fn slow_start(&mut self, ack: &AckEvent) {
        let Some(first) = &mut self.first else {
            self.reno.slow_start(ack.acked);
            return;
        };
        self.reno.set_cwnd(self.reno.cwnd().saturating_add(first.growth(ack.acked)));
        if first.is_over(ack) {
            self.first = None;
            self.reno.end_slow_start();
        }
    }

    /// Takes the round-trip sample into the mean of RFC 6298, and returns the time since the last
    /// ACK.
    fn observe(&mut self, ack: &AckEvent) -> Duration {
        if let Some(rtt) = ack.rtt {
            let mean = |srtt: Duration| srtt.saturating_sub(eighth(srtt)) + eighth(rtt);
            self.srtt = Some(self.srtt.map_or(rtt, mean));
        }
        let since = self.received.map_or(Duration::ZERO, |received| ack.now.since(received));
        self.received = Some(ack.now);
        since
    }

    /// Congestion avoidance (sections 4.2 to 4.5) over an ACK `since` the one before.
    fn avoid(&mut self, acked: u32, since: Duration) {
        let cwnd = self.reno.cwnd();
        let srtt = self.srtt.unwrap_or(Duration::ZERO);
        let epoch = self.memory.run(cwnd, self.mss, since);
        let now = epoch.curve.window(epoch.elapsed);
        let ahead = epoch.curve.window(plus(epoch.elapsed, srtt));
        let w_est = self.memory.estimate(cwnd, acked);
        let next = if now < w_est {
            cwnd.max(w_est)
        } else {
            self.memory.approach(cwnd, ahead.clamp(cwnd, part(cwnd, 3, 2)), acked)
        };
        self.reno.set_cwnd(next);
    }

    /// Ends the epoch at the reduction of a window of `cwnd` (section 4.7, fast convergence: a
    /// flow that did not reach its last W_max makes room for new ones).
    fn reduced(&mut self, cwnd: u32) {
        self.first = None;
        self.undo = Some(self.memory);
        let converging = cwnd < self.memory.w_max;
        self.memory.w_max = if converging { part(cwnd, 17, 20) } else { cwnd };
        self.memory.cwnd_prior = cwnd;
        self.memory.epoch = None;
        self.memory.growth.restart();
    }
}

impl Memory {
    /// The epoch after another `since`, or a new one.
    fn run(&mut self, cwnd: u32, mss: u32, since: Duration) -> Epoch {
        let begin = || {
            let curve = Curve::through(cwnd, self.w_max, mss);
            Epoch { elapsed: Duration::ZERO, curve, w_est: cwnd, carry: 0 }
        };
        let running =
            self.epoch.map(|epoch| Epoch { elapsed: plus(epoch.elapsed, since), ..epoch });
        let epoch = running.unwrap_or_else(begin);
        self.w_max = epoch.curve.w_max;
        self.epoch = Some(epoch);
        epoch
    }

    /// W_est after an ACK (section 4.3): alpha = 3 (1 - beta) / (1 + beta) = 9/17 of a segment
    /// for each window, and a whole one from `cwnd_prior` on.
    fn estimate(&mut self, cwnd: u32, acked: u32) -> u32 {
        let Some(epoch) = self.epoch.as_mut() else { return cwnd };
        let window = if epoch.w_est < self.cwnd_prior { part(cwnd, 17, 9) } else { cwnd };
        epoch.w_est = self.growth.avoidance(epoch.w_est, window, acked);
        epoch.w_est
    }

    /// `cwnd` after an ACK on the way to `target`: (target - cwnd) / cwnd for each segment
    /// (sections 4.4 and 4.5).
    fn approach(&mut self, cwnd: u32, target: u32, acked: u32) -> u32 {
        let Some(epoch) = self.epoch.as_mut() else { return cwnd };
        let counted = u64::from(self.growth.counted(acked).min(cwnd));
        let earned = u64::from(target - cwnd) * counted + epoch.carry;
        epoch.carry = earned % u64::from(cwnd);
        let step = u32::try_from(earned / u64::from(cwnd)).unwrap_or(u32::MAX);
        cwnd.saturating_add(step)
    }
}

fn eighth(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos() / 8)
}

/// The sum, at most the longest duration.
fn plus(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}

impl Controller for Cubic {
    fn name(&self) -> String {
        if self.hystart { "cubic" } else { "cubic-no-hystart" }.into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let since = self.observe(ack);
        if !self.reno.may_grow(ack) {
            return;
        }
        if self.reno.in_slow_start() {
            self.slow_start(ack);
        } else {
            self.avoid(ack.acked, since);
        }
    }

    /// beta times FlightSize (section 4.6).
    fn on_loss(&mut self, loss: &LossEvent) {
        let before = self.reno.cwnd();
        if self.reno.loss_to(loss, beta(loss.flight)) {
            self.reduced(before);
        }
    }

    /// As Reno, but with beta; the next epoch starts level at its own window (section 4.8).
    fn on_rto(&mut self, rto: &RtoEvent) {
        let before = self.reno.cwnd();
        if self.reno.timeout_to(rto, beta(rto.flight)) {
            self.reduced(before);
        }
        self.memory.w_max = 0;
        self.memory.epoch = None;
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        let before = self.reno.cwnd();
        if self.reno.mark_to(loss, beta(loss.flight)) {
            self.reduced(before);
            self.undo = None;
        }
    }

    /// Restores all, unless the window has outgrown the old one meanwhile (section 4.9).
    fn on_spurious(&mut self, now: Instant) {
        let before = self.reno.cwnd();
        self.reno.on_spurious(now);
        if let Some(memory) = self.undo.take().filter(|_| self.reno.cwnd() > before) {
            self.memory = memory;
        }
    }

    /// As a lost segment (Hashimoto et al. 2008 section 3.1), so with beta in place of a half.
    fn on_ack_loss(&mut self, _loss: &LossEvent, part: Fraction) {
        let before = self.reno.cwnd();
        self.reno.ack_loss_to(part.of_way(before, beta(before)));
        self.reduced(before);
        self.undo = None;
    }

    /// The curve stands still while nothing is sent (section 5.8). W_est follows cwnd down, or
    /// the window would leap back to it after the slow start that follows.
    fn on_idle_restart(&mut self, idle: Duration) {
        self.received = self.received.map(|received| received + idle);
        self.reno.on_idle_restart(idle);
        if let Some(epoch) = self.memory.epoch.as_mut() {
            epoch.w_est = epoch.w_est.min(self.reno.cwnd());
        }
    }

    fn on_path_change(&mut self, _now: Instant) {
        self.memory.w_max = 0;
        self.memory.epoch = None;
        self.srtt = None;
        self.undo = None;
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }
}
