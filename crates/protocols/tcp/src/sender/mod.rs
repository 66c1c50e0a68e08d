//! The sending half: buffered data, outstanding data, and the next segment to leave.
//!
//! Positions are 64-bit stream offsets: zero is the first data byte, and the FIN takes the offset
//! after the last. [`Sender`] is composed of parts that each keep one thing. ACKs are handled in
//! `acks`, timers in `timers`, the next segment is chosen in `pick`; all of them rest on `losses`.

mod acks;
mod buffer;
mod burst;
mod congestion_control;
mod duplicates;
mod episode;
mod facts;
mod losses;
mod marks;
mod pacing;
mod peer;
mod pick;
mod probe;
mod prr;
mod rack;
mod rate;
mod rtt;
mod scoreboard;
mod spurious;
mod timers;
mod timing;

use crate::agreed::Agreed;
use crate::{Config, Payload};
use buffer::SendBuffer;
use burst::Burst;
use congestion_control::CongestionControl;
use duplicates::Duplicates;
use episode::Episode;
use fairwave_cc::Controller;
use fairwave_units::{Duration, Instant};
use marks::Marks;
use pacing::Pacer;
use peer::PeerWindow;
use probe::TailProbe;
use rack::Rack;
use rate::RateSampler;
use scoreboard::Scoreboard;
use spurious::Spurious;
use timing::Timing;

pub(crate) use facts::{Ack, Observed, Pick, SenderStats};

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender<P: Payload> {
    buffer: SendBuffer<P>,
    peer: PeerWindow,
    board: Scoreboard,
    congestion_control: CongestionControl,
    /// The recovery under way.
    episode: Episode,
    duplicates: Duplicates,
    /// Whether RACK is used if SACK is negotiated.
    wants_rack: bool,
    /// Tick of the clock behind timestamps.
    tick: Duration,
    rack: Option<Rack>,
    tail: TailProbe,
    spurious: Spurious,
    marks: Marks,
    timing: Timing,
    rate: RateSampler,
    pacer: Pacer,
    /// The segments that leave together, where their last is to be marked.
    burst: Option<Burst>,
    /// Bytes of a full segment.
    smss: u32,
    sack: bool,
    nagle: bool,
    retransmissions: u64,
}

