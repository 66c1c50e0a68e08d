//! Needless retransmissions found by timestamps (Eifel detection, RFC 3522), and what follows
//! (Eifel response, RFC 4015).

use super::Sender;
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

impl<P: Payload> Sender<P> {
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
