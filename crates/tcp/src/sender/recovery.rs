//! What an ACK and a timeout mean: RTT samples, fast retransmit and recovery (RFC 5681, 6582,
//! 6675), timeouts (RFC 6298).

use super::prr::{Progress, Prr};
use super::rate::Arrivals;
use super::{Fast, Sender};
use crate::{Payload, Store};
use fairwave_cc::{AckEvent, LossEvent, Recovery, RtoEvent};
use fairwave_units::{Duration, Instant};

/// An acceptable ACK in the sender's terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// Cumulative acknowledgement, SND.UNA..=SND.NXT.
    pub(crate) una: u64,
    /// SACK blocks as `[left, right)` within the outstanding data.
    pub(crate) blocks: &'a [(u64, u64)],
    /// What arrived twice (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
    /// It moves SND.UNA.
    pub(crate) advances: bool,
    /// It could be a duplicate by RFC 5681 section 2: no data, no SYN or FIN, same window.
    pub(crate) may_be_duplicate: bool,
    /// Echoed timestamp and the age of that value by the timestamp clock.
    pub(crate) echo: Option<(u32, Duration)>,
    /// It echoes a congestion mark (RFC 3168, flag ECE).
    pub(crate) ece: bool,
}

/// What the sender found, for the connection's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) recovery_began: bool,
    pub(crate) recovery_ended: bool,
    pub(crate) space: bool,
}

