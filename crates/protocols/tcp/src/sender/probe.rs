//! Tail loss probes (RFC 8985 section 7): where no ACK would show a loss, a probe asks for one
//! before the retransmission timer expires.

use super::facts::Ack;
use fairwave_units::Instant;

/// State of RFC 8985 section 7.1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// Time at which the probe timeout expires.
    timer: Option<Instant>,
    /// TLP.end_seq: SND.NXT after the probe that is not acknowledged yet.
    end: Option<u64>,
    /// TLP.is_retrans: the probe was a retransmission, so that its ACK may hide a loss.
    retransmits: bool,
    /// The probe that is to leave.
    due: Option<Probe>,
    /// Probes sent.
    sent: u64,
}

/// Kinds of probes (section 7.3).
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
        *self = Self { sent: self.sent, ..Self::default() };
    }

    /// Probes sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Time at which the probe timeout expires.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(super) fn set_timer(&mut self, at: Option<Instant>) {
        self.timer = at;
    }

    /// Whether a probe was sent and not acknowledged.
    pub(super) fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }

    /// The probe that is to leave.
    pub(super) fn due(&self) -> Option<Probe> {
        self.due
    }

    pub(super) fn set_due(&mut self, probe: Probe) {
        self.due = Some(probe);
    }

    /// Whether a probe was to leave; none is any more.
    pub(super) fn take_due(&mut self) -> bool {
        self.due.take().is_some()
    }

    /// The probe leaves; SND.NXT is `next` afterwards.
    pub(super) fn note_sent(&mut self, probe: Probe, next: u64) {
        self.due = None;
        self.timer = None;
        self.end = Some(next);
        self.retransmits = probe == Probe::Last;
        self.sent += 1;
    }

    /// Section 7.4: takes an ACK's report on the probe. Returns whether the probe alone repaired a
    /// loss, to which the algorithm must react.
    pub(super) fn take_ack(&mut self, ack: &Ack<'_>) -> bool {
        let Some(end) = self.end.filter(|end| ack.una >= *end) else { return false };
        // Both copies of the probed segment arrived if a D-SACK reports the second or, of a peer
        // without D-SACK, a plain duplicate ACK answers it (section 7.4.2): nothing was lost.
        let twice = ack.dsack.is_some_and(|(_, right)| right == end);
        let repaired = self.retransmits && !twice && ack.una > end;
        let plain = ack.blocks.is_empty() && ack.dsack.is_none() && ack.may_be_duplicate;
        let original = plain && !ack.advances;
        if !self.retransmits || twice || repaired || original {
            self.end = None;
        }
        repaired
    }
}
