//! Needless retransmissions found by timestamps (Eifel detection, RFC 3522) or by arrivals after a
//! timeout (F-RTO, RFC 5682).

use fairwave_units::Seq32;

/// State of RFC 3522 section 3.2.
#[derive(Clone, Copy, Debug, Default)]
enum Eifel {
    /// No recovery is under suspicion.
    #[default]
    Idle,
    /// A recovery or timeout began: its first retransmission is to leave.
    Armed,
    /// RetransmitTS: the timestamp of that retransmission.
    Sent(u32),
}

/// State of the basic F-RTO algorithm (RFC 5682 section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Frto {
    /// Recovery is the conventional one.
    #[default]
    Off,
    /// Step 2: the first segment was retransmitted, and nothing has been received since.
    First,
    /// Step 3: it was acknowledged. This many new segments may still leave, and no
    /// retransmission.
    Second(u8),
}

/// Whether the recovery under way is needless.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spurious {
    wants_eifel: bool,
    eifel: Eifel,
    wants_frto: bool,
    frto: Frto,
    /// Recoveries and timeouts that were undone.
    undone: u64,
}

impl Spurious {
    pub(super) fn new(wants_eifel: bool, wants_frto: bool) -> Self {
        Self { wants_eifel, eifel: Eifel::Idle, wants_frto, frto: Frto::Off, undone: 0 }
    }

    /// Recoveries and timeouts that were undone.
    pub(super) fn undone(&self) -> u64 {
        self.undone
    }

    /// A recovery or a timeout begins. A timeout for data that already timed out is not judged
    /// anew: the first one stands.
    pub(super) fn suspect(&mut self) {
        if self.wants_eifel {
            self.eifel = Eifel::Armed;
        }
    }

    /// A segment is retransmitted with this timestamp (RFC 3522 section 3.2 step 1).
    pub(super) fn note_retransmission(&mut self, timestamp: u32) {
        if matches!(self.eifel, Eifel::Armed) {
            self.eifel = Eifel::Sent(timestamp);
        }
    }

    /// The first ACK that advances since (steps 2 and 3): if it echoes a timestamp from before
    /// the retransmission, the original arrived, and nothing was lost.
    pub(super) fn echoes_original(&mut self, echo: Option<u32>) -> bool {
        let Eifel::Sent(retransmitted) = self.eifel else { return false };
        // Judged once: later ACKs echo the retransmission whatever became of the original.
        self.eifel = Eifel::Idle;
        echo.is_some_and(|echo| Seq32(echo).before(Seq32(retransmitted)))
    }

    /// Handles a timeout: step 1, unless it comes while the data of an earlier timeout is repaired
    /// (not `anew`).
    pub(super) fn begin_frto(&mut self, anew: bool) {
        // Then the segment that leaves may be acknowledged by either of two transmissions before
        // it: nothing could be told.
        self.frto = if self.wants_frto && anew { Frto::First } else { Frto::Off };
    }

    /// Returns whether F-RTO has sent new data and waits for its ACK (step 3).
    pub(super) fn awaits_verdict(&self) -> bool {
        matches!(self.frto, Frto::Second(_))
    }

    /// Steps 2 and 3 for an ACK, which is `partial` if it leaves timed-out data unacknowledged:
    /// whether the timeout was spurious. In step 3 only the arrival of an original, which was
    /// not retransmitted, can advance SND.UNA.
    pub(super) fn observe_ack(&mut self, advanced: bool, partial: bool, duplicate: bool) -> bool {
        let waits = self.awaits_verdict();
        self.frto = match self.frto {
            // All of the data acknowledged at once says nothing of what was lost: there is nothing
            // left to be spared.
            Frto::First if advanced && partial => Frto::Second(2),
            _ if advanced || duplicate => Frto::Off,
            state => state,
        };
        waits && advanced
    }

    /// Whether one of the two new segments of step 2 b may leave.
    pub(super) fn lets_new_out(&self) -> bool {
        matches!(self.frto, Frto::Second(1..))
    }

    /// A new segment left for step 2 b, or there was none to send. Without any, the conventional
    /// recovery continues.
    pub(super) fn note_new(&mut self, left: bool) {
        let Frto::Second(count) = self.frto else { return };
        self.frto = match left {
            true => Frto::Second(count - 1),
            false if count == 2 => Frto::Off,
            false => Frto::Second(0),
        };
    }

    /// The recovery was needless and is undone.
    pub(super) fn undo(&mut self) {
        (self.eifel, self.frto) = (Eifel::Idle, Frto::Off);
        self.undone += 1;
    }
}
