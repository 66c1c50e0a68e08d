//! BlockAckReqs: a sender asks for the received MPDUs, and states the first MPDU that it still
//! sends (802.11-2020 clauses 9.3.1.7 and 10.25.6).
//!
//! One that follows a missing BlockAck is answered before MPDUs count as failed. If that drops any,
//! a second one reports the drop.
//!
//! A BlockAckReq contends like a data frame, goes out in the mode of a response and without RTS,
//! and has attempts of its own. One that is dropped leaves things as if it had never been due:
//! MPDUs whose fate is unknown are retransmitted, and the receiver hands up the frames that it held
//! back.

use super::outputs::Run;
use super::{Channel, Fate, FrameKind, RadioId, bitmap};
use crate::phy::BLOCK_ACK_REQ_BYTES;
use crate::{Aggregation, BlockAckRequest};
use fairwave_units::Instant;

impl<P: Copy> Channel<P> {
    /// The block ack agreement of the contender's frames, if they are for one receiver.
    pub(super) fn agreement(&self, contender: u32) -> Option<Aggregation> {
        let addressed = self.contenders[contender as usize].batch.to.is_some();
        self.config.aggregation.filter(|limits| addressed && limits.mpdus > 1)
    }

    /// Whether a BlockAckReq is to report dropped MPDUs to the receiver.
    pub(super) fn reports_drops(&self, contender: u32) -> bool {
        let agreement = self.agreement(contender);
        agreement.is_some_and(|limits| limits.request != BlockAckRequest::Never)
    }

    /// Whether the PPDU that was sent is to be asked about, as its BlockAck is missing.
    pub(super) fn requests_missing(&self, contender: u32) -> bool {
        let batch = &self.contenders[contender as usize].batch;
        let agreement = self.agreement(contender).filter(|_| batch.ends.len() > 1);
        agreement.is_some_and(|limits| limits.request == BlockAckRequest::AfterMissing)
    }

    /// Sends the BlockAckReq that the contender owes.
    pub(super) fn transmit_request(&mut self, radio: u32, now: Instant) {
        let phy = self.config.phy;
        let batch = &self.contenders[self.macs[radio as usize].turn as usize].batch;
        debug_assert!(batch.asks && !batch.frames.is_empty(), "radio {radio} has nothing to ask");
        let Some(to) = batch.to else { return };
        let mode = phy.response_mode(batch.mode);
        let bytes = BLOCK_ACK_REQ_BYTES;
        let mut tx = self.frame(FrameKind::BlockAckReq, radio, to.0, mode, bytes, now);
        let answer = phy.tx_time(phy.response_mode(mode), self.block_ack_bytes());
        tx.reserved_until = now + phy.tx_time(mode, bytes) + phy.sifs() + answer;
        self.transmit(tx, now);
    }

    /// The BlockAckReq was answered.
    pub(super) fn end_request(&mut self, contender: u32, now: Instant) {
        self.note_received(contender);
        // After a request that reports a drop, no PPDU is left to count.
        if self.count_failures(contender, self.uses_rts(contender)) > 0 {
            self.contenders[contender as usize].batch.request_failures = 0;
            self.slide(contender);
        } else {
            self.forget_request(contender);
        }
        self.complete(self.radio_of(contender), now);
    }

    /// The BlockAckReq was not answered.
    pub(super) fn fail_request(&mut self, contender: u32, now: Instant) {
        let own = self.config.aggregation.and_then(|limits| limits.retry_limit);
        let limit = own.unwrap_or(self.config.short_retry_limit);
        let batch = &mut self.contenders[contender as usize].batch;
        batch.request_failures += 1;
        if batch.request_failures < limit {
            return self.double_cw(contender, now);
        }
        self.count_failures(contender, self.uses_rts(contender));
        self.forget_request(contender);
        self.release(contender, now);
    }

    /// Moves the window, and reports the dropped frames to the host.
    fn forget_request(&mut self, contender: u32) {
        let run = Run::Done { radio: RadioId(self.radio_of(contender)), fate: Fate::RetryLimit };
        let batch = &mut self.contenders[contender as usize].batch;
        (batch.asks, batch.request_failures) = (false, 0);
        let lost = bitmap::runs(0..batch.frames.len(), |index| batch.lost.word(index));
        self.outputs.extend(run, &batch.payloads, lost);
        batch.lost.clear();
        self.slide(contender);
    }
}
