//! The congestion control algorithm, and the events passed to it so far.

use crate::Config;
use fairwave_cc::{AckEvent, Controller, LossEvent, Recovery, RtoEvent};
use fairwave_units::{BitRate, Duration, Instant};

/// The algorithm of a connection: none before the handshake is over, and none after the end.
#[derive(Debug, Default)]
pub(super) struct CongestionControl {
    controller: Option<Box<dyn Controller>>,
    /// Its outputs after the last event: each segment asks for them several times.
    output: Output,
    /// Bytes of a full segment: no algorithm makes the window smaller.
    smss: u32,
    /// Bytes marked lost so far that the algorithm has reacted to.
    lost_reported: u64,
    /// The congestion window was full when this was SND.NXT.
    limited_until: u64,
    /// A loss lowers the congestion window, not FlightSize.
    reduces_window: bool,
    /// Used part of the window, where slow start depends on it.
    usage: Option<Usage>,
}

/// Window, threshold and rate that an algorithm has set; `None` without one.
#[derive(Clone, Copy, Debug, Default)]
struct Output {
    cwnd: Option<u32>,
    ssthresh: Option<u32>,
    pacing_rate: Option<BitRate>,
}

impl Output {
    fn of(controller: &dyn Controller) -> Self {
        Self {
            cwnd: Some(controller.cwnd()),
            ssthresh: Some(controller.ssthresh()),
            pacing_rate: controller.pacing_rate(),
        }
    }
}

/// The maximum data in flight within a window (Linux, `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Bytes.
    most: u32,
    /// The window ends when this was SND.UNA.
    until: u64,
}

impl CongestionControl {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            reduces_window: config.reduce_window,
            usage: config.slow_start_headroom.then(Usage::default),
            ..Self::default()
        }
    }

    /// The handshake settled on segments of `smss` bytes, and the algorithm was made for them.
    pub(super) fn install(&mut self, controller: Box<dyn Controller>, smss: u32) {
        self.output = Output::of(controller.as_ref());
        self.controller = Some(controller);
        self.smss = smss;
    }

    pub(super) fn remove(&mut self) {
        self.controller = None;
        self.output = Output::default();
    }

    /// The congestion window in bytes.
    pub(super) fn cwnd(&self) -> Option<u32> {
        self.output.cwnd
    }

    /// The slow start threshold in bytes.
    pub(super) fn ssthresh(&self) -> Option<u32> {
        self.output.ssthresh
    }

    /// Lost ACKs that it inferred.
    pub(super) fn acks_lost(&self) -> u64 {
        self.controller.as_ref().map_or(0, Controller::acks_lost)
    }

    pub(super) fn pacing_rate(&self) -> Option<BitRate> {
        self.output.pacing_rate
    }

    pub(super) fn recovery(&self) -> Recovery {
        self.controller.as_ref().map_or(Recovery::NewReno, Controller::recovery)
    }

    /// Whether it sets the window of a recovery itself.
    pub(super) fn governs_recovery(&self) -> bool {
        self.controller.as_ref().is_some_and(Controller::governs_recovery)
    }

    /// The data up to `end` has filled the congestion window.
    pub(super) fn note_limit(&mut self, end: u64) {
        self.limited_until = self.limited_until.max(end);
    }

    /// Data left: `flight` bytes from `una` to `next` are outstanding.
    pub(super) fn note_flight(&mut self, una: u64, next: u64, flight: u32) {
        if let Some(usage) = &mut self.usage
            && (una >= usage.until || flight > usage.most)
        {
            *usage = Usage { most: flight, until: next };
        }
    }

    /// Returns whether the congestion window was full when the data after `una` was sent, or may
    /// grow in slow start although it was not.
    pub(super) fn was_limited(&self, una: u64) -> bool {
        una < self.limited_until || self.has_headroom()
    }

    fn has_headroom(&self) -> bool {
        let Output { cwnd: Some(cwnd), ssthresh: Some(ssthresh), .. } = self.output else {
            return false;
        };
        self.usage.is_some_and(|usage| cwnd < ssthresh.min(usage.most.saturating_mul(2)))
    }

    /// Returns the value that a loss with `flight` bytes outstanding (FlightSize) reduces.
    pub(super) fn reduced(&self, flight: u32) -> u32 {
        self.cwnd().filter(|_| self.reduces_window).unwrap_or(flight)
    }

    /// Returns the bytes of the `lost` marked so far to which the algorithm has not reacted. It is
    /// about to.
    pub(super) fn take_lost(&mut self, lost: u64) -> u32 {
        debug_assert!(self.lost_reported <= lost, "{} of {lost} bytes lost", self.lost_reported);
        let newly_lost = lost - self.lost_reported;
        self.lost_reported = lost;
        newly_lost as u32
    }

    pub(super) fn on_ack(&mut self, event: &AckEvent) {
        self.with_controller(|congestion_control| congestion_control.on_ack(event));
    }

    pub(super) fn on_loss(&mut self, loss: &LossEvent) {
        self.with_controller(|congestion_control| congestion_control.on_loss(loss));
    }

    pub(super) fn on_ecn(&mut self, mark: &LossEvent) {
        self.with_controller(|congestion_control| congestion_control.on_ecn(mark));
    }

    /// Whether a timeout that replaces a recovery (`recovers`) leaves ssthresh as the recovery
    /// made it (Linux, `tcp_enter_loss`).
    pub(super) fn keeps_reduction(&self, recovers: bool) -> bool {
        self.reduces_window && recovers
    }

    /// A timeout with `lost` bytes found to be lost before: it stands for all of them.
    pub(super) fn on_rto(&mut self, timeout: &RtoEvent, lost: u64) {
        let timeout = RtoEvent { flight: self.reduced(timeout.flight), ..*timeout };
        self.with_controller(|congestion_control| congestion_control.on_rto(&timeout));
        self.lost_reported = lost;
    }

    pub(super) fn on_recovery_end(&mut self, now: Instant) {
        self.with_controller(|congestion_control| congestion_control.on_recovery_end(now));
    }

    pub(super) fn on_spurious(&mut self, now: Instant) {
        self.with_controller(|congestion_control| congestion_control.on_spurious(now));
    }

    pub(super) fn on_idle_restart(&mut self, idle: Duration) {
        self.with_controller(|congestion_control| congestion_control.on_idle_restart(idle));
    }

    fn with_controller(&mut self, report: impl FnOnce(&mut dyn Controller)) {
        if let Some(congestion_control) = &mut self.controller {
            report(congestion_control.as_mut());
            self.output = Output::of(congestion_control.as_ref());
            let (cwnd, minimum) = (congestion_control.cwnd(), self.smss);
            debug_assert!(
                cwnd >= minimum,
                "{}: a window of {cwnd} < {minimum} bytes",
                congestion_control.name()
            );
        }
    }
}
