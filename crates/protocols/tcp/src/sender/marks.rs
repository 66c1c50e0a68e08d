//! The sender's answer to congestion marks that the receiver echoes (RFC 3168 section 6.1.2).

/// Reactions to marks so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Both ends agreed on ECN.
    enabled: bool,
    /// SND.NXT at the last reduction for whatever reason: until something beyond is
    /// acknowledged, the receiver cannot have seen CWR, and its echo is old.
    answered: Option<u64>,
    /// The next new data segment says that the window was reduced.
    cwr: bool,
    /// Reductions for marks.
    responses: u64,
}

impl Marks {
    /// Data is sent as ECN-capable or not, as both ends agreed.
    pub(super) fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether an echo in an ACK that moved SND.UNA to `una` asks for a reduction, which the
    /// caller then makes.
    pub(super) fn respond(&mut self, una: u64) -> bool {
        let old = self.answered.is_some_and(|at| una <= at);
        let responds = self.enabled && !old;
        self.responses += u64::from(responds);
        responds
    }

    /// Records that the window was reduced at SND.NXT `next`, for a mark or a loss: the peer has to
    /// be notified, and there is no second reduction for the same window.
    pub(super) fn note_reduction(&mut self, next: u64) {
        if self.enabled {
            self.answered = Some(next);
            self.cwr = true;
        }
    }

    /// Whether a new ECN-capable segment says that the window was reduced.
    pub(super) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.cwr)
    }

    /// Reductions for marks.
    pub(super) fn responses(&self) -> u64 {
        self.responses
    }
}
