//! Limits on the airtime of frames that a radio has taken and not finished: Linux's airtime queue
//! limits (AQL). A host that keeps its packets in queues of its own chooses later, and so better,
//! the station to serve.

use super::{AirtimeLimits, Channel, RadioId};
use fairwave_units::Duration;

impl<P: Copy> Channel<P> {
    /// From now on the radio takes frames by these limits, instead of as many as fill a PPDU; with
    /// `None` as many as fill one.
    pub fn limit_airtime(&mut self, radio: RadioId, limits: impl Into<Option<AirtimeLimits>>) {
        self.macs[radio.0 as usize].airtime_limits = limits.into();
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

    /// Returns the time of the contender's frames in one PPDU, in the most used mode for their
    /// receiver: an estimate without contention, responses and retries, as Linux makes it.
    fn pending_airtime(&self, contender: u32) -> Duration {
        let batch = &self.contenders[contender as usize].batch;
        if batch.frames.is_empty() {
            return Duration::ZERO;
        }
        let rates = self.macs[self.radio_of(contender) as usize].rates.as_ref();
        let known = rates.zip(batch.to).and_then(|(rates, to)| rates.current(to.0));
        self.config.phy.tx_time(known.unwrap_or(batch.mode), batch.filled)
    }
}
