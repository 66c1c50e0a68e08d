//! The sending half: what is buffered, what is outstanding, and what may leave next.
//!
//! Positions are 64-bit stream offsets: zero is the first data byte, and the FIN takes the
//! offset after the last.

mod marks;
mod pacing;
mod pick;
mod probe;
mod prr;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;
mod spurious;

use crate::connection::Agreed;
use crate::{Config, Payload, ReductionBound, Store};
use fairwave_cc::Controller;
use fairwave_units::{Duration, Instant};
use marks::Marks;
use pacing::Pacer;
use probe::TailProbe;
use prr::Prr;
use rack::Rack;
use rate::RateSampler;
pub(crate) use recovery::{Ack, Observed};
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use spurious::{Eifel, Frto};

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
    /// Proportional rate reduction is wanted, with this bound.
    wants_prr: Option<ReductionBound>,
    /// That of the recovery under way.
    prr: Option<Prr>,
    /// Time-based loss detection, where SACK was agreed on, is wanted; and its state.
    wants_rack: bool,
    rack: Option<Rack>,
    tail: TailProbe,
    /// The first lost segment leaves whatever the window.
    retransmit_lost: bool,
    /// Spurious retransmissions are looked for.
    detects_spurious: bool,
    eifel: Eifel,
    wants_frto: bool,
    frto: Frto,
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
    probes: u64,
    spurious: u64,
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
    pub(crate) tail_probes: u64,
    pub(crate) spurious: u64,
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
            wants_prr: config.prr.then_some(config.prr_bound),
            prr: None,
            wants_rack: config.rack,
            rack: None,
            tail: TailProbe::default(),
            retransmit_lost: false,
            detects_spurious: config.eifel,
            eifel: Eifel::Idle,
            wants_frto: config.frto,
            frto: Frto::Off,
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
            probes: 0,
            spurious: 0,
        }
    }

    /// The handshake is over: data may flow.
    pub(crate) fn establish(&mut self, controller: Box<dyn Controller>, agreed: &Agreed) {
        self.controller = Some(controller);
        self.smss = agreed.smss;
        self.sack = agreed.sack;
        self.marks.enabled = agreed.ecn;
        self.rack = (self.wants_rack && agreed.sack).then(Rack::new);
        if self.rack.is_some() {
            self.board.keep_resent();
        }
        self.silent_expiries = 0;
        self.timer = None;
        self.expand_buffer();
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
        self.tail.forget();
        self.rack = None;
        self.fin = true;
        self.controller = None;
    }

    /// When the retransmission timer expires.
    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// When the first of all timers does.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let Some(rack) = &self.rack else { return self.timer };
        [self.timer, rack.timer, self.tail.timer].into_iter().flatten().min()
    }

    /// Whether there is anything that could leave if every window allowed it.
    fn has_work(&self) -> bool {
        self.next < self.end
            || (self.fin && self.next == self.end)
            || self.board.has_lost()
            || self.retransmit_head
            || self.probe
            || self.tail.due.is_some()
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
        let own = self.prr.map_or(controller.cwnd(), |prr| prr.window);
        let window = i64::from(own) + i64::from(limited) + self.inflation;
        window.clamp(i64::from(self.smss), i64::from(u32::MAX)) as u32
    }

    /// Whether the congestion window has room for `len` bytes more.
    fn admits(&self, len: u32) -> bool {
        let pipe = self.board.pipe();
        pipe == 0 || u64::from(pipe) + u64::from(len) <= u64::from(self.effective_window())
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
            tail_probes: self.probes,
            spurious: self.spurious,
        }
    }
}
