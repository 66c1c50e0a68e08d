//! The window (RFC 4341 section 5).

use super::acks::AckRatio;
use super::history::History;
use super::rto::Rto;
use crate::Ccid;
use crate::ccid::{Arrived, Feedback, Permit, Sender, SenderStats, Sent};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Arrival, DropCode, Dropped, Runs, Seq48, Value};
use fairwave_wire::ipv4::Ecn;

/// Windows do not grow beyond the capacity of a history.
const CWND_MAX: u32 = 4096;

/// The sender's half of CCID 2.
#[derive(Debug)]
pub struct Ccid2Sender {
    cwnd: u32,
    ssthresh: u32,
    pipe: u32,
    /// Whether the first data packet has set the initial window.
    begun: bool,
    history: History,
    /// The greatest number sent, and its value when congestion was last found.
    sent: Option<Seq48>,
    recover: Option<Seq48>,
    /// The greatest number sent with a full window: acknowledgements up to it let the window grow.
    limited: Option<Seq48>,
    /// Acknowledged data packets that count towards the next increase.
    credit: u32,
    /// Acknowledged data packets of the present window.
    window: u32,
    rto: Rto,
    /// The packet whose round trip is timed.
    timed: Option<Seq48>,
    timer: Option<Instant>,
    last_data: Option<Instant>,
    /// No increase before then (RFC 4340 section 11.6).
    slow_until: Option<Instant>,
    acks: AckRatio,
    /// Data packets since one that acknowledged.
    unacknowledging: u32,
    congestion_events: u64,
    timeouts: u64,
}

/// Sum of a feedback packet.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    /// Data packets newly acknowledged, unmarked; those of them that let the window grow.
    clean: u32,
    growing: u32,
    /// Any data packet newly acknowledged.
    acknowledges: bool,
}

impl Ccid2Sender {
    /// A sender before its first packet.
    pub fn new() -> Self {
        Self {
            cwnd: 1,
            ssthresh: u32::MAX,
            pipe: 0,
            begun: false,
            history: History::default(),
            sent: None,
            recover: None,
            limited: None,
            credit: 0,
            window: 0,
            rto: Rto::default(),
            timed: None,
            timer: None,
            last_data: None,
            slow_until: None,
            acks: AckRatio::new(),
            unacknowledging: 0,
            congestion_events: 0,
            timeouts: 0,
        }
    }

    /// RFC 3390: at most four packets, at least two, 4380 bytes in between.
    const fn initial_window(bytes: u32) -> u32 {
        let packets = 4380 / if bytes == 0 { 1 } else { bytes };
        if packets > 4 {
            4
        } else if packets < 2 {
            2
        } else {
            packets
        }
    }

    /// A packet was lost or marked. Those sent before congestion was found belong to one event.
    fn on_congestion(&mut self, seq: Seq48) {
        if self.recover.is_some_and(|recover| !seq.after(recover)) {
            return;
        }
        self.recover = self.sent;
        self.congestion_events += 1;
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.credit = 0;
        self.acks.fit(self.cwnd);
    }

    fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
    }

    /// A packet is reported as arrived.
    fn on_arrived(&mut self, now: Instant, seq: Seq48, marked: bool, reported: &mut AckSummary) {
        let Some(arrival) = self.history.on_arrived(seq) else { return };
        if arrival.has_data {
            reported.acknowledges = true;
            if !arrival.was_lost {
                debug_assert!(self.pipe > 0, "{seq:?} was not in flight");
                self.pipe = self.pipe.saturating_sub(1);
            }
            if !marked {
                reported.clean += 1;
                let limited = self.limited.is_some_and(|limited| !seq.after(limited));
                let recovered = self.recover.is_none_or(|recover| seq.after(recover));
                reported.growing += u32::from(limited && recovered);
            }
        }
        // Packets without data are acknowledged when it suits.
        if arrival.has_data && self.timed.is_some_and(|timed| !seq.before(timed)) {
            self.timed = None;
            if !arrival.was_lost {
                self.rto.sample(now, now.since(arrival.at));
            }
        }
        if marked && arrival.has_data {
            self.on_congestion(seq);
        }
    }

    fn on_vector(
        &mut self,
        now: Instant,
        ack: Seq48,
        vector: &[u8],
        reported: &mut AckSummary,
    ) -> Seq48 {
        let mut next = ack;
        for (first, state, count) in Runs::ack_vector(ack, vector) {
            let marked = match state {
                Arrival::Received => false,
                Arrival::Marked => true,
                Arrival::Reserved | Arrival::Missing => continue,
            };
            for back in 0..count {
                self.on_arrived(now, first - back, marked, reported);
            }
            next = first - count;
        }
        next
    }

    /// RFC 4341 section 5.2 and RFC 4340 section 11.7.2.
    fn on_data_dropped(&mut self, ack: Seq48, vector: &[u8]) {
        for (first, dropped, count) in Runs::data_dropped(ack, vector) {
            let Dropped::Dropped(code) = dropped else { continue };
            if code == DropCode::PROTOCOL || code == DropCode::NOT_LISTENING {
                continue;
            }
            self.leave_slow_start();
            for seq in (0..count).map(|back| first - back) {
                if !self.history.on_dropped(seq) {
                    continue;
                }
                if code == DropCode::RECEIVE_BUFFER {
                    self.cwnd = (self.cwnd - 1).max(1);
                    self.acks.fit(self.cwnd);
                } else {
                    self.on_congestion(seq);
                }
            }
        }
    }

    /// Grows by the acknowledged packets: by one for two packets in slow start, at most half the
    /// Ack Ratio at once; by one a window afterwards.
    fn grow(&mut self, now: Instant, reported: AckSummary) {
        let is_slow = self.slow_until.is_some_and(|until| now < until);
        if reported.growing > 0 && !is_slow {
            self.credit += reported.growing;
            if self.cwnd < self.ssthresh {
                let maximum = (u32::from(self.acks.get()) / 2).max(1);
                let by = (self.credit / 2).min(maximum);
                // What is beyond the limit is not saved up.
                self.credit %= 2;
                self.cwnd = (self.cwnd + by).min(self.ssthresh).min(CWND_MAX);
            } else if self.credit >= self.cwnd {
                self.credit -= self.cwnd;
                self.cwnd = (self.cwnd + 1).min(CWND_MAX);
            }
            self.acks.fit(self.cwnd);
        }
        self.window += reported.clean;
        if self.window >= self.cwnd {
            self.window = 0;
            self.acks.on_window(self.cwnd);
        }
    }

    fn arm(&mut self, now: Instant) {
        self.timer = (self.pipe > 0).then(|| now + self.rto.timeout());
    }

    fn check(&self) {
        let (cwnd, pipe) = (self.cwnd, self.pipe);
        debug_assert!((1..=CWND_MAX).contains(&cwnd), "a window of {cwnd} packets");
        debug_assert_eq!(self.timer.is_some(), pipe > 0, "the timer with {pipe} in flight");
    }
}

