//! Limits on the airtime of frames that a radio has taken and not finished: Linux's airtime queue
//! limits (AQL). A host that keeps its packets in queues of its own chooses later, and so better,
//! the station to serve.
//!
//! For a host whose queues share out airtime, the channel also counts the airtime that a radio uses
//! with each peer: every PPDU sent, whether it arrives or not, and every PPDU of which it decoded
//! something. A PPDU counts as a whole however many MPDUs it has.

use super::air::{BROADCAST, Transmission};
use super::{AirtimeLimits, Channel, FrameKind, RadioId};
use fairwave_units::Duration;

impl<P: Copy> Channel<P> {
    /// From now on the radio takes frames by these limits, instead of as many as fill a PPDU; with
    /// `None` as many as fill one.
    pub fn limit_airtime(&mut self, radio: RadioId, limits: impl Into<Option<AirtimeLimits>>) {
        self.macs[radio.0 as usize].airtime_limits = limits.into();
    }

    /// From now on counts the airtime that the radio uses with each peer, or no longer.
    pub fn count_airtime(&mut self, radio: RadioId, counts: bool) {
        let used = &mut self.macs[radio.0 as usize].used;
        *used = counts.then(|| used.take().unwrap_or_default());
    }

    /// Airtime that the radio has used with a peer and that was not returned yet.
    pub fn take_airtime(&mut self, radio: RadioId) -> Option<(RadioId, Duration)> {
        let (peer, airtime) = self.macs[radio.0 as usize].used.as_mut()?.pop_front()?;
        Some((RadioId(peer), airtime))
    }

    /// `radio`, an end of `tx`, has used the medium with `peer`, the other end. Responses cost
    /// nothing: they belong to the frame that they answer.
    pub(super) fn note_airtime(&mut self, tx: &Transmission, radio: u32, peer: u32) {
        let Some(used) = &mut self.macs[radio as usize].used else { return };
        let asks = matches!(tx.kind, FrameKind::Data | FrameKind::Rts | FrameKind::BlockAckReq);
        if asks && peer != BROADCAST {
            used.push_back((peer, tx.end.since(tx.start)));
        }
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
