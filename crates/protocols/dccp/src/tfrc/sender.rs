//! The sender: from feedback to a rate, from the rate to times of transmission
//! (RFC 5348, section 4).

mod config;
mod limited;
#[cfg(test)]
mod tests;

use super::equation::throughput;
use super::receive_set::ReceiveSet;
use super::remedy::{SENSITIVE_Q, SENSITIVE_ROUNDS};
use super::{Pacer, Profile, Remedies};
use crate::wait::Wait;
pub use config::{Headers, InitialWindow, SenderConfig};
use fairwave_units::{Duration, Instant};
use limited::DataLimited;

/// The longest time between two packets, t_mbi, in seconds (RFC 5348, section 4.3).
const T_MBI: f64 = 64.0;
/// The nofeedback timer before there is a round-trip time (RFC 5348, section 4.2).
const FIRST_TIMER: Duration = Duration::from_secs(2);
/// The smallest round-trip time to compute with: the equation has none for zero.
const MIN_RTT: f64 = 1e-6;

/// Content of feedback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Time at which the newest packet it knows of was sent, t_recvdata.
    pub sent: Instant,
    /// Time for which the receiver kept it, t_delay.
    pub delay: Duration,
    /// The receive rate X_recv in bytes a second.
    pub x_recv: f64,
    /// The loss event rate p.
    pub p: f64,
    /// Whether it reports a loss event that earlier feedback did not.
    pub new_loss: bool,
}

/// The rate of one sender.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    /// The allowed rate X in bytes a second.
    x: f64,
    /// The round-trip time R in seconds.
    rtt: Option<f64>,
    last_sample: f64,
    sqrt_mean: f64,
    p: f64,
    set: ReceiveSet,
    /// The allowed rate that the last receive limit leaves.
    recv_limit: f64,
    last_doubled: Option<Instant>,
    had_feedback: bool,
    /// A packet has gone.
    began: bool,
    wait: Wait,
    /// The next round-trip time replaces the estimate (B', E).
    rtt_is_old: bool,
    /// No packet has gone since the nofeedback timer was set.
    idle: bool,
    timer: Option<Instant>,
    timeouts: u64,
    pacer: Pacer,
    limited: DataLimited,
    handover: Handover,
    /// Remedy A: the maximum rate before a handover and during it.
    cap: Option<Cap>,
}

/// A bound of the allowed rate.
#[derive(Clone, Copy, Debug)]
struct Cap {
    /// Bytes a second.
    rate: f64,
    /// Time at which it ends if no handover was reported.
    until: Instant,
}

/// A sender's knowledge of handovers.
#[derive(Clone, Copy, Debug, Default)]
struct Handover {
    under_way: bool,
    /// The rate before, of remedy A'.
    rate_before: f64,
    started: Option<Instant>,
    ended: Option<Instant>,
    /// The next report measures the silence as well (B').
    first_report: bool,
    sensitive_until: Option<Instant>,
}

impl Sender {
    /// A sender that has sent nothing and knows no round-trip time.
    pub fn new(config: SenderConfig, now: Instant) -> Self {
        Self {
            config,
            x: config.segment_bytes,
            rtt: None,
            last_sample: 0.0,
            sqrt_mean: 0.0,
            p: 0.0,
            set: ReceiveSet::only(now, f64::INFINITY),
            recv_limit: f64::INFINITY,
            last_doubled: None,
            had_feedback: false,
            began: false,
            wait: Wait::default(),
            rtt_is_old: false,
            idle: true,
            timer: None,
            timeouts: 0,
            pacer: Pacer::new(config.granularity, config.min_spacing),
            limited: DataLimited::default(),
            handover: Handover::default(),
            cap: None,
        }
    }

    /// The allowed rate X in bytes a second.
    pub fn rate(&self) -> f64 {
        self.x
    }

