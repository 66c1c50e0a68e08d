//! The sending half: what is buffered, what is outstanding, and what may leave next.
//!
//! Positions are 64-bit stream offsets: zero is the first data byte, and the FIN takes the
//! offset after the last.

mod marks;
mod pacing;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;

use crate::connection::Agreed;
use crate::{Config, Payload, Store};
use fairwave_cc::Controller;
use fairwave_units::{Duration, Instant};
use marks::Marks;
use pacing::Pacer;
use rate::RateSampler;
pub(crate) use recovery::{Ack, Observed};
use rtt::RttEstimator;
use scoreboard::{Left, Scoreboard};

/// A segment to send: where it begins, how much payload, and whether it ends in a FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) start: u64,
    pub(crate) payload: u32,
    pub(crate) fin: bool,
    /// To be sent as ECN-capable.
    pub(crate) ect: bool,
    /// To carry the flag CWR.
    pub(crate) cwr: bool,
}

/// Fast recovery under way.
#[derive(Clone, Copy, Debug)]
struct Fast {
    /// RecoveryPoint (RFC 6675), `recover` (RFC 6582): acknowledging this ends it.
    point: u64,
    /// A partial ACK has restarted the retransmission timer.
    restarted: bool,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender<P: Payload> {
    buffer: P::Store,
    capacity: u32,
    /// How far `capacity` may grow.
    capacity_most: u32,
    nagle: bool,
    /// SND.UNA, SND.NXT and the application's write position.
    una: u64,
    next: u64,
    end: u64,
    /// The application has closed: a FIN follows the byte before `end`.
    fin: bool,
    smss: u32,
    sack: bool,
    marks: Marks,
    window: u32,
    max_window: u32,
    board: Scoreboard,
    rate: RateSampler,
    /// Of the bytes that the scoreboard calls lost, what the law has heard of.
    lost_told: u64,
    controller: Option<Box<dyn Controller>>,
    rtt: RttEstimator,
    threshold: u32,
    dup_acks: u32,
    /// New data sent on the first duplicate ACKs (RFC 3042): not part of FlightSize.
    limited_transmit: u32,
    fast: Option<Fast>,
    /// Window inflation by duplicate ACKs, without SACK (RFC 5681 section 3.2, RFC 6582).
    inflation: i64,
    /// Duplicate ACKs up to here belong to an older loss (RFC 6582 section 3.2 step 1).
    guard: Option<u64>,
    /// Until this is acknowledged, data that was outstanding at a timeout is sent again.
    rto_point: Option<u64>,
    /// Timeouts for the data below `rto_point`.
    rto_backoff: u32,
    /// Expiries since the peer was last heard.
    silent_expiries: u32,
    retransmit_head: bool,
    probe: bool,
    /// The peer's window is zero and the timer has expired for that.
    probing: bool,
    timer: Option<Instant>,
    last_sent: Option<Instant>,
    /// The congestion window was full when this was SND.NXT.
    limited_until: u64,
    pacer: Pacer,
    want_space: bool,
    retransmissions: u64,
    timeouts: u64,
    fast_recoveries: u64,
}

/// What the sender tells the connection's statistics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderStats {
    pub(crate) cwnd: u32,
    pub(crate) effective_window: u32,
    pub(crate) ssthresh: u32,
    pub(crate) flight: u32,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rto: Duration,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) acks_lost: u64,
    pub(crate) ecn_responses: u64,
}

