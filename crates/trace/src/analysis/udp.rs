//! Numbers in datagrams: which were lost, late or doubled before the capture.

use super::{Numbering, Numbers};
use fairwave_wire::probe;

/// Datagrams in which numbers must behave before they are believed.
const TRIAL: u32 = 8;
/// Largest step between numbers while they are on trial.
const STEP_MAX: i64 = 64;
/// How far back a late datagram is told from a doubled one.
const WINDOW: u64 = 1_024;

/// Looks for numbers at each known place, and follows those that behave.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    trials: [Trial; Numbering::TRIED.len()],
    found: Option<(Numbering, Sequence)>,
    /// The train of a probe.
    train: u16,
}

/// Train and number of a probe's data (docs/models/probe.md); no key is asked for.
fn probe_data(payload: &[u8]) -> Option<(u16, u32)> {
    const DATA: u8 = 5;
    let head = probe::Head::read(payload).ok().filter(|head| head.kind == DATA);
    let body = payload.get(probe::HEAD_LEN..probe::HEAD_LEN + 6)?;
    head?;
    let [a, b, c, d, e, f] = body.try_into().ok()?;
    Some((u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f])))
}

/// Numbers at one place, before they are believed.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    last: Option<u64>,
    first: u64,
    steps: u32,
    failed: bool,
}

impl Numbering {
    /// Those that must behave before they are believed.
    const TRIED: [Self; 3] = [Self::Leading, Self::Iperf3, Self::Rtp];

    /// The number in a payload.
    fn read(self, payload: &[u8]) -> Option<u64> {
        let word = |at: usize| payload.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        match self {
            // iperf 2 negates the number of its last datagrams.
            Self::Leading => word(0).map(|word| u64::from(word.cast_signed().unsigned_abs())),
            Self::Iperf3 => word(8).map(u64::from),
            Self::Probe => probe_data(payload).map(|(_, number)| u64::from(number)),
            Self::Rtp => {
                let version_2 = payload.first()? >> 6 == 2;
                version_2.then(|| word(0).map(|word| u64::from(word & 0xffff)))?
            }
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Leading | Self::Iperf3 | Self::Probe => 32,
            Self::Rtp => 16,
        }
    }
}

impl Finder {
    /// Takes the captured payload of a datagram.
    pub(super) fn datagram(&mut self, payload: &[u8]) {
        if let Some((train, number)) = probe_data(payload) {
            self.probe(train, number.into());
            return;
        }
        if let Some((numbering, sequence)) = &mut self.found {
            if let (Some(number), false) = (numbering.read(payload), *numbering == Numbering::Probe)
            {
                sequence.number(number, numbering.bits());
            }
            return;
        }
        for (numbering, trial) in Numbering::TRIED.into_iter().zip(&mut self.trials) {
            trial.step(numbering.read(payload));
            if trial.steps >= TRIAL {
                let last = trial.last.unwrap_or_default();
                self.found = Some((numbering, Sequence::after_trial(trial, last)));
                return;
            }
        }
    }

    /// Takes the number of a probe's datagram: every train begins with 0.
    fn probe(&mut self, train: u16, number: u64) {
        match &mut self.found {
            Some((Numbering::Probe, sequence)) => {
                if self.train != train {
                    sequence.restart();
                }
                sequence.number(number, Numbering::Probe.bits());
            }
            _ => {
                let mut sequence = Sequence::begin();
                sequence.number(number, Numbering::Probe.bits());
                self.found = Some((Numbering::Probe, sequence));
            }
        }
        self.train = train;
    }

    /// What was found.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let (numbering, sequence) = self.found.as_ref()?;
        let Sequence { lost, reordered, duplicates, first, highest, .. } = *sequence;
        let range = (first, highest);
        Some(Numbers { numbering: *numbering, lost, reordered, duplicates, range })
    }
}

impl Trial {
    fn step(&mut self, number: Option<u64>) {
        let Some(number) = number else { return self.failed = true };
        match self.last {
            None => self.first = number,
            Some(last) => {
                let step = number as i64 - last as i64;
                self.failed |= !(1..=STEP_MAX).contains(&step);
                self.steps += u32::from(!self.failed);
            }
        }
        self.last = Some(number);
    }
}

/// Numbers that are believed, unwrapped.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    first: u64,
    /// Behind the highest since the last restart.
    next: u64,
    highest: u64,
    /// Which of the [`WINDOW`] numbers below `next` came, by their remainder.
    came: [u64; (WINDOW / 64) as usize],
    lost: u64,
    reordered: u64,
    duplicates: u64,
}

impl Sequence {
    /// On trial numbers only rose: all gaps are counted, and a late one of them is taken for one
    /// of a duplicate at worst.
    fn after_trial(trial: &Trial, last: u64) -> Self {
        let received = u64::from(trial.steps) + 1;
        let lost = last + 1 - trial.first - received;
        let came = [!0; (WINDOW / 64) as usize];
        let next = last + 1;
        let first = trial.first;
        Self { first, next, highest: last, came, lost, reordered: 0, duplicates: 0 }
    }

