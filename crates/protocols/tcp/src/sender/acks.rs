//! Handling of ACKs: round-trip samples, progress, fast retransmit and recovery (RFC 5681, 6582,
//! 6675), congestion marks (RFC 3168), and recoveries that were needless (RFC 4015).

use super::rate::Arrivals;
use super::{Ack, Observed, Sender};
use crate::Payload;
use fairwave_cc::{AckEvent, LossEvent, Recovery};
use fairwave_units::Instant;

impl<P: Payload> Sender<P> {
    /// Takes an ACK that is neither too old nor beyond SND.NXT.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) -> Observed {
        let was_outstanding = self.buffer.has_outstanding();
        // Answers to probes of a closed window advance nothing, and yet keep the connection open
        // for as long as they come (RFC 9293 section 3.8.6.1).
        if ack.advances || self.peer.is_closed() {
            self.timing.note_segment_received();
        }
        self.check_app_limited();
        let flight = self.flight_size();
        let lost = self.board.bytes_lost();
        let mut arrivals = self.arrivals(now, ack);
        let mut event = self.gather(now, ack, &mut arrivals);
        self.take_probe_ack(now, ack, flight);
        self.rack_on_ack(now, arrivals.order, ack.dsack.is_some());
        if ack.ece {
            self.on_echo(now, flight);
        }
        event.rate = self.rate.arrive(now, &arrivals, self.timing.rtt().least());
        if event.acked > 0 || event.sacked > 0 {
            self.report_ack(event);
        }
        let mut observed = self.judge_progress(now, ack, &event);
        let duplicate = self.is_duplicate(ack, &event) && was_outstanding;
        observed.recovery_began = self.judge_loss(now, duplicate);
        if self.rack.is_some() {
            self.reschedule_probe(now, ack.advances);
        }
        let safe = ack.advances && self.board.bytes_lost() == lost;
        self.reduce(arrivals.bytes, safe);
        self.check();
        observed
    }

    /// Handles an ACK without a congestion mark at an end that has sent nothing yet, as the
    /// receiver of a download. Returns false, with nothing done, if the end has sent something, or
    /// if RACK is on, which looks at the D-SACKs of every ACK.
    pub(crate) fn take_idle_ack(&mut self) -> bool {
        let is_idle = self.buffer.next() == 0 && self.rack.is_none() && !self.peer.is_closed();
        if is_idle {
            self.check_app_limited();
        }
        is_idle
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
                self.board.mark_lost(self.duplicates.threshold(), self.smss);
            }
        }
        event
    }

    /// Applies an ACK to the current recovery, spurious or not.
    fn judge_progress(&mut self, now: Instant, ack: &Ack<'_>, event: &AckEvent) -> Observed {
        let mut observed = Observed::default();
        let duplicate = !ack.advances && (ack.may_be_duplicate || event.sacked > 0);
        let confirmed = self.frto_confirms(ack.advances, duplicate);
        if ack.advances {
            let echoed = self.spurious.echoes_original(ack.echo.map(|(value, _)| value));
            observed.recovery_ended = match confirmed || echoed {
                true => self.undo(now),
                false => self.on_progress(now, event.acked),
            };
            self.buffer.grow(self.congestion_control.cwnd().unwrap_or(0));
            observed.space = self.buffer.take_opened(self.smss);
        }
        observed
    }

    /// Whether F-RTO finds the timeout to be spurious (RFC 5682 section 2.1).
    fn frto_confirms(&mut self, advanced: bool, duplicate: bool) -> bool {
        if self.spurious.awaits_verdict() && duplicate {
            // Step 3 a: the new segments may have filled the window, so that the first segment
            // is retransmitted whatever it takes.
            self.episode.force_head();
        }
        let partial = self.episode.is_partial(self.buffer.una());
        self.spurious.observe_ack(advanced, partial, duplicate)
    }

    /// RFC 4015 section 3.2: sending continues where it was, and the congestion control algorithm
    /// takes its response back. Returns whether fast recovery ended with that.
    fn undo(&mut self, now: Instant) -> bool {
        let ended = self.episode.undo(self.sack);
        self.spurious.undo();
        self.board.undo();
        if ended {
            self.congestion_control.on_recovery_end(now);
        }
        self.congestion_control.on_spurious(now);
        ended
    }

    /// Counts a duplicate; returns whether fast recovery begins. RACK counts none: the segments
    /// that it has marked are lost.
    fn judge_loss(&mut self, now: Instant, duplicate: bool) -> bool {
        if duplicate {
            self.duplicates.count_one();
            if !self.sack {
                self.episode.inflate(self.smss);
            }
        }
        (duplicate || self.rack.is_some()) && self.detect_loss(now)
    }

    /// Accumulator of an ACK's reports.
    fn arrivals(&self, now: Instant, ack: &Ack<'_>) -> Arrivals {
        let echo = ack.echo.map(|(value, _)| value);
        let least = self.timing.rtt().least();
        Arrivals::new(self.rack.as_ref().map(|rack| rack.order(now, echo, least)))
    }

    /// If a tail loss probe alone repaired a loss, the congestion control algorithm must react to
    /// that loss (RFC 8985 section 7.4). `flight` was outstanding before the ACK, in bytes.
    fn take_probe_ack(&mut self, now: Instant, ack: &Ack<'_>, flight: u32) {
        if self.tail.take_ack(ack) {
            let flight = self.congestion_control.reduced(flight);
            let (una, next) = (self.buffer.una(), self.buffer.next());
            self.congestion_control.on_loss(&LossEvent { now, flight, una, next });
            self.congestion_control.on_recovery_end(now);
            self.note_reduction();
        }
    }

    /// An ACK with ECN-Echo arrived; `flight` was outstanding before it, in bytes.
    fn on_echo(&mut self, now: Instant, flight: u32) {
        let (una, next) = (self.buffer.una(), self.buffer.next());
        if self.marks.respond(una) {
            let flight = self.congestion_control.reduced(flight);
            self.congestion_control.on_ecn(&LossEvent { now, flight, una, next });
            self.note_reduction();
        }
    }

    /// The probe timeout starts afresh with progress, and SACKs make it needless.
    fn reschedule_probe(&mut self, now: Instant, advanced: bool) {
        if advanced || self.board.sacked_segments() > 0 {
            self.schedule_probe(now);
        }
    }

    /// Completes the ACK's event, and passes it to the congestion control algorithm.
    fn report_ack(&mut self, mut event: AckEvent) {
        event.lost = self.congestion_control.take_lost(self.board.bytes_lost());
        event.flight_after = self.board.pipe();
        event.delivered = self.rate.delivered();
        self.congestion_control.on_ack(&event);
    }

    fn ack_event(&self, now: Instant) -> AckEvent {
        AckEvent {
            now,
            acked: 0,
            sacked: 0,
            una: self.buffer.una(),
            next: self.buffer.next(),
            flight: self.board.pipe(),
            rtt: None,
            in_recovery: self.episode.is_fast(),
            cwnd_limited: self.congestion_control.was_limited(self.buffer.una()),
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
        event.echo_gap = covered.echo_gap;
        event.rtt = match ack.echo {
            Some(_) => covered.echo_sent.map(|sent| now.since(sent)),
            // Karn: without timestamps, the ACK of a retransmitted segment is of no known copy.
            None if covered.retransmission => None,
            None => covered.last_sent.map(|sent| now.since(sent)),
        };
        match (event.rtt, ack.echo) {
            (Some(rtt), _) => self.timing.sample(rtt),
            // The original arrived after it was retransmitted: its departure is no longer known,
            // but only the tick in which that lay.
            (None, Some((_, age))) => self.timing.sample_echo(now, age),
            (None, None) => {}
        }
        event.acked = self.buffer.acknowledge(ack.una);
        event.una = ack.una;
        self.duplicates.forget();
        self.peer.stop_probing();
        if !self.buffer.has_outstanding() {
            self.episode.forget_head();
        }
        self.restart_timer(now);
    }

    /// RFC 6298 (5.2), (5.3). The timer is shorter if the peer has reneged.
    fn restart_timer(&mut self, now: Instant) {
        if !self.buffer.has_outstanding() {
            self.timing.stop_timer();
        } else if self.board.is_reneged() {
            self.timing.start_renege_timer(now);
        } else if self.sack || !self.episode.is_later_partial(self.buffer.una()) {
            self.timing.start_timer(now);
        }
    }

    /// Applies progress to the current recovery; returns whether fast recovery ended.
    fn on_progress(&mut self, now: Instant, acked: u32) -> bool {
        let una = self.buffer.una();
        if self.episode.end_timeout(una) {
            self.note_recovery_end();
        }
        if !self.episode.is_fast() {
            return false;
        }
        // RFC 5681 section 3.2 step 6: any ACK of new data ends the recovery of Reno, also one that
        // leaves data of before it unacknowledged. RFC 6582 corrects that for NewReno.
        let reno = !self.sack && self.congestion_control.recovery() == Recovery::Reno;
        if self.episode.reaches_point(una) || reno {
            self.episode.end_fast();
            self.note_recovery_end();
            self.congestion_control.on_recovery_end(now);
            return true;
        }
        if !self.sack {
            self.episode.deflate(acked, self.smss);
            self.board.count_head_lost();
        }
        false
    }

    fn note_recovery_end(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.note_recovery_end();
        }
    }

    /// RFC 5681 section 2; with SACK, an ACK that reports new data, even if it advances too
    /// (RFC 6675 section 2). Section 5 counts none that arrives in recovery, the one that ends
    /// it included.
    fn is_duplicate(&self, ack: &Ack<'_>, event: &AckEvent) -> bool {
        match self.sack {
            true => event.sacked > 0 && !event.in_recovery,
            // The answers to window probes look alike and tell of no loss.
            false => ack.may_be_duplicate && !ack.advances && !self.peer.is_probing(),
        }
    }
}
