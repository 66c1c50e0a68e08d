//! TCP-AV: a window that aims at a target rate (Shimonishi et al. 2006).
//!
//! The sender keeps account of its debt to the target and derives a target window from that. A loss
//! takes the window to the target window instead of to a half, but no higher than a limit that
//! falls as the path's losses become severe: the six points of US 2009/0147676. The paper's
//! equations are not public, so every formula here is Fairwave's choice within those points;
//! `docs/models/tcp-av.md` lists them.
//!
//! Without a target it is [`Reno`].

use crate::growth::Growth;
use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Reno, RtoEvent};
use fairwave_units::{Duration, Instant};

mod account;
mod config;
mod severity;
#[cfg(test)]
mod tests;

use account::{Account, NANOBITS};
pub use config::TcpAvConfig;
use severity::Severity;

/// The algorithm of TCP-AV around Reno's window.
#[derive(Clone, Debug)]
pub struct TcpAv {
    reno: Reno,
    steering: Option<Steering>,
}

/// A window that follows a target.
#[derive(Clone, Debug)]
struct Steering {
    config: TcpAvConfig,
    mss: u32,
    /// B: the target with its margin, in bits per second.
    rate: u64,
    account: Account,
    severity: Severity,
    srtt: Option<Duration>,
    climb: Climb,
    /// Reno's ssthresh for the last reduction, in force if its segment times out twice.
    fallback: u32,
}

/// Growth in congestion avoidance by so much per window of data, spread over its ACKs.
#[derive(Clone, Debug)]
struct Climb {
    growth: Growth,
    /// The window that the round acknowledges; zero before it begins.
    window: u32,
    acked: u32,
    step: u32,
    given: u32,
}

impl Climb {
    /// `cwnd` after an ACK of `acked` bytes, where a round that begins now grows by `step`.
    fn grow(&mut self, cwnd: u32, acked: u32, step: u32) -> u32 {
        if self.window == 0 {
            (self.window, self.step, self.given) = (cwnd, step, 0);
        }
        self.acked = self.acked.saturating_add(self.growth.counted(acked));
        let part = Fraction::new(self.acked.min(self.window), self.window);
        let due = part.of(self.step);
        let grown = cwnd.saturating_add(due.saturating_sub(self.given));
        self.given = due;
        if self.acked >= self.window {
            self.acked = (self.acked - self.window).min(self.window);
            self.window = 0;
        }
        grown
    }

    fn restart(&mut self) {
        (self.window, self.acked) = (0, 0);
    }
}

impl Steering {
    /// `None` where there is nothing to aim at.
    fn new(initial: Initial) -> Option<Self> {
        let config = initial.av;
        let rate = config.margin.of_long(config.target?.0);
        let mss = initial.mss.max(1);
        let growth = Growth::new(&initial);
        (rate > 0).then(|| Self {
            config,
            mss,
            rate,
            account: Account::new(rate, config.horizon),
            severity: Severity::new(config.horizon),
            srtt: None,
            climb: Climb { growth, window: 0, acked: 0, step: 0, given: 0 },
            fallback: u32::MAX,
        })
    }

    /// Takes an ACK's information on the path. The first round trip gives an ssthresh: the target's
    /// data in flight without a queue.
    fn observe(&mut self, ack: &AckEvent) -> Option<u32> {
        self.account.note(ack.now, ack.delivered);
        self.severity.note(ack.now, ack.delivered, ack.lost);
        let rtt = ack.rtt?;
        let first = self.srtt.is_none().then(|| in_flight(self.rate, rtt));
        // RFC 6298 section 2.3.
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| {
            let eighths = u128::from(srtt.as_nanos()) * 7 + u128::from(rtt.as_nanos());
            Duration::from_nanos((eighths / 8) as u64)
        }));
        first
    }

    /// B': the rate that repays the debt in the time to catch up.
    fn wanted_rate(&self) -> u64 {
        let most = self.config.most.of_long(self.rate);
        let wanted = i128::from(self.rate) + self.account.owed_over(self.config.catch_up);
        u64::try_from(wanted.max(0)).unwrap_or(u64::MAX).min(most)
    }

    /// W_T in bytes, at least two segments; `None` before a round trip was measured.
    fn target_window(&self) -> Option<u32> {
        let window = in_flight(self.wanted_rate(), self.srtt?);
        Some(window.max(self.mss.saturating_mul(2)))
    }

    /// v: zero without losses, one where they are as severe as configured.
    fn severity(&self) -> Fraction {
        self.severity.of(self.config.severe)
    }

    /// Returns the window after a loss at `w`: the target window, but no more than the limit W_L,
    /// and always a segment less than it was.
    fn after_loss(&self, w: u32) -> u32 {
        let limit = self.severity().of_way(w, w / 2).min(w.saturating_sub(self.mss));
        let wanted = self.target_window().map_or(limit, |target| target.min(limit));
        if self.config.floor_at_reno { wanted.max(w / 2) } else { wanted }
    }

    /// By how much a round of congestion avoidance grows: half the way to the target window,
    /// less as losses become severe, and at least as Reno.
    fn step(&self, cwnd: u32) -> u32 {
        let target = self.target_window().unwrap_or(0);
        if cwnd >= target && self.config.cap_to_target && self.account.is_ahead() {
            return 0;
        }
        let half = target.saturating_sub(cwnd) / 2;
        self.severity().of_way(half, 0).max(self.mss)
    }

    /// The window is lowered: growth begins anew.
    fn lowers(&mut self, cwnd: u32, flight: u32) -> u32 {
        self.climb.restart();
        self.after_loss(cwnd.min(flight))
    }
}

