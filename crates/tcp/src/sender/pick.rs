//! Which segment leaves next.

use super::probe::Probe;
use super::scoreboard::Left;
use super::spurious::Frto;
use super::{Pick, Sender};
use crate::Payload;
use fairwave_units::Instant;

impl<P: Payload> Sender<P> {
    /// The next segment to send, which counts as sent from now on; `timestamp` goes with it.
    pub(crate) fn pick(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if !self.has_work() && !self.may_speculate() {
            return None;
        }
        if let Some(index) = self.pick_forced() {
            return self.resend(index, now, timestamp);
        }
        if self.tail.due == Some(Probe::New) {
            let pick = self.pick_new(now, timestamp, true);
            self.tail.due = None;
            if pick.is_some() {
                return pick;
            }
        }
        if matches!(self.frto, Frto::Second(_)) {
            let pick = self.pick_frto(now, timestamp);
            if pick.is_some() || self.frto != Frto::Off {
                return pick;
            }
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
        if let Some(pick) = self.pick_new(now, timestamp, false) {
            return Some(pick);
        }
        self.pick_speculative(now, timestamp)
    }

    /// A retransmission that no congestion window holds back: the head of a loss, a probe.
    fn pick_forced(&mut self) -> Option<usize> {
        if core::mem::take(&mut self.retransmit_lost)
            && let Some(index) = self.board.next_lost()
        {
            return Some(index);
        }
        if self.tail.due == Some(Probe::Last) && self.una < self.next {
            self.note_probe(Probe::Last);
            return self.board.len().checked_sub(1);
        }
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
        self.sack && self.fast.is_some() && self.rack.is_none()
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
        self.note_retransmission(timestamp);
        self.retransmissions += 1;
        self.sent(now, record.len);
        let fin = record.start + u64::from(record.len) > self.end;
        let payload = record.len - u32::from(fin);
        // RFC 3168 section 6.1.5: never on what is sent again.
        Some(Pick { start: record.start, payload, fin, ect: false, cwr: false })
    }

    /// New data, or the FIN; `forced` if no congestion window holds it back.
    pub(super) fn pick_new(&mut self, now: Instant, timestamp: u32, forced: bool) -> Option<Pick> {
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
        let tail = self.tail.due.take().is_some();
        if !probe && !forced && !self.admits(len) {
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
        if tail {
            self.note_probe(Probe::New);
        } else {
            self.schedule_probe(now);
        }
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
    pub(super) fn new_len(&self, waiting: u64, fin_waits: bool, probe: bool) -> Option<u32> {
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
        if let Some(prr) = &mut self.prr {
            prr.sent(len);
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.sent(now, len, rate);
        }
    }
}
