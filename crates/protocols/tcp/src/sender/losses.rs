//! Detection of losses, and the beginning of a recovery.

use super::Sender;
use super::prr::Progress;
use super::rack::Order;
use crate::Payload;
use fairwave_cc::{LossEvent, Recovery};
use fairwave_units::{Duration, Instant};

/// TLP.max_ack_delay: how long the peer may hold back an ACK (WCDelAckT).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe timeout before the first round-trip sample.
const UNSAMPLED: Duration = Duration::from_secs(1);

impl<P: Payload> Sender<P> {
    /// Passes an ACK's reports to RACK, and marks the segments that this shows to be lost.
    pub(super) fn rack_on_ack(&mut self, now: Instant, order: Option<Order>, dsack: bool) {
        let (una, next) = (self.buffer.una(), self.buffer.next());
        if let (Some(rack), Some(order)) = (&mut self.rack, order) {
            rack.update(&order);
            rack.note_dsack(dsack, una, next);
            self.rack_detect(now);
        }
    }

    /// Returns the time after its departure at which a segment is overdue, once a later one has
    /// arrived.
    pub(super) fn rack_allowance(&self) -> Option<Duration> {
        let rack = self.rack.as_ref()?;
        let sure = self.episode.is_under_way()
            || self.board.sacked_segments() >= self.duplicates.threshold();
        let rtt = self.timing.rtt();
        Some(rack.allowance(sure, rtt.least(), rtt.srtt()))
    }

    /// RFC 8985 section 6.2 step 5: marks overdue segments, and sets the timer for the next ones.
    pub(super) fn rack_detect(&mut self, now: Instant) {
        let Some(allowance) = self.rack_allowance() else { return };
        let Some(rack) = &mut self.rack else { return };
        let due = rack.due(now, allowance);
        let timer = due.and_then(|due| self.board.mark_overdue(&due));
        debug_assert!(timer.is_none_or(|at| at > now), "what is overdue was not marked");
        rack.set_timer(timer);
    }

    /// RFC 8985 section 7.2: sets the probe timeout after new data or progress, unless another
    /// timer will detect a loss.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let Some(rack) = &self.rack else { return };
        let quiet = !self.episode.is_under_way()
            && rack.timer().is_none()
            && !self.tail.is_outstanding()
            && self.board.sacked_segments() == 0
            && self.buffer.has_outstanding();
        let at = quiet.then(|| self.probe_at(now));
        self.tail.set_timer(at);
    }

    /// TLP_calc_PTO of section 7.2, as a point in time.
    fn probe_at(&self, now: Instant) -> Instant {
        let timeout = match self.timing.rtt().srtt() {
            None => UNSAMPLED,
            // The peer may delay the ACK of a lone segment.
            Some(srtt) if self.board.len() == 1 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
        };
        let at = now + timeout;
        self.timing.timer().map_or(at, |rto| at.min(rto))
    }

    /// Spreads the reduction of a recovery under way over its ACKs (RFC 6937); the ACK at hand
    /// reports `delivered` bytes, and is `safe` if it advances and shows no further loss.
    pub(super) fn reduce(&mut self, delivered: u64, safe: bool) {
        if !self.episode.is_in_proportion() {
            return;
        }
        let Some(target) = self.congestion_control.cwnd() else { return };
        let (pipe, smss) = (self.board.pipe(), self.smss);
        self.episode.reduce(&Progress { delivered, pipe, target, smss, safe });
    }

    /// Begins fast recovery if the reports mean a loss that no earlier event covers.
    pub(super) fn detect_loss(&mut self, now: Instant) -> bool {
        let lost = match self.rack {
            Some(_) => self.board.has_lost() && !self.episode.is_timeout(),
            // RFC 6675 section 5 steps 1 and 2. Where ACKs were lost, there are too few duplicates,
            // but the blocks of the next one report the same data.
            None => self.duplicates.mean_loss() || (self.sack && self.board.head_is_lost()),
        };
        if !lost
            || self.episode.is_fast()
            || !self.buffer.has_outstanding()
            || !self.episode.passes_guard(self.buffer.una(), self.sack)
        {
            return false;
        }
        self.begin_recovery(now);
        true
    }

    fn begin_recovery(&mut self, now: Instant) {
        let next = self.buffer.next();
        // RecoverFS of RFC 6937 is all that is outstanding. FlightSize of RFC 5681 equation 4 is
        // without the segments of limited transmit (section 3.2 step 2).
        let whole = self.congestion_control.reduced(self.buffer.flight());
        self.congestion_control.on_loss(&LossEvent {
            now,
            flight: self.congestion_control.reduced(self.flight_size()),
            una: self.buffer.una(),
            next,
        });
        self.note_reduction();
        // RACK has marked what is lost already, and the head need not be among it.
        let marked = self.rack.is_some();
        self.episode.begin_fast(next, marked);
        self.spurious.suspect();
        // Two hands on one window would reduce it twice: an algorithm that governs its recoveries
        // has none of PRR.
        if self.sack && !self.congestion_control.governs_recovery() {
            self.episode.begin_prr(whole);
        }
        self.tail.forget();
        if !self.sack {
            let gone = i64::from(self.duplicates.threshold()) * i64::from(self.smss);
            self.episode.begin_inflation(gone);
            self.board.count_head_lost();
        } else if !marked {
            self.board.begin_recovery();
            self.board.mark_head_lost();
        }
        // Classic Reno may halve again for a second loss of the same window (RFC 6582
        // section 1 describes it); only a timeout silences it.
        if self.sack || self.congestion_control.recovery() == Recovery::NewReno {
            self.episode.set_guard(next);
        }
        self.timing.start_timer(now);
    }
}