    /// The round-trip time R; `None` before the first sample.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(Duration::from_secs_f64)
    }

    /// The loss event rate p that the rate is computed from.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// The segment size s in bytes.
    pub fn segment_bytes(&self) -> f64 {
        self.config.segment_bytes
    }

    /// Sets the segment size, for applications whose segments vary (RFC 5348, section 4.1).
    pub fn set_segment_bytes(&mut self, bytes: f64) {
        self.config.segment_bytes = bytes.max(1.0);
    }

    /// Sets the mean payload that TFRC-SP scales the rate by.
    pub fn set_payload_bytes(&mut self, bytes: f64) {
        if let Some(headers) = &mut self.config.headers {
            headers.payload_bytes = bytes.max(1.0);
        }
    }

    /// The rate at which packets go: X, less when the round trip is longer than it used to be
    /// (RFC 5348, section 4.5).
    pub fn instantaneous_rate(&self) -> f64 {
        if self.config.oscillation_q2.is_none() || self.last_sample <= 0.0 {
            return self.x;
        }
        (self.x * self.sqrt_mean / self.last_sample.sqrt()).max(self.min_rate())
    }

    /// A round-trip time from elsewhere than feedback, such as the handshake: the first one sets
    /// the initial rate (RFC 5348, section 4.2).
    pub fn take_rtt(&mut self, now: Instant, sample: Duration) {
        if self.rtt.is_none() {
            self.take_sample(now, sample.as_secs_f64());
            self.begin(now);
        }
    }

    /// The host runs, and packets may go. The time for which feedback has waited for that is part
    /// of the round trip.
    pub fn act(&mut self, now: Instant) {
        let waited = self.wait.end(now);
        self.rtt = self.rtt.map(|rtt| rtt + waited);
    }

    /// Time at which the next packet may go.
    pub fn next_send(&self) -> Instant {
        self.pacer.next(self.t_ipi(), self.rtt().unwrap_or(Duration::ZERO))
    }

    /// A data packet goes.
    pub fn sent(&mut self, now: Instant) {
        let rtt = self.rtt().unwrap_or(Duration::ZERO);
        if !self.began {
            // The first two round trips without a limit begin with the first packet.
            self.began = true;
            self.set = ReceiveSet::only(now, f64::INFINITY);
        }
        self.pacer.sent(now, self.t_ipi(), rtt);
        self.idle = false;
        if self.timer.is_none() && !self.handover.suspends(self.config.remedies) {
            self.timer = Some(now + self.timeout());
        }
        if self.next_send() > now {
            self.limited.sent_all(now);
        }
    }

    /// Returns the time to [`Sender::wake`]: the nofeedback timer.
    pub fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Number of times that the nofeedback timer expired because feedback was missing, or lowered
    /// the rate.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Time has come: the nofeedback timer if it is due (RFC 5348, section 4.4).
    pub fn wake(&mut self, now: Instant) {
        if self.timer.is_none_or(|timer| timer > now) {
            return;
        }
        let before = (self.x, self.recv_limit);
        self.halve(now);
        let lowers = (self.x, self.recv_limit) != before;
        self.timeouts += u64::from(lowers || !self.idle);
        if self.idle && !lowers && !self.handover.suspends(self.config.remedies) {
            // Nothing was sent, and nothing is to be lowered until something is: the timer would
            // only expire again and again.
            self.timer = None;
        } else {
            self.restart_timer(now);
        }
    }

    /// Feedback came (RFC 5348, section 4.3).
    pub fn feedback(&mut self, now: Instant, report: Report) {
        let was_first = !self.had_feedback && self.last_doubled.is_none();
        let leaves_before = self.config.remedies.leaves_before();
        let from_before = leaves_before && self.handover.is_from_before(report.sent);
        if !from_before {
            // What waited through a handover has been on its way since the end of it.
            let end = self.handover.ended.filter(|_| leaves_before).unwrap_or(Instant::ZERO);
            let sample = now.since(report.sent.max(end)).saturating_sub(report.delay);
            self.take_sample(now, sample.as_secs_f64());
        }
        let timeout = self.timeout();
        let data_limited = self.limited.covered(now, report.sent, self.rtt_or_min());
        let data_limited = data_limited && report.x_recv > 0.0;
        let increased = report.new_loss || report.p > self.p;
        self.p = report.p;
        if !self.leaves_out_rate(from_before) {
            self.limit(now, report.x_recv, data_limited, increased);
        }
        self.had_feedback = true;
        if was_first && self.config.profile == Profile::Rfc5348 {
            self.begin(now);
        } else {
            self.set_rate(now);
        }
        if !self.handover.suspends(self.config.remedies) {
            self.timer = Some(now + timeout);
            self.idle = true;
        }
    }

    /// A handover will begin; `free` is the rate known to be free at the new access point, in bytes
    /// a second (remedy A).
    pub fn handover_expected(&mut self, now: Instant, free: Option<f64>) {
        if let Some(rate) = free.filter(|_| self.config.remedies.set_ahead) {
            self.adopt(now, rate.min(self.x));
            self.cap = Some(Cap { rate: self.x, until: now + Duration::from_secs_f64(T_MBI) });
        }
    }

    /// A handover begins.
    pub fn handover_started(&mut self, now: Instant) {
        self.handover = Handover {
            under_way: true,
            rate_before: self.x,
            started: Some(now),
            ..Handover::default()
        };
        if self.config.remedies.leave_out {
            // If the end of the handover is never reported, the sender still must not go without
            // feedback for ever.
            self.timer = Some(now + Duration::from_secs_f64(T_MBI));
        }
    }

    /// The handover is over; `free` is the rate known to be free here (remedy A').
    pub fn handover_ended(&mut self, now: Instant, free: Option<f64>) {
        let remedies = self.config.remedies;
        let sensitive_for = Duration::from_secs_f64(self.rtt_or_min()) * SENSITIVE_ROUNDS;
        let handover = &mut self.handover;
        if !handover.under_way {
            handover.rate_before = self.x;
        }
        handover.under_way = false;
        handover.ended = Some(now);
        handover.first_report = true;
        handover.sensitive_until = remedies.sensitive.map(|_| now + sensitive_for);
        self.cap = None;
        if let Some(free) = free.filter(|_| remedies.on_arrival) {
            self.adopt(now, free.min(self.handover.rate_before));
        }
        if remedies.restart {
            self.forget(now);
        }
        if remedies.leaves_before() {
            self.rtt_is_old = true;
            self.pacer.restart(now);
            self.restart_timer(now);
        }
    }

    /// Allows this rate, in bytes a second, as if its half had been received.
    fn adopt(&mut self, now: Instant, rate: f64) {
        self.x = rate.max(self.min_rate());
        self.set = ReceiveSet::only(now, self.x / 2.0);
        self.recv_limit = self.x;
    }

    /// Whether remedy C is in force.
    pub fn is_sensitive(&self, now: Instant) -> bool {
        self.handover.sensitive_until.is_some_and(|until| now < until)
    }

    /// Remedy E: the state of a new connection, but with the last round-trip time.
    fn forget(&mut self, now: Instant) {
        self.p = 0.0;
        self.set = ReceiveSet::only(now, f64::INFINITY);
        self.recv_limit = f64::INFINITY;
        self.had_feedback = false;
        self.begin(now);
    }

    /// Sets the initial rate.
    fn begin(&mut self, now: Instant) {
        self.x = self.initial_rate();
        self.last_doubled = Some(now);
    }

    fn take_sample(&mut self, now: Instant, sample: f64) {
        let sample = sample.max(MIN_RTT);
        self.last_sample = sample;
        let q2 = self.config.oscillation_q2.unwrap_or(0.0);
        let Some(rtt) = self.rtt.filter(|_| !self.rtt_is_old) else {
            self.rtt_is_old = false;
            self.rtt = Some(sample);
            self.sqrt_mean = sample.sqrt();
            self.wait.arrived(now, 1.0);
            return;
        };
        let q = if self.is_sensitive(now) { SENSITIVE_Q } else { self.config.q };
        self.wait.arrived(now, 1.0 - q);
        self.rtt = Some(q * rtt + (1.0 - q) * sample);
        self.sqrt_mean = q2 * self.sqrt_mean + (1.0 - q2) * sample.sqrt();
    }

    /// Remedies B' and E leave out receive rates of before, and the first one after, which is
    /// measured over the silence too.
    fn leaves_out_rate(&mut self, from_before: bool) -> bool {
        if !self.config.remedies.leaves_before() || self.handover.ended.is_none() {
            return false;
        }
        let first = !from_before && self.handover.first_report;
        if first {
            self.handover.first_report = false;
        }
        from_before || first
    }

    /// Limits the rate by the receive rate: step (4) of section 4.3.
    fn limit(&mut self, now: Instant, x_recv: f64, data_limited: bool, increased: bool) {
        // The first feedback tells of one packet, and so of no rate yet. Where the handshake took
        // long, what the set began with is old by then; it is meant for two round trips from here.
        if !self.had_feedback && x_recv <= 0.0 {
            self.set = ReceiveSet::only(now, f64::INFINITY);
            return;
        }
        if self.config.profile == Profile::Rfc3448 {
            self.set = ReceiveSet::only(now, x_recv);
            self.recv_limit = 2.0 * x_recv;
            return;
        }
        match (data_limited, increased) {
            // The limit is half the earlier rates or 0.85 of what got through, if that is more.
            (true, true) => {
                self.set.halve();
                self.set.maximize(now, 0.85 * x_recv);
                self.recv_limit = self.set.max();
            }
            (true, false) => {
                self.set.maximize(now, x_recv);
                self.recv_limit = 2.0 * self.set.max();
            }
            (false, _) => {
                let rtt = Duration::from_secs_f64(self.rtt_or_min());
                self.set.update(now, x_recv, rtt);
                self.recv_limit = 2.0 * self.set.max();
            }
        }
    }

    /// The allowed rate under the equation and the receive limit, or one more doubling.
    fn set_rate(&mut self, now: Instant) {
        debug_assert!((0.0..=1.0).contains(&self.p), "p is {}", self.p);
        debug_assert!(self.recv_limit >= 0.0, "the receive limit is {}", self.recv_limit);
        let rtt = self.rtt_or_min();
        if self.p > 0.0 {
            self.x = self.equation_rate().min(self.recv_limit).max(self.min_rate());
        } else if self.last_doubled.is_none_or(|last| now.since(last).as_secs_f64() >= rtt) {
            self.x = (2.0 * self.x).min(self.recv_limit).max(self.initial_rate());
            self.last_doubled = Some(now);
        }
        if let Some(cap) = self.cap.filter(|cap| now < cap.until) {
            self.x = self.x.min(cap.rate);
        }
        debug_assert!(self.x > 0.0, "X is {}", self.x);
    }

    /// Halves the rate because no feedback came, unless nothing was sent for it.
    fn halve(&mut self, now: Instant) {
        let x_recv = self.set.max();
        let halved = (self.x / 2.0).max(self.min_rate());
        if self.rtt.is_none() {
            if !self.idle {
                self.x = halved;
            }
            return;
        }
        if self.idle && self.idle_keeps_rate(x_recv) {
            return;
        }
        if self.p == 0.0 {
            self.x = halved;
            return;
        }
        // Of the equation's rate and 2 X_recv the lower is in force, and is halved.
        let equation = self.equation_rate();
        let limit = if equation > 2.0 * x_recv { x_recv } else { equation / 2.0 };
        // Half the limit, for set_rate allows twice the largest value of the set.
        self.set = ReceiveSet::only(now, limit.max(self.min_rate()) / 2.0);
        self.recv_limit = 2.0 * self.set.max();
        self.set_rate(now);
    }

    /// Idleness takes no rate below the recover rate: the initial one, or with RFC 3448 two
    /// packets a round trip.
    fn idle_keeps_rate(&self, x_recv: f64) -> bool {
        match self.config.profile {
            Profile::Rfc3448 => x_recv < 4.0 * self.config.segment_bytes / self.rtt_or_min(),
            Profile::Rfc5348 if self.p > 0.0 => x_recv < self.initial_rate(),
            Profile::Rfc5348 => self.x < 2.0 * self.initial_rate(),
        }
    }

    fn restart_timer(&mut self, now: Instant) {
        self.timer = Some(now + self.timeout());
        self.idle = true;
    }

    /// The nofeedback timer when it is set: max(4R, 2s/X), or two seconds before there is an R.
    pub fn timeout(&self) -> Duration {
        let Some(rtt) = self.rtt else {
            return Duration::from_secs_f64(2.0 * self.config.segment_bytes / self.x)
                .max(FIRST_TIMER);
        };
        Duration::from_secs_f64((4.0 * rtt).max(2.0 * self.config.segment_bytes / self.x))
    }

    fn t_ipi(&self) -> Duration {
        let wire = self.config.headers.map_or(1.0, |headers| {
            headers.payload_bytes / (headers.payload_bytes + headers.header_bytes)
        });
        let payload = self.config.headers.map_or(self.config.segment_bytes, |h| h.payload_bytes);
        Duration::from_secs_f64(payload / (self.instantaneous_rate() * wire))
    }

    fn equation_rate(&self) -> f64 {
        throughput(self.config.segment_bytes, self.rtt_or_min(), self.p)
    }

    fn initial_rate(&self) -> f64 {
        let s = self.config.segment_bytes;
        let window = match self.config.initial {
            InitialWindow::Rfc3390 => (4.0 * s).min((2.0 * s).max(4380.0)),
            InitialWindow::OnePacket => s,
        };
        window / self.rtt_or_min()
    }

    fn min_rate(&self) -> f64 {
        self.config.segment_bytes / T_MBI
    }

    fn rtt_or_min(&self) -> f64 {
        self.rtt.unwrap_or(MIN_RTT)
    }
}

impl Handover {
    /// Returns whether a packet was sent before the handover; before its end if its start is
    /// unknown.
    fn is_from_before(self, sent: Instant) -> bool {
        self.ended.is_some_and(|ended| sent < self.started.unwrap_or(ended))
    }

    /// Whether the nofeedback timer stands still.
    fn suspends(self, remedies: Remedies) -> bool {
        self.under_way && remedies.leave_out
    }
}
