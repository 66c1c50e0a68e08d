//! Choice of the next segment to leave.

use super::burst;
use super::probe::Probe;
use super::scoreboard::RemovedSegment;
use super::{Pick, Sender};
use crate::Payload;
use fairwave_units::Instant;

impl<P: Payload> Sender<P> {
    /// Whether anything could leave if every window allowed it.
    pub(crate) fn may_send(&self) -> bool {
        self.has_work() || self.may_speculate()
    }

    /// The next segment to send, which counts as sent from now on; `timestamp` goes with it.
    pub(crate) fn pick(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if let Some(index) = self.pick_forced() {
            return self.resend(index, now, timestamp);
        }
        if self.tail.due() == Some(Probe::New) {
            let pick = self.pick_new(now, timestamp, true);
            self.tail.take_due();
            if pick.is_some() {
                return pick;
            }
        }
        if self.spurious.awaits_verdict() {
            let pick = self.pick_frto(now, timestamp);
            if pick.is_some() || self.spurious.awaits_verdict() {
                return pick;
            }
        }
        // Pacing spreads a window over the round trip; segments above leave whatever the window.
        if self.is_paced(now) {
            return None;
        }
        if self.episode.is_under_way()
            && let Some(index) = self.board.next_lost()
        {
            // NextSeg rule 1 comes before rule 2 (RFC 6675 section 4): a short new segment that
            // would fit does not overtake a lost one that does not.
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
        if self.episode.take_lost()
            && let Some(index) = self.board.next_lost()
        {
            return Some(index);
        }
        let outstanding = self.buffer.has_outstanding();
        if self.tail.due() == Some(Probe::Last) && outstanding {
            self.tail.note_sent(Probe::Last, self.buffer.next());
            return self.board.len().checked_sub(1);
        }
        let probe = self.peer.wants_probe() && outstanding;
        if !self.episode.forces_head() && !probe {
            return None;
        }
        self.episode.forget_head();
        if probe {
            self.peer.take_probe();
        }
        Some(0)
    }

    /// Whether NextSeg rule 3 of RFC 6675 may apply.
    fn may_speculate(&self) -> bool {
        self.sack && self.episode.is_fast() && self.rack.is_none()
    }

    fn pick_speculative(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if !self.may_speculate() || !self.admits(self.smss) {
            return None;
        }
        let index = self.board.next_speculative()?;
        self.resend(index, now, timestamp)
    }

    /// Step 2 b of F-RTO (RFC 5682): the next of two new segments, whatever the window.
    fn pick_frto(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        if !self.spurious.lets_new_out() {
            return None;
        }
        let pick = self.pick_new(now, timestamp, true);
        self.spurious.note_new(pick.is_some());
        pick
    }

    fn resend(&mut self, index: usize, now: Instant, timestamp: u32) -> Option<Pick> {
        let in_pipe = self.sack || self.episode.is_timeout();
        let record = *self.board.get(index)?;
        let end = record.start + u64::from(record.len);
        let departure = self.rate.depart(now, false);
        self.board.resend(index, now, RemovedSegment { timestamp, departure }, in_pipe);
        self.note_limit(end);
        self.spurious.note_retransmission(timestamp);
        self.retransmissions += 1;
        self.note_sent(now, record.len);
        let fin = end > self.buffer.end();
        let payload = record.len - u32::from(fin);
        // RFC 3168 section 6.1.5: a retransmission is never ECN-capable.
        Some(Pick { start: record.start, payload, fin, ect: false, cwr: false, ends_burst: false })
    }

    /// New data, or the FIN; `forced` if no congestion window holds it back.
    fn pick_new(&mut self, now: Instant, timestamp: u32, forced: bool) -> Option<Pick> {
        if !self.buffer.has_unsent() {
            return None;
        }
        let idle = !self.buffer.has_outstanding();
        let probe = self.peer.take_probe();
        let Some(len) = self.new_len(probe) else {
            if idle && self.timing.timer().is_none() {
                self.timing.start_timer(now);
            }
            return None;
        };
        let tail = self.tail.take_due();
        if !probe && !forced && !self.admits(len) {
            return None;
        }
        if idle {
            self.restart_after_idle(now);
            // The timer ran for a closed window: RFC 6298 (5.1) starts it afresh for the data.
            self.timing.stop_timer();
        }
        let payload = u64::from(len).min(self.buffer.waiting()) as u32;
        let start = self.buffer.next();
        let departure = self.rate.depart(now, idle);
        self.board.push(start, len, now, RemovedSegment { timestamp, departure });
        self.buffer.send(len);
        if !self.episode.is_fast() {
            self.duplicates.note_new_data(len);
        }
        self.note_limit(self.buffer.next());
        self.note_sent(now, len);
        if tail {
            self.tail.note_sent(Probe::New, self.buffer.next());
        } else {
            self.schedule_probe(now);
        }
        // RFC 3168 section 6.1.6: window probes are not ECN-capable.
        let ect = self.marks.is_enabled() && payload > 0 && !probe;
        let cwr = ect && self.marks.take_cwr();
        let ends_burst = self.ends_burst(now);
        Some(Pick { start, payload, fin: len > payload, ect, cwr, ends_burst })
    }

    /// Whether the new segment that leaves is the last of several that leave together.
    fn ends_burst(&mut self, now: Instant) -> bool {
        let Some(mut burst) = self.burst else { return false };
        let follows = !self.is_paced(now) && self.new_len(false).is_some_and(|l| self.admits(l));
        let rtt = self.timing.rtt();
        let congestion_control = (
            self.congestion_control.cwnd().unwrap_or(0),
            self.congestion_control.ssthresh().unwrap_or(u32::MAX),
        );
        let usual = || burst::usual_rate(congestion_control.0, congestion_control.1, rtt.srtt());
        let rate = self.congestion_control.pacing_rate().or_else(usual);
        let ends = burst.ends(now, burst::max_segments(rate, rtt.least(), self.smss), follows);
        self.burst = Some(burst);
        ends
    }

    /// Notes how much of the congestion window the data that ends at `end` has filled.
    fn note_limit(&mut self, end: u64) {
        let (una, next) = (self.buffer.una(), self.buffer.next());
        self.congestion_control.note_flight(una, next, self.buffer.flight());
        if !self.admits(self.smss) {
            self.congestion_control.note_limit(end);
        }
    }

    /// Sequence space of the next new segment; `None` while the peer's window forbids it or
    /// silly window avoidance (RFC 9293 section 3.8.6.2.1) or Nagle's rule (section 3.7.4) asks
    /// to wait.
    pub(super) fn new_len(&self, probe: bool) -> Option<u32> {
        let (waiting, outstanding) = (self.buffer.waiting(), self.buffer.has_outstanding());
        let edge = self.buffer.una() + u64::from(self.peer.size());
        let usable = edge.saturating_sub(self.buffer.next()).min(u64::from(u32::MAX)) as u32;
        let payload = waiting.min(u64::from(self.smss)) as u32;
        let fin = self.buffer.fin_waits() && u64::from(payload) == waiting;
        let wanted = payload + u32::from(fin);
        if self.nagle && payload < self.smss && !fin && !probe && outstanding {
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
        let half = cut >= self.peer.max() / 2 && !(self.nagle && outstanding);
        (cut > 0 && (all || cut == self.smss || half)).then_some(cut)
    }

    /// RFC 5681 section 4.1.
    fn restart_after_idle(&mut self, now: Instant) {
        if let Some(idle) = self.timing.idle(now) {
            self.congestion_control.on_idle_restart(idle);
        }
    }

    /// Bookkeeping of every departure: the timer, the reduction of a recovery, and the pace.
    fn note_sent(&mut self, now: Instant, len: u32) {
        self.timing.note_sent(now);
        self.episode.note_sent(len);
        if let Some(rate) = self.congestion_control.pacing_rate() {
            self.pacer.sent(now, len, rate);
        }
        self.check();
    }
}
