//! Measurements of delay-based algorithms: the minimum round-trip time, overall and of each round.

use crate::AckEvent;
use fairwave_units::Duration;

/// The path's delay by rounds: a round ends once everything outstanding at its start is
/// acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    base: Option<Duration>,
    /// Stream offset whose acknowledgement ends the round.
    end: Option<u64>,
    pub(crate) samples: u32,
    least: Option<Duration>,
}

/// A round that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Samples taken in it.
    pub(crate) samples: u32,
    /// The smallest of them; `base` where there was none.
    pub(crate) least: Duration,
    /// The smallest sample so far: the delay without a queue (baseRTT).
    pub(crate) base: Duration,
}

impl Delay {
    /// Takes the sample of an ACK that has one.
    pub(crate) fn sample(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        let less = |known: Option<Duration>| known.map_or(rtt, |known| known.min(rtt));
        (self.base, self.least) = (Some(less(self.base)), Some(less(self.least)));
        self.samples = self.samples.saturating_add(1);
    }

    /// The round, if this ACK ends one in a connection that was measured.
    pub(crate) fn end_round(&mut self, ack: &AckEvent) -> Option<Round> {
        if self.end.is_some_and(|end| ack.una < end) {
            return None;
        }
        let over = *self;
        *self = Self { end: Some(ack.next), samples: 0, least: None, ..over };
        let base = over.base.filter(|_| over.end.is_some())?;
        Some(Round { samples: over.samples, least: over.least.unwrap_or(base), base })
    }

    /// Discards the current round: its measurements would mislead.
    pub(crate) fn restart(&mut self) {
        *self = Self { base: self.base, ..Self::default() };
    }
}

/// `win * (1 - base/rtt)`: bytes queued on the path; zero for an RTT of zero.
pub(crate) fn backlog(win: u32, base: Duration, rtt: Duration) -> u32 {
    let rtt_ns = u128::from(rtt.as_nanos());
    let queueing = u128::from(rtt.saturating_sub(base).as_nanos());
    // The quotient is at most win.
    (u128::from(win) * queueing).checked_div(rtt_ns).unwrap_or(0) as u32
}