impl Default for Ccid2Sender {
    fn default() -> Self {
        Self::new()
    }
}

impl Sender for Ccid2Sender {
    fn ccid(&self) -> Ccid {
        Ccid::TCP_LIKE
    }

    fn permit(&mut self, now: Instant, bytes: u32) -> Permit {
        let initial = Self::initial_window(bytes);
        if !self.begun {
            self.begun = true;
            self.cwnd = initial;
        }
        // RFC 4341 section 5.1: slow start after an idle period.
        let idle = self.last_data.is_some_and(|at| now.since(at) > self.rto.timeout());
        if idle && self.pipe == 0 && self.cwnd > initial {
            self.ssthresh = self.ssthresh.max(self.cwnd * 3 / 4);
            self.cwnd = initial;
        }
        if self.pipe < self.cwnd { Permit::Now } else { Permit::Wait }
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.sent = Some(sent.seq);
        self.history.push(sent.seq, now, sent.data.is_some());
        if sent.data.is_none() {
            return;
        }
        self.pipe += 1;
        if self.pipe >= self.cwnd {
            self.limited = Some(sent.seq);
        }
        self.timed.get_or_insert(sent.seq);
        self.last_data = Some(now);
        if self.unacknowledging >= self.cwnd {
            self.unacknowledging = 0;
        }
        self.unacknowledging += 1;
        if self.timer.is_none() {
            self.arm(now);
        }
        self.check();
    }

    fn on_arrival(&mut self, _now: Instant, arrived: &Arrived<'_>) {
        let marked = arrived.ecn == Ecn::Ce && !arrived.kind.is_data_packet();
        self.acks.on_packet(arrived.seq, marked);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let before = (self.cwnd, self.congestion_events);
        let mut reported = AckSummary::default();
        let mut vector_at = feedback.ack;
        let mut drops_at = feedback.ack;
        for value in feedback.options.values() {
            match value {
                Value::AckVector { vector, .. } => {
                    vector_at = self.on_vector(now, vector_at, vector, &mut reported);
                }
                Value::DataDropped(vector) => {
                    self.on_data_dropped(drops_at, vector);
                    drops_at = Runs::data_dropped(drops_at, vector).end();
                }
                Value::SlowReceiver => {
                    self.leave_slow_start();
                    self.slow_until = self.rto.rtt().map(|rtt| now + rtt);
                }
                _ => {}
            }
        }
        let mut history = core::mem::take(&mut self.history);
        history.give_up_overtaken(|seq| {
            debug_assert!(self.pipe > 0, "{seq:?} was not in flight");
            self.pipe = self.pipe.saturating_sub(1);
            self.on_congestion(seq);
        });
        self.history = history;
        if self.cwnd < before.0 || self.congestion_events > before.1 {
            // A window with congestion does not grow.
            reported.growing = 0;
        }
        self.grow(now, reported);
        if reported.acknowledges || self.pipe == 0 {
            self.arm(now);
        }
        self.check();
    }

    fn wake(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timeouts += 1;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.pipe = 0;
        self.credit = 0;
        self.timed = None;
        self.timer = None;
        self.recover = self.sent;
        self.history.give_up_all();
        self.rto.back_off();
        self.acks.fit(self.cwnd);
    }

    fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    fn act(&mut self, now: Instant) {
        self.rto.act(now);
    }

    fn needs_ack_vector(&self) -> bool {
        true
    }

    fn wants_to_acknowledge(&self) -> bool {
        self.unacknowledging >= self.cwnd
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(self.acks.get())
    }

    fn stats(&self) -> SenderStats {
        SenderStats {
            rtt: self.rto.rtt(),
            timeout: Some(self.rto.timeout()),
            cwnd: Some(self.cwnd),
            ssthresh: Some(self.ssthresh),
            pipe: Some(self.pipe),
            congestion_events: self.congestion_events,
            timeouts: self.timeouts,
            ..SenderStats::default()
        }
    }
}
