//! NewReno: Reno's windows with the recovery of RFC 6582.

use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Recovery, Reno, RtoEvent};
use fairwave_units::{Duration, Instant};

/// [`Reno`], staying in recovery until everything outstanding at its start is acknowledged, so
/// that several losses in one window halve it once.
#[derive(Clone, Debug)]
pub struct NewReno(Reno);

impl NewReno {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        Self(Reno::new(initial))
    }
}

impl Controller for NewReno {
    fn name(&self) -> String {
        "newreno".into()
    }

    fn recovery(&self) -> Recovery {
        Recovery::NewReno
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.0.on_loss(loss);
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.0.on_recovery_end(now);
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        self.0.on_rto(rto);
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.0.on_ecn(loss);
    }

    fn on_spurious(&mut self, now: Instant) {
        self.0.on_spurious(now);
    }

    fn on_ack_loss(&mut self, loss: &LossEvent, part: Fraction) {
        self.0.on_ack_loss(loss, part);
    }

    fn on_idle_restart(&mut self, idle: Duration) {
        self.0.on_idle_restart(idle);
    }

    fn on_path_change(&mut self, now: Instant) {
        self.0.on_path_change(now);
    }

    fn cwnd(&self) -> u32 {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.0.ssthresh()
    }
}
