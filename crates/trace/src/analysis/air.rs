//! Retransmitted MPDUs: a capture of the air has a frame as often as it was sent.

use super::table::mix;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ethernet::Mac;
use fairwave_wire::link::Mpdu;

/// Transmitters, receivers and traffic identifiers followed at once; a new one takes the place
/// of an old one of the same hash.
const COUNTERS: usize = 256;
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
    /// Empty until the first MPDU.
    counters: Vec<Option<Box<Counter>>>,
}

/// The numbers of one transmitter to one receiver.
#[derive(Debug)]
struct Counter {
    whose: (Mac, Mac, Option<u8>),
    newest: u16,
    last: Instant,
    /// Which of the newest half of all numbers were seen.
    seen: [u64; WORDS],
}

impl Air {
    /// Whether an MPDU repeats one that was seen; it has been seen from now on.
    pub(super) fn repeats(&mut self, at: Instant, mpdu: &Mpdu) -> bool {
        if self.counters.is_empty() {
            self.counters.resize_with(COUNTERS, || None);
        }
        let whose = (mpdu.transmitter, mpdu.receiver, mpdu.tid);
        let words = [mpdu.transmitter.0, mpdu.receiver.0].map(|[a, b, c, d, e, f]| {
            u64::from_be_bytes([mpdu.tid.unwrap_or(u8::MAX), 0, a, b, c, d, e, f])
        });
        let slot = mix(words[0] ^ mix(words[1])) as usize % COUNTERS;
        let new = || Box::new(Counter::begin(whose, at, mpdu.sequence));
        let counter = self.counters[slot].get_or_insert_with(new);
        if counter.whose != whose || at.since(counter.last) > SILENCE {
            **counter = Counter::begin(whose, at, mpdu.sequence);
        }
        counter.last = at;
        counter.repeats(mpdu)
    }
}

impl Counter {
    fn begin(whose: (Mac, Mac, Option<u8>), at: Instant, sequence: u16) -> Self {
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
