//! Transmissions of each radio to each receiver: frames, modes and airtime.

use super::air::{BROADCAST, Transmission};
use crate::Mode;
use fairwave_trace::PairSample;

/// Transmissions of a radio to one receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    /// The receiver.
    pub(super) to: u32,
    pub(super) sums: PairSample,
    /// The mode of the last data PPDU; the sums have none.
    pub(super) last: Option<Mode>,
}

impl Pair {
    /// Counts a data PPDU, of whose MPDUs this number was on the air before.
    pub(super) fn note_data(&mut self, tx: &Transmission, retries: u64) {
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
    /// In the order of the receivers.
    pub(super) list: Vec<Pair>,
    /// For each radio up to the last one of the list: its place there, or [`NOWHERE`]. Stations,
    /// which send to the access point only, are many, so that not every radio has all others.
    places: Vec<u32>,
    /// Returns the broadcasts.
    pub(super) everybody: Pair,
}

/// The place of a radio that was sent nothing.
const NOWHERE: u32 = u32::MAX;

impl Pairs {
    /// Returns the transmissions to a receiver.
    pub(super) fn with(&mut self, to: u32) -> &mut Pair {
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
        let first = self.list.partition_point(|pair| pair.to < to);
        self.list.insert(first, Pair { to, ..Pair::default() });
        self.places.resize(self.places.len().max(to as usize + 1), NOWHERE);
        for (place, pair) in self.list.iter().enumerate().skip(first) {
            self.places[pair.to as usize] = place as u32;
        }
        first as u32
    }
}
