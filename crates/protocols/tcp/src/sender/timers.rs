//! Handling of expired timers: a timeout (RFC 6298), a window probe, a tail loss probe or overdue
//! segments (RFC 8985).

use super::Sender;
use super::probe::Probe;
use crate::Payload;
use fairwave_cc::RtoEvent;
use fairwave_units::Instant;

impl<P: Payload> Sender<P> {
    /// The timer expired with data waiting or outstanding. `Some(backoff)` if this was a
    /// timeout, `None` if it was a window probe.
    pub(crate) fn on_timer(&mut self, now: Instant) -> Option<u32> {
        if !self.buffer.has_outstanding() || self.peer.is_closed() {
            self.peer.start_probing();
            self.timing.expire(now);
            return None;
        }
        let allowance = self.rack_allowance();
        let recent = allowance.map(|age| Instant::ZERO + now.since(Instant::ZERO + age));
        // What was SACKed has left the network, whether that is kept or forgotten. Past a
        // retransmission that was lost, new data flows for a whole RTO: with it, ssthresh would
        // rise to many times the window.
        let gone = self.board.timeout(recent).saturating_add(self.duplicates.limited_transmit());
        let flight = self.buffer.flight().saturating_sub(gone);
        let (anew, recovers) = (!self.episode.is_timeout(), self.episode.is_fast());
        let backoff = self.episode.begin_timeout(self.buffer.una(), self.buffer.next());
        let keeps_ssthresh = self.congestion_control.keeps_reduction(recovers);
        let timeout = RtoEvent { now, flight, backoff, keeps_ssthresh };
        self.congestion_control.on_rto(&timeout, self.board.bytes_lost());
        self.note_reduction();
        // Without a reduction of its own there is none to undo: what shows this timeout to be
        // needless says nothing of the loss before it.
        let reduces = anew && !keeps_ssthresh;
        if reduces {
            self.spurious.suspect();
        }
        self.spurious.begin_frto(reduces);
        self.tail.forget();
        self.duplicates.forget();
        self.pacer.restart(now);
        self.timing.expire(now);
        self.check();
        Some(backoff)
    }

    /// Timers that come before the retransmission timer (RFC 8985). Whether recovery began.
    pub(crate) fn on_early_timers(&mut self, now: Instant) -> bool {
        if self.tail.timer().is_some_and(|at| at <= now) {
            self.on_probe_timer(now);
        }
        let reorders = self.rack.as_ref().is_some_and(|r| r.timer().is_some_and(|at| at <= now));
        reorders && self.on_reordering_timer(now)
    }

    /// The probe timeout expired (section 7.3): the probe is to leave, and the retransmission
    /// timer starts afresh with it.
    fn on_probe_timer(&mut self, now: Instant) {
        self.tail.set_timer(None);
        if !self.buffer.has_outstanding() || self.peer.is_closed() {
            return;
        }
        let new = self.buffer.has_unsent() && self.new_len(false).is_some();
        self.tail.set_due(if new { Probe::New } else { Probe::Last });
        self.timing.start_timer(now);
    }

    /// The reordering timer expired (section 6.2 step 5); whether a recovery begins.
    fn on_reordering_timer(&mut self, now: Instant) -> bool {
        self.rack_detect(now);
        let began = self.detect_loss(now);
        self.reduce(0, false);
        self.check();
        began
    }
}