impl<P: Payload> Sender<P> {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            buffer: P::Store::default(),
            capacity: config.send_buffer,
            capacity_most: config.send_buffer_most.unwrap_or(0),
            nagle: config.nagle,
            una: 0,
            next: 0,
            end: 0,
            fin: false,
            smss: u32::from(config.mss),
            sack: false,
            marks: Marks::default(),
            window: 0,
            max_window: 0,
            board: Scoreboard::default(),
            rate: RateSampler::default(),
            lost_told: 0,
            controller: None,
            rtt: RttEstimator::new(config),
            threshold: config.duplicate_ack_threshold.max(1),
            dup_acks: 0,
            limited_transmit: 0,
            fast: None,
            inflation: 0,
            guard: None,
            rto_point: None,
            rto_backoff: 0,
            silent_expiries: 0,
            retransmit_head: false,
            probe: false,
            probing: false,
            timer: None,
            last_sent: None,
            limited_until: 0,
            pacer: Pacer::new(config.pacing_quantum),
            want_space: false,
            retransmissions: 0,
            timeouts: 0,
            fast_recoveries: 0,
        }
    }

    /// The handshake is over: data may flow.
    pub(crate) fn establish(&mut self, controller: Box<dyn Controller>, agreed: &Agreed) {
        self.controller = Some(controller);
        self.smss = agreed.smss;
        self.sack = agreed.sack;
        self.marks.enabled = agreed.ecn;
        self.silent_expiries = 0;
        self.timer = None;
    }

    /// The handshake failed and begins anew: only what the application has written stays (RFC
    /// 9293 section 3.10.2 queues it until the connection is established).
    pub(crate) fn start_over(&mut self, config: &Config) {
        let (buffer, end) = (core::mem::take(&mut self.buffer), self.end);
        *self = Self { buffer, end, want_space: self.want_space, ..Self::new(config) };
    }

    /// Takes as much of `data` as there is space; the number of bytes taken.
    pub(crate) fn write(&mut self, data: P) -> u32 {
        let len = data.len();
        let taken = len.min(self.space());
        self.check_app_limited();
        if taken == len {
            self.buffer.push(data);
        } else if taken > 0 {
            self.buffer.push(data.slice(0, taken));
        }
        self.end += u64::from(taken);
        self.want_space |= taken < len || self.space() == 0;
        taken
    }

    /// Bytes that [`Sender::write`] would take.
    pub(crate) fn space(&self) -> u32 {
        if self.fin {
            return 0;
        }
        self.capacity.saturating_sub(self.buffer.len().min(u64::from(u32::MAX)) as u32)
    }

    /// No more data will be written: a FIN follows what is buffered.
    pub(crate) fn close(&mut self) {
        self.fin = true;
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Retransmission timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Lets the buffer follow the congestion window: one window in flight and one to replace it.
    fn expand_buffer(&mut self) {
        if self.capacity < self.capacity_most {
            let cwnd = self.controller.as_ref().map_or(0, Controller::cwnd);
            self.capacity = self.capacity.max(cwnd.saturating_mul(2).min(self.capacity_most));
        }
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Where a segment without data is numbered: SND.NXT, or the right edge of the peer's
    /// window if a probe or a window that shrank has left that behind. RFC 9293 section 3.4
    /// would have the peer refuse it beyond, and its ACK with it.
    pub(crate) fn next_acceptable(&self) -> u64 {
        self.next.min(self.una + u64::from(self.window))
    }

    pub(crate) fn fin_is_acked(&self) -> bool {
        self.fin && self.una > self.end
    }

    pub(crate) fn max_window(&self) -> u32 {
        self.max_window
    }

    /// The peer's receive window, in bytes, changed or was confirmed.
    pub(crate) fn set_window(&mut self, window: u32) {
        if self.window == 0 && window > 0 {
            self.window_opened();
        }
        self.window = window;
        self.max_window = self.max_window.max(window);
    }

    /// Ends probing: a probe that is outstanding is sent again at once.
    fn window_opened(&mut self) {
        if self.una == self.next || self.probing {
            self.timer = None;
            self.rtt.restart(Duration::ZERO);
        }
        self.retransmit_head |= self.probing && self.una < self.next;
        self.probing = false;
        self.probe = false;
    }

    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    pub(crate) fn rtt_sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
    }

    /// A SYN was lost before the connection came up (RFC 6298 (5.7)).
    pub(crate) fn restart_rtt(&mut self, floor: Duration) {
        self.rtt.restart(floor);
    }

    /// Starts the retransmission timer afresh (for a SYN, or by RFC 6298 (5.3)).
    pub(crate) fn start_timer(&mut self, now: Instant) {
        self.timer = Some(now + self.rtt.rto());
    }

    /// The timer expired for a SYN or a probe: backs off. How often in silence by now.
    pub(crate) fn expire_silently(&mut self, now: Instant) -> u32 {
        self.rtt.back_off();
        self.silent_expiries += 1;
        self.start_timer(now);
        self.silent_expiries
    }

    /// Nothing more will be sent.
    pub(crate) fn stop(&mut self) {
        self.timer = None;
        self.fin = true;
        self.controller = None;
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Whether there is anything that could leave if every window allowed it.
    fn has_work(&self) -> bool {
        self.next < self.end
            || (self.fin && self.next == self.end)
            || self.board.has_lost()
            || self.retransmit_head
            || self.probe
    }

    fn flight_size(&self) -> u32 {
        (self.next - self.una) as u32
    }

    /// The congestion window with inflation: what may be in flight, in bytes.
    fn effective_window(&self) -> u32 {
        let Some(controller) = &self.controller else { return 0 };
        let limited = if self.sack || self.fast.is_some() || self.rto_point.is_some() {
            0
        } else {
            self.dup_acks.min(self.threshold.saturating_sub(1)).saturating_mul(self.smss)
        };
        let window = i64::from(controller.cwnd()) + i64::from(limited) + self.inflation;
        window.clamp(i64::from(self.smss), i64::from(u32::MAX)) as u32
    }

    /// Whether the congestion window has room for `len` bytes more.
    fn admits(&self, len: u32) -> bool {
        let pipe = self.board.pipe();
        pipe == 0 || u64::from(pipe) + u64::from(len) <= u64::from(self.effective_window())
    }

    /// The next segment to send, which counts as sent from now on; `timestamp` goes with it.
    pub(crate) fn pick(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if !self.has_work() && !self.may_speculate() {
            return None;
        }
        if let Some(index) = self.pick_forced() {
            return self.resend(index, now, timestamp);
        }
        if self.is_paced(now) {
            return None;
        }
        if (self.fast.is_some() || self.rto_point.is_some())
            && let Some(index) = self.board.next_lost()
        {
            let fits = self.board.get(index).is_some_and(|r| self.admits(r.len));
            return if fits { self.resend(index, now, timestamp) } else { None };
        }
        if let Some(pick) = self.pick_new(now, timestamp) {
            return Some(pick);
        }
        self.pick_speculative(now, timestamp)
    }

    /// A retransmission that no congestion window holds back: the head of a loss, a probe.
    fn pick_forced(&mut self) -> Option<usize> {
        let probe = self.probe && self.una < self.next;
        if !self.retransmit_head && !probe {
            return None;
        }
        self.retransmit_head = false;
        self.probe &= !probe;
        Some(0)
    }

    /// Whether NextSeg rule 3 of RFC 6675 may apply.
    fn may_speculate(&self) -> bool {
        self.sack && self.fast.is_some()
    }

    fn pick_speculative(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if !self.may_speculate() || !self.admits(self.smss) {
            return None;
        }
        let index = self.board.next_speculative()?;
        self.resend(index, now, timestamp)
    }

    fn resend(&mut self, index: usize, now: Instant, timestamp: u32) -> Option<Pick> {
        let in_pipe = self.sack || self.rto_point.is_some();
        let record = *self.board.get(index)?;
        let departure = self.rate.depart(now, false);
        self.board.resend(index, now, Left { timestamp, departure }, in_pipe);
        self.note_limit(record.start + u64::from(record.len));
        self.retransmissions += 1;
        self.sent(now, record.len);
        let fin = record.start + u64::from(record.len) > self.end;
        let payload = record.len - u32::from(fin);
        // RFC 3168 section 6.1.5: never on what is sent again.
        Some(Pick { start: record.start, payload, fin, ect: false, cwr: false })
    }

    fn pick_new(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        let waiting = self.end.saturating_sub(self.next);
        let fin_waits = self.fin && self.next <= self.end;
        if waiting == 0 && !fin_waits {
            return None;
        }
        let probe = core::mem::take(&mut self.probe);
        let Some(len) = self.new_len(waiting, fin_waits, probe) else {
            if self.una == self.next && self.timer.is_none() {
                self.start_timer(now);
            }
            return None;
        };
        if !probe && !self.admits(len) {
            return None;
        }
        self.restart_after_idle(now);
        if self.una == self.next {
            // It waited for a window: RFC 6298 (5.1) starts it afresh for the data.
            self.timer = None;
        }
        let payload = u64::from(len).min(waiting) as u32;
        let start = self.next;
        let departure = self.rate.depart(now, self.una == self.next);
        self.board.push(start, len, now, Left { timestamp, departure });
        self.next += u64::from(len);
        if self.dup_acks > 0 && self.fast.is_none() {
            self.limited_transmit += len;
        }
        self.note_limit(self.next);
        self.sent(now, len);
        // RFC 3168 section 6.1.6: not on window probes.
        let ect = self.marks.enabled && payload > 0 && !probe;
        let cwr = ect && core::mem::take(&mut self.marks.cwr);
        Some(Pick { start, payload, fin: len > payload, ect, cwr })
    }

    /// Notes whether the data that ends at `end` has filled the congestion window.
    fn note_limit(&mut self, end: u64) {
        if !self.admits(self.smss) {
            self.limited_until = self.limited_until.max(end);
        }
    }

    /// Sequence space of the next new segment; `None` while the peer's window forbids it or
    /// silly window avoidance (RFC 9293 section 3.8.6.2.1) or Nagle's rule (section 3.7.4) asks
    /// to wait.
    fn new_len(&self, waiting: u64, fin_waits: bool, probe: bool) -> Option<u32> {
        let edge = self.una + u64::from(self.window);
        let usable = edge.saturating_sub(self.next).min(u64::from(u32::MAX)) as u32;
        let payload = waiting.min(u64::from(self.smss)) as u32;
        let fin = fin_waits && u64::from(payload) == waiting;
        let wanted = payload + u32::from(fin);
        if self.nagle && payload < self.smss && !fin && !probe && self.una < self.next {
            return None;
        }
        if wanted <= usable {
            return Some(wanted);
        }
        if probe {
            return Some(usable.clamp(1, wanted));
        }
        let cut = usable.min(payload);
        let all = u64::from(cut) == waiting;
        let half = cut >= self.max_window / 2 && !(self.nagle && self.una < self.next);
        (cut > 0 && (all || cut == self.smss || half)).then_some(cut)
    }

    /// RFC 5681 section 4.1.
    fn restart_after_idle(&mut self, now: Instant) {
        if self.una < self.next {
            return;
        }
        let Some(idle) = self.last_sent.map(|t| now.since(t)) else { return };
        if idle > self.rtt.base_rto()
            && let Some(controller) = &mut self.controller
        {
            controller.on_idle_restart(idle);
        }
    }

    /// Bookkeeping of every departure: the timer (RFC 6298 (5.1)) and the pace.
    fn sent(&mut self, now: Instant, len: u32) {
        self.last_sent = Some(now);
        if self.timer.is_none() {
            self.start_timer(now);
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, len, rate);
        }
    }

    /// Whether the data written so far ends with this segment.
    pub(crate) fn is_last(&self, pick: &Pick) -> bool {
        pick.start + u64::from(pick.payload) == self.end
    }

    /// The payload of `pick`, for a segment that covers nothing below SND.UNA.
    pub(crate) fn payload(&self, pick: &Pick) -> P {
        if pick.payload == 0 {
            return P::default();
        }
        self.buffer.copy(pick.start - self.una, pick.payload)
    }

    pub(crate) fn stats(&self) -> SenderStats {
        let controller = self.controller.as_ref();
        SenderStats {
            cwnd: controller.map_or(0, Controller::cwnd),
            effective_window: self.effective_window(),
            ssthresh: controller.map_or(u32::MAX, Controller::ssthresh),
            flight: self.flight_size(),
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            fast_recoveries: self.fast_recoveries,
            acks_lost: controller.map_or(0, Controller::acks_lost),
            ecn_responses: self.marks.responses,
        }
    }
}