    /// Numbers from 0 on.
    fn begin() -> Self {
        let came = [!0; (WINDOW / 64) as usize];
        Self { first: 0, next: 0, highest: 0, came, lost: 0, reordered: 0, duplicates: 0 }
    }

    /// From 0 on again: what is behind is not looked for any more.
    fn restart(&mut self) {
        self.next = 0;
        self.came.fill(!0);
    }

    fn number(&mut self, number: u64, bits: u32) {
        let modulus = 1u64 << bits;
        let ahead = number.wrapping_sub(self.next) % modulus;
        if ahead < modulus / 2 {
            self.lost += ahead;
            for skipped in 0..ahead.min(WINDOW) {
                self.clear(self.next + ahead - 1 - skipped);
            }
            self.next += ahead + 1;
            self.set(self.next - 1);
            self.highest = self.highest.max(self.next - 1);
            return;
        }
        let behind = modulus - ahead;
        let late = self.next.checked_sub(behind);
        match late {
            Some(late) if behind <= WINDOW && !self.has(late) => {
                self.set(late);
                self.reordered += 1;
                self.lost = self.lost.saturating_sub(1);
            }
            _ => self.duplicates += 1,
        }
    }

    fn has(&self, number: u64) -> bool {
        self.came[(number % WINDOW / 64) as usize] >> (number % 64) & 1 == 1
    }

    fn set(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] |= 1 << (number % 64);
    }

    fn clear(&mut self, number: u64) {
        self.came[(number % WINDOW / 64) as usize] &= !(1 << (number % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(numbers: impl IntoIterator<Item = i32>) -> Option<Numbers> {
        let mut finder = Finder::default();
        for (at, number) in numbers.into_iter().enumerate() {
            let mut payload = number.to_be_bytes().to_vec();
            // Seconds stand still, microseconds leap: neither may pass for a number.
            payload.extend(1_700_000_000u32.to_be_bytes());
            payload.extend((at as u32 * 11_200 % 1_000_000).to_be_bytes());
            finder.datagram(&payload);
        }
        finder.numbers()
    }

    #[test]
    fn loss_lateness_and_doubles_are_told_apart() {
        // 0..20 without 5, 12 and 13; then 13 late, 19 twice, and iperf's negative last one.
        let came = (0..20).filter(|number| ![5, 12, 13].contains(number));
        let numbers = leading(came.chain([13, 19, -20])).unwrap();
        assert_eq!(numbers.numbering, Numbering::Leading);
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (2, 1, 1));
        assert_eq!(numbers.range, (0, 20));
    }

    #[test]
    fn nothing_is_made_of_payload_without_numbers() {
        assert_eq!(leading([7; 100]), None);
        assert_eq!(leading((0..100).map(|n| n * 1_000_003)), None);
    }

    #[test]
    fn rtp_wraps_at_sixteen_bits() {
        let mut finder = Finder::default();
        for number in 65_520u32..65_560 {
            let mut payload = [0x80, 96, 0, 0, 0, 0, 0, 0];
            payload[2..4].copy_from_slice(&(number as u16).to_be_bytes());
            if number != 65_540 {
                finder.datagram(&payload);
            }
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost), (Numbering::Rtp, 1));
        assert_eq!((numbers.reordered, numbers.duplicates), (0, 0));
    }

    #[test]
    fn iperf3_counts_behind_its_time() {
        let mut finder = Finder::default();
        for number in (1u32..40).filter(|number| number % 10 != 0) {
            let mut payload = 1_700_000_000u32.to_be_bytes().to_vec();
            payload.extend((number * 9_973 % 1_000_000).to_be_bytes());
            payload.extend(number.to_be_bytes());
            finder.datagram(&payload);
        }
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.lost), (Numbering::Iperf3, 3));
    }

    #[test]
    fn a_probe_counts_anew_in_every_train() {
        let mut finder = Finder::default();
        let trains = [(1u16, vec![0u32, 1, 3, 4]), (2, vec![2, 3, 3, 5, 4])];
        for (train, number) in trains.iter().flat_map(|(t, ns)| ns.iter().map(move |n| (*t, *n))) {
            let mut payload = b"FWpb\x01\x05\0\0sessions".to_vec();
            payload.extend(train.to_be_bytes());
            payload.extend(number.to_be_bytes());
            payload.resize(60, 0);
            finder.datagram(&payload);
        }
        // Number 2 of the first train; 0 and 1 of the second, and its late 4.
        let numbers = finder.numbers().unwrap();
        assert_eq!((numbers.numbering, numbers.range), (Numbering::Probe, (0, 5)));
        assert_eq!((numbers.lost, numbers.reordered, numbers.duplicates), (3, 1, 1));
    }
}
