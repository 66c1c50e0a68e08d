//! What each radio sends to each receiver: frames, modes and airtime.

use super::air::{BROADCAST, Transmission};
use super::{Channel, FrameKind, RadioId};
use crate::Mode;
use fairwave_trace::PairSample;
use fairwave_units::Duration;

/// What a radio has sent to one receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// The receiver.
    to: u32,
    sums: PairSample,
    /// The mode of the last data PPDU; the sums have none.
    last: Option<Mode>,
}

impl Pair {
    /// Counts a data PPDU, of whose MPDUs so many were on the air before.
    fn note_data(&mut self, tx: &Transmission, retries: u64) {
        let Self { sums, last, .. } = self;
        sums.ppdus += 1;
        sums.mpdus += u64::from(tx.mpdus);
        sums.retries += retries;
        sums.psdu_bytes += u64::from(tx.bytes);
        sums.mcs_sum += u64::from(tx.mode.mcs());
        sums.streams_sum += u64::from(tx.mode.streams());
        sums.width_mhz_sum += u64::from(tx.mode.width().mhz());
        sums.rate_bps_sum += tx.mode.rate().0;
        *last = Some(tx.mode);
    }
}

/// The receivers of one radio.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// In the order in which they were first sent something.
    list: Vec<Pair>,
    /// For each radio up to the last one of the list: its place there, or [`NOWHERE`]. Stations,
    /// which send to the access point only, are many, so that not every radio has all others.
    places: Vec<u32>,
    /// What was sent to everybody.
    everybody: Pair,
}

/// The place of a radio that was sent nothing.
const NOWHERE: u32 = u32::MAX;

impl Pairs {
    fn with(&mut self, to: u32) -> &mut Pair {
        if to == BROADCAST {
            return &mut self.everybody;
        }
        let place = match self.places.get(to as usize) {
            Some(&place) if place != NOWHERE => place,
            _ => self.add(to),
        };
        &mut self.list[place as usize]
    }

    #[cold]
    fn add(&mut self, to: u32) -> u32 {
        let place = self.list.len() as u32;
        self.list.push(Pair { to, ..Pair::default() });
        self.places.resize(self.places.len().max(to as usize + 1), NOWHERE);
        self.places[to as usize] = place;
        place
    }
}

impl<P: Copy> Channel<P> {
    /// What a radio has sent to each receiver that it has sent anything to; `None`, which is last,
    /// is everybody.
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

    /// Counts a frame that goes on the air and takes `airtime`.
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
