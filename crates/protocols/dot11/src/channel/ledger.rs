//! Counts of frames, by transmitter and receiver.

use super::air::{BROADCAST, Transmission};
use super::pairs::Pairs;
use super::{Channel, FrameKind, RadioId};
use fairwave_trace::PairSample;
use fairwave_units::{Duration, Instant};

impl<P: Copy> Channel<P> {
    /// Transmissions of a radio to each of its receivers; `None`, which is last, is broadcast.
    pub fn pairs(&self, radio: RadioId) -> impl Iterator<Item = (Option<RadioId>, PairSample)> {
        let Pairs { list, everybody, .. } = &self.macs[radio.0 as usize].pairs;
        let named = list.iter().map(|pair| (Some(RadioId(pair.to)), pair));
        let has_sent = everybody.sums.airtime + everybody.sums.control_airtime > Duration::ZERO;
        let all = named.chain(has_sent.then_some((None, everybody)));
        all.map(|(to, pair)| {
            let last = pair.last.map(|mode| (mode.into(), mode.rate()));
            (to, PairSample { last, ..pair.sums })
        })
    }

    /// Time for which the radio has found the medium busy by its physical carrier sense, its own
    /// transmissions included: the numerator of the channel utilisation that it may announce
    /// (802.11-2020 clause 9.4.2.27). Frames that overlap count once.
    pub fn medium_busy(&self, radio: RadioId, now: Instant) -> Duration {
        self.contention.busy(radio.0, now)
    }

    /// Counts a frame that begins on the air and takes `airtime`.
    pub(super) fn note_sent(&mut self, tx: &Transmission, airtime: Duration) {
        let mac = &mut self.macs[tx.from as usize];
        let to = if tx.to == tx.from {
            // A CTS to itself is the price of the data that follows.
            self.contenders[mac.turn as usize].batch.to.map_or(BROADCAST, |to| to.0)
        } else {
            tx.to
        };
        let pair = mac.pairs.with(to);
        match tx.kind {
            FrameKind::Data | FrameKind::Rts | FrameKind::BlockAckReq | FrameKind::Beacon => {
                mac.stats.airtime += airtime;
                pair.sums.airtime += airtime;
            }
            FrameKind::Ack | FrameKind::BlockAck | FrameKind::Cts => {
                mac.stats.control_airtime += airtime;
                pair.sums.control_airtime += airtime;
            }
        }
        if tx.kind == FrameKind::Data {
            let batch = &mut self.contenders[mac.turn as usize].batch;
            pair.note_data(tx, batch.note_transmission());
        }
    }

    /// A data PPDU of the contender was not answered.
    pub(super) fn note_failure(&mut self, contender: u32) {
        let radio = self.radio_of(contender);
        if let Some(to) = self.contenders[contender as usize].batch.to {
            self.macs[radio as usize].pairs.with(to.0).sums.failures += 1;
        }
    }
}
