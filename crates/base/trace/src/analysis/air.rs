//! Retransmitted MPDUs: a capture of the air has a frame as often as it was sent.

use super::table::{Index, Links, List, mix};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::link::Mpdu;

/// Maximum number of counters: 9 MB. Where more are needed, the counter idle for longest is
/// dropped. This loses nothing unless all others had a frame within [`SILENCE`].
const COUNTERS_MAX: usize = 16_384;
/// Sequence numbers (802.11-2020 clause 9.2.4.4.2).
const NUMBERS: u16 = 4_096;
/// Words of a bit for each sequence number.
const WORDS: usize = NUMBERS as usize / 64;
/// After such a silence a number is not a retransmission's: the transmitter may have started
/// anew, and none retries for so long.
const SILENCE: Duration = Duration::from_secs(1);

/// Knows MPDUs again by transmitter, receiver, traffic identifier and sequence number.
#[derive(Debug, Default)]
pub(super) struct Air {
    counters: Vec<Counter>,
    index: Index,
    links: Links,
    /// All counters, in the order of their last frames.
    used: List,
}

/// A sequence number space: each transmitter has one for each receiver and traffic identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SequenceKey {
    transmitter: Mac,
    receiver: Mac,
    /// `None` for frames without a QoS control field.
    tid: Option<u8>,
}

/// The numbers of one transmitter to one receiver.
#[derive(Debug)]
struct Counter {
    whose: SequenceKey,
    newest: u16,
    last: Instant,
    /// Bitmap of the newest half of all numbers that were seen.
    seen: [u64; WORDS],
}

impl Air {
    /// Whether an MPDU repeats one that was seen; it has been seen from now on.
    pub(super) fn repeats(&mut self, at: Instant, mpdu: &Mpdu) -> bool {
        let Mpdu { transmitter, receiver, tid, .. } = *mpdu;
        let whose = SequenceKey { transmitter, receiver, tid };
        let hash = hash(whose);
        let is = |number: u32| self.counters[number as usize].whose == whose;
        let number = match self.index.find(hash, is) {
            Some(number) => {
                self.links.touch(&mut self.used, number);
                number
            }
            None => self.begin(whose, hash, at, mpdu.sequence),
        };
        let counter = &mut self.counters[number as usize];
        if at.since(counter.last) > SILENCE {
            *counter = Counter::begin(whose, at, mpdu.sequence);
        }
        counter.last = at;
        counter.repeats(mpdu)
    }

    /// Returns a counter for a transmitter that has none: a further one, or the one idle for
    /// longest.
    fn begin(&mut self, whose: SequenceKey, of: u64, at: Instant, sequence: u16) -> u32 {
        let counter = Counter::begin(whose, at, sequence);
        let oldest = self.used.oldest().filter(|_| self.counters.len() >= COUNTERS_MAX);
        let number = match oldest {
            Some(oldest) => {
                self.index.remove(hash(self.counters[oldest as usize].whose), oldest);
                self.links.unlink(&mut self.used, oldest);
                self.counters[oldest as usize] = counter;
                oldest
            }
            None => {
                self.counters.push(counter);
                self.counters.len() as u32 - 1
            }
        };
        self.index.insert(of, number);
        self.links.push(&mut self.used, number);
        debug_assert!(self.counters.len() <= COUNTERS_MAX);
        number
    }
}

/// Hash of the whole; the same on every machine.
fn hash(whose: SequenceKey) -> u64 {
    let tid = whose.tid.unwrap_or(u8::MAX);
    let word = |[a, b, c, d, e, f]: [u8; 6]| u64::from_be_bytes([tid, 0, a, b, c, d, e, f]);
    mix(word(whose.transmitter.0) ^ mix(word(whose.receiver.0)))
}

impl Counter {
    fn begin(whose: SequenceKey, at: Instant, sequence: u16) -> Self {
        Self { whose, newest: sequence, last: at, seen: [0; WORDS] }
    }

    fn repeats(&mut self, mpdu: &Mpdu) -> bool {
        let number = mpdu.sequence % NUMBERS;
        let ahead = (number + NUMBERS - self.newest) % NUMBERS;
        if ahead < NUMBERS / 2 {
            (1..=ahead).for_each(|step| self.forget((self.newest + step) % NUMBERS));
            self.newest = number;
        }
        let (word, bit) = (usize::from(number / 64), 1 << (number % 64));
        let was_seen = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        was_seen && mpdu.retry
    }

    fn forget(&mut self, number: u16) {
        self.seen[usize::from(number / 64)] &= !(1 << (number % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mpdu(sequence: u16, retry: bool) -> Mpdu {
        let (receiver, transmitter) = (Mac::local(1), Mac::local(2));
        Mpdu { receiver, transmitter, tid: Some(0), sequence, fragment: 0, retry, bad_fcs: false }
    }

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_retry_counts_once_if_the_first_attempt_was_seen() {
        let mut air = Air::default();
        assert!(!air.repeats(ms(0), &mpdu(7, false)));
        assert!(!air.repeats(ms(1), &mpdu(8, false)));
        assert!(air.repeats(ms(2), &mpdu(7, true)));
        assert!(air.repeats(ms(3), &mpdu(7, true)));
        // The first attempt at 9 was not captured.
        assert!(!air.repeats(ms(4), &mpdu(9, true)));
        assert!(air.repeats(ms(5), &mpdu(9, true)));
        // Another traffic identifier counts for itself.
        assert!(!air.repeats(ms(6), &Mpdu { tid: Some(5), ..mpdu(7, true) }));
    }

    /// 256 slots by hash let two transmitters take each other's place, and every retry between
    /// their frames counted as a new packet.
    #[test]
    fn transmitters_do_not_evict_each_other() {
        let mut air = Air::default();
        let of = |host: u32, retry| Mpdu { transmitter: Mac::local(host), ..mpdu(7, retry) };
        let hosts = 10..10 + COUNTERS_MAX as u32;
        hosts.clone().for_each(|host| assert!(!air.repeats(ms(0), &of(host, false)), "{host}"));
        hosts.for_each(|host| assert!(air.repeats(ms(1), &of(host, true)), "{host}"));
        // One more than there is room for: the one that was quiet for longest is forgotten.
        assert!(!air.repeats(ms(2), &of(1, false)));
        assert!(!air.repeats(ms(3), &of(10, true)), "its first frame was forgotten");
        assert!(air.repeats(ms(3), &of(1, true)), "the newest is still known");
        assert_eq!(air.counters.len(), COUNTERS_MAX);
    }

    #[test]
    fn numbers_come_round() {
        let mut air = Air::default();
        for round in 0..3 {
            for number in 0..NUMBERS {
                let at = ms(round * 4_096 + u64::from(number));
                assert!(!air.repeats(at, &mpdu(number, false)), "{round} {number}");
                assert!(air.repeats(at, &mpdu(number, true)), "{round} {number}");
            }
        }
        // Half a round later the number is a new frame's, although its first try was not seen.
        assert!(!air.repeats(ms(12_288), &mpdu(2_046, true)));
    }

    #[test]
    fn after_a_silence_nothing_is_a_repetition() {
        let mut air = Air::default();
        assert!(!air.repeats(ms(0), &mpdu(7, false)));
        assert!(!air.repeats(ms(1_500), &mpdu(7, true)));
    }
}
