//! HyStart++ (RFC 9406): leaving the first slow start when the round-trip time grows.

use crate::AckEvent;
use fairwave_units::Duration;

#[cfg(test)]
mod tests;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: bounds of the increase of the delay that counts.
const MIN_INCREASE: Duration = Duration::from_millis(4);
const MAX_INCREASE: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR: between the bounds, this part of the last round's delay counts.
const INCREASE_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: a round with fewer samples decides nothing.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: how much slower conservative slow start grows.
const CONSERVATIVE_DIVISOR: u32 = 4;
/// CSS_ROUNDS: rounds of conservative slow start before slow start is over.
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L, the segments that one ACK may add, for a sender that does not pace (section 4.3).
const LIMIT_SEGMENTS: u32 = 8;

/// Watches the delay of one slow start, by the rounds of RFC 9406 section 4.2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStart {
    /// Maximum growth by one ACK, in bytes.
    most: u32,
    /// lastRoundMinRTT and currentRoundMinRTT; `None` is infinity.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    /// windowEnd: stream offset whose acknowledgement ends the round.
    end: Option<u64>,
    conservative: Option<Conservative>,
}

/// Conservative slow start (CSS): the delay grew, and may turn out to have been jitter.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds that ended in it; the one it began in counts.
    rounds: u32,
}

impl HyStart {
    /// `limit_segments` is L where more than eight segments suit.
    pub(crate) fn new(mss: u32, limit_segments: u32) -> Self {
        let most = mss.saturating_mul(limit_segments.max(LIMIT_SEGMENTS));
        Self { most, last: None, current: None, samples: 0, end: None, conservative: None }
    }

    /// Returns the growth of the window by an ACK of `acked` bytes.
    pub(crate) fn growth(&self, acked: u32) -> u32 {
        let counted = acked.min(self.most);
        if self.conservative.is_some() { counted / CONSERVATIVE_DIVISOR } else { counted }
    }

    /// Takes an ACK's sample; true once slow start is over.
    pub(crate) fn is_over(&mut self, ack: &AckEvent) -> bool {
        if let Some(rtt) = ack.rtt {
            self.current = Some(self.current.map_or(rtt, |minimum| minimum.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        self.judge();
        let ended = self.end.is_some_and(|end| ack.una >= end);
        if !ended && self.end.is_some() {
            return false;
        }
        self.end = Some(ack.next);
        ended && self.end_round()
    }

    /// Enters conservative slow start when the delay has grown, leaves it when it has fallen.
    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else { return };
        self.conservative = match (self.conservative, self.last) {
            (Some(state), _) => (current >= state.baseline).then_some(state),
            (None, Some(last)) if current >= last + increase(last) => {
                Some(Conservative { baseline: current, rounds: 0 })
            }
            (None, _) => None,
        };
    }

    /// Begins the next round; true if conservative slow start has lasted long enough.
    fn end_round(&mut self) -> bool {
        (self.last, self.current, self.samples) = (self.current, None, 0);
        let Some(state) = &mut self.conservative else { return false };
        state.rounds += 1;
        state.rounds >= CONSERVATIVE_ROUNDS
    }
}

/// RttThresh: the increase over `last` that counts.
fn increase(last: Duration) -> Duration {
    Duration::from_nanos(last.as_nanos() / INCREASE_DIVISOR).clamp(MIN_INCREASE, MAX_INCREASE)
}
