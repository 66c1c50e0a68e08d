//! Limits on the airtime of frames that a radio has taken and is not done with: Linux's airtime
//! queue limits (AQL). A host that keeps its packets in queues of its own decides later, and so
//! better, who is served.

use super::{Channel, RadioId};
use fairwave_units::Duration;

/// How much airtime a radio takes over from its host. A frame is taken while what waits for the
/// same receiver in the same category is below `low`; or below `high`, if all that the radio has
/// is below `threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirtimeLimits {
    /// Airtime for one receiver and category that a busy radio takes.
    pub low: Duration,
    /// The same for a radio that has little to send.
    pub high: Duration,
    /// What the radio has in all from which on it counts as busy.
    pub threshold: Duration,
}

impl AirtimeLimits {
    /// Whether one more frame is taken, `pending` waiting for its receiver and category and
    /// `total` in the radio.
    const fn admits(self, pending: Duration, total: Duration) -> bool {
        let limit = if total.as_nanos() < self.threshold.as_nanos() { self.high } else { self.low };
        pending.as_nanos() < self.low.as_nanos() || pending.as_nanos() < limit.as_nanos()
    }
}

impl<P: Copy> Channel<P> {
    /// From now on the radio takes frames by these limits, instead of as many as fill a PPDU.
    pub fn limit_airtime(&mut self, radio: RadioId, limits: AirtimeLimits) {
        self.macs[radio.0 as usize].airtime_limits = Some(limits);
    }

    /// Whether the airtime limits of the contender's radio, if it has any, admit one more frame to
    /// the receiver of its batch.
    pub(super) fn airtime_admits(&self, contender: u32) -> Option<bool> {
        let radio = self.radio_of(contender);
        let limits = self.macs[radio as usize].airtime_limits?;
        let categories = self.contention.categories();
        let own = radio * categories..(radio + 1) * categories;
        let total = own.map(|contender| self.pending_airtime(contender));
        let total = total.fold(Duration::ZERO, |sum, pending| sum + pending);
        Some(limits.admits(self.pending_airtime(contender), total))
    }

    /// The time of the contender's frames in one PPDU, in the mode of the last attempt at their
    /// receiver: an estimate without contention, responses and retries, as Linux makes it.
    fn pending_airtime(&self, contender: u32) -> Duration {
        let batch = &self.contenders[contender as usize].batch;
        if batch.frames.is_empty() {
            return Duration::ZERO;
        }
        let rates = self.macs[self.radio_of(contender) as usize].rates.as_ref();
        let known = rates.zip(batch.to).and_then(|(rates, to)| rates.last(to.0));
        self.config.phy.tx_time(known.unwrap_or(batch.mode), batch.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_radio_takes_less() {
        let ms = Duration::from_millis;
        let limits = AirtimeLimits { low: ms(5), high: ms(12), threshold: ms(24) };
        for (pending, total, admitted) in
            [(4, 100, true), (5, 24, false), (5, 23, true), (11, 23, true), (12, 12, false)]
        {
            assert_eq!(limits.admits(ms(pending), ms(total)), admitted, "{pending} of {total} ms");
        }
    }
}
