//! The sender's answer to congestion marks that the receiver echoes (RFC 3168 section 6.1.2).

use super::Sender;
use crate::Payload;
use fairwave_cc::LossEvent;
use fairwave_units::Instant;

/// What was answered so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Both ends agreed on ECN.
    pub(super) enabled: bool,
    /// SND.NXT at the last reduction for whatever reason: until something beyond is
    /// acknowledged, the receiver cannot have seen CWR, and its echo is old.
    answered: Option<u64>,
    /// The next new data segment says that the window was reduced.
    pub(super) cwr: bool,
    /// Reductions for marks.
    pub(super) responses: u64,
}

impl<P: Payload> Sender<P> {
    /// An ACK with ECN-Echo moved SND.UNA here; `flight` was outstanding before it, in bytes.
    pub(super) fn on_echo(&mut self, now: Instant, flight: u32) {
        let old = self.marks.answered.is_some_and(|at| self.una <= at);
        if old || !self.marks.enabled {
            return;
        }
        if let Some(controller) = &mut self.controller {
            controller.on_ecn(&LossEvent { now, flight, next: self.next });
        }
        self.marks.responses += 1;
        self.note_reduction();
    }

    /// The window was reduced, for a mark or a loss: RFC 3168 section 6.1.2 wants that told, and
    /// no second reduction for the same window.
    pub(super) fn note_reduction(&mut self) {
        if self.marks.enabled {
            self.marks.answered = Some(self.next);
            self.marks.cwr = true;
        }
    }
}
