//! Tail loss probes (RFC 8985 section 7): where no ACK would tell of a loss, one is asked for
//! before the retransmission timer expires.

use super::Sender;
use super::recovery::Ack;
use crate::Payload;
use fairwave_cc::LossEvent;
use fairwave_units::{Duration, Instant};

/// TLP.max_ack_delay: how long the peer may hold back an ACK (WCDelAckT).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe timeout before the first round-trip sample.
const UNSAMPLED: Duration = Duration::from_secs(1);

/// State of RFC 8985 section 7.1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// When the probe timeout expires.
    pub(super) timer: Option<Instant>,
    /// TLP.end_seq: SND.NXT after the probe that is not answered yet.
    end: Option<u64>,
    /// TLP.is_retrans: it was sent before, so that its ACK may hide a loss.
    repeats: bool,
    /// The probe that is to leave.
    pub(super) due: Option<Probe>,
}

/// What a probe is (section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// A new segment, whatever the congestion window.
    New,
    /// The last segment that was sent.
    Last,
}

impl TailProbe {
    /// A timeout or a recovery makes the probe meaningless.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl<P: Payload> Sender<P> {
    /// Section 7.2: sets the probe timeout after new data or progress, unless something else
    /// will tell of a loss.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let Some(rack) = &self.rack else { return };
        let quiet = self.fast.is_none()
            && self.rto_point.is_none()
            && rack.timer.is_none()
            && self.tail.end.is_none()
            && self.board.sacked_segments() == 0
            && self.una < self.next;
        self.tail.timer = quiet.then(|| self.probe_at(now));
    }

    /// TLP_calc_PTO of section 7.2, as a point in time.
    fn probe_at(&self, now: Instant) -> Instant {
        let timeout = match self.rtt.srtt() {
            None => UNSAMPLED,
            Some(srtt) if self.board.len() == 1 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
        };
        let at = now + timeout;
        self.timer.map_or(at, |rto| at.min(rto))
    }

    /// The probe timeout expired (section 7.3): the probe is to leave, and the retransmission
    /// timer starts afresh with it.
    pub(super) fn on_probe_timer(&mut self, now: Instant) {
        self.tail.timer = None;
        if self.una == self.next || self.window == 0 {
            return;
        }
        let waiting = self.end.saturating_sub(self.next);
        let fin_waits = self.fin && self.next <= self.end;
        let new = (waiting > 0 || fin_waits) && self.new_len(waiting, fin_waits, false).is_some();
        self.tail.due = Some(if new { Probe::New } else { Probe::Last });
        self.start_timer(now);
    }

    /// The probe leaves.
    pub(super) fn note_probe(&mut self, probe: Probe) {
        self.tail.due = None;
        self.tail.timer = None;
        self.tail.end = Some(self.next);
        self.tail.repeats = probe == Probe::Last;
        self.probes += 1;
    }

    /// Section 7.4: what an ACK tells of the probe. If only the probe repaired a loss, the law
    /// must hear of that loss.
    pub(super) fn answer_probe(&mut self, now: Instant, ack: &Ack<'_>, flight: u32) {
        let Some(end) = self.tail.end.filter(|end| ack.una >= *end) else { return };
        let twice = ack.dsack.is_some_and(|(_, right)| right == end);
        let repaired = self.tail.repeats && !twice && self.una > end;
        let plain = ack.blocks.is_empty() && ack.dsack.is_none() && ack.may_be_duplicate;
        let original = plain && !ack.advances;
        if !self.tail.repeats || twice || repaired || original {
            self.tail.end = None;
        }
        if repaired && let Some(controller) = &mut self.controller {
            controller.on_loss(&LossEvent { now, flight, next: self.next });
            controller.on_recovery_end(now);
            self.note_reduction();
        }
    }
}
