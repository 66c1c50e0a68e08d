//! Needless retransmissions found by timestamps (Eifel detection, RFC 3522) or by what arrives
//! after a timeout (F-RTO, RFC 5682), and what follows (Eifel response, RFC 4015).

use super::{Pick, Sender};
use crate::Payload;
use fairwave_units::{Instant, Seq32};

/// State of RFC 3522 section 3.2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Eifel {
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
pub(super) enum Frto {
    /// Recovery is the conventional one.
    #[default]
    Off,
    /// Step 2: the first segment was sent again, and nothing has been heard since.
    First,
    /// Step 3: it was acknowledged; so many new segments may still leave, and none again.
    Second(u8),
}

impl<P: Payload> Sender<P> {
    /// A timeout: step 1, unless the same data timed out before.
    pub(super) fn begin_frto(&mut self) {
        let first = self.wants_frto && self.rto_backoff == 1;
        self.frto = if first { Frto::First } else { Frto::Off };
    }

    /// Steps 2 and 3 for an ACK, after SND.UNA has moved: whether the timeout was spurious. Only
    /// what was not sent again can move it in step 3.
    pub(super) fn frto_confirms(&mut self, advanced: bool, duplicate: bool) -> bool {
        let partial = advanced && self.rto_point.is_some_and(|point| self.una < point);
        let waits = matches!(self.frto, Frto::Second(_));
        // Step 3 a: the window may be full of the new segments, so the first again is forced.
        self.retransmit_head |= waits && duplicate;
        self.frto = match self.frto {
            Frto::First if partial => Frto::Second(2),
            _ if advanced || duplicate => Frto::Off,
            state => state,
        };
        waits && advanced
    }

    /// Step 2 b: the next of two new segments, whatever the window; where there is none, the
    /// conventional recovery goes on.
    pub(super) fn pick_frto(&mut self, now: Instant, timestamp: u32) -> Option<Pick> {
        let Frto::Second(left @ 1..) = self.frto else { return None };
        let pick = self.pick_new(now, timestamp, true);
        self.frto = match pick {
            Some(_) => Frto::Second(left - 1),
            None if left == 2 => Frto::Off,
            None => Frto::Second(0),
        };
        pick
    }

    /// A recovery or a timeout begins. A timeout for data that already timed out is not judged
    /// anew: the first one stands.
    pub(super) fn suspect(&mut self) {
        if self.detects_spurious {
            self.eifel = Eifel::Armed;
        }
    }

    /// A segment leaves again with this timestamp (RFC 3522 section 3.2 step 1).
    pub(super) fn note_retransmission(&mut self, timestamp: u32) {
        if matches!(self.eifel, Eifel::Armed) {
            self.eifel = Eifel::Sent(timestamp);
        }
    }

    /// The first ACK that advances since (steps 2 and 3): if it echoes a timestamp from before
    /// the retransmission, the original arrived, and nothing was lost.
    pub(super) fn is_spurious(&mut self, echo: Option<u32>) -> bool {
        let Eifel::Sent(retransmitted) = self.eifel else { return false };
        self.eifel = Eifel::Idle;
        echo.is_some_and(|echo| Seq32(echo).before(Seq32(retransmitted)))
    }

    /// RFC 4015 section 3.2: sending goes on where it was, and the law takes its response back.
    /// Whether fast recovery ended with that.
    pub(super) fn undo(&mut self, now: Instant) -> bool {
        let ended = self.fast.take().is_some();
        self.rto_point = None;
        self.rto_backoff = 0;
        self.inflation = 0;
        self.prr = None;
        self.retransmit_head = false;
        self.frto = Frto::Off;
        self.eifel = Eifel::Idle;
        self.board.undo();
        if let Some(controller) = &mut self.controller {
            if ended {
                controller.on_recovery_end(now);
            }
            controller.on_spurious(now);
        }
        self.spurious += 1;
        ended
    }
}