/// Returns the data in flight at `rate` bits per second in a round trip, in bytes.
fn in_flight(rate: u64, rtt: Duration) -> u32 {
    let nanobits = u128::from(rate) * u128::from(rtt.as_nanos());
    u32::try_from(nanobits / NANOBITS.unsigned_abs()).unwrap_or(u32::MAX)
}

impl TcpAv {
    /// A connection's algorithm at its start, aiming as [`Initial::av`] says.
    pub fn new(initial: Initial) -> Self {
        Self { reno: Reno::new(initial), steering: Steering::new(initial) }
    }
}

impl Controller for TcpAv {
    fn name(&self) -> String {
        "tcp-av".into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let Some(steering) = &mut self.steering else { return self.reno.on_ack(ack) };
        if let Some(ssthresh) = steering.observe(ack) {
            self.reno.limit_ssthresh(ssthresh);
        }
        if !self.reno.may_grow(ack) {
            return;
        }
        if self.reno.in_slow_start() {
            return self.reno.slow_start(ack.acked);
        }
        let cwnd = self.reno.cwnd();
        let step = steering.step(cwnd);
        self.reno.set_cwnd(steering.climb.grow(cwnd, ack.acked, step));
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let Some(steering) = &mut self.steering else { return self.reno.on_loss(loss) };
        if self.reno.loss_to(loss, steering.lowers(self.reno.cwnd(), loss.flight)) {
            steering.fallback = loss.flight / 2;
        }
    }

    /// A second expiry for the same data puts Reno's ssthresh in force and forgives the debt: a
    /// path that carries nothing must not be pushed.
    fn on_rto(&mut self, rto: &RtoEvent) {
        let Some(steering) = &mut self.steering else { return self.reno.on_rto(rto) };
        steering.severity.note_timeout(steering.mss);
        let mut target = 0;
        if rto.lowers() {
            steering.fallback = rto.flight / 2;
            target = steering.lowers(self.reno.cwnd(), rto.flight);
        }
        self.reno.timeout_to(rto, target);
        if rto.backoff > 1 {
            self.reno.limit_ssthresh(steering.fallback);
            steering.account.forgive();
        }
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        let Some(steering) = &mut self.steering else { return self.reno.on_ecn(loss) };
        if self.reno.mark_to(loss, steering.lowers(self.reno.cwnd(), loss.flight)) {
            steering.fallback = loss.flight / 2;
        }
    }

    fn on_spurious(&mut self, now: Instant) {
        self.reno.on_spurious(now);
    }

    /// As a lost segment.
    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        let Some(steering) = &mut self.steering else { return self.reno.on_ack_loss(loss, part) };
        let cwnd = self.reno.cwnd();
        self.reno.ack_loss_to(part.of_way(cwnd, steering.lowers(cwnd, cwnd)));
    }

    /// Nothing is owed for the time in which there was nothing to send.
    fn on_idle_restart(&mut self, idle: Duration) {
        if let Some(steering) = &mut self.steering {
            steering.account.pause();
            steering.climb.restart();
        }
        self.reno.on_idle_restart(idle);
    }

    /// Delay and losses were the old path's; the debt stays.
    fn on_path_change(&mut self, _now: Instant) {
        if let Some(steering) = &mut self.steering {
            steering.srtt = None;
            steering.severity = Severity::new(steering.config.horizon);
        }
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }
}