impl<P: Payload> Sender<P> {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            buffer: SendBuffer::new(config),
            peer: PeerWindow::default(),
            board: Scoreboard::new(config.keep_sacks),
            congestion_control: CongestionControl::new(config),
            episode: Episode::new(config.prr.then_some(config.prr_bound)),
            duplicates: Duplicates::new(config.duplicate_ack_threshold),
            wants_rack: config.rack,
            tick: config.timestamp_tick,
            rack: None,
            tail: TailProbe::default(),
            spurious: Spurious::new(config.eifel, config.frto),
            marks: Marks::default(),
            timing: Timing::new(config),
            rate: RateSampler::default(),
            pacer: Pacer::new(config.pacing_quantum),
            burst: config.psh_each_burst.then(Burst::default),
            smss: u32::from(config.mss),
            sack: false,
            nagle: config.nagle,
            retransmissions: 0,
        }
    }

    /// The handshake is over: data may flow.
    pub(crate) fn establish(&mut self, controller: Box<dyn Controller>, agreed: &Agreed) {
        self.congestion_control.install(controller, agreed.smss);
        self.smss = agreed.smss;
        self.sack = agreed.sack;
        self.marks.enable(agreed.ecn);
        self.rack = (self.wants_rack && agreed.sack).then(|| Rack::new(self.tick));
        if self.rack.is_some() {
            self.board.keep_resent();
        }
        self.timing.note_segment_received();
        self.timing.stop_timer();
        self.buffer.grow(self.congestion_control.cwnd().unwrap_or(0));
    }

    /// Restarts after a failed handshake: only the application's data stays (RFC 9293 section
    /// 3.10.2 queues it until the connection is established).
    pub(crate) fn start_over(&mut self, config: &Config) {
        let buffer = self.buffer.start_over(config);
        *self = Self { buffer, ..Self::new(config) };
    }

    /// Takes as much of `data` as there is space; the number of bytes taken.
    pub(crate) fn write(&mut self, data: P) -> u32 {
        self.check_app_limited();
        self.buffer.write(data)
    }

    /// Bytes that [`Sender::write`] would take.
    pub(crate) fn space(&self) -> u32 {
        self.buffer.space()
    }

    /// Ends the data: a FIN follows the buffered bytes.
    pub(crate) fn close(&mut self) {
        self.buffer.close();
    }

    /// Size of the send buffer in bytes.
    pub(crate) fn capacity(&self) -> u32 {
        self.buffer.capacity()
    }

    /// Retransmission timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        self.timing.rtt().rto()
    }

    /// SND.UNA.
    pub(crate) fn una(&self) -> u64 {
        self.buffer.una()
    }

    /// Bytes of data that the peer has acknowledged.
    pub(crate) fn bytes_acked(&self) -> u64 {
        self.una() - u64::from(self.fin_is_acked())
    }

    /// SND.NXT.
    pub(crate) fn next(&self) -> u64 {
        self.buffer.next()
    }

    /// Returns the number of a segment without data: SND.NXT, or the right edge of the peer's
    /// window if a probe or a window that shrank has left that behind. RFC 9293 section 3.4 would
    /// have the peer refuse it beyond, and its ACK with it.
    pub(crate) fn next_acceptable(&self) -> u64 {
        self.next().min(self.una() + u64::from(self.peer.size()))
    }

    pub(crate) fn fin_is_acked(&self) -> bool {
        self.buffer.fin_is_acked()
    }

    /// The largest window of the peer so far, in bytes.
    pub(crate) fn max_window(&self) -> u32 {
        self.peer.max()
    }

    /// The peer's receive window, in bytes, changed or was confirmed.
    pub(crate) fn set_window(&mut self, window: u32) {
        if self.peer.is_closed() && window > 0 {
            self.window_opened();
        }
        self.peer.set(window);
    }

    /// Ends probing: a probe that is outstanding is retransmitted at once.
    fn window_opened(&mut self) {
        let outstanding = self.buffer.has_outstanding();
        if !outstanding || self.peer.is_probing() {
            self.timing.stop_timer();
            self.timing.restart_rtt(Duration::ZERO);
        }
        if outstanding && self.peer.is_probing() {
            self.episode.force_head();
        }
        self.peer.stop_probing();
    }

    /// The peer's receive window in bytes.
    pub(crate) fn window(&self) -> u32 {
        self.peer.size()
    }

    /// A round-trip time was measured.
    pub(crate) fn rtt_sample(&mut self, rtt: Duration) {
        self.timing.sample(rtt);
    }

    /// A SYN was lost before the connection came up (RFC 6298 (5.7)).
    pub(crate) fn restart_rtt(&mut self, floor: Duration) {
        self.timing.restart_rtt(floor);
    }

    /// Starts the retransmission timer afresh (for a SYN, or by RFC 6298 (5.3)).
    pub(crate) fn start_timer(&mut self, now: Instant) {
        self.timing.start_timer(now);
    }

    /// Handles the expired timer of a SYN; the RTO backs off only after `linear` expiries. Returns
    /// the number of expiries since the peer's last segment.
    pub(crate) fn expire_silently(&mut self, now: Instant, linear: u32) -> u32 {
        self.timing.expire_after(now, linear)
    }

    /// Returns the expiries since the peer's last segment.
    pub(crate) fn silent_expiries(&self) -> u32 {
        self.timing.silent_expiries()
    }

    /// Nothing more will be sent.
    pub(crate) fn stop(&mut self) {
        self.timing.stop_timer();
        self.tail.forget();
        self.rack = None;
        self.buffer.close();
        self.congestion_control.remove();
    }

    /// Frees the unacknowledged data: none is retransmitted.
    pub(crate) fn discard(&mut self) {
        self.buffer.discard();
    }

    /// Time at which the retransmission timer expires.
    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timing.timer()
    }

    /// Time at which the first of all timers expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let Some(rack) = &self.rack else { return self.timing.timer() };
        let early = Instant::first_of(rack.timer(), self.tail.timer());
        Instant::first_of(self.timing.timer(), early)
    }

    /// Returns the time at which pacing lets the next segment leave, if pacing holds it back.
    pub(crate) fn pace_deadline(&self, now: Instant) -> Option<Instant> {
        self.congestion_control.pacing_rate()?;
        self.pacer.holds(now).filter(|_| self.has_work())
    }

    /// Returns whether pacing holds back segments that are not forced.
    fn is_paced(&self, now: Instant) -> bool {
        self.congestion_control.pacing_rate().is_some() && self.pacer.holds(now).is_some()
    }

    /// Whether there is anything that could leave if every window allowed it.
    fn has_work(&self) -> bool {
        self.buffer.has_unsent()
            || self.board.has_lost()
            || self.episode.forces_head()
            || self.peer.wants_probe()
            || self.tail.due().is_some()
    }

    /// FlightSize of RFC 5681 in bytes: segments sent by limited transmit are no part of it.
    fn flight_size(&self) -> u32 {
        self.buffer.flight().saturating_sub(self.duplicates.limited_transmit())
    }

    /// The congestion window with inflation: the maximum data in flight, in bytes.
    fn effective_window(&self) -> u32 {
        let Some(cwnd) = self.congestion_control.cwnd() else { return 0 };
        // With SACK the pipe is without the reported data, which makes the room for limited
        // transmit (RFC 6675 section 5 step 3).
        let limited = if self.sack || self.episode.is_under_way() {
            0
        } else {
            self.duplicates.credit(self.smss)
        };
        let window = self.episode.window(cwnd) + i64::from(limited);
        window.clamp(i64::from(self.smss), i64::from(u32::MAX)) as u32
    }

    /// Whether the congestion window has room for `len` bytes more.
    fn admits(&self, len: u32) -> bool {
        let pipe = self.board.pipe();
        // With nothing in flight no ACK would come that could open the window.
        pipe == 0 || u64::from(pipe) + u64::from(len) <= u64::from(self.effective_window())
    }

    /// Before data is written or an ACK taken: whether the application has left the network
    /// idle (draft-cheng-iccrg-delivery-rate-estimation section 3.4): less than a segment waits,
    /// the window has room, and nothing lost waits to be retransmitted.
    fn check_app_limited(&mut self) {
        if self.buffer.waiting() < u64::from(self.smss)
            && !self.board.has_lost()
            && self.congestion_control.cwnd().is_some_and(|cwnd| self.board.pipe() < cwnd)
        {
            self.rate.note_app_limited(self.board.pipe());
        }
    }

    /// Records that the window was reduced: RFC 3168 section 6.1.2 wants the peer notified, and no
    /// second reduction for the same window.
    fn note_reduction(&mut self) {
        self.marks.note_reduction(self.buffer.next());
    }

    /// Whether the data written so far ends with this segment.
    pub(crate) fn is_last(&self, pick: &Pick) -> bool {
        self.buffer.is_last(pick)
    }

    /// The payload of `pick`, for a segment that covers nothing below SND.UNA.
    pub(crate) fn payload(&self, pick: &Pick) -> P {
        self.buffer.payload(pick)
    }

    pub(crate) fn stats(&self) -> SenderStats {
        SenderStats {
            cwnd: self.congestion_control.cwnd().unwrap_or(0),
            effective_window: self.effective_window(),
            ssthresh: self.congestion_control.ssthresh().unwrap_or(u32::MAX),
            flight: self.buffer.flight(),
            srtt: self.timing.rtt().srtt(),
            rto: self.timing.rtt().rto(),
            retransmissions: self.retransmissions,
            timeouts: self.episode.timeouts(),
            fast_recoveries: self.episode.fast_recoveries(),
            acks_lost: self.congestion_control.acks_lost(),
            ecn_responses: self.marks.responses(),
            tail_probes: self.tail.sent(),
            spurious: self.spurious.undone(),
        }
    }

    /// Asserts the invariants between the parts after every fact.
    fn check(&self) {
        self.board.check(self.buffer.una(), self.buffer.next());
        let (limited, flight) = (self.duplicates.limited_transmit(), self.buffer.flight());
        debug_assert!(limited <= flight, "limited transmit {limited} > {flight} in flight");
        // While a probe waits to be retransmitted at once, the timer starts with it.
        let waits = self.buffer.has_outstanding() && !self.episode.forces_head();
        debug_assert!(!waits || self.timing.timer().is_some(), "outstanding, and no timer runs");
    }
}
