//! The receiver: measures, and says so once a round trip (RFC 5348, section 6).

#[cfg(test)]
mod tests;

use super::average::Method;
use super::equation::loss_rate_for;
use super::history::{Arrival, Blind, Change, History, Rule, View};
use super::remedy::SENSITIVE_ROUNDS;
use super::{Meter, Profile, Remedies, Sensitivity};
use fairwave_units::{Duration, Instant};

/// Behaviour of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The edition to follow.
    pub profile: Profile,
    /// Whether old loss intervals are discounted (RFC 5348, section 5.5).
    pub discounting: bool,
    /// The segment size s of the sender in bytes.
    pub segment_bytes: f64,
    /// Remedies for handovers.
    pub remedies: Remedies,
}

impl ReceiverConfig {
    /// RFC 5348 for segments of `segment_bytes`, with discounting.
    pub fn new(segment_bytes: f64) -> Self {
        Self {
            profile: Profile::default(),
            discounting: true,
            segment_bytes,
            remedies: Remedies::default(),
        }
    }
}

/// A data packet (RFC 5348, section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its sequence number, extended.
    pub seq: u64,
    /// Its payload in bytes.
    pub bytes: u64,
    /// Time at which it was sent, ts_i.
    pub sent: Instant,
    /// The sender's round-trip time R_i, if it has one.
    pub rtt: Option<Duration>,
    /// Whether it carries an ECN mark.
    pub marked: bool,
}

/// Feedback (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// Time at which the newest packet was sent, t_recvdata.
    pub sent: Instant,
    /// Time since that arrived, t_delay.
    pub delay: Duration,
    /// The receive rate X_recv in bytes a second.
    pub x_recv: f64,
    /// The loss event rate p.
    pub p: f64,
}

/// One receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    history: History,
    meter: Meter,
    /// The largest receive rate reported.
    target: f64,
    p: f64,
    /// The newest packet: sent, arrived, R_m.
    newest: Option<(Data, Instant)>,
    rtt: Duration,
    timer: Option<Instant>,
    /// Data arrived since the last feedback; none was sent when the timer expired last.
    fresh: bool,
    missed: bool,
    due: bool,
    started: Option<Instant>,
    ended: Option<(Instant, u64)>,
}

impl Receiver {
    /// A receiver that got nothing yet.
    pub fn new(config: ReceiverConfig) -> Self {
        let threshold = config.discounting.then(|| config.profile.discount_threshold());
        Self {
            config,
            history: History::new(Rule::Time, threshold),
            meter: Meter::default(),
            target: 0.0,
            p: 0.0,
            newest: None,
            rtt: Duration::ZERO,
            timer: None,
            fresh: false,
            missed: false,
            due: false,
            started: None,
            ended: None,
        }
    }

    /// A data packet arrives (RFC 5348, sections 6.1 and 6.3).
    pub fn data(&mut self, now: Instant, data: Data) {
        let first = self.newest.is_none();
        if first {
            self.meter.restart(now);
        }
        let arrival =
            Arrival { seq: data.seq, at: now, counter: 0, marked: data.marked, data: true };
        let change = self.history.arrive(arrival, data.rtt.unwrap_or(self.rtt));
        if change.old {
            return;
        }
        self.fresh = true;
        if first {
            self.take_newest(now, data);
            self.due = true;
            return;
        }
        self.meter.take(data.bytes);
        if self.newest.is_none_or(|(newest, _)| data.seq > newest.seq) {
            self.take_newest(now, data);
        }
        self.judge(now, change);
        if data.rtt.is_none() {
            self.due = true;
        }
    }

    /// The feedback to send now, if any.
    pub fn poll(&mut self, now: Instant) -> Option<Feedback> {
        let (newest, arrived) = self.newest.filter(|_| self.due)?;
        let x_recv = self.meter.rate(now, self.rtt);
        self.meter.note(now, self.rtt);
        self.due = false;
        self.fresh = false;
        self.missed = false;
        self.rtt = newest.rtt.unwrap_or(self.rtt);
        self.timer = Some(now + self.rtt).filter(|_| !self.rtt.is_zero());
        self.target = self.target.max(x_recv);
        self.p = self.loss_event_rate(now);
        debug_assert!(arrived <= now && x_recv >= 0.0, "{x_recv} B/s, newest at {arrived:?}");
        Some(Feedback { sent: newest.sent, delay: now.since(arrived), x_recv, p: self.p })
    }

    /// Returns the time to [`Receiver::wake`]: the feedback timer.
    pub fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Time has come: the feedback timer if it is due (RFC 5348, section 6.2).
    pub fn wake(&mut self, now: Instant) {
        if self.timer.is_none_or(|timer| timer > now) {
            return;
        }
        // Without data there is nothing to say; the next packet makes up for it.
        self.timer = None;
        self.due = self.fresh;
        self.missed = !self.fresh;
    }

    /// The loss event rate p at `now`.
    pub fn loss_event_rate(&self, now: Instant) -> f64 {
        self.history.p(self.view(now))
    }

    /// A handover of the sender or the receiver begins.
    pub fn handover_started(&mut self, now: Instant) {
        self.started = Some(now - self.rtt);
        self.ended = None;
        self.leave_out(Instant::MAX, None);
    }

    /// It is over; `through` is the last number the sender sent before, if that is known.
    pub fn handover_ended(&mut self, now: Instant, through: Option<u64>) {
        self.leave_out(now, through);
        let fence = self.history.highest().map_or(0, |highest| highest + 1);
        self.ended = Some((now, fence));
        if self.config.remedies.leave_out {
            self.meter.restart(now);
        }
        if self.config.remedies.restart {
            self.history.forget_events();
            self.target = 0.0;
        }
    }

    fn leave_out(&mut self, until: Instant, through: Option<u64>) {
        if let Some(from) = self.started.filter(|_| self.config.remedies.leave_out) {
            self.history.leave_out(Some(Blind { from, until, through }));
        }
    }

    fn take_newest(&mut self, now: Instant, data: Data) {
        self.newest = Some((data, now));
    }

    /// Returns whether the change wants feedback before the timer (RFC 5348, section 6.1).
    fn judge(&mut self, now: Instant, change: Change) {
        if change.first {
            self.seed(now);
        }
        if change.began || change.filled {
            let p = self.loss_event_rate(now);
            self.due |= p > self.p || change.filled;
        }
        self.due |= self.missed;
    }

    /// Returns the interval before the first loss: by the equation from the largest rate reported
    /// (RFC 5348, section 6.3.1), or from the rate now (RFC 3448).
    fn seed(&mut self, now: Instant) {
        let (s, rtt) = (self.config.segment_bytes, self.rtt.as_secs_f64().max(1e-6));
        let target = match (self.config.profile, self.target > 0.0) {
            (Profile::Rfc5348, true) => self.target,
            _ => self.meter.rate(now, self.rtt),
        };
        // Half a packet a round trip at least: before the first feedback X_recv may be zero.
        let target = target.max(0.5 * s / rtt);
        self.history.seed(1.0 / loss_rate_for(s, rtt, target));
    }

    fn view(&self, now: Instant) -> View {
        let (ended, fence) = match self.ended {
            Some((at, fence)) if now < at + self.rtt * SENSITIVE_ROUNDS => (true, fence),
            _ => (false, 0),
        };
        match self.config.remedies.sensitive.filter(|_| ended) {
            Some(Sensitivity::Intervals(n)) => {
                View { method: Method { n, threshold: None }, old: None }
            }
            Some(Sensitivity::Discount(factor)) => {
                View { old: Some((fence, factor)), ..View::default() }
            }
            None => View::default(),
        }
    }
}