impl<P: Payload> Sender<P> {
    /// Takes an ACK that is neither too old nor beyond SND.NXT.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) -> Observed {
        let was_outstanding = self.una < self.next;
        let advanced = ack.advances;
        if advanced || self.window == 0 {
            self.silent_expiries = 0;
        }
        self.check_app_limited();
        let flight = self.flight_size().saturating_sub(self.limited_transmit);
        let mut arrivals = self.arrivals(now, ack);
        let mut event = self.gather(now, ack, &mut arrivals);
        self.answer_probe(now, ack, flight);
        self.rack_on_ack(now, arrivals.order, ack.dsack.is_some());
        if ack.ece {
            self.on_echo(now, flight);
        }
        event.rate = self.rate.arrive(now, &arrivals, self.rtt.least());
        if event.acked > 0 || event.sacked > 0 {
            self.tell_law(event);
        }
        let mut observed = self.judge_progress(now, ack, &event);
        let duplicate = self.is_duplicate(ack, &event, advanced) && was_outstanding;
        observed.recovery_began = self.judge_loss(now, duplicate);
        if self.rack.is_some() {
            self.reschedule_probe(now, advanced);
        }
        self.reduce(arrivals.bytes);
        observed
    }

    /// Moves SND.UNA and the scoreboard by an ACK.
    fn gather(&mut self, now: Instant, ack: &Ack<'_>, arrivals: &mut Arrivals) -> AckEvent {
        let mut event = self.ack_event(now);
        // RFC 3168 section 6.1.2: an ACK with the echo does not widen the window.
        event.cwnd_limited &= !ack.ece;
        if ack.advances {
            self.advance(now, ack, &mut event, arrivals);
        }
        if self.sack && !ack.blocks.is_empty() {
            event.sacked = self.board.sack(ack.blocks, arrivals);
            if self.rack.is_none() {
                self.board.mark_lost(self.threshold, self.smss);
            }
        }
        event
    }

    /// What an ACK means for a recovery under way, spurious or not.
    fn judge_progress(&mut self, now: Instant, ack: &Ack<'_>, event: &AckEvent) -> Observed {
        let mut observed = Observed::default();
        let duplicate = !ack.advances && (ack.may_be_duplicate || event.sacked > 0);
        let confirmed = self.frto_confirms(ack.advances, duplicate);
        if ack.advances {
            let echoed = self.is_spurious(ack.echo.map(|(value, _)| value));
            observed.recovery_ended = match confirmed || echoed {
                true => self.undo(now),
                false => self.on_progress(now, event.acked),
            };
            self.expand_buffer();
            observed.space = self.space_opened();
        }
        observed
    }

    /// Counts a duplicate; whether fast recovery begins. RACK counts none: what it has marked is
    /// lost.
    fn judge_loss(&mut self, now: Instant, duplicate: bool) -> bool {
        if duplicate {
            self.dup_acks = self.dup_acks.saturating_add(1);
            if self.fast.is_some() && !self.sack {
                self.inflation += i64::from(self.smss);
            }
        }
        (duplicate || self.rack.is_some()) && self.detect_loss(now)
    }

    /// Where what an ACK reports is gathered.
    fn arrivals(&self, now: Instant, ack: &Ack<'_>) -> Arrivals {
        let echo = ack.echo.map(|(value, _)| value);
        let order = self.rack.as_ref().map(|rack| rack.order(now, echo, self.rtt.least()));
        Arrivals::new(order)
    }

    /// The probe timeout starts afresh with progress, and SACKs make it needless.
    fn reschedule_probe(&mut self, now: Instant, advanced: bool) {
        if advanced || self.board.sacked_segments() > 0 {
            self.schedule_probe(now);
        }
    }

    /// Spreads the reduction of a recovery under way over its ACKs (RFC 6937).
    pub(super) fn reduce(&mut self, delivered: u64) {
        let (Some(prr), Some(bound), Some(controller)) =
            (&mut self.prr, self.wants_prr, &self.controller)
        else {
            return;
        };
        let (pipe, target, smss) = (self.board.pipe(), controller.cwnd(), self.smss);
        prr.on_ack(&Progress { delivered, pipe, target, smss }, bound);
    }

    /// Completes what the law hears of an ACK, and tells it.
    fn tell_law(&mut self, mut event: AckEvent) {
        let lost = self.board.bytes_lost();
        event.lost = (lost - self.lost_told) as u32;
        self.lost_told = lost;
        event.flight_after = self.board.pipe();
        event.delivered = self.rate.delivered();
        if let Some(controller) = &mut self.controller {
            controller.on_ack(&event);
        }
    }

    fn ack_event(&self, now: Instant) -> AckEvent {
        AckEvent {
            now,
            acked: 0,
            sacked: 0,
            una: self.una,
            next: self.next,
            flight: self.board.pipe(),
            rtt: None,
            in_recovery: self.fast.is_some(),
            cwnd_limited: self.una < self.limited_until,
            covers_retransmission: false,
            echo_gap: None,
            ..AckEvent::default()
        }
    }

    /// SND.UNA moves: releases the data, samples the round trip, restarts the timer.
    fn advance(
        &mut self,
        now: Instant,
        ack: &Ack<'_>,
        event: &mut AckEvent,
        arrivals: &mut Arrivals,
    ) {
        let echo = ack.echo.map(|(value, _)| value);
        let covered = self.board.acknowledge(ack.una, echo, arrivals);
        event.covers_retransmission = covered.retransmission;
        event.echo_gap = covered.echoed.map(|(gap, _)| gap);
        event.rtt = match ack.echo {
            Some((_, age)) => Some(covered.echoed.map_or(age, |(_, sent)| now.since(sent))),
            None if covered.retransmission => None,
            None => covered.last_sent.map(|sent| now.since(sent)),
        };
        if let Some(rtt) = event.rtt {
            self.rtt.sample(rtt);
        }
        event.acked = (ack.una.min(self.end) - self.una.min(self.end)) as u32;
        event.una = ack.una;
        self.buffer.discard(u64::from(event.acked));
        self.una = ack.una;
        self.dup_acks = 0;
        self.limited_transmit = 0;
        self.probe = false;
        self.probing = false;
        self.retransmit_head &= self.una < self.next;
        self.restart_timer(now);
    }

    /// RFC 6298 (5.2), (5.3). NewReno's impatient variant restarts the timer at the first
    /// partial ACK of a recovery only (RFC 6582 section 4).
    fn restart_timer(&mut self, now: Instant) {
        if self.una == self.next {
            self.timer = None;
            return;
        }
        if let Some(fast) = self.fast.as_mut().filter(|f| !self.sack && self.una < f.point)
            && core::mem::replace(&mut fast.restarted, true)
        {
            return;
        }
        self.start_timer(now);
    }

    /// What progress means for the recovery under way; whether fast recovery ended.
    fn on_progress(&mut self, now: Instant, acked: u32) -> bool {
        if self.rto_point.is_some_and(|point| self.una >= point) {
            self.rto_point = None;
            self.rto_backoff = 0;
            if let Some(rack) = &mut self.rack {
                rack.note_recovery_end();
            }
        }
        let Some(fast) = self.fast else { return false };
        let reno = !self.sack && self.recovery() == Recovery::Reno;
        if self.una >= fast.point || reno {
            self.fast = None;
            self.prr = None;
            if let Some(rack) = &mut self.rack {
                rack.note_recovery_end();
            }
            self.inflation = 0;
            if let Some(controller) = &mut self.controller {
                controller.on_recovery_end(now);
            }
            return true;
        }
        if !self.sack {
            self.retransmit_head = true;
            self.inflation -= i64::from(acked);
            if acked >= self.smss {
                self.inflation += i64::from(self.smss);
            }
        }
        false
    }

    fn recovery(&self) -> Recovery {
        self.controller.as_ref().map_or(Recovery::NewReno, |c| c.recovery())
    }

    /// RFC 5681 section 2; with SACK, an ACK that reports new data, even if it advances too
    /// (RFC 6675 section 2). Section 5 counts none that arrives in recovery, the one that ends
    /// it included.
    fn is_duplicate(&self, ack: &Ack<'_>, event: &AckEvent, advanced: bool) -> bool {
        match self.sack {
            true => event.sacked > 0 && !event.in_recovery,
            // The answers to window probes look alike and tell of no loss.
            false => ack.may_be_duplicate && !advanced && !self.probing,
        }
    }

    /// Whether the application that waits for space should hear of it.
    fn space_opened(&mut self) -> bool {
        let enough = self.smss.min(self.capacity / 2).max(1);
        let opened = self.want_space && self.space() >= enough;
        self.want_space &= !opened;
        opened
    }

    /// Begins fast recovery if what was heard means a loss that no earlier event covers.
    pub(super) fn detect_loss(&mut self, now: Instant) -> bool {
        let lost = match self.rack {
            Some(_) => self.board.has_lost() && self.rto_point.is_none(),
            None => self.dup_acks >= self.threshold || (self.sack && self.board.head_is_lost()),
        };
        if !lost || self.fast.is_some() || self.una == self.next || !self.passes_guard() {
            return false;
        }
        self.begin_recovery(now);
        true
    }

    /// RFC 6582 section 3.2 steps 1 and 4, RFC 6675 section 5.1: one reaction a window.
    fn passes_guard(&self) -> bool {
        match self.guard {
            None => true,
            Some(guard) if self.sack => self.una >= guard,
            Some(guard) => self.una > guard,
        }
    }

    fn begin_recovery(&mut self, now: Instant) {
        let flight = self.flight_size().saturating_sub(self.limited_transmit);
        let loss = LossEvent { now, flight, next: self.next };
        if let Some(controller) = &mut self.controller {
            controller.on_loss(&loss);
        }
        self.note_reduction();
        self.fast = Some(Fast { point: self.next, restarted: false });
        self.suspect();
        let governed = self.controller.as_ref().is_some_and(|c| c.governs_recovery());
        if self.sack && self.wants_prr.is_some() && !governed {
            self.prr = Some(Prr::new(self.flight_size()));
        }
        self.tail.forget();
        self.retransmit_lost = self.rack.is_some();
        self.retransmit_head = self.rack.is_none();
        if self.rack.is_some() {
            // What is lost is marked already, the head perhaps not among it.
        } else if self.sack {
            self.board.begin_recovery();
            self.board.mark_head_lost();
        } else {
            self.inflation = i64::from(self.threshold) * i64::from(self.smss);
        }
        // Classic Reno may halve again for a second loss of the same window (RFC 6582
        // section 1 describes it); only a timeout silences it.
        if self.sack || self.recovery() == Recovery::NewReno {
            self.guard = Some(self.next);
        }
        self.fast_recoveries += 1;
        self.start_timer(now);
    }

    /// The timer expired with data waiting or outstanding. `Some(backoff)` if this was a
    /// timeout, `None` if it was a window probe.
    pub(crate) fn on_timer(&mut self, now: Instant) -> Option<u32> {
        if self.una == self.next || self.window == 0 {
            self.probe = true;
            self.probing = self.window == 0;
            self.expire_silently(now);
            return None;
        }
        self.rto_backoff = if self.rto_point.is_some() { self.rto_backoff + 1 } else { 1 };
        let recent =
            self.rack_allowance().map(|age| Instant::ZERO + now.since(Instant::ZERO + age));
        // What was SACKed has left the network. Past a retransmission that was lost, new data
        // flows for a whole RTO: with it, ssthresh would rise to many times the window.
        let gone = self.board.timeout(recent).saturating_add(self.limited_transmit);
        let flight = self.flight_size().saturating_sub(gone);
        if let Some(controller) = &mut self.controller {
            controller.on_rto(&RtoEvent { now, flight, backoff: self.rto_backoff });
        }
        self.note_reduction();
        if self.rto_point.is_none() {
            self.suspect();
        }
        self.begin_frto();
        self.prr = None;
        self.tail.forget();
        self.retransmit_lost = false;
        self.rto_point = Some(self.next);
        self.guard = Some(self.next);
        self.fast = None;
        self.inflation = 0;
        self.dup_acks = 0;
        self.limited_transmit = 0;
        self.retransmit_head = true;
        self.timeouts += 1;
        self.pacer.restart(now);
        self.lost_told = self.board.bytes_lost();
        self.expire_silently(now);
        Some(self.rto_backoff)
    }

    /// Timers that come before the retransmission timer (RFC 8985). Whether recovery began.
    pub(crate) fn on_early_timers(&mut self, now: Instant) -> bool {
        if self.tail.timer.is_some_and(|at| at <= now) {
            self.on_probe_timer(now);
        }
        let reorders = self.rack.as_ref().is_some_and(|r| r.timer.is_some_and(|at| at <= now));
        reorders && self.on_reordering_timer(now)
    }

    /// Expiries since the peer was last heard.
    pub(crate) fn silent_expiries(&self) -> u32 {
        self.silent_expiries
    }
}
