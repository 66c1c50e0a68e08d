//! Use of the air by transmitter and receiver, from headers that encryption leaves readable.

use super::table::{Index, mix};
use fairwave_units::Duration;
use fairwave_wire::ethernet::Mac;
use fairwave_wire::link::{Transmission, TransmissionKind};

/// Maximum number of pairs of transmitter and receiver that are counted apart.
const MAX_PAIRS: usize = 4_096;

/// Frames of one transmitter to one receiver, retransmissions included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioPair {
    /// The transmitter; `None` for ACK and CTS frames, which do not name it.
    pub transmitter: Option<Mac>,
    /// The receiver.
    pub receiver: Mac,
    /// All frames.
    pub frames: u64,
    /// Control frames among them, which have no retry bit.
    pub control: u64,
    /// Data frames among them.
    pub data: u64,
    /// Encrypted data frames.
    pub encrypted: u64,
    /// Frames with the retry bit.
    pub retries: u64,
    /// Bytes, check sequences included.
    pub bytes: u64,
    /// Frames whose rate is known.
    pub timed: u64,
    /// Their time on the air, with one preamble for each PPDU.
    pub airtime: Duration,
    /// Bits of the data frames whose rate is known, and the time of those bits.
    pub data_sent: (u64, Duration),
    /// Lowest and highest rate of data frames in bits per second.
    pub rates: Option<(u64, u64)>,
}

/// All pairs, in the order of their first frames.
#[derive(Debug, Default)]
pub(super) struct Radio {
    pairs: Vec<RadioPair>,
    index: Index,
    /// Number of the A-MPDU that the last frame belonged to.
    ampdu: Option<u32>,
    left_out: u64,
}

impl Radio {
    /// Counts a frame.
    pub(super) fn frame(&mut self, frame: &Transmission) {
        let continues = frame.ampdu.is_some() && frame.ampdu == self.ampdu;
        self.ampdu = frame.ampdu;
        let Some(place) = self.place(frame) else {
            self.left_out += 1;
            return;
        };
        let pair = &mut self.pairs[place];
        pair.frames += 1;
        pair.control += u64::from(frame.kind == TransmissionKind::Control);
        pair.data += u64::from(frame.kind == TransmissionKind::Data);
        pair.encrypted += u64::from(frame.is_encrypted);
        pair.retries += u64::from(frame.is_retry);
        pair.bytes += u64::from(frame.len);
        let Some(rate) = frame.rate else { return };
        let time = rate.time(frame.len);
        pair.timed += 1;
        pair.airtime = sum(pair.airtime, time);
        if !continues {
            pair.airtime = sum(pair.airtime, rate.preamble);
        }
        if frame.kind == TransmissionKind::Data {
            let (bits, before) = pair.data_sent;
            pair.data_sent = (bits + 8 * u64::from(frame.len), sum(before, time));
            let (low, high) = pair.rates.unwrap_or((rate.bits.0, rate.bits.0));
            pair.rates = Some((low.min(rate.bits.0), high.max(rate.bits.0)));
        }
    }

    /// All pairs.
    pub(super) fn pairs(&self) -> &[RadioPair] {
        &self.pairs
    }

    /// Number of frames of further pairs.
    pub(super) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The place of a frame's pair, which may be new; `None` if there is no room.
    fn place(&mut self, frame: &Transmission) -> Option<usize> {
        let Transmission { transmitter, receiver, .. } = *frame;
        let hash = hash(transmitter, receiver);
        let is = |place: u32| {
            let pair = &self.pairs[place as usize];
            (pair.transmitter, pair.receiver) == (transmitter, receiver)
        };
        if let Some(place) = self.index.find(hash, is) {
            return Some(place as usize);
        }
        let place = self.pairs.len();
        if place == MAX_PAIRS {
            return None;
        }
        self.index.insert(hash, place as u32);
        self.pairs.push(RadioPair {
            transmitter,
            receiver,
            frames: 0,
            control: 0,
            data: 0,
            encrypted: 0,
            retries: 0,
            bytes: 0,
            timed: 0,
            airtime: Duration::ZERO,
            data_sent: (0, Duration::ZERO),
            rates: None,
        });
        Some(place)
    }
}

/// Hostile lengths add up to any time.
fn sum(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}

/// Hash of both addresses; the same on every machine.
fn hash(transmitter: Option<Mac>, receiver: Mac) -> u64 {
    let word = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let transmitter = transmitter.map_or(u64::MAX, |mac| word(mac.0));
    mix(transmitter ^ mix(word(receiver.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::BitRate;
    use fairwave_wire::radiotap::Rate;

    fn frame(transmitter: u32, len: u32, ampdu: Option<u32>) -> Transmission {
        let preamble = Duration::from_micros(40);
        Transmission {
            receiver: Mac::local(1),
            transmitter: Some(Mac::local(transmitter)),
            kind: TransmissionKind::Data,
            is_retry: ampdu.is_none(),
            is_encrypted: true,
            len,
            rate: Some(Rate { bits: BitRate(80_000_000), preamble }),
            ampdu,
        }
    }

    #[test]
    fn an_ampdu_has_one_preamble() {
        let mut radio = Radio::default();
        for ampdu in [Some(1), Some(1), Some(2), None, None] {
            radio.frame(&frame(2, 1_000, ampdu));
        }
        let [pair] = radio.pairs() else { panic!("{:?}", radio.pairs()) };
        assert_eq!((pair.frames, pair.data, pair.encrypted, pair.retries), (5, 5, 5, 2));
        assert_eq!(pair.airtime, Duration::from_micros(5 * 100 + 4 * 40));
        assert_eq!(pair.data_sent, (40_000, Duration::from_micros(500)));
        assert_eq!(pair.rates, Some((80_000_000, 80_000_000)));
    }

    #[test]
    fn pairs_beyond_the_limit_are_counted_together() {
        let mut radio = Radio::default();
        for host in 0..2 * (MAX_PAIRS as u32 + 7) {
            radio.frame(&frame(host % (MAX_PAIRS as u32 + 7), 100, None));
        }
        assert_eq!((radio.pairs().len(), radio.left_out()), (MAX_PAIRS, 14));
        assert!(radio.pairs().iter().all(|pair| pair.frames == 2));
    }
}
