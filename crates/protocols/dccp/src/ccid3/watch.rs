//! The receiver's part of remedy B of Otsuka, Tamura and Ishihara: which of its observations are
//! from before a handover or from during it.
//!
//! Once a handover is over, the receiver leaves out of its feedback
//!
//! - loss intervals: all from before. The history begins behind the last packet sent before the
//!   end; losses up to that one, and a run of losses that goes on beyond it, are no loss event;
//! - receive rate: X_recv is measured from the first data since the end on, or from the
//!   notification on if these come more than a round trip later. No earlier X_recv stands for the
//!   interval before the first loss;
//! - round-trip times: no feedback goes between the handover's beginning, as far as the receiver
//!   knows it, and the first data sent after its end. Its own estimate by the window counter begins
//!   anew.

use super::notice::{Notice, Phase};
use fairwave_units::{Duration, Instant};

/// Longest time for which feedback is withheld because the end of a handover was not reported:
/// t_mbi (RFC 5348 section 4.3).
const MAX_WITHHELD: Duration = Duration::from_secs(64);

/// State of a handover at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// None.
    #[default]
    Settled,
    /// The sender expects one since then: the next silence is taken for it.
    Expected(Instant),
    /// Observations are from during one, since then.
    Withheld(Instant),
}

/// Effect of an arrival or a notice on the receiver's observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// None.
    Nothing,
    /// From now on losses are left out.
    Withhold,
    /// Observations begin anew behind this number.
    Begin(u64),
}

/// Handovers of the sender, as the receiver knows them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    state: State,
    /// The last number sent before the end of the newest handover that is over.
    over: Option<u64>,
}

impl Watch {
    /// Whether what arrives now is not to be reported.
    pub(super) fn withholds(&self) -> bool {
        matches!(self.state, State::Withheld(_))
    }

    /// Whether a packet was sent before the end of the newest handover that is over.
    pub(super) fn is_from_before(&self, seq: u64) -> bool {
        self.over.is_some_and(|over| seq <= over)
    }

    /// A notice came with packet `seq`; `number` is its own, extended.
    pub(super) fn take(&mut self, now: Instant, seq: u64, notice: Notice, number: u64) -> Effect {
        // Older than the newest that is over, repeated, or about packets that were not sent yet.
        let is_stale = self.is_from_before(number);
        if is_stale || number > seq {
            return Effect::Nothing;
        }
        match notice.phase {
            Phase::Expected if self.state == State::Settled => {
                self.state = State::Expected(now);
                Effect::Nothing
            }
            Phase::Expected => Effect::Nothing,
            Phase::Away if self.withholds() => Effect::Nothing,
            Phase::Away => self.withhold(now),
            Phase::Over if number == seq => Effect::Nothing,
            Phase::Over => self.end(number),
        }
    }

    /// A packet arrives after this silence, where a round trip takes `rtt`; `greatest` is the
    /// greatest number so far.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        silence: Duration,
        rtt: Duration,
        greatest: u64,
    ) -> Effect {
        match self.state {
            State::Expected(since) if now.since(since) > MAX_WITHHELD => {
                self.state = State::Settled;
                Effect::Nothing
            }
            State::Expected(_) if silence > rtt => self.withhold(now),
            State::Withheld(since) if now.since(since) > MAX_WITHHELD => self.end(greatest),
            _ => Effect::Nothing,
        }
    }

    /// This end itself has lost its access point.
    pub(super) fn withhold(&mut self, now: Instant) -> Effect {
        self.state = State::Withheld(now);
        Effect::Withhold
    }

    /// A handover is over, `last` was sent before its end.
    pub(super) fn end(&mut self, last: u64) -> Effect {
        debug_assert!(!self.is_from_before(last) || self.over == Some(last), "{last} is older");
        self.state = State::Settled;
        self.over = Some(last);
        Effect::Begin(last)
    }
}
